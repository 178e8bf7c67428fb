#include "common/layout/quantized_matrix.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"

namespace shiftconv::layout {

using namespace numerics;

namespace {

QuantizedMatrix emptyMatrix(const BlockFormat& format, int64_t rows, int64_t columns, const QuantizeOptions& options) {
  QuantizedMatrix matrix{
      .format = format, .rows = rows, .columns = columns, .elements = {}, .scaleLayout = options.scaleLayout, .scales = {}};
  const int64_t alignment = options.pitchAlignment;
  matrix.pitch = (packedBytes(format.element, columns) + alignment - 1) / alignment * alignment;
  matrix.elements.resize(static_cast<size_t>(rows * matrix.pitch));
  if (format.blockSize != 0)
    matrix.scales.resize(static_cast<size_t>(scaleFactorBytes(options.scaleLayout, rows, matrix.blocksPerRow())));
  return matrix;
}

}  // namespace

uint32_t QuantizedMatrix::code(int64_t row, int64_t column) const {
  return loadPacked(format.element, elements.data() + row * pitch, column);
}

double QuantizedMatrix::blockFactor(int64_t row, int64_t column) const {
  if (format.blockSize == 0) return 1;
  const int64_t offset = scaleFactorOffset(scaleLayout, row, column / format.blockSize, blocksPerRow());
  return decode(format.scale, std::to_integer<uint32_t>(scales[static_cast<size_t>(offset)]));
}

double QuantizedMatrix::value(int64_t row, int64_t column) const {
  return decode(format.element, code(row, column)) * (blockFactor(row, column) * double{tensorScale});
}

QuantizedMatrix quantize(const BlockFormat& format, int64_t rows, int64_t columns, std::span<const float> values,
                         const QuantizeOptions& options) {
  QuantizedMatrix matrix = emptyMatrix(format, rows, columns, options);
  float largest = 0;
  for (const float value : values)
    if (std::fabs(value) > largest) largest = std::fabs(value);
  matrix.tensorScale = tensorScaleFor(format, largest);

  std::array<uint8_t, kLargestBlock> codes{};
  for (int64_t row = 0; row < rows; ++row) {
    std::byte* const target = matrix.elements.data() + row * matrix.pitch;
    for (int64_t first = 0; first < columns; first += format.blockSize) {
      const int64_t count = std::min<int64_t>(format.blockSize, columns - first);
      const auto block = values.subspan(static_cast<size_t>(row * columns + first), static_cast<size_t>(count));
      const uint8_t scale = quantizeBlock(format, block, matrix.tensorScale, codes);
      const int64_t offset = scaleFactorOffset(options.scaleLayout, row, first / format.blockSize, matrix.blocksPerRow());
      matrix.scales[static_cast<size_t>(offset)] = std::byte{scale};
      for (int64_t i = 0; i < count; ++i) storePacked(format.element, target, first + i, codes[static_cast<size_t>(i)]);
    }
  }
  return matrix;
}

QuantizedMatrix convert(NumberType type, int64_t rows, int64_t columns, std::span<const float> values,
                        const QuantizeOptions& options) {
  QuantizedMatrix matrix = emptyMatrix({name(type), type, 0, type}, rows, columns, options);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      storePacked(type, matrix.elements.data() + row * matrix.pitch, column,
                  encode(type, double{values[static_cast<size_t>(row * columns + column)]}));
  return matrix;
}

}  // namespace shiftconv::layout
