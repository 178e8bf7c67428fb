#include "common/emulator/machine/async.hpp"

#include <algorithm>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::machine {
namespace {

/// Notes which operation is completing, until it has completed or failed.
class Completing {
 public:
  Completing(Observer* observer, OperationId id, const IssuePoint*& running, const IssuePoint& issuer)
      : observer_(observer), running_(running) {
    running_ = &issuer;
    if (observer_ != nullptr) observer_->begin(id);
  }
  ~Completing() {
    running_ = nullptr;
    if (observer_ != nullptr) observer_->end();
  }
  Completing(const Completing&) = delete;
  Completing& operator=(const Completing&) = delete;

 private:
  Observer* observer_;
  const IssuePoint*& running_;
};

}  // namespace

AsyncQueue::AsyncQueue(SchedulePolicy policy, uint64_t seed) : policy_(policy), random_(seed) {
  // Some seeds complete operations almost at once, others hardly ever before somebody waits.
  constexpr unsigned kRates = 4;
  const unsigned shift = 1 + 2 * static_cast<unsigned>(random_() % kRates);
  randomThreshold_ = UINT64_MAX >> shift;
}

OperationId AsyncQueue::issue(AsyncOperation operation) {
  const OperationId id = next_++;
  ++issued_[static_cast<size_t>(operation.kind)];
  if (observer != nullptr) observer->issued(id, operation);
  Pending& entry = pending_.emplace_back(Pending{id, std::move(operation)});
  for (const OperationId predecessor : entry.operation.predecessors)
    if (const auto found = index_.find(predecessor); found != index_.end()) {
      found->second->successors.push_back(id);
      ++entry.awaited;
    }
  index_.emplace(id, std::prev(pending_.end()));
  if (entry.awaited == 0) makeEligible(id);
  if (policy_ == SchedulePolicy::Earliest || policy_ == SchedulePolicy::Fair) force(id);
  return id;
}

bool AsyncQueue::isComplete(OperationId id) const { return index_.find(id) == index_.end(); }

void AsyncQueue::makeEligible(OperationId id) {
  if (eligible_.empty() || eligible_.back() < id) {
    eligible_.push_back(id);
  } else {
    eligible_.insert(std::lower_bound(eligible_.begin(), eligible_.end(), id), id);
  }
}

void AsyncQueue::run(Entry entry) {
  // Unlinked first, so that the operation may itself issue or force others.
  std::list<Pending> running;
  const OperationId id = entry->id;
  index_.erase(id);
  eligible_.erase(std::lower_bound(eligible_.begin(), eligible_.end(), id));
  running.splice(running.begin(), pending_, entry);
  for (const OperationId successor : running.front().successors)
    if (--index_.at(successor)->awaited == 0) makeEligible(successor);
  ++completed_;
  const AsyncOperation& operation = running.front().operation;
  try {
    const Completing completing(observer, id, running_, operation.issuer);
    if (operation.complete) operation.complete();
  } catch (const EmulatorError& error) {
    if (!describe) throw;
    throw EmulatorError(error.kind(), std::string(error.what()) + "\n  asynchronous operation " +
                                          std::string(nameOf(operation.kind)) + " issued by " + describe(operation.issuer));
  }
}

void AsyncQueue::force(OperationId id) {
  if (isComplete(id)) return;
  // Everything that must come first, without recursion: chains can be thousands of operations long.
  std::vector<OperationId> needed{id};
  for (size_t i = 0; i < needed.size(); ++i)
    for (OperationId predecessor : index_.at(needed[i])->operation.predecessors)
      if (!isComplete(predecessor) && std::find(needed.begin(), needed.end(), predecessor) == needed.end())
        needed.push_back(predecessor);
  std::sort(needed.begin(), needed.end());  // a predecessor always has the smaller id
  for (OperationId next : needed)
    if (const auto found = index_.find(next); found != index_.end()) run(found->second);
}

void AsyncQueue::forceAll() {
  while (!pending_.empty()) completeOne();
}

void AsyncQueue::runRandomEligible() { run(index_.at(eligible_[random_() % eligible_.size()])); }

void AsyncQueue::randomStep() {
  while (!pending_.empty() && random_() < randomThreshold_) runRandomEligible();
}

bool AsyncQueue::completeOne() {
  if (pending_.empty()) return false;
  if (policy_ == SchedulePolicy::Random) {
    runRandomEligible();
    return true;
  }
  run(index_.at(eligible_.back()));  // the oldest operation is always eligible, so there is one
  return true;
}

std::vector<const AsyncOperation*> AsyncQueue::pending() const {
  std::vector<const AsyncOperation*> operations;
  for (const Pending& entry : pending_) operations.push_back(&entry.operation);
  return operations;
}

}  // namespace shiftconv::emulator::machine
