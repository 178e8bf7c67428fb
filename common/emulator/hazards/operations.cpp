#include "common/emulator/hazards/operations.hpp"

#include <algorithm>

#include "common/emulator/machine/execution.hpp"
#include "common/emulator/tensor/ordering.hpp"

namespace shiftconv::emulator::hazards {

using tensor::OperationClass;

namespace {

/// Of an operation that pairs speak of.
OperationClass classOf(const Operation& operation) { return static_cast<OperationClass>(operation.pairs.kind - 1); }

bool isListedPair(const Operation& earlier, const Operation& later) {
  return tensor::isOrderedPair(classOf(earlier), earlier.pairs.accumulator, classOf(later), later.pairs.accumulator);
}

}  // namespace

Operation& OperationTable::add(Operation operation) {
  const machine::OperationId id = operation.id;
  for (machine::OperationId earlier : operation.before)
    if (Operation* found = find(earlier); found != nullptr && found->view.thread != operation.view.thread)
      found->coveredBy.push_back(id);
  if (operation.pairs.kind != 0) {
    Sequence& sequence = sequences_[operation.view.thread];
    operation.mmasBefore = sequence.mmas;
    operation.shiftsBefore = sequence.shifts;
    switch (classOf(operation)) {
      case OperationClass::Mma:
        ++sequence.mmas;
        sequence.shiftsAtMma.push_back(sequence.shifts);
        break;
      case OperationClass::Shift:
        ++sequence.shifts;
        break;
      default:
        break;
    }
  }
  return operations_.insert_or_assign(id, std::move(operation)).first->second;
}

Operation* OperationTable::find(machine::OperationId id) {
  const auto found = operations_.find(id);
  return found == operations_.end() ? nullptr : &found->second;
}

void OperationTable::track(Operation& operation) {
  Commits& commits = commits_[operation.view.thread];
  operation.firstCommit = commits.completions.size();
}

void OperationTable::commit(Operation& operation) {
  Commits& commits = commits_[operation.view.thread];
  commitIndex_[operation.id] = {operation.view.thread, commits.completions.size()};
  commits.completions.emplace_back();
}

void OperationTable::complete(machine::OperationId id, const Completion& completion) {
  if (const auto commit = commitIndex_.find(id); commit != commitIndex_.end()) {
    commits_[commit->second.first].completions[commit->second.second].push_back(completion);
    return;
  }
  std::vector<machine::OperationId> todo{id};
  while (!todo.empty()) {
    Operation* operation = find(todo.back());
    todo.pop_back();
    if (operation == nullptr) continue;
    operation->completions.push_back(completion);
    if (operation->usesGlobal) completed(operation->id, completion);
    todo.insert(todo.end(), operation->before.begin(), operation->before.end());
  }
}

bool OperationTable::proves(const Completion& completion, const View& view, bool tensor, Rules rules) {
  if (completion.rules > rules) return false;
  if (rules != Rules::Isa) tensor = false;
  const auto knows = [&](const std::vector<uint32_t>& known, uint32_t thread) {
    if (thread == view.thread) return completion.clock <= view.clock;
    return entry(known, thread) >= completion.clock ||
           (rules == Rules::Exits && entry(view.base->exited, thread) >= completion.clock);
  };
  switch (completion.kind) {
    case Completion::Kind::Barrier:
      return entry((tensor ? view.tensor : view.base)->barrier, completion.index) >= completion.clock;
    case Completion::Kind::Thread:
      return knows(view.base->generic, completion.index);
    case Completion::Kind::Warp: {
      // Every thread waited for its own share; who was told by one of them knows nothing about the others.
      if (view.collective && completion.index == view.warp()) return completion.clock <= view.clock;
      const std::vector<uint32_t>& known = tensor ? view.tensor->tensor : view.base->generic;
      const uint32_t first = completion.index * machine::kWarpLanes;
      for (uint32_t thread = first; thread < first + machine::kWarpLanes; ++thread)
        if (!knows(known, thread)) return false;
      return true;
    }
    case Completion::Kind::AnyLane: {
      const uint32_t first = completion.index * machine::kWarpLanes;
      for (uint32_t thread = first; thread < first + machine::kWarpLanes; ++thread)
        if (knows(view.base->generic, thread)) return true;
      return false;
    }
  }
  return false;
}

/// Whether the completions that count show it for every copying lane among `lanes`: an mbarrier speaks for all of them, a wait only
/// for the lane that waited.
template <class Counts>
bool OperationTable::speaksFor(const Operation& copy, machine::LaneMask lanes, Counts&& counts) {
  uint32_t open = copy.copyingLanes & lanes;
  for (const Completion& completion : copy.completions) {
    if (!counts(completion)) continue;
    if (completion.kind != Completion::Kind::Thread) return true;
    open &= ~(uint32_t{1} << completion.index % machine::kWarpLanes);
  }
  return open == 0;
}

bool OperationTable::isPublishedCopy(const Operation& copy, const View& view, machine::LaneMask lanes) {
  return speaksFor(copy, lanes, [&](const Completion& completion) {
    if (completion.kind != Completion::Kind::Thread) return true;
    return completion.index == view.thread ? completion.clock <= view.proxied
                                           : entry(view.base->proxied, completion.index) >= completion.clock;
  });
}

bool OperationTable::isKnown(const Operation& operation, const View& view, bool tensor, Rules rules, machine::LaneMask lanes) {
  const auto any = [&](const std::vector<Completion>& completions) {
    return std::any_of(completions.rbegin(), completions.rend(),
                       [&](const Completion& completion) { return proves(completion, view, tensor, rules); });
  };
  if (operation.copyingLanes == 0 && any(operation.completions)) return true;
  if (operation.copyingLanes != 0 &&
      speaksFor(operation, lanes, [&](const Completion& completion) { return proves(completion, view, tensor, rules); }))
    return true;
  if (operation.firstCommit != SIZE_MAX) {
    const auto& commits = commits_[operation.view.thread].completions;
    for (size_t i = operation.firstCommit; i < commits.size(); ++i)
      if (any(commits[i])) return true;
  }
  return std::any_of(operation.coveredBy.begin(), operation.coveredBy.end(), [&](machine::OperationId id) {
    const Operation* later = find(id);
    return later != nullptr && isKnown(*later, view, tensor, rules, lanes);
  });
}

bool OperationTable::isIssueKnown(const Operation& operation, const View& view, Rules rules) {
  if (operation.view.thread == view.thread) return true;
  const std::vector<uint32_t>& known = rules == Rules::Isa ? view.tensor->tensor : view.base->generic;
  return entry(known, operation.view.thread) >= operation.view.clock;
}

/// What the listed pairs imply for two operations of one thread, directly or through others in between. From the first mma after a
/// copy or shift on, every shift is after it; from the first shift after an mma on, every mma and every cp.4x256b.
bool OperationTable::isBeforeInThread(const Operation& earlier, const Operation& later) const {
  if (isListedPair(earlier, later)) return true;
  const uint64_t firstMma = earlier.mmasBefore + (classOf(earlier) == OperationClass::Mma ? 1 : 0);
  const uint64_t firstShift = earlier.shiftsBefore + (classOf(earlier) == OperationClass::Shift ? 1 : 0);
  const bool mmaBetween = later.mmasBefore > firstMma;
  switch (classOf(later)) {
    case OperationClass::Mma:  // with another accumulator
      return later.shiftsBefore > firstShift;
    case OperationClass::Shift:
      return mmaBetween;
    case OperationClass::Copy4x256b: {
      if (classOf(earlier) == OperationClass::Mma) return later.shiftsBefore > firstShift;
      if (!mmaBetween) return false;
      const Sequence& sequence = sequences_.at(earlier.view.thread);
      return later.shiftsBefore > sequence.shiftsAtMma[firstMma - sequence.firstMma];
    }
    case OperationClass::OtherCopy:
      return false;
  }
  return false;
}

void OperationTable::forgetSequences() {
  std::unordered_map<uint32_t, uint64_t> needed;
  for (const auto& [id, operation] : operations_) {
    if (operation.pairs.kind == 0) continue;
    const auto entry = needed.try_emplace(operation.view.thread, operation.mmasBefore).first;
    entry->second = std::min(entry->second, operation.mmasBefore);
  }
  for (auto& [thread, sequence] : sequences_) {
    const auto found = needed.find(thread);
    const uint64_t first = found == needed.end() ? sequence.mmas : found->second;
    for (; sequence.firstMma < first; ++sequence.firstMma) sequence.shiftsAtMma.pop_front();
  }
}

bool OperationTable::isBefore(const Operation& earlier, const Operation& later, Rules rules) {
  // Pairs speak of the order of issue; a schedule may have run the two the other way round.
  if (earlier.id > later.id) return false;
  if (earlier.pairs.kind != 0 && later.pairs.kind != 0 && (earlier.pairs.ctas & later.pairs.ctas) != 0) {
    if (earlier.view.thread == later.view.thread ? isBeforeInThread(earlier, later)
                                                 : isListedPair(earlier, later) && isIssueKnown(earlier, later.view, rules))
      return true;
  }
  ++search_;
  todo_ = later.before;
  while (!todo_.empty()) {
    const machine::OperationId id = todo_.back();
    todo_.pop_back();
    if (id == earlier.id) return true;
    if (id < earlier.id) continue;  // whatever is before it is older still
    Operation* operation = find(id);
    if (operation == nullptr || operation->lastSearch == search_) continue;
    operation->lastSearch = search_;
    todo_.insert(todo_.end(), operation->before.begin(), operation->before.end());
  }
  return false;
}

}  // namespace shiftconv::emulator::hazards
