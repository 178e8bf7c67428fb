#include "tests/gemm/epilogue_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"

namespace shiftconv::tests {
namespace {

using Accumulators = std::span<const gemm::Bounded>;

int32_t roundedUp(int32_t value, int32_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::string wrongElement(const gemm::EpilogueParams& p, Accumulators accumulators, const EpilogueOutput& output, int64_t row) {
  for (int64_t column = 0; column < p.columns; ++column) {
    const uint32_t code = numerics::loadPacked(p.outputType, output.elements.data() + row * p.outputPitch, column);
    const gemm::Bounded value =
        gemm::epilogueReference(p, row, column, accumulators[static_cast<size_t>(row * p.columns + column)]).scaled;
    if (!gemm::reachable(p.outputType, value, code, p.outputZeroPoint))
      return fmt::format("({}, {}): {:#x} ({}) for {} +- {}", row, column, code, numerics::decode(p.outputType, code), value.value,
                         value.error);
  }
  return {};
}

std::string wrongBlock(const gemm::EpilogueParams& p, Accumulators accumulators, const EpilogueOutput& output, int64_t row) {
  const numerics::BlockFormat format = *blockFormat(p);
  for (int32_t block = 0; block < p.outputBlocksPerRow(); ++block) {
    std::vector<gemm::Bounded> values;
    std::vector<uint32_t> codes;
    for (int64_t column = block * p.outputBlock; column < std::min(p.columns, (block + 1) * p.outputBlock); ++column) {
      values.push_back(gemm::epilogueReference(p, row, column, accumulators[static_cast<size_t>(row * p.columns + column)]).scaled);
      codes.push_back(numerics::loadPacked(p.outputType, output.elements.data() + row * p.outputPitch, column));
    }
    const auto offset = static_cast<size_t>(layout::scaleFactorOffset(p.outputScaleLayout, row, block, p.outputBlocksPerRow()));
    const std::string difference = gemm::blockDifference(format, values, std::to_integer<uint32_t>(output.scales[offset]), codes);
    if (!difference.empty()) return fmt::format("row {}, block {}: {}", row, block, difference);
  }
  return {};
}

std::string wrongPadding(const gemm::EpilogueParams& p, const EpilogueOutput& output) {
  auto used = static_cast<size_t>(numerics::packedBytes(p.outputType, p.columns));
  if (output.byTensorMap) used = (used + 15) / 16 * 16;
  for (size_t row = 0; row < static_cast<size_t>(p.rows); ++row)
    for (size_t byte = used; byte < static_cast<size_t>(p.outputPitch); ++byte)
      if (output.elements[row * static_cast<size_t>(p.outputPitch) + byte] != kPoison)
        return fmt::format("row {}: byte {} beside the matrix was written", row, byte);
  if (p.outputBlock == 0 || p.outputScaleLayout != layout::ScaleFactorLayout::Interleaved128x4) return {};
  const int32_t blocks = p.outputBlocksPerRow();
  for (int32_t row = 0; row < roundedUp(p.rows, 128); ++row)
    for (int32_t block = row < p.rows ? blocks : 0; block < roundedUp(blocks, 4); ++block) {
      const std::byte padding =
          output.scales[static_cast<size_t>(layout::scaleFactorOffset(p.outputScaleLayout, row, block, blocks))];
      if (padding != std::byte{0}) return fmt::format("padding factor of row {}, block {} is not 0", row, block);
    }
  return {};
}

std::string wrongLargest(const gemm::EpilogueParams& p, Accumulators accumulators, const EpilogueOutput& output) {
  double low = double{*p.largest}, high = low;
  bool nan = false;
  for (int64_t row = 0; row < p.rows; ++row)
    for (int64_t column = 0; column < p.columns; ++column) {
      const auto [value, error] =
          gemm::epilogueReference(p, row, column, accumulators[static_cast<size_t>(row * p.columns + column)]).activated;
      nan = nan || std::isnan(value);
      low = std::max(low, std::fabs(value) - error);
      high = std::max(high, std::fabs(value) + error);
    }
  if (nan) return std::isnan(output.largest) ? "" : fmt::format("largest: {}, but there are NaN", output.largest);
  if (double{output.largest} >= low && double{output.largest} <= high) return {};
  return fmt::format("largest: {}, not from {} to {}", output.largest, low, high);
}

}  // namespace

std::optional<numerics::BlockFormat> blockFormat(const gemm::EpilogueParams& params) {
  for (const numerics::BlockFormat& format : numerics::kBlockFormats)
    if (format.blockSize == params.outputBlock && format.element == params.outputType) return format;
  return std::nullopt;
}

std::string firstDifference(const gemm::EpilogueParams& p, Accumulators accumulators, const EpilogueOutput& output) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const std::string difference =
        p.outputBlock == 0 ? wrongElement(p, accumulators, output, row) : wrongBlock(p, accumulators, output, row);
    if (!difference.empty()) return difference;
  }
  if (const std::string padding = wrongPadding(p, output); !padding.empty()) return padding;
  return p.largest != nullptr ? wrongLargest(p, accumulators, output) : "";
}

}  // namespace shiftconv::tests
