#include "common/device/counters_json.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace shiftconv::device {
namespace {

using emulator::Engine;
using emulator::Traffic;
using Json = nlohmann::ordered_json;

constexpr std::array<const char*, static_cast<size_t>(Engine::Count)> kEngines{"threads", "bulk_copy", "tensor_core", "tensor_copy",
                                                                               "tensor_load_store"};
constexpr std::array<const char*, static_cast<size_t>(Traffic::Count)> kTraffic{"global_read",  "global_write", "shared_read",
                                                                                "shared_write", "tmem_read",    "tmem_write"};

Json bytesJson(const emulator::Counters& counters) {
  Json bytes = Json::object();
  for (size_t engine = 0; engine < kEngines.size(); ++engine)
    for (size_t traffic = 0; traffic < kTraffic.size(); ++traffic)
      if (const uint64_t count = counters.bytes[engine][traffic]) bytes[kEngines[engine]][kTraffic[traffic]] = count;
  return bytes;
}

Json warpsJson(const KernelCounters& kernel) {
  Json warps = Json::array();
  const auto& [warpInstructions, threadInstructions] =
      std::tie(kernel.counters.warpInstructions, kernel.counters.threadInstructions);
  for (size_t i = 0; i < warpInstructions.size(); ++i)
    warps.push_back({{"role", i < kernel.warpRoles.size() ? kernel.warpRoles[i] : fmt::format("warp {}", i)},
                     {"warp_instructions", warpInstructions[i]},
                     {"thread_instructions", i < threadInstructions.size() ? threadInstructions[i] : 0}});
  return warps;
}

Json unprovenJson(const emulator::Counters& counters) {
  Json uses = Json::object();
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions())
    if (const uint64_t count = counters.unprovenUses[static_cast<size_t>(question.id)]) uses[std::string(question.name)] = count;
  return uses;
}

Json hazardsJson(const std::vector<emulator::Hazard>& hazards) {
  const auto side = [](const emulator::HazardAccess& access) {
    return Json{{"what", access.what}, {"thread", access.thread}, {"where", access.where}, {"ptx_line", access.ptxLine}};
  };
  Json list = Json::array();
  for (const emulator::Hazard& hazard : hazards) {
    Json entry{{"kind", toString(hazard.kind)},
               {"severity", toString(hazard.severity)},
               {"missing", hazard.missing},
               {"count", hazard.count}};
    if (!hazard.question.empty()) entry["question"] = hazard.question;
    if (!hazard.first.what.empty()) entry["first"] = side(hazard.first);
    entry["second"] = side(hazard.second);
    list.push_back(std::move(entry));
  }
  return list;
}

Json severitiesJson(const emulator::Counters& counters) {
  Json counts = Json::object();
  for (const emulator::HazardSeverity severity : emulator::kHazardSeverities)
    counts[toString(severity)] = counters.hazards[static_cast<size_t>(severity)];
  return counts;
}

}  // namespace

std::string countersJson(const std::vector<KernelCounters>& kernels) {
  uint64_t launches = 0;
  double hostSeconds = 0;
  Json list = Json::array();
  for (const KernelCounters& kernel : kernels) {
    launches += kernel.launches;
    hostSeconds += kernel.hostSeconds;
    list.push_back({{"kernel", kernel.kernel},
                    {"launches", kernel.launches},
                    {"ctas", kernel.counters.ctas},
                    {"host_seconds", kernel.hostSeconds},
                    {"mma", kernel.counters.mma},
                    {"hazards", hazardsJson(kernel.hazards)},
                    {"hazards_by_severity", severitiesJson(kernel.counters)},
                    {"operations", kernel.counters.operations},
                    {"bytes", bytesJson(kernel.counters)},
                    {"warps", warpsJson(kernel)},
                    {"unproven", unprovenJson(kernel.counters)}});
  }
  return Json{{"launches", launches}, {"host_seconds", hostSeconds}, {"kernels", list}}.dump();
}

}  // namespace shiftconv::device
