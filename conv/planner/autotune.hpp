// A plan by measurement: the planner's candidates run on a device, the fastest is taken, and a file may remember it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/device/status.hpp"
#include "conv/plan/plan.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/kernel_cache.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

struct AutotuneOptions {
  std::string cache;        ///< path of a file of autotune_cache.hpp; empty: nothing is remembered
  std::string version;      ///< of ShiftConv, part of the cache's key
  double seconds = 1;       ///< no measurement is begun after so many of them, but for the planner's own choice
  uint32_t candidates = 0;  ///< so many are measured, in the order of the model; 0: all
};

/// How candidates are timed, and what the limit of seconds counts.
struct AutotuneClock {
  /// Seconds that a device needs for what `enqueue` puts into a stream, run of `plan`.
  std::function<Status(const Plan& plan, const std::function<Status()>& enqueue, double& seconds)> time;
  std::function<double()> now;  ///< seconds since some moment
};
/// Device::time of a stream, and the host's clock.
AutotuneClock deviceClock(device::Device& device, device::Stream stream);

/// Plans as makePlan would, with the fastest of its candidates, or what the cache remembers of this problem, device, driver and
/// version. Candidates run on tensors of its own, which hold random values and are freed again. The planner's choice stays where no
/// other one is faster by more than kTieMargin. Appends to `notes` a sentence for whatever went another way than asked: lines of
/// the cache that were ignored, candidates that failed, a time limit that was reached, a file that cannot be written.
Status autotune(const Problem& problem, KernelCache& kernels, device::Stream stream, const PlanOptions& options,
                const AutotuneOptions& how, const AutotuneClock& clock, std::shared_ptr<const Plan>& plan,
                std::vector<std::string>& notes);

}  // namespace shiftconv::plan
