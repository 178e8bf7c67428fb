// The cost model that every algorithm's candidates compete under: a piece of work takes as long as its slowest resource.
#pragma once

#include <span>
#include <string>

#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// How much of a resource of one multiprocessor a piece of work uses.
struct Demand {
  Resource resource;
  double amount;
};

struct Bound {
  double clocks = 0;
  Resource resource = Resource::TensorCore;
};

/// The slowest of the demands; the first of equals.
Bound slowest(const Rates& rates, std::span<const Demand> demands);

/// Of a whole plan. A model, not a measurement.
struct Estimate {
  double clocks = 0;                      ///< of the multiprocessor that finishes last
  double seconds = 0;                     ///< of the plan: the clocks, or longer when device memory cannot keep up
  double flops = 0;                       ///< of the convolution: two for each product of a filter tap inside or outside the image
  double bytes = 0;                       ///< every tensor once: what device memory moves at least
  Resource bound = Resource::TensorCore;  ///< what decides `seconds`
};

/// Every tensor of the problem once.
double bytesOnce(const Problem& problem);

/// Makes the estimates of one problem's plans.
class Estimator {
 public:
  Estimator(const Problem& problem, const Rates& rates);
  /// `clocks` and `bound` of the multiprocessor that finishes last; `around` are clocks before and after its work, in which device
  /// memory has nothing to do.
  Estimate of(double clocks, Resource bound, double around = 0) const;

 private:
  Estimate once_;
  double memoryClocks_, clockHertz_;
};

/// Of one plan alone.
Estimate estimate(const Problem& problem, const Rates& rates, double clocks, Resource bound, double around = 0);

/// What no plan can beat: all products at the rate of the tensor cores, or every tensor once through device memory.
struct Roofline {
  double products = 0, memory = 0;  ///< seconds
};
Roofline rooflineOf(const Problem& problem, const device::Properties& properties);

/// "12.3 us, bound by L2 to shared memory, 0.23 GFLOP, 1.5 MB"
std::string describe(const Estimate& estimate);

}  // namespace shiftconv::plan
