// Which tcgen05 operations wait for which (PTX ISA 9.7.16.6).
//
// Asynchronous tcgen05 operations may finish in any order except for these pairs (9.7.16.6.2), first -> second:
//   mma -> mma with the same accumulator and the same shape, cp -> mma, shift -> mma, shift -> cp.4x256b, mma -> shift.
// A pair holds when both were issued by one thread, or when the first one's thread executed
// tcgen05.fence::before_thread_sync (or a commit, which implies it) after it and the second one's thread executed
// tcgen05.fence::after_thread_sync since. Whether a synchronisation between the two threads really happened is not
// checked: every fence gets the next number of one counter per CTA pair and numbers are compared, so the test errs on the
// side of order; only the hazard checker tells. tcgen05.ld and .st appear in no pair (fragment_forms.cpp).
//
// Shipped programs rely on more order than that, and the defaults of four questions give it to them: operations of one thread
// that conflict follow each other in issue order (U6; between two mma U31), and a synchronisation counts without the fences
// (U32). .ashift and an mma with another accumulator on the same A stay unordered (U17). The alternatives keep to the listed pairs,
// and schedules that complete operations late or at random show what that changes.
//
// A use of a question is counted when an operation conflicts with an earlier one that is not ordered before it by listed pairs,
// directly or through others, and that no commit has retired. The earlier one retires when a commit that covers it has
// completed and somebody has executed fence::after_thread_sync since.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/emulator/counters.hpp"
#include "common/emulator/machine/async.hpp"
#include "common/emulator/options.hpp"

namespace shiftconv::emulator::tensor {

enum class OperationClass : uint8_t { Mma, Copy4x256b, OtherCopy, Shift };

struct ColumnRange {
  uint32_t first = 0;
  uint32_t count = 0;
  bool overlaps(const ColumnRange& other) const { return first < other.first + other.count && other.first < first + count; }
};

/// What the order of an operation depends on.
struct OrderedOperation {
  OperationClass kind = OperationClass::Mma;
  uint32_t thread = 0;       ///< unique in the cluster
  uint32_t ctas = 0;         ///< bit per CTA of the cluster whose Tensor Memory it touches
  uint64_t accumulator = 0;  ///< mma: address, shape and kind in one number
  bool shiftsOperand = false;
  ColumnRange operand;         ///< mma: A in Tensor Memory (count 0: none); cp, shift: the columns written
  ColumnRange result;          ///< mma: D
  ColumnRange scaleA, scaleB;  ///< block-scaled mma: the columns of the scale factors
};

/// The execution-ordered pairs of PTX ISA 9.7.16.6.2.
bool isOrderedPair(OperationClass first, uint64_t firstAccumulator, OperationClass second, uint64_t secondAccumulator);

class Ordering {
 public:
  /// The operations that must complete before `operation` may.
  std::vector<machine::OperationId> predecessors(const OrderedOperation& operation, const Semantics& semantics,
                                                 const machine::AsyncQueue& queue, Counters& counters);
  /// The operations ordered before the one of the last predecessors() by listed pairs, or because of a chosen alternative, with
  /// those that were complete already.
  std::vector<machine::OperationId> directlyBefore() const;
  /// Remembers an operation that was just issued with the predecessors of the last call.
  void remember(const OrderedOperation& operation, machine::OperationId id, const machine::AsyncQueue& queue);
  /// What a commit by `thread` tracks: all its earlier operations that are still outstanding.
  std::vector<machine::OperationId> tracked(uint32_t thread, const machine::AsyncQueue& queue) const;
  /// A commit with this id covers every earlier operation of the thread; implies release().
  void commit(uint32_t thread, machine::OperationId id);
  /// tcgen05.fence::before_thread_sync and ::after_thread_sync.
  void release(uint32_t thread);
  void acquire(uint32_t thread, const machine::AsyncQueue& queue);

 private:
  struct Record {
    uint64_t serial = 0;
    machine::OperationId id = 0;
    OrderedOperation operation;
    uint64_t releasedAt = 0;             ///< number of the first release of its thread after it; 0: none
    machine::OperationId coveredBy = 0;  ///< the first commit after it
    std::vector<uint64_t> before;        ///< serials of the records ordered directly before it
  };
  /// Whether fences let the operation take part in pairs with one of `thread`.
  bool isFenced(const Record& earlier, uint32_t thread) const;
  void countQuestions(const OrderedOperation& operation, const std::vector<std::pair<const Record*, Unproven>>& asked,
                      Counters& counters) const;
  std::vector<uint64_t> allBefore(const std::vector<uint64_t>& direct) const;
  std::deque<Record> records_;  ///< not retired, in issue order
  std::unordered_map<uint32_t, uint64_t> acquiredAt_;
  std::vector<uint64_t> directlyBefore_;  ///< of the operation about to be remembered
  uint64_t clock_ = 0;
  uint64_t nextSerial_ = 1;
};

}  // namespace shiftconv::emulator::tensor
