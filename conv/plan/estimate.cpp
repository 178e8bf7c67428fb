#include "conv/plan/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  const auto sizes = tensorBytes(problem);
  for (const size_t tensor : sizes.values) bytes += static_cast<double>(tensor);
  // Strides wider than the filter leave pixels out.
  const auto reached = [](int64_t extent, int64_t positions, int64_t taps) {
    return std::min(1.0, static_cast<double>(positions) * static_cast<double>(taps) / static_cast<double>(extent));
  };
  const double share = reached(problem.imageD(), problem.z(), problem.t) * reached(problem.imageH(), problem.p(), problem.r) *
                       reached(problem.imageW(), problem.q(), problem.s);
  return bytes - (1 - share) * static_cast<double>(sizes[TensorName::Input] + sizes[TensorName::SecondInput]);
}

Estimator::Estimator(const Problem& problem, const Rates& rates) : clockHertz_(rates.clockHertz.perClock) {
  const double taps = static_cast<double>(problem.t * problem.r * problem.s) * static_cast<double>(problem.groupChannels());
  const int64_t pixels = problem.transposed ? problem.inputPixels() : problem.outputPixels();
  once_.flops = 2 * static_cast<double>(pixels) * static_cast<double>(problem.k) * taps;
  once_.bytes = bytesOnce(problem);
  memoryClocks_ = once_.bytes / rates.of(Resource::DeviceMemory);
}

Estimate Estimator::of(double clocks, Resource bound, double around) const {
  Estimate result = once_;
  result.clocks = around + clocks;
  result.bound = memoryClocks_ > clocks ? Resource::DeviceMemory : bound;
  result.seconds = (around + std::max(clocks, memoryClocks_)) / clockHertz_;
  return result;
}

Estimate estimate(const Problem& problem, const Rates& rates, double clocks, Resource bound, double around) {
  return Estimator(problem, rates).of(clocks, bound, around);
}

Roofline rooflineOf(const Problem& p, const device::Properties& properties) {
  constexpr double kOperandBits = 16;  // of the table's tensor core
  const Rates& rates = ratesOf(properties);
  // Wider operands are multiplied more slowly, narrower ones faster; six bits take the room of eight.
  int bits = std::max(bitsOf(p.inputType), bitsOf(p.filterType));
  if (bits == 6) bits = 8;
  const double multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const double pixels = static_cast<double>(p.transposed ? p.inputPixels() : p.outputPixels());
  const double products = pixels * static_cast<double>(p.k) * static_cast<double>(p.t * p.r * p.s * p.groupChannels());
  const double perSecond = rates.of(Resource::TensorCore) * kOperandBits / bits * multiprocessors * rates.clockHertz.perClock;
  return {products / perSecond, bytesOnce(p) / (rates.of(Resource::DeviceMemory) * rates.clockHertz.perClock)};
}

std::string describe(const Estimate& estimate) {
  return fmt::format("{:.2f} us, bound by {}, {:.3g} GFLOP, {:.3g} MB", estimate.seconds * 1e6, nameOf(estimate.bound),
                     estimate.flops * 1e-9, estimate.bytes * 1e-6);
}

}  // namespace shiftconv::plan
