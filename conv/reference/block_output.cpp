#include "conv/reference/block_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/gemm/reference/epilogue_reference.hpp"
#include "common/numerics/packed.hpp"
#include "conv/problem/tensors.hpp"

namespace shiftconv::reference {

std::optional<numerics::BlockFormat> outputFormat(const Problem& p) {
  for (const numerics::BlockFormat& format : numerics::kBlockFormats)
    if (format.element == numberType(p.outputType) && format.blockSize == p.outputScale.blockSize &&
        format.scale == numberType(p.outputScale.type))
      return format;
  return std::nullopt;
}

std::string blockOutputDifference(const Problem& p, const Expectation& expected, std::span<const std::byte> elements,
                                  std::span<const std::byte> scales) {
  const numerics::BlockFormat format = *outputFormat(p);
  const int64_t blocks = (p.k + format.blockSize - 1) / format.blockSize;
  std::vector<bool> used(scales.size());
  for (int64_t pixel = 0; pixel < p.outputPixels(); ++pixel)
    for (int64_t block = 0; block < blocks; ++block) {
      std::vector<gemm::Bounded> values;
      std::vector<uint32_t> codes;
      for (int64_t k = block * format.blockSize; k < std::min(p.k, (block + 1) * format.blockSize); ++k) {
        const auto at = static_cast<size_t>(pixel * p.k + k);
        values.push_back({expected.value[at], expected.bound[at]});
        codes.push_back(numerics::loadPacked(format.element, elements.data(), pixel * p.outputPitch() + k));
      }
      const auto place = static_cast<size_t>(layout::scaleFactorOffset(layoutOf(p.outputScale.order), pixel, block, blocks));
      used[place] = true;
      const std::string difference = gemm::blockDifference(format, values, std::to_integer<uint32_t>(scales[place]), codes);
      if (!difference.empty()) return fmt::format("pixel {}, block {}: {}", pixel, block, difference);
    }
  for (size_t place = 0; place < scales.size(); ++place)
    if (!used[place] && scales[place] != std::byte{0})
      return fmt::format("byte {} of the factors, of padding, is {:#x} instead of 0", place,
                         std::to_integer<uint32_t>(scales[place]));
  return {};
}

}  // namespace shiftconv::reference
