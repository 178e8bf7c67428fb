#include "common/emulator/hazard_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/emulator/kernel_title.hpp"

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
  const std::string kernel = hazard.second.kernel;
  const auto side = [&](const HazardAccess& access) {
    const bool named = access.kernel == kernel || access.thread == kHostThread;
    const std::string other = named ? "" : fmt::format(" of kernel {}", kernelTitle(access.kernel));
    return fmt::format("{}\n    by {}{}\n    at {}", access.what, access.thread, other, access.where);
  };
  const std::string severity = hazard.severity == HazardSeverity::Race ? "" : fmt::format(", {}", toString(hazard.severity));
  const std::string title = hazard.second.thread == kHostThread ? kernel : "kernel " + kernelTitle(kernel);
  std::string text = fmt::format("hazard ({}{}) in {}: {}", toString(hazard.kind), severity, title, side(hazard.second));
  if (!hazard.first.what.empty())
    text += fmt::format("\n  {} {}", hazard.kind == HazardKind::UndefinedData ? "comes from the" : "conflicts with the earlier",
                        side(hazard.first));
  text += fmt::format("\n  missing: {}", hazard.missing);
  if (!hazard.question.empty()) text += fmt::format("\n  relies on the default answer to question {}", hazard.question);
  if (hazard.count > 1) text += fmt::format("\n  seen {} times between these two instructions", hazard.count);
  return text;
}

namespace {

/// "(gemm.cu:45)", or the instruction where the source is not known.
std::string_view placeOf(const HazardAccess& access) {
  const std::string_view where = access.where;
  const size_t open = where.find('('), close = where.find("): ");
  return access.sourceLine == 0 || open > close || close == std::string_view::npos ? where : where.substr(open, close - open);
}

}  // namespace

std::vector<HazardGroup> groupHazards(const std::vector<Hazard>& hazards) {
  std::vector<HazardGroup> groups;
  std::map<std::string, size_t> numbers;
  for (const Hazard& hazard : hazards) {
    std::string key = fmt::format("{}|{}|{}|{}|{}", toString(hazard.kind), toString(hazard.severity), hazard.second.kernel,
                                  placeOf(hazard.second), hazard.missing);
    const auto [entry, isNew] = numbers.try_emplace(key, groups.size());
    if (isNew) {
      groups.push_back({hazard, 1, std::move(key)});
      continue;
    }
    HazardGroup& group = groups[entry->second];
    ++group.pairs;
    group.hazard.count += hazard.count;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const HazardGroup& a, const HazardGroup& b) { return a.hazard.severity < b.hazard.severity; });
  return groups;
}

std::string describe(const HazardGroup& group) {
  if (group.pairs == 1) return describe(group.hazard);
  Hazard first = group.hazard;
  first.count = 1;
  return fmt::format("{}\n  so do {} other pairs of instructions of that line; seen {} times in all", describe(first),
                     group.pairs - 1, group.hazard.count);
}

std::string summariseHazards(const std::array<uint64_t, static_cast<size_t>(HazardSeverity::Count)>& counts) {
  uint64_t all = 0;
  std::string kinds;
  for (const HazardSeverity severity : kHazardSeverities) {
    const uint64_t count = counts[static_cast<size_t>(severity)];
    all += count;
    if (count != 0) kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, toString(severity));
  }
  if (all == 0) return "no hazards";
  return fmt::format("{} different hazard{} ({})", all, all == 1 ? "" : "s", kinds);
}

}  // namespace shiftconv::emulator
