#include "common/emulator/hazards/report.hpp"

#include <fmt/format.h>

namespace shiftconv::emulator {

const char* toString(HazardKind kind) {
  switch (kind) {
    case HazardKind::Race:
      return "race";
    case HazardKind::ProxyFence:
      return "missing proxy fence";
    case HazardKind::TensorFence:
      return "missing tcgen05 fence";
    case HazardKind::PendingRegister:
      return "register of an unfinished load";
    case HazardKind::BarrierLifetime:
      return "mbarrier lifetime";
    case HazardKind::TensorMapFence:
      return "missing tensor-map fence";
    case HazardKind::Outlives:
      return "use of an exited CTA";
    case HazardKind::UndefinedData:
      return "undefined data";
    case HazardKind::Count:
      break;
  }
  return "hazard";
}

std::string describe(const Hazard& hazard) {
  const auto side = [](const HazardAccess& access) {
    return fmt::format("{}\n    by {} of kernel {}\n    at {}", access.what, access.thread, access.kernel, access.where);
  };
  std::string text = fmt::format("hazard ({}): {}", toString(hazard.kind), side(hazard.second));
  if (!hazard.first.what.empty()) text += fmt::format("\n  conflicts with the earlier {}", side(hazard.first));
  text += fmt::format("\n  missing: {}", hazard.missing);
  if (hazard.count > 1) text += fmt::format("\n  seen {} times between these two instructions", hazard.count);
  return text;
}

}  // namespace shiftconv::emulator
