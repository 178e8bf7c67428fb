#include "conv/plan/estimate.hpp"

#include <fmt/format.h>

#include "conv/problem/tensors.hpp"

namespace shiftconv::plan {

Bound slowest(const Rates& rates, std::span<const Demand> demands) {
  Bound bound;
  for (const Demand& demand : demands) {
    const double clocks = demand.amount / rates.of(demand.resource);
    if (clocks > bound.clocks) bound = {clocks, demand.resource};
  }
  return bound;
}

double bytesOnce(const Problem& problem) {
  double bytes = 0;
  for (const size_t tensor : tensorBytes(problem).values) bytes += static_cast<double>(tensor);
  return bytes;
}

Estimate estimate(const Problem& problem, const Rates& rates, double clocks, Resource bound) {
  Estimate result;
  result.clocks = clocks;
  result.bound = bound;
  const double taps = static_cast<double>(problem.t * problem.r * problem.s) * static_cast<double>(problem.groupChannels());
  result.flops = 2 * static_cast<double>(problem.outputPixels()) * static_cast<double>(problem.k) * taps;
  result.bytes = bytesOnce(problem);
  const double memoryClocks = result.bytes / rates.of(Resource::DeviceMemory);
  if (memoryClocks > clocks) result.bound = Resource::DeviceMemory;
  result.seconds = std::max(clocks, memoryClocks) / rates.clockHertz.perClock;
  return result;
}

std::string describe(const Estimate& estimate) {
  return fmt::format("{:.2f} us, bound by {}, {:.3g} GFLOP, {:.3g} MB", estimate.seconds * 1e6, nameOf(estimate.bound),
                     estimate.flops * 1e-9, estimate.bytes * 1e-6);
}

}  // namespace shiftconv::plan
