// The convolution a user asks for, after validation of its basic form.
#pragma once

#include <cstdint>
#include <string>

namespace shiftconv {

/// Values equal shiftconv_type_t of the C API.
enum class DataType : int { F16 = 0, BF16 = 1, F32 = 2 };
inline uint32_t bytesOf(DataType type) { return type == DataType::F32 ? 4u : 2u; }

enum class Activation : int { None = 0, Relu = 1 };

/// Forward 2-D convolution (cross-correlation, as in cuDNN and PyTorch): activations NHWC, filter KRSC, output NPQK.
///   out[n,p,q,k] = act(bias[k] + sum_{r,s,c} in[n, p*strideH + r*dilationH - padTop, q*strideW + s*dilationW - padLeft, c] *
///   filter[k,r,s,c])
/// Taps that fall outside the image are skipped (they contribute exactly 0, also when the filter holds Inf or NaN).
struct Problem {
  int64_t n = 0, h = 0, w = 0, c = 0;
  int64_t k = 0, r = 0, s = 0;
  int64_t padTop = 0, padBottom = 0, padLeft = 0, padRight = 0;
  int64_t strideH = 1, strideW = 1;
  int64_t dilationH = 1, dilationW = 1;
  int64_t inputPixelPitch = 0;         ///< elements between neighbouring pixels, >= c; 0 means c
  int64_t outputPixelPitch = 0;        ///< elements between neighbouring output pixels, >= k; 0 means k
  DataType inputType = DataType::F16;  ///< of activations and filter
  DataType outputType = DataType::F16;
  bool hasBias = false;  ///< f32[k]
  Activation activation = Activation::None;

  int64_t p() const { return (h + padTop + padBottom - dilationH * (r - 1) - 1) / strideH + 1; }
  int64_t q() const { return (w + padLeft + padRight - dilationW * (s - 1) - 1) / strideW + 1; }
  int64_t inputPitch() const { return inputPixelPitch ? inputPixelPitch : c; }
  int64_t outputPitch() const { return outputPixelPitch ? outputPixelPitch : k; }
};

}  // namespace shiftconv
