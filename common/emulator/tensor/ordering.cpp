#include "common/emulator/tensor/ordering.hpp"

#include <algorithm>

namespace shiftconv::emulator::tensor {

bool isOrderedPair(OperationClass first, uint64_t firstAccumulator, OperationClass second, uint64_t secondAccumulator) {
  switch (second) {
    case OperationClass::Mma:
      return first != OperationClass::Mma || firstAccumulator == secondAccumulator;
    case OperationClass::Shift:
      return first == OperationClass::Mma;
    case OperationClass::Copy4x256b:
      return first == OperationClass::Shift;
    case OperationClass::OtherCopy:
      return false;
  }
  return false;
}

namespace {

/// Completed operations that nothing retires are forgotten beyond this many.
constexpr size_t kRememberedOperations = 1024;

bool isOrderedPair(const OrderedOperation& first, const OrderedOperation& second) {
  return isOrderedPair(first.kind, first.accumulator, second.kind, second.accumulator);
}

bool isShiftingPair(const OrderedOperation& first, const OrderedOperation& second) {
  return first.kind == OperationClass::Mma && second.kind == OperationClass::Mma && (first.shiftsOperand || second.shiftsOperand) &&
         first.operand.overlaps(second.operand);
}

/// Two operations of which one writes what the other touches.
bool conflict(const OrderedOperation& first, const OrderedOperation& second) {
  const auto touches = [](const OrderedOperation& operation, const ColumnRange& range) {
    return operation.operand.overlaps(range) || operation.result.overlaps(range) || operation.scaleA.overlaps(range) ||
           operation.scaleB.overlaps(range);
  };
  // An mma writes `result`, every other operation `operand`, which is all it has.
  const auto written = [](const OrderedOperation& operation) {
    return operation.kind == OperationClass::Mma ? operation.result : operation.operand;
  };
  return touches(first, written(second)) || touches(second, written(first));
}

}  // namespace

bool Ordering::isFenced(const Record& earlier, uint32_t thread) const {
  if (earlier.operation.thread == thread) return true;
  const auto acquired = acquiredAt_.find(thread);
  return earlier.releasedAt != 0 && acquired != acquiredAt_.end() && earlier.releasedAt < acquired->second;
}

std::vector<uint64_t> Ordering::allBefore(const std::vector<uint64_t>& direct) const {
  std::vector<uint64_t> all = direct;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto record = std::lower_bound(records_.begin(), records_.end(), all[i],
                                         [](const Record& candidate, uint64_t serial) { return candidate.serial < serial; });
    if (record == records_.end() || record->serial != all[i]) continue;
    for (uint64_t serial : record->before) {
      if (std::find(all.begin(), all.end(), serial) == all.end()) all.push_back(serial);
    }
  }
  return all;
}

std::vector<machine::OperationId> Ordering::predecessors(const OrderedOperation& operation, const Semantics& semantics,
                                                         const machine::AsyncQueue& queue, Counters& counters) {
  std::vector<machine::OperationId> outstanding;
  directlyBefore_.clear();
  std::vector<std::pair<const Record*, Unproven>> asked;
  for (const Record& record : records_) {
    if ((record.operation.ctas & operation.ctas) == 0) continue;
    const bool own = record.operation.thread == operation.thread;
    const bool fenced = isFenced(record, operation.thread);
    const bool bothMultiply = record.operation.kind == OperationClass::Mma && operation.kind == OperationClass::Mma;
    bool ordered = isOrderedPair(record.operation, operation);
    bool assumed = false;
    if (ordered && !fenced) {
      if (conflict(record.operation, operation)) asked.emplace_back(&record, Unproven::U32);
      ordered = semantics[Unproven::U32] == 0;
    } else if (!ordered && fenced && isShiftingPair(record.operation, operation)) {
      asked.emplace_back(&record, Unproven::U17);
      ordered = semantics[Unproven::U17] == 1;
    } else if (!ordered && own && conflict(record.operation, operation)) {
      const Unproven question = bothMultiply ? Unproven::U31 : Unproven::U6;
      asked.emplace_back(&record, question);
      ordered = assumed = semantics[question] == 0;
    }
    if (!ordered) continue;
    if (!assumed) directlyBefore_.push_back(record.serial);
    if (!queue.isComplete(record.id)) outstanding.push_back(record.id);
  }
  if (!asked.empty()) countQuestions(operation, asked, counters);
  return outstanding;
}

/// Every question once: when one of the operations that it was asked of is not ordered by what the listed pairs alone imply.
void Ordering::countQuestions(const OrderedOperation& operation, const std::vector<std::pair<const Record*, Unproven>>& asked,
                              Counters& counters) const {
  std::vector<uint64_t> listed;
  for (const Record& record : records_) {
    const bool direct = std::find(directlyBefore_.begin(), directlyBefore_.end(), record.serial) != directlyBefore_.end();
    if (direct && isOrderedPair(record.operation, operation) && isFenced(record, operation.thread)) listed.push_back(record.serial);
  }
  const std::vector<uint64_t> implied = allBefore(listed);
  std::vector<Unproven> used;
  for (const auto& [record, question] : asked)
    if (std::find(implied.begin(), implied.end(), record->serial) == implied.end() &&
        std::find(used.begin(), used.end(), question) == used.end())
      used.push_back(question);
  for (const Unproven question : used) counters.use(question);
}

std::vector<machine::OperationId> Ordering::directlyBefore() const {
  std::vector<machine::OperationId> ids;
  for (const Record& record : records_)
    if (std::find(directlyBefore_.begin(), directlyBefore_.end(), record.serial) != directlyBefore_.end()) ids.push_back(record.id);
  return ids;
}

void Ordering::remember(const OrderedOperation& operation, machine::OperationId id, const machine::AsyncQueue& queue) {
  if (records_.size() >= kRememberedOperations && queue.isComplete(records_.front().id)) records_.pop_front();
  Record record;
  record.serial = nextSerial_++;
  record.id = id;
  record.operation = operation;
  record.before = std::move(directlyBefore_);
  records_.push_back(std::move(record));
  directlyBefore_.clear();
}

std::vector<machine::OperationId> Ordering::tracked(uint32_t thread, const machine::AsyncQueue& queue) const {
  std::vector<machine::OperationId> result;
  for (const Record& record : records_) {
    if (record.operation.thread == thread && !queue.isComplete(record.id)) result.push_back(record.id);
  }
  return result;
}

void Ordering::commit(uint32_t thread, machine::OperationId id) {
  for (Record& record : records_) {
    if (record.operation.thread == thread && record.coveredBy == 0) record.coveredBy = id;
  }
  release(thread);
}

void Ordering::release(uint32_t thread) {
  ++clock_;
  for (Record& record : records_) {
    if (record.operation.thread == thread && record.releasedAt == 0) record.releasedAt = clock_;
  }
}

void Ordering::acquire(uint32_t thread, const machine::AsyncQueue& queue) {
  acquiredAt_[thread] = ++clock_;
  std::erase_if(records_, [&](const Record& record) { return record.coveredBy != 0 && queue.isComplete(record.coveredBy); });
}

}  // namespace shiftconv::emulator::tensor
