#include "examples/feature_maps/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/numerics/float16.hpp"
#include "conv/problem/text.hpp"
#include "conv/reference/convolution.hpp"

namespace feature_maps {

namespace {

shiftconv::Problem referenceProblem(const shiftconv::Convolution& c) {
  shiftconv::Problem problem;
  if (const shiftconv::Status status = shiftconv::parse(c.describe(), problem); !status.ok())
    throw std::logic_error(status.message());
  return problem;
}

}  // namespace

Verification& Verification::operator+=(const Verification& other) {
  elements += other.elements;
  if (exceeded == 0) firstExceeded = other.firstExceeded;
  exceeded += other.exceeded;
  worstRatio = std::max(worstRatio, other.worstRatio);
  worstError = std::max(worstError, other.worstError);
  return *this;
}

Verification verify(const Layer& layer, const std::vector<uint16_t>& input, const void* output, bool fastNumerics) {
  using shiftconv::reference::Accumulation;
  const shiftconv::Problem problem = referenceProblem(layer.problem);
  const shiftconv::reference::Expectation expected = shiftconv::reference::convolve(
      problem, {input, layer.filter, layer.bias}, fastNumerics ? Accumulation::FusedMultiplyAdd : Accumulation::TensorCore);

  Verification found;
  found.elements = static_cast<int64_t>(expected.value.size());
  for (size_t i = 0; i < expected.value.size(); ++i) {
    const auto k = static_cast<int64_t>(i) % problem.k, pixel = static_cast<int64_t>(i) / problem.k;
    const int64_t place = pixel * problem.outputPitch() + k;
    const float computed = problem.outputType == shiftconv::DataType::F32
                               ? static_cast<const float*>(output)[place]
                               : shiftconv::numerics::decodeF16(static_cast<const uint16_t*>(output)[place]);
    const double value = expected.value[i], bound = expected.bound[i], error = std::fabs(computed - value);
    if (!shiftconv::reference::agrees(problem, value, bound, computed) && found.exceeded++ == 0) {
      found.firstExceeded = fmt::format("row {}, column {}, channel {}: {} instead of {}, bound {:.3g}", pixel / problem.q(),
                                        pixel % problem.q(), k, computed, value, bound);
    }
    if (std::isnan(error)) continue;
    found.worstError = std::max(found.worstError, error);
    if (error > 0) found.worstRatio = std::max(found.worstRatio, error / bound);
  }
  return found;
}

}  // namespace feature_maps
