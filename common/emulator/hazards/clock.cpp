#include "common/emulator/hazards/clock.hpp"

#include <algorithm>
#include <utility>

namespace shiftconv::emulator::hazards {
namespace {

void joinInto(std::vector<uint32_t>& mine, const std::vector<uint32_t>& other) {
  if (mine.size() < other.size()) mine.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) mine[i] = std::max(mine[i], other[i]);
}

void meetInto(std::vector<uint32_t>& mine, const std::vector<uint32_t>& other) {
  mine.resize(std::min(mine.size(), other.size()));
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = std::min(mine[i], other[i]);
}

/// Applies change(clock) to a copy of every clock.
template <class Change>
ForeignPointer changed(const ForeignPointer& foreign, Change&& change) {
  if (!foreign) return nullptr;
  auto result = std::make_shared<ForeignClocks>();
  for (const auto& [cluster, clock] : foreign->clusters) {
    auto copy = std::make_shared<Clock>(*clock);
    change(*copy);
    result->clusters.emplace(cluster, std::move(copy));
  }
  return result;
}

}  // namespace

ForeignPointer joinForeign(const ForeignPointer& a, const ForeignPointer& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  auto joined = std::make_shared<ForeignClocks>(*a);
  for (const auto& [cluster, clock] : b->clusters) {
    const auto [mine, isNew] = joined->clusters.emplace(cluster, clock);
    if (isNew || mine->second == clock) continue;
    auto both = std::make_shared<Clock>(*mine->second);
    both->join(*clock);
    mine->second = std::move(both);
  }
  return joined;
}

void Clock::publishToAsyncProxy() {
  joinInto(proxied, generic);
  foreign = changed(foreign, [](Clock& clock) { clock.publishToAsyncProxy(); });
}

void Clock::publishToMapProxy() {
  joinInto(mapped, generic);
  foreign = changed(foreign, [](Clock& clock) { clock.publishToMapProxy(); });
}

void Clock::passSequentialFence() {
  joinInto(generic, observed);
  observed.clear();
  foreign = joinForeign(foreign, std::exchange(foreignObserved, nullptr));
  joinInto(sequenced, generic);
  foreignSequenced = foreign;
}

void Clock::join(const Clock& other) {
  joinInto(generic, other.generic);
  joinInto(proxied, other.proxied);
  joinInto(tensor, other.tensor);
  joinInto(barrier, other.barrier);
  joinInto(setUp, other.setUp);
  joinInto(mapped, other.mapped);
  joinInto(exited, other.exited);
  joinInto(sequenced, other.sequenced);
  joinInto(observed, other.observed);
  foreign = joinForeign(foreign, other.foreign);
  foreignSequenced = joinForeign(foreignSequenced, other.foreignSequenced);
  foreignObserved = joinForeign(foreignObserved, other.foreignObserved);
  prerequisites = prerequisites || other.prerequisites;
}

void Clock::meet(const Clock& other) {
  meetInto(generic, other.generic);
  meetInto(proxied, other.proxied);
  meetInto(tensor, other.tensor);
  meetInto(barrier, other.barrier);
  meetInto(setUp, other.setUp);
  meetInto(mapped, other.mapped);
  meetInto(exited, other.exited);
  meetInto(sequenced, other.sequenced);
  meetInto(observed, other.observed);
  if (foreign != other.foreign) foreign = nullptr;
  if (foreignSequenced != other.foreignSequenced) foreignSequenced = nullptr;
  if (foreignObserved != other.foreignObserved) foreignObserved = nullptr;
  prerequisites = prerequisites && other.prerequisites;
}

void raise(std::vector<uint32_t>& values, size_t index, uint32_t value) {
  if (values.size() <= index) values.resize(index + 1);
  values[index] = std::max(values[index], value);
}

ClockPointer ClockJoiner::operator()(const ClockPointer& a, const ClockPointer& b) {
  if (a == b) return a;
  if (a_ == a && b_ == b) return result_;
  auto joined = LocalPointer<Clock>::make(*a);
  joined->join(*b);
  a_ = a;
  b_ = b;
  return result_ = std::move(joined);
}

}  // namespace shiftconv::emulator::hazards
