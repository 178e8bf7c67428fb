// Operations that run behind the issuing thread's back, and the policy that decides when they finish.
//
// An operation performs all of its reads and writes in `complete`, at one instant chosen by the policy
// among all instants that its predecessors allow. Kernels whose result depends on the choice are wrong.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/emulator/machine/execution.hpp"
#include "common/emulator/machine/observer.hpp"
#include "common/emulator/machine/operation_kind.hpp"
#include "common/emulator/options.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::machine {

/// 1, 2, ... in issue order within a cluster; 0 means none.
using OperationId = uint64_t;

/// Who issued an operation, for messages.
struct IssuePoint {
  uint32_t ctaRank = 0;
  uint32_t warp = 0;
  uint32_t lane = 0;
  const ptx::Instruction* instruction = nullptr;
};

struct AsyncOperation {
  OperationKind kind = OperationKind::Count;
  IssuePoint issuer;
  std::vector<OperationId> predecessors;  ///< must be complete before this one may run
  std::function<void()> complete;         ///< may throw EmulatorError; the queue adds the issue point
  /// For observers: what the execution-ordered pairs of tcgen05 say about it (tensor/ordering.hpp).
  struct Pairs {
    uint8_t kind = 0;            ///< a tensor::OperationClass plus one; 0: in no pair
    uint64_t accumulator = 0;    ///< of an mma: address and shape
    uint32_t ctas = 0;           ///< whose Tensor Memory it touches, bit per CTA
    bool shiftsOperand = false;  ///< an mma with .ashift
    /// What listed pairs and chosen alternatives put before it, complete or not; defaults of open questions are left out.
    std::vector<OperationId> before{};
  } pairs{};
  LaneMask lanes = 0;  ///< of the issuing warp that it stands for, when it stands for several
};

/// The outstanding operations of one cluster. Issued operations are counted by kind here (Counters::operations). Not thread safe: a
/// cluster runs on one host thread.
class AsyncQueue {
 public:
  AsyncQueue(SchedulePolicy policy, uint64_t seed);

  /// Under Earliest the operation (and whatever it waits for) completes before this returns.
  OperationId issue(AsyncOperation operation);
  bool isComplete(OperationId id) const;
  /// Completes `id` now, its predecessors first.
  void force(OperationId id);
  void forceAll();
  /// Issuer of the operation that is completing; nullptr when none is.
  const IssuePoint* running() const { return running_; }
  bool empty() const { return pending_.empty(); }
  size_t size() const { return pending_.size(); }

  /// Random policy: maybe completes some operations; called between warp instructions.
  void tick() {
    if (policy_ == SchedulePolicy::Random && !pending_.empty()) randomStep();
  }
  /// Called when no warp can run: completes one eligible operation chosen by the policy.
  /// Returns false when nothing is pending.
  bool completeOne();
  /// For deadlock reports.
  std::vector<const AsyncOperation*> pending() const;
  /// Number of operations that have completed so far.
  uint64_t completed() const { return completed_; }
  uint64_t issuedCount() const { return next_ - 1; }
  /// Issued operations by kind.
  const std::array<uint64_t, kOperationKinds>& issued() const { return issued_; }
  /// Turns an issue point into text for errors raised by operations; set by the cluster.
  std::function<std::string(const IssuePoint&)> describe;
  /// Told of every operation; nullptr: nobody watches.
  Observer* observer = nullptr;

 private:
  struct Pending {
    OperationId id;
    AsyncOperation operation;
    size_t awaited = 0;                     ///< predecessors that have not completed
    std::vector<OperationId> successors{};  ///< that await this one
  };
  using Entry = std::list<Pending>::iterator;
  void makeEligible(OperationId id);
  void run(Entry entry);
  void runRandomEligible();
  void randomStep();
  SchedulePolicy policy_;
  std::mt19937_64 random_;
  const IssuePoint* running_ = nullptr;
  OperationId next_ = 1;
  uint64_t randomThreshold_ = 0;  ///< a random step completes an operation when the generator is below this
  uint64_t completed_ = 0;
  std::array<uint64_t, kOperationKinds> issued_{};
  std::list<Pending> pending_;  ///< in issue order
  std::unordered_map<OperationId, Entry> index_;
  std::vector<OperationId> eligible_;  ///< those of pending_ that await nothing, in issue order
};

}  // namespace shiftconv::emulator::machine
