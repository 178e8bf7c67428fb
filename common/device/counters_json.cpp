#include "common/device/counters_json.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace shiftconv::device {
namespace {

using emulator::Engine;
using emulator::Traffic;

constexpr std::array<const char*, static_cast<size_t>(Engine::Count)> kEngines{"threads", "bulk_copy", "tensor_core", "tensor_copy",
                                                                               "tensor_load_store"};
constexpr std::array<const char*, static_cast<size_t>(Traffic::Count)> kTraffic{"global_read",  "global_write", "shared_read",
                                                                                "shared_write", "tmem_read",    "tmem_write"};

std::string json(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      quoted += fmt::format("\\u{:04x}", c);
    else
      quoted += c;
  }
  return quoted + '"';
}
std::string json(uint64_t number) { return fmt::format("{}", number); }
std::string json(double number) { return fmt::format("{}", number); }

/// Written as text from the start: trees of values allocate where they are destroyed, too, which ends a process whose memory has
/// run out.
class Object {
 public:
  Object& put(std::string_view name, const std::string& value) {
    members_ += fmt::format("{}{}:{}", members_.empty() ? "" : ",", json(name), value);
    return *this;
  }
  bool isEmpty() const { return members_.empty(); }
  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

class Array {
 public:
  void put(const Object& value) { elements_ += (elements_.empty() ? "" : ",") + value.text(); }
  std::string text() const { return "[" + elements_ + "]"; }

 private:
  std::string elements_;
};

template <class Counts>
std::string countsJson(const Counts& counts) {
  Object object;
  for (const auto& [name, count] : counts) object.put(name, json(uint64_t{count}));
  return object.text();
}

std::string bytesJson(const emulator::Counters& counters) {
  Object bytes;
  for (size_t engine = 0; engine < kEngines.size(); ++engine) {
    Object moved;
    for (size_t traffic = 0; traffic < kTraffic.size(); ++traffic)
      if (const uint64_t count = counters.bytes[engine][traffic]) moved.put(kTraffic[traffic], json(count));
    if (!moved.isEmpty()) bytes.put(kEngines[engine], moved.text());
  }
  return bytes.text();
}

std::string warpsJson(const KernelCounters& kernel) {
  Array warps;
  const auto& warpInstructions = kernel.counters.warpInstructions;
  const auto& threadInstructions = kernel.counters.threadInstructions;
  for (size_t i = 0; i < warpInstructions.size(); ++i)
    warps.put(Object()
                  .put("role", json(i < kernel.warpRoles.size() ? kernel.warpRoles[i] : fmt::format("warp {}", i)))
                  .put("warp_instructions", json(warpInstructions[i]))
                  .put("thread_instructions", json(i < threadInstructions.size() ? threadInstructions[i] : uint64_t{0})));
  return warps.text();
}

std::string unprovenJson(const emulator::Counters& counters) {
  Object uses;
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions())
    if (const uint64_t count = counters.unprovenUses[static_cast<size_t>(question.id)]) uses.put(question.name, json(count));
  return uses.text();
}

std::string hazardsJson(const std::vector<emulator::Hazard>& hazards) {
  const auto side = [](const emulator::HazardAccess& access) {
    return Object()
        .put("what", json(access.what))
        .put("thread", json(access.thread))
        .put("where", json(access.where))
        .put("ptx_line", json(uint64_t{access.ptxLine}))
        .text();
  };
  Array list;
  for (const emulator::Hazard& hazard : hazards) {
    Object entry;
    entry.put("kind", json(toString(hazard.kind)))
        .put("severity", json(toString(hazard.severity)))
        .put("missing", json(hazard.missing))
        .put("count", json(uint64_t{hazard.count}));
    if (!hazard.question.empty()) entry.put("question", json(hazard.question));
    if (!hazard.first.what.empty()) entry.put("first", side(hazard.first));
    list.put(entry.put("second", side(hazard.second)));
  }
  return list.text();
}

std::string severitiesJson(const emulator::Counters& counters) {
  Object counts;
  for (const emulator::HazardSeverity severity : emulator::kHazardSeverities)
    counts.put(toString(severity), json(uint64_t{counters.hazards[static_cast<size_t>(severity)]}));
  return counts.text();
}

}  // namespace

std::string countersJson(const std::vector<KernelCounters>& kernels) {
  uint64_t launches = 0;
  double hostSeconds = 0;
  Array list;
  for (const KernelCounters& kernel : kernels) {
    launches += kernel.launches;
    hostSeconds += kernel.hostSeconds;
    list.put(Object()
                 .put("kernel", json(kernel.kernel))
                 .put("launches", json(uint64_t{kernel.launches}))
                 .put("ctas", json(uint64_t{kernel.counters.ctas}))
                 .put("host_seconds", json(kernel.hostSeconds))
                 .put("mma", countsJson(kernel.counters.mma))
                 .put("hazards", hazardsJson(kernel.hazards))
                 .put("hazards_by_severity", severitiesJson(kernel.counters))
                 .put("operations", countsJson(kernel.counters.operations))
                 .put("bytes", bytesJson(kernel.counters))
                 .put("warps", warpsJson(kernel))
                 .put("unproven", unprovenJson(kernel.counters)));
  }
  return Object().put("launches", json(launches)).put("host_seconds", json(hostSeconds)).put("kernels", list.text()).text();
}

}  // namespace shiftconv::device
