// A matrix in a block format or in a plain number type, as it lies in global memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/layout/scale_factor_layout.hpp"
#include "common/numerics/block_format.hpp"

namespace shiftconv::layout {

/// Row-major; blocks run along the rows, the last of a row may be shorter.
struct QuantizedMatrix {
  numerics::BlockFormat format;  ///< blockSize 0: plain, without scale factors
  int64_t rows = 0, columns = 0;
  int64_t pitch = 0;                ///< bytes from one row of `elements` to the next
  std::vector<std::byte> elements;  ///< densely packed within a row (packed.hpp), zero between rows
  ScaleFactorLayout scaleLayout = ScaleFactorLayout::RowMajor;
  std::vector<std::byte> scales;  ///< scale_factor_layout.hpp; the padding of interleaved factors is 0
  float tensorScale = 1;          ///< what a value must be multiplied by besides its block's factor

  int64_t blocksPerRow() const { return format.blockSize == 0 ? 0 : (columns + format.blockSize - 1) / format.blockSize; }
  uint32_t code(int64_t row, int64_t column) const;
  /// The factor of the block that holds the element, without tensorScale; 1 for plain matrices.
  double blockFactor(int64_t row, int64_t column) const;
  /// The element's value, exact but for the rounding of one product in double.
  double value(int64_t row, int64_t column) const;
};

struct QuantizeOptions {
  ScaleFactorLayout scaleLayout = ScaleFactorLayout::RowMajor;
  int64_t pitchAlignment = 16;  ///< rows start at multiples of it; tensor maps need 16
};

/// `values` is row-major [rows][columns], dense. The factor of the whole tensor follows tensorScaleFor.
QuantizedMatrix quantize(const numerics::BlockFormat& format, int64_t rows, int64_t columns, std::span<const float> values,
                         const QuantizeOptions& options = {});
/// A plain matrix: every element rounded to nearest even, overflow as usual for the type.
QuantizedMatrix convert(numerics::NumberType type, int64_t rows, int64_t columns, std::span<const float> values,
                        const QuantizeOptions& options = {});

}  // namespace shiftconv::layout
