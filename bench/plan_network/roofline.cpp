#include "bench/plan_network/roofline.hpp"

#include <algorithm>

#include "conv/plan/estimate.hpp"

namespace shiftconv::bench {

double rooflineSeconds(const Problem& p, const device::Properties& properties) {
  const plan::Rates& rates = plan::ratesOf(properties);
  double products = rates.of(plan::Resource::TensorCore) * 16 / bitsOf(p.inputType);
  constexpr double kIntegersOfSm103 = 0.15 / 4.5;  // data sheets of B300 and B200, POP/s
  if (isInteger(p.inputType) && properties.computeMajor == 10 && properties.computeMinor == 3) products *= kIntegersOfSm103;
  const double multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const plan::Estimate least = plan::estimate(p, rates, 0, plan::Resource::TensorCore);
  return std::max(least.seconds, least.flops / 2 / (products * multiprocessors * rates.clockHertz.perClock));
}

}  // namespace shiftconv::bench
