#include "common/emulator/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace shiftconv::emulator {
namespace {

constexpr std::array<const char*, static_cast<size_t>(Engine::Count)> kEngineNames = {"threads", "bulk copy", "tensor core (mma)",
                                                                                      "tensor copy (cp)", "tensor ld/st"};
constexpr std::array<const char*, static_cast<size_t>(Traffic::Count)> kTrafficNames = {"global rd", "global wr", "shared rd",
                                                                                        "shared wr", "TMEM rd",   "TMEM wr"};

void addVector(std::vector<uint64_t>& sum, const std::vector<uint64_t>& other) {
  if (sum.size() < other.size()) sum.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) sum[i] += other[i];
}

template <class Map>
void formatMap(std::string& text, const char* title, const Map& map) {
  if (map.empty()) return;
  fmt::format_to(std::back_inserter(text), "{}\n", title);
  for (const auto& [name, count] : map) fmt::format_to(std::back_inserter(text), "  {:<56} {:>14}\n", name, count);
}

}  // namespace

const char* toString(Engine engine) { return kEngineNames[static_cast<size_t>(engine)]; }
const char* toString(Traffic traffic) { return kTrafficNames[static_cast<size_t>(traffic)]; }

Counters& Counters::operator+=(const Counters& other) {
  for (const auto& [name, count] : other.mma) mma[name] += count;
  for (const auto& [name, count] : other.operations) operations[name] += count;
  for (const auto& [tensor, count] : other.tensorReads) tensorReads[tensor] += count;
  for (size_t engine = 0; engine < bytes.size(); ++engine)
    for (size_t traffic = 0; traffic < bytes[engine].size(); ++traffic) bytes[engine][traffic] += other.bytes[engine][traffic];
  addVector(warpInstructions, other.warpInstructions);
  addVector(threadInstructions, other.threadInstructions);
  for (size_t i = 0; i < unprovenUses.size(); ++i) unprovenUses[i] += other.unprovenUses[i];
  for (size_t i = 0; i < hazards.size(); ++i) hazards[i] += other.hazards[i];
  ctas += other.ctas;
  return *this;
}

std::string formatCounters(const Counters& counters, const std::vector<std::string>& warpRoles) {
  std::string text = fmt::format("CTAs {}\n", counters.ctas);
  auto out = std::back_inserter(text);
  formatMap(text, "MMA instructions", counters.mma);
  formatMap(text, "asynchronous operations", counters.operations);

  fmt::format_to(out, "{:<20}", "bytes");
  for (const char* name : kTrafficNames) fmt::format_to(out, " {:>14}", name);
  text += '\n';
  for (size_t engine = 0; engine < counters.bytes.size(); ++engine) {
    const auto& row = counters.bytes[engine];
    if (std::all_of(row.begin(), row.end(), [](uint64_t count) { return count == 0; })) continue;
    fmt::format_to(out, "  {:<18}", kEngineNames[engine]);
    for (uint64_t count : row) fmt::format_to(out, " {:>14}", count);
    text += '\n';
  }

  fmt::format_to(out, "{:<20} {:>16} {:>20}\n", "instructions", "warp", "thread");
  for (size_t warp = 0; warp < counters.warpInstructions.size(); ++warp) {
    const std::string role = warp < warpRoles.size() && !warpRoles[warp].empty() ? warpRoles[warp] : fmt::format("warp {}", warp);
    const uint64_t threads = warp < counters.threadInstructions.size() ? counters.threadInstructions[warp] : 0;
    fmt::format_to(out, "  {:<18} {:>16} {:>20}\n", role, counters.warpInstructions[warp], threads);
  }

  std::string unproven;
  for (const UnprovenQuestion& question : unprovenQuestions())
    if (const uint64_t uses = counters.unprovenUses[static_cast<size_t>(question.id)])
      fmt::format_to(std::back_inserter(unproven), "  {:<4} {:>12}  {}{}\n", question.name, uses, question.question,
                     question.settledBy.empty() ? "" : " (settled)");
  if (!unproven.empty()) text += "uses of unproven semantics\n" + unproven;

  if (std::any_of(counters.hazards.begin(), counters.hazards.end(), [](uint64_t count) { return count != 0; })) {
    text += "hazards\n";
    for (const HazardSeverity severity : kHazardSeverities)
      fmt::format_to(std::back_inserter(text), "  {:<56} {:>14}\n", toString(severity),
                     counters.hazards[static_cast<size_t>(severity)]);
  }
  return text;
}

}  // namespace shiftconv::emulator
