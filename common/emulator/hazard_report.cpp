#include "common/emulator/hazard_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shiftconv::emulator {

const char* toString(HazardSeverity severity) {
  switch (severity) {
    case HazardSeverity::Race:
      return "race";
    case HazardSeverity::Formal:
      return "formal";
    case HazardSeverity::Unproven:
      return "unproven";
    case HazardSeverity::Count:
      break;
  }
  return "hazard";
}

bool SeveritySet::parse(std::string_view text) {
  uint8_t bits = 0;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    const auto found = std::find_if(kHazardSeverities.begin(), kHazardSeverities.end(),
                                    [&](HazardSeverity severity) { return name == toString(severity); });
    if (found == kHazardSeverities.end()) return false;
    bits |= static_cast<uint8_t>(1u << static_cast<unsigned>(*found));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  bits_ = bits;
  return true;
}

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
    case HazardKind::TensorWait:
      return "missing tcgen05 wait";
    case HazardKind::ReliesOn:
      return "relies on an open question";
    case HazardKind::Lapped:
      return "lapped wait";
    case HazardKind::RegisterCount:
      return "different setmaxnreg";
    case HazardKind::BarrierLifetime:
      return "mbarrier lifetime";
    case HazardKind::TensorMapFence:
      return "missing tensor-map fence";
    case HazardKind::Outlives:
      return "use of an exited CTA";
    case HazardKind::WarpgroupFence:
      return "missing wgmma fence";
    case HazardKind::AddressSpace:
      return "generic address for .shared";
    case HazardKind::BrokenRule:
      return "broken rule";
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
  const std::string severity = hazard.severity == HazardSeverity::Race ? "" : fmt::format(", {}", toString(hazard.severity));
  std::string text = fmt::format("hazard ({}{}): {}", toString(hazard.kind), severity, side(hazard.second));
  if (!hazard.first.what.empty())
    text += fmt::format("\n  {} {}", hazard.kind == HazardKind::UndefinedData ? "comes from the" : "conflicts with the earlier",
                        side(hazard.first));
  text += fmt::format("\n  missing: {}", hazard.missing);
  if (!hazard.question.empty()) text += fmt::format("\n  relies on the default answer to question {}", hazard.question);
  if (hazard.count > 1) text += fmt::format("\n  seen {} times between these two instructions", hazard.count);
  return text;
}

}  // namespace shiftconv::emulator
