// What an event knows to have happened before it: vector clocks.
//
// Threads of a warp share one counter, which rises with every release by one of its lanes; an access is stamped with
// the counter of its warp. A clock holds, per thread, the highest stamp whose accesses are known to be finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/emulator/hazards/local_pointer.hpp"

namespace shiftconv::emulator::hazards {

struct ForeignClocks;

/// Missing entries are 0: stamps start at 1, so nothing is known.
struct Clock {
  std::vector<uint32_t> generic;    ///< by thread of the cluster: its accesses through the generic proxy
  std::vector<uint32_t> proxied;    ///< the same, published to the asynchronous proxy by fence.proxy.async
  std::vector<uint32_t> tensor;     ///< by thread of the cluster: its tcgen05 instructions before a fence::before_thread_sync
  std::vector<uint32_t> barrier;    ///< by mbarrier: its completed phases
  std::vector<uint32_t> setUp;      ///< by thread of the cluster: of its accesses only mbarrier.init and collective allocations
  std::vector<uint32_t> mapped;     ///< as generic, published to the tensor-map proxy by a fence.proxy.tensormap release
  std::vector<uint32_t> exited;     ///< as generic, of threads that had exited: barriers count them, and order nothing behind them
  std::vector<uint32_t> sequenced;  ///< as generic, of accesses with a fence.sc at .gpu or .sys scope after them
  std::vector<uint32_t> observed;   ///< sequenced accesses that a strong read has seen: the next fence.sc makes them generic
  std::shared_ptr<const ForeignClocks> foreign;  ///< what is known of other clusters of the launch; nullptr: nothing
  std::shared_ptr<const ForeignClocks> foreignSequenced, foreignObserved;  ///< the same of other clusters
  bool prerequisites = false;  ///< griddepcontrol.wait: launches that this one overlaps have finished

  void join(const Clock& other);
  /// What both know; of other clusters, nothing is kept unless both know the same.
  void meet(const Clock& other);
  /// Every access that is known counts as published to the asynchronous proxy, or to the tensor-map proxy.
  void publishToAsyncProxy();
  void publishToMapProxy();
  /// A fence.sc at .gpu or .sys scope: what is known has it behind itself, and what was observed before it is known.
  void passSequentialFence();
};

/// Shared and never changed: threads that synchronised with each other have the same one. Of one cluster.
using ClockPointer = LocalPointer<const Clock>;

/// By cluster index: what is known of the threads of other clusters, each as that cluster numbers them. These clocks have no
/// `foreign` of their own.
struct ForeignClocks {
  std::map<uint32_t, std::shared_ptr<const Clock>> clusters;
};
using ForeignPointer = std::shared_ptr<const ForeignClocks>;
/// Everything that one of them knows.
ForeignPointer joinForeign(const ForeignPointer& a, const ForeignPointer& b);

inline uint32_t entry(const std::vector<uint32_t>& values, size_t index) { return index < values.size() ? values[index] : 0; }
/// Raises an entry to at least `value`.
void raise(std::vector<uint32_t>& values, size_t index, uint32_t value);

/// Joins clocks; many threads join the same two, so the last result is kept.
class ClockJoiner {
 public:
  ClockPointer operator()(const ClockPointer& a, const ClockPointer& b);

 private:
  ClockPointer a_, b_, result_;
};

}  // namespace shiftconv::emulator::hazards
