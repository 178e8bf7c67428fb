#include "conv/tools/convolve/errors.hpp"

#include <algorithm>
#include <cmath>

#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"

namespace shiftconv::judged {

Errors compare(const Problem& p, const reference::Expectation& exact, std::span<const std::byte> output, std::byte gap) {
  Errors errors;
  double errorSquares = 0, squares = 0;
  const auto number = numberType(p.outputType);
  for (int64_t pixel = 0; pixel < p.outputPixels(); ++pixel) {
    for (int64_t k = 0; k < p.k; ++k) {
      const auto index = static_cast<size_t>(pixel * p.k + k);
      const double value = exact.value[index], bound = exact.bound[index];
      const double found = numerics::decode(number, numerics::loadPacked(number, output.data(), p.outputIndex(pixel, k)));
      const double error = std::abs(found - value);
      ++errors.elements;
      if (!std::isfinite(error)) {
        const bool agrees = reference::agrees(p, value, bound, static_cast<float>(found));
        errors.beyond += agrees ? 0 : 1;
        if (!agrees) errors.worstShare = kNoShare;
        continue;
      }
      if (!(error <= bound)) ++errors.beyond;  // a bound that is NaN, too
      if (error > 0) errors.worstShare = std::max(errors.worstShare, bound > 0 ? error / bound : kNoShare);
      const double rounding = reference::halfUlp(p.outputType, std::abs(value));
      if (bound > rounding) errors.worstSumShare = std::max(errors.worstSumShare, (error - rounding) / (bound - rounding));
      errorSquares += error * error;
      squares += value * value;
    }
    if (pixel + 1 == p.outputPixels() || p.outputPitch() == p.k) continue;
    const int64_t bits = bitsOf(p.outputType);
    for (int64_t byte = (pixel * p.outputPitch() + p.k) * bits / 8; byte < (pixel + 1) * p.outputPitch() * bits / 8; ++byte)
      errors.gapsWritten |= output[static_cast<size_t>(byte)] != gap;
  }
  errors.relativeL2 = squares > 0 ? std::sqrt(errorSquares / squares) : std::sqrt(errorSquares);
  return errors;
}

}  // namespace shiftconv::judged
