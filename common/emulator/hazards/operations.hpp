// Asynchronous operations: what each knew when it was issued, and what tells others that it has finished.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "common/emulator/hazards/clock.hpp"
#include "common/emulator/machine/async.hpp"

namespace shiftconv::emulator::hazards {

/// Which order counts.
enum class Rules : uint8_t {
  Isa,       ///< what the PTX ISA promises
  Machine,   ///< and what the machine keeps beyond that: order without tcgen05 fences, and of the ld and st of a warp
  Exits,     ///< and a barrier that counted threads as exited orders what they did
  Releases,  ///< a release by the threads of a warp completes its tcgen05.st; of exits, nothing
};

/// Something whose observation proves that an operation has finished.
struct Completion {
  enum class Kind : uint8_t {
    Barrier,  ///< phase `clock` of mbarrier `index` has completed
    Thread,   ///< thread `index` waited for it, stamp `clock`
    Warp,     ///< warp `index` waited for it together (tcgen05.wait), stamp `clock`
    AnyLane,  ///< warp `index` waited for all of it (wgmma.wait_group), stamp `clock`
  };
  Kind kind;
  uint32_t index;
  uint32_t clock;
  Rules rules = Rules::Isa;  ///< the least that it counts under
};

/// The eyes with which an access looks at earlier ones.
struct View {
  ClockPointer base;        ///< everything its thread has acquired
  ClockPointer tensor;      ///< of that, what a tcgen05.fence::after_thread_sync made count for Tensor Memory
  uint32_t thread = 0;      ///< in the cluster
  uint32_t clock = 0;       ///< its own accesses with this stamp or a lower one come before
  uint32_t proxied = 0;     ///< of these, the ones published to the asynchronous proxy
  uint32_t mapped = 0;      ///< the ones published to the proxy of the tensor maps
  uint32_t sequenced = 0;   ///< the ones with a fence.sc at .gpu or .sys scope after them
  bool collective = false;  ///< by all threads of the warp together
  uint32_t warp() const { return thread / 32; }
};

struct Operation {
  machine::OperationId id = 0;
  machine::OperationKind kind = machine::OperationKind::Count;
  machine::IssuePoint issuer;
  uint32_t ctas = 0;  ///< whose shared memory or Tensor Memory it touched when it completed, bit per CTA
  View view;
  std::vector<View> laneViews;               ///< by lane, when it stands for several: what each knew when it was issued
  bool usesGlobal = false;                   ///< has touched global memory
  bool genericProxy = false;                 ///< cp.async: accesses like ordinary ones
  uint32_t copyingLanes = 0;                 ///< cp.async: lanes that copy together, each of which has to wait for its own share
  machine::AsyncOperation::Pairs pairs;      ///< kind and accumulator; `before` moves to the next member
  std::vector<machine::OperationId> before;  ///< ordered before it by the pairs of tcgen05 or by construction
  std::vector<Completion> completions;
  std::vector<machine::OperationId> coveredBy;  ///< operations that begin only after it: when they have finished, so has it
  size_t firstCommit = SIZE_MAX;                ///< index of the first tcgen05.commit of its thread after it
  /// Operations of pairs: how many mma and shifts its thread had issued before.
  uint64_t mmasBefore = 0, shiftsBefore = 0;
  uint64_t lastSearch = 0;  ///< of OperationTable that came here
};

/// A tcgen05.ld or .st.
inline bool isFragment(const Operation& operation) {
  return operation.kind == machine::OperationKind::TensorLoad || operation.kind == machine::OperationKind::TensorStore;
}

class OperationTable {
 public:
  Operation& add(Operation operation);
  Operation* find(machine::OperationId id);
  /// Many more operations than at the last collect().
  bool isCrowded() const { return operations_.size() > limit_; }
  /// Forgets the operations for which keep(id) is false.
  template <class Keep>
  void collect(Keep&& keep) {
    std::erase_if(operations_, [&](const auto& item) { return !keep(item.first); });
    limit_ = 2 * operations_.size() + kLeastLimit;
    forgetSequences();
  }

  /// An mma, cp or shift: the next commit of its thread tracks it.
  void track(Operation& operation);
  /// The operation is a commit: from now on it stands for everything its thread issued before.
  void commit(Operation& operation);
  /// The observation of this completion proves that the operation, and all that it waited for, has finished.
  void complete(machine::OperationId id, const Completion& completion);

  /// Whether `view` knows that the operation has finished. `tensor`: as far as Tensor Memory is concerned.
  /// `lanes`: of a cp.async, whose shares are asked for.
  bool isKnown(const Operation& operation, const View& view, bool tensor, Rules rules = Rules::Isa,
               machine::LaneMask lanes = machine::kAllLanes);
  /// Whether every one of these lanes of a cp.async that `view` knows to be over has published it to the asynchronous proxy.
  static bool isPublishedCopy(const Operation& copy, const View& view, machine::LaneMask lanes);
  /// Whether `view` knows that an operation of tcgen05 was issued.
  static bool isIssueKnown(const Operation& operation, const View& view, Rules rules = Rules::Isa);
  /// Whether `later` begins only after `earlier` has finished, by the pairs of tcgen05.
  bool isBefore(const Operation& earlier, const Operation& later, Rules rules = Rules::Isa);
  /// Whether `view` has seen the completion.
  template <class Counts>
  static bool speaksFor(const Operation& copy, machine::LaneMask lanes, Counts&& counts);
  static bool proves(const Completion& completion, const View& view, bool tensor, Rules rules = Rules::Isa);
  /// Told of the completions of operations that a thread or an mbarrier shows, and of all that came before these.
  std::function<void(machine::OperationId, const Completion&)> completed;

 private:
  /// The mma and shifts of one thread.
  struct Sequence {
    uint64_t mmas = 0, shifts = 0;
    uint64_t firstMma = 0;               ///< number of the mma that shiftsAtMma begins with
    std::deque<uint64_t> shiftsAtMma{};  ///< by mma: shifts issued before it
  };
  bool isBeforeInThread(const Operation& earlier, const Operation& later) const;
  void forgetSequences();
  std::unordered_map<uint32_t, Sequence> sequences_;  ///< by thread
  struct Commits {
    std::vector<std::vector<Completion>> completions;  ///< of each commit of the thread, oldest first
  };
  static constexpr size_t kLeastLimit = 4096;
  std::unordered_map<machine::OperationId, Operation> operations_;
  std::unordered_map<uint32_t, Commits> commits_;                                      ///< by thread
  std::unordered_map<machine::OperationId, std::pair<uint32_t, size_t>> commitIndex_;  ///< thread and place of a commit
  size_t limit_ = kLeastLimit;
  uint64_t search_ = 0;                     ///< number of this one
  std::vector<machine::OperationId> todo_;  ///< of a search
};

}  // namespace shiftconv::emulator::hazards
