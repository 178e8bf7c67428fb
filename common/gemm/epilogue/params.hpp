// What becomes of an accumulator: the epilogue's description, the same on host and device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/host_device.hpp"
#include "common/layout/scale_factor_layout.hpp"
#include "common/numerics/number_types.hpp"

namespace shiftconv::gemm {

using numerics::NumberType;

enum class Activation : uint8_t {
  None,
  Relu,
  LeakyRelu,  ///< v < 0 ? slope * v : v; slope in activationA
  Clamp,      ///< to [activationA, activationB]
  GeluErf,    ///< v * (1 + erf(v / sqrt 2)) / 2
  GeluTanh,   ///< v * (1 + tanh(sqrt(2/pi) * (v + 0.044715 v^3))) / 2
  Silu,       ///< v * sigmoid(v)
  HardSwish,  ///< v * clamp(v + 3, 0, 6) / 6
  Sigmoid,
  Tanh,
};
inline constexpr int kActivations = 10;
/// "none", "relu", "leaky_relu", "clamp", "gelu_erf", "gelu_tanh", "silu", "hard_swish", "sigmoid", "tanh"
std::string_view name(Activation activation);

/// Applied to every element (m, n) of a rows x columns matrix of accumulators, in f32 and in this order:
///
///     a   = accumulator - rowCorrection[m] - columnCorrection[rowClass[m]][n]     s32 accumulators only, in s32
///     v   = alpha * rowScale[m] * columnScale[n] * a + bias[n] + beta * residual[m][n]
///     v   = activation(v)                                        NaN stays NaN everywhere
///     *largest = max(*largest, |v|)
///     out = convert(v * outputScale) + outputZeroPoint           to outputType
///
/// With residualLast beta * residual[m][n] is added to what the activation gives.
///
/// With roundsSteps every line that is there ends in the output's type, as where each is a kernel of its own: alpha * rowScale * a
/// is rounded to it, and so are the products with columnScale, the sums with the bias and with beta * residual, and the activation.
///
/// Output type S32 stores a itself; everything between is left out then and must not be asked for.
///
/// Null pointers leave their part out. Pointers are device addresses, 16-byte aligned; the reference takes host addresses.
/// With outputBlock, `outputBlock` consecutive outputs of a row share a scale factor that is chosen from them by the rules of
/// numerics/block_format.hpp (32: ue8m0, MX formats; 16: ue4m3, nvfp4, where outputScale is 1 / the tensor's factor).
struct EpilogueParams {
  // What most runs read comes first, in 64 bytes: a kernel fetches its parameters anew, a line of constants at a time. With the
  // activation next to the types, kernels of pointwise spill.
  int32_t rows = 0, columns = 0;
  NumberType biasType = NumberType::F32;         ///< F32, F16 or BF16
  NumberType residualType = NumberType::F32;     ///< F32, F16, BF16, S8, U8 or E4M3
  NumberType outputType = NumberType::F32;       ///< F32, F16, BF16 overflow to infinity; S32; the others saturate
  NumberType accumulatorType = NumberType::F32;  ///< F32, S32, or F16 (in the low half of the register)
  bool roundsSteps = false;                      ///< for outputs F16 and BF16
  bool residualLast = false;                     ///< only with a residual and an activation
  const void* bias = nullptr;                    ///< [columns]
  /// Unused when stored by a tensor map; that overwrites the bytes after a row's end up to a multiple of 16.
  void* output = nullptr;
  int64_t outputPitch = 0;  ///< bytes from row to row
  const void* residual = nullptr;
  const float* columnScale = nullptr;  ///< [columns]
  Activation activation = Activation::None;
  float activationA = 0, activationB = 0;
  float alpha = 1, beta = 0;
  float outputScale = 1;
  int64_t residualPitch = 0;  ///< bytes from row to row

  int32_t outputZeroPoint = 0;  ///< added to the rounded integer: S8 and U8 only, within their range
  float* largest = nullptr;     ///< one f32, 0 or a former maximum; NaN once any |v| is
  int32_t outputBlock = 0;      ///< 0, or 32 with E4M3, E5M2, E3M2, E2M3 or E2M1, or 16 with E2M1
  layout::ScaleFactorLayout outputScaleLayout = layout::ScaleFactorLayout::RowMajor;
  uint8_t* outputScales = nullptr;            ///< one factor a block; scale_factor_layout.hpp
  const float* rowScale = nullptr;            ///< [rows]
  const int32_t* columnCorrection = nullptr;  ///< [classes][correctionPitch], of which [columns] are used
  int32_t correctionPitch = 0;                ///< elements from class to class, a multiple of 4
  const int32_t* rowClass = nullptr;          ///< [rows], each in 0.. classes - 1; null: all rows have class 0
  const int32_t* rowCorrection = nullptr;     ///< [rows]

  SHIFTCONV_HOST_DEVICE int32_t outputBlocksPerRow() const {
    return outputBlock == 0 ? 0 : (columns + outputBlock - 1) / outputBlock;
  }
};

/// Columns that a lane without staging stores at once: 16, or 32 where as many share a scale factor.
SHIFTCONV_HOST_DEVICE constexpr int32_t rowStoreStep(int32_t outputBlock) { return outputBlock == 32 ? 32 : 16; }

/// Bits of a column in a staging tile. 16 columns of 6 bits lie in the first 12 of 16 bytes.
SHIFTCONV_HOST_DEVICE constexpr int32_t stagingBits(NumberType outputType) {
  const int32_t bits = numerics::storageBits(outputType);
  return bits == 6 ? 8 : bits;
}

/// Bytes across the boxes that a staging tile of `tileColumns` columns is cut into: the whole tile or 128, whichever is less. A
/// tensor map that stores them has boxes of that width and the swizzle of that width (128, 64 or 32 bytes; none for 16).
SHIFTCONV_HOST_DEVICE constexpr int32_t stagingBoxBytes(NumberType outputType, int32_t tileColumns) {
  const int32_t bytes = tileColumns * stagingBits(outputType) / 8;
  return bytes < 128 ? bytes : 128;
}

/// Why the device functions cannot do it when a thread holds `segmentColumns` (2, 4, 8, 16 or 32) neighbouring columns of a row, in
/// one sentence that names the field; nothing when they can. 4-bit and 6-bit types without blocks are refused: their ranges
/// are of no use without factors.
std::optional<std::string> epilogueRefusal(const EpilogueParams& params, int32_t segmentColumns);

}  // namespace shiftconv::gemm
