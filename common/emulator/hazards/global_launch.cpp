#include "common/emulator/hazards/global_launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/kernel_title.hpp"
#include "common/emulator/machine/report.hpp"
#include "common/emulator/program/program.hpp"

namespace shiftconv::emulator::hazards {

void LaunchRecord::operationCompleted(uint32_t cluster, uint32_t operation, const Completion& completion) {
  const uint64_t key = uint64_t{cluster} << 32 | operation;
  Shard& shard = shardOf(key);
  const std::lock_guard lock(shard.mutex);
  shard.completions[key].push_back(completion);
}

std::vector<Completion> LaunchRecord::completions(uint32_t cluster, uint32_t operation) const {
  const uint64_t key = uint64_t{cluster} << 32 | operation;
  const Shard& shard = shardOf(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.completions.find(key);
  return found == shard.completions.end() ? std::vector<Completion>() : found->second;
}

/// Stores by several clusters to one address may reach memory in another order than they are seen here, so that none of them
/// takes back what another one published.
void LaunchRecord::publish(uint64_t address, const Published& more) {
  Shard& shard = shardOf(address);
  const std::lock_guard lock(shard.mutex);
  Published& there = shard.flags[address];
  there.released = joinForeign(there.released, more.released);
  there.sequenced = joinForeign(there.sequenced, more.sequenced);
  published_.store(true, std::memory_order_release);
}

LaunchRecord::Published LaunchRecord::publishedAt(uint64_t address) const {
  const Shard& shard = shardOf(address);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.flags.find(address);
  return found == shard.flags.end() ? Published{} : found->second;
}

void LaunchRecord::finish() { shards_.reset(); }

HazardAccess LaunchRecord::describe(const GlobalAccess& access, std::string what) const {
  HazardAccess text;
  text.what = std::move(what);
  text.kernel = facts.name;
  if (facts.program == nullptr) {
    text.thread = kHostThread;
    text.where = facts.name;
    if (facts.place && facts.place->stream != kHostStream) text.where += fmt::format(" in stream {:#x}", facts.place->stream);
    return text;
  }
  uint32_t rank, warp;
  std::string lane;
  if (access.isOperation()) {
    rank = access.operationRank();
    warp = access.operationWarp();
  } else {
    const bool whole = access.access().kind() == Access::Kind::Warp;
    const uint32_t index = whole ? access.access().warp() : access.access().thread() / machine::kWarpLanes;
    rank = index / facts.warpsPerCta;
    warp = index % facts.warpsPerCta;
    lane = whole ? ", all lanes" : fmt::format(", lane {}", access.access().thread() % machine::kWarpLanes);
  }
  Extent cta;
  uint32_t cluster = access.cluster;
  for (size_t i = 0; i < cta.size(); ++i) {
    const uint32_t clusters = facts.grid[i] / facts.cluster[i];
    cta[i] = cluster % clusters * facts.cluster[i] + rank % facts.cluster[i];
    cluster /= clusters;
    rank /= facts.cluster[i];
  }
  text.thread = fmt::format("CTA ({},{},{}), warp {}", cta[0], cta[1], cta[2], warp);
  if (warp < facts.warpRoles.size() && !facts.warpRoles[warp].empty()) text.thread += fmt::format(" ({})", facts.warpRoles[warp]);
  text.thread += lane;
  const ptx::Instruction* instruction = sites.at(access.site());
  text.where = machine::describe(facts.program->module, instruction);
  text.ptxLine = lineOf(access);
  if (instruction != nullptr) text.sourceLine = instruction->location.sourceLine;
  return text;
}

std::shared_ptr<LaunchRecord> LaunchTable::begin(LaunchFacts facts) {
  const std::lock_guard lock(mutex_);
  forgetOld(facts.place);
  const uint32_t number = nextNumber_++;
  auto record = std::make_shared<LaunchRecord>(number, std::move(facts), running_);
  running_.push_back(number);
  return records_.emplace(number, std::move(record)).first->second;
}

/// Finished launches that come before everything from now on: the host never takes back what it has waited for. `next`: the place
/// of the launch that begins.
void LaunchTable::forgetOld(const std::optional<StreamPlace>& next) {
  const auto overlapsRunning = [&](uint32_t number) {
    return std::any_of(running_.begin(), running_.end(), [&](uint32_t running) {
      const auto& others = records_.at(running)->runningAtStart;
      return running == number || std::find(others.begin(), others.end(), number) != others.end();
    });
  };
  std::erase_if(records_, [&](const auto& entry) {
    const std::optional<StreamPlace>& place = entry.second->facts.place;
    if (overlapsRunning(entry.first)) return false;
    if (!place || place->stream == kHostStream) return true;  // the host does such work at once
    if (!next) return false;
    const auto waited = next->waited.find(place->stream);
    return waited != next->waited.end() && place->number <= waited->second;
  });
}

void LaunchTable::end(LaunchRecord& record) {
  record.finish();
  const std::lock_guard lock(mutex_);
  std::erase(running_, record.number);
}

std::shared_ptr<const LaunchRecord> LaunchTable::at(uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(number);
  return found == records_.end() ? nullptr : found->second;
}

size_t LaunchTable::size() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

bool LaunchTable::isBefore(uint32_t earlier, const LaunchRecord& later) const {
  const auto& running = later.runningAtStart;
  if (earlier > later.number || std::find(running.begin(), running.end(), earlier) != running.end()) return false;
  const std::shared_ptr<const LaunchRecord> first = at(earlier);
  return first == nullptr || !first->facts.place || !later.facts.place || later.facts.place->isAfter(*first->facts.place);
}

bool LaunchTable::overlap(uint32_t earlier, const LaunchRecord& later) const {
  const std::optional<StreamPlace>& place = later.facts.place;
  if (!place || place->overlapping == 0) return false;
  const std::shared_ptr<const LaunchRecord> first = at(earlier);
  return first != nullptr && first->facts.place && first->facts.place->stream == place->stream &&
         first->facts.place->number >= place->overlapping;
}

bool LaunchTable::anyRunning() const {
  const std::lock_guard lock(mutex_);
  return !running_.empty();
}

std::string missingLaunchOrder(const LaunchRecord& earlier, const LaunchRecord& later) {
  if (!earlier.facts.place || !later.facts.place)
    return fmt::format("{} and {} were launched by host threads that did not wait for each other", earlier.facts.name,
                       later.facts.name);
  if (earlier.facts.place->stream == later.facts.place->stream && later.facts.place->overlapping != 0)
    return fmt::format(
        "{} may still run when {} starts (programmatic dependent launch): griddepcontrol.wait before the access, by its thread or "
        "by "
        "one that this thread has synchronised with since",
        earlier.facts.name, later.facts.name);
  if (earlier.facts.place->stream == later.facts.place->stream)
    return fmt::format("{} and {} overlap although they are in one stream", earlier.facts.name, later.facts.name);
  if (later.facts.place->stream == kHostStream)
    return fmt::format("{} in stream {:#x} may be under way still: synchronize the stream before the {}", earlier.facts.name,
                       earlier.facts.place->stream, later.facts.name);
  return fmt::format(
      "{} is in stream {:#x} and {} in stream {:#x}, and the host did not synchronize the first stream in between: do that, or "
      "use one stream for both",
      earlier.facts.name, earlier.facts.place->stream, later.facts.name, later.facts.place->stream);
}

}  // namespace shiftconv::emulator::hazards
