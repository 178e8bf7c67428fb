// The convolution a user asks for.
#pragma once

#include <array>
#include <cstdint>

#include "conv/problem/types.hpp"

namespace shiftconv {

/// Values equal shiftconv_scale_order_t.
enum class ScaleOrder : int {
  Plain = 0,        ///< [rows][blocks of channels]
  Interleaved = 1,  ///< tiles of 128 rows x 4 blocks (common/layout/scale_factor_layout.hpp)
};

/// One scale factor for each run of `blockSize` channels of a pixel (input, output) or of a filter tap.
struct BlockScale {
  int64_t blockSize = 0;          ///< 0: no scale factors
  DataType type = DataType::F16;  ///< UE8M0 or UE4M3; F16 (0) when there are none
  ScaleOrder order = ScaleOrder::Plain;
  bool operator==(const BlockScale&) const = default;
};

/// Taps along an axis that are some of those in memory: tap i is the one at first + i * step. stored 0: all, in their order.
struct TapChoice {
  int64_t stored = 0, first = 0, step = 1;

  int64_t place(int64_t tap) const { return first + tap * step; }
  bool operator==(const TapChoice&) const = default;
};

/// Forward convolution (cross-correlation, as in cuDNN and PyTorch) in up to three dimensions: activations NDHWC, filter KTRSC,
/// output NZPQK. A 2-D problem has d = t = 1 and no padding in front or behind.
///   sum = sum over t,r,s,c of (in[n, z*strideD + t*dilationD - padFront, p*strideH + r*dilationH - padTop,
///                                 q*strideW + s*dilationW - padLeft, g*C/groups + c] - inputZeroPoint)
///                             * (filter[k,t,r,s,c] - filterZeroPoint)             with g = k / (K/groups)
///   v   = activation(alpha * channelScale[k] * sum + bias[k] + beta * residual[n,z,p,q,k])
/// or, with residualLast,
///   v   = activation(alpha * channelScale[k] * sum + bias[k]) + beta * residual[n,z,p,q,k]
///   out = convert(v * outScale) + outputZeroPoint,   amax = max(amax, |v|)
/// With `transposed` it is the gradient of such a convolution by its input, as ConvTranspose computes it: input pixel (d, h, w)
/// adds to output pixel (d*strideD + t*dilationD - padFront, ...), so that
///   sum = sum over t,r,s,c of (in[n, (z + padFront - t*dilationD) / strideD, ..., c] - inputZeroPoint) * (filter[k,t,r,s,c] - ...)
/// over the taps where the division leaves no rest.
/// With upsampling the image that the filter sees has every pixel of the input upsampleD x upsampleH x upsampleW times (the nearest
/// neighbour): in[n, d, h, w, c] above is input[n, d / upsampleD, h / upsampleH, w / upsampleW, c], rounded down.
/// A flipped filter lies with its taps in reverse order along each axis, as in a convolution in the mathematical sense: tap (t,r,s)
/// of the formulas is filter[k, T-1-t, R-1-r, S-1-s, c] of the tensor. A split input lies in two tensors: the first splitC channels
/// of all pixels, or the first splitD slices of all images, in the first, the others in the second. Each is dense but for its pixel
/// pitch. With Rounding::Separate v is made in steps, each of which rounds to the output's type: alpha * sum, * channelScale,
/// + bias, + beta * residual, activation; with residualLast the last two change places.
/// Taps that fall outside the image contribute exactly 0. Where the filter holds Inf or NaN there, the reference and shift_window
/// skip them; shift_stream multiplies zeros and gives NaN.
struct Problem {
  int64_t n = 0, d = 1, h = 0, w = 0, c = 0;
  int64_t k = 0, t = 1, r = 0, s = 0;
  int64_t groups = 1;
  int64_t padFront = 0, padBack = 0, padTop = 0, padBottom = 0, padLeft = 0, padRight = 0;
  int64_t strideD = 1, strideH = 1, strideW = 1;
  int64_t dilationD = 1, dilationH = 1, dilationW = 1;
  int64_t upsampleD = 1, upsampleH = 1, upsampleW = 1;  ///< how often an input pixel is repeated
  int64_t splitC = 0, splitD = 0;  ///< channels, or depth slices, of the input's first tensor; 0: not split there
  int64_t inputPixelPitch = 0;     ///< elements between neighbouring pixels, >= firstChannels(); 0 means that
  int64_t secondPixelPitch = 0;    ///< likewise of the input's second tensor, >= secondChannels()
  int64_t outputPixelPitch = 0;    ///< elements between neighbouring output pixels, >= k; 0 means k
  int64_t residualPixelPitch = 0;  ///< likewise
  DataType inputType = DataType::F16;
  DataType filterType = DataType::F16;
  DataType outputType = DataType::F16;
  DataType biasType = DataType::F32;
  DataType residualType = DataType::F16;
  Compute compute = Compute::Default;
  BlockScale inputScale, filterScale, outputScale;
  int32_t inputZeroPoint = 0, filterZeroPoint = 0, outputZeroPoint = 0;  ///< of integer types
  float alpha = 1, beta = 0, outScale = 1;                               ///< beta other than 0: there is a residual
  bool hasBias = false;                                                  ///< biasType[k]
  bool hasChannelScale = false;                                          ///< f32[k]
  bool hasAmax = false;                                                  ///< f32[1]
  Activation activation = Activation::None;
  float activationA = 0, activationB = 0;
  bool residualLast = false;  ///< the residual is added after the activation
  Rounding rounding = Rounding::Once;
  Layout inputLayout = Layout::ChannelsLast;
  Layout outputLayout = Layout::ChannelsLast;  ///< of the residual, too
  bool filterFlipped = false;                  ///< taps in reverse order
  bool transposed = false;
  int64_t outputPaddingD = 0, outputPaddingH = 0, outputPaddingW = 0;  ///< rows behind the last, of transposed convolutions
  /// Elements from an output row to the next, and from a plane to the next, of one image or two; 0: they follow each other. The
  /// planner's own, for phases of a transposed convolution: the residual's are as many pixels apart.
  int64_t outputRowStride = 0, outputPlaneStride = 0;
  /// Which taps of the filter in memory these are, along t, r and s. The planner's own, too.
  std::array<TapChoice, 3> tapChoices{};

  /// Of the image that the filter sees.
  int64_t imageD() const { return d * upsampleD; }
  int64_t imageH() const { return h * upsampleH; }
  int64_t imageW() const { return w * upsampleW; }
  bool isUpsampled() const { return upsampleD != 1 || upsampleH != 1 || upsampleW != 1; }
  int64_t z() const { return outputExtent(imageD(), t, strideD, dilationD, padFront + padBack, outputPaddingD); }
  int64_t p() const { return outputExtent(imageH(), r, strideH, dilationH, padTop + padBottom, outputPaddingH); }
  int64_t q() const { return outputExtent(imageW(), s, strideW, dilationW, padLeft + padRight, outputPaddingW); }
  int64_t groupChannels() const { return c / groups; }  ///< of the filter
  int64_t taps() const { return t * r * s; }
  /// Whether the order of the filter's taps matters, and is the reverse one.
  bool hasReversedTaps() const { return filterFlipped && taps() > 1; }
  /// Whether the filter in memory has other taps, too.
  bool hasChosenTaps() const { return tapChoices[0].stored != 0; }
  int64_t storedTaps() const {
    return hasChosenTaps() ? tapChoices[0].stored * tapChoices[1].stored * tapChoices[2].stored : taps();
  }
  /// Where a tap lies in the filter, counted along t, r and s.
  int64_t storedTap(int64_t tap) const {
    if (!hasChosenTaps()) return filterFlipped ? taps() - 1 - tap : tap;
    const auto& [ofT, ofR, ofS] = tapChoices;
    return (ofT.place(tap / (r * s)) * ofR.stored + ofR.place(tap / s % r)) * ofS.stored + ofS.place(tap % s);
  }
  int64_t inputPixels() const { return n * d * h * w; }
  int64_t outputPixels() const { return n * z() * p() * q(); }
  bool isSplit() const { return splitC != 0 || splitD != 0; }
  /// Of the input's first and second tensor; those of the second mean nothing where the input is not split.
  int64_t firstChannels() const { return splitC != 0 ? splitC : c; }
  int64_t firstDepth() const { return splitD != 0 ? splitD : d; }
  int64_t firstPixels() const { return n * firstDepth() * h * w; }
  int64_t secondChannels() const { return splitC != 0 ? c - splitC : c; }
  int64_t secondDepth() const { return splitD != 0 ? d - splitD : d; }
  int64_t secondPixels() const { return n * secondDepth() * h * w; }
  int64_t inputPitch() const { return inputPixelPitch ? inputPixelPitch : firstChannels(); }
  int64_t secondPitch() const { return secondPixelPitch ? secondPixelPitch : secondChannels(); }
  int64_t outputPitch() const { return outputPixelPitch ? outputPixelPitch : k; }
  int64_t residualPitch() const { return residualPixelPitch ? residualPixelPitch : k; }
  bool hasSpreadOutput() const { return outputRowStride != 0; }
  int64_t rowStride() const { return hasSpreadOutput() ? outputRowStride : q() * outputPitch(); }
  int64_t planeStride() const { return hasSpreadOutput() ? outputPlaneStride : p() * rowStride(); }
  bool hasResidual() const { return beta != 0; }
  /// Whether the residual is added to what an activation gives.
  bool addsResidualLast() const { return residualLast && hasResidual() && activation != Activation::None; }
  bool hasChannelsFirst() const { return inputLayout == Layout::ChannelsFirst || outputLayout == Layout::ChannelsFirst; }
  struct InputPlace {
    bool isSecond;  ///< of the input's tensors
    int64_t index;
  };
  /// Which element of which tensor a channel of a pixel is, pixels counted over all images.
  InputPlace inputPlace(int64_t pixel, int64_t channel) const {
    if (inputLayout == Layout::ChannelsFirst) return {false, channelsFirst(pixel, channel, d * h * w, c)};
    if (splitC != 0 && channel >= splitC) return {true, pixel * secondPitch() + channel - splitC};
    if (splitD == 0) return {false, pixel * inputPitch() + channel};
    const int64_t slice = h * w, image = pixel / (d * slice), depth = pixel / slice % d, inSlice = pixel % slice;
    if (depth < splitD) return {false, ((image * splitD + depth) * slice + inSlice) * inputPitch() + channel};
    return {true, ((image * secondDepth() + depth - splitD) * slice + inSlice) * secondPitch() + channel};
  }
  int64_t outputIndex(int64_t pixel, int64_t channel) const {
    return outputLayout == Layout::ChannelsLast ? pixel * outputPitch() + channel
                                                : channelsFirst(pixel, channel, z() * p() * q(), k);
  }
  int64_t residualIndex(int64_t pixel, int64_t channel) const {
    return outputLayout == Layout::ChannelsLast ? pixel * residualPitch() + channel
                                                : channelsFirst(pixel, channel, z() * p() * q(), k);
  }

  bool operator==(const Problem&) const = default;

 private:
  static int64_t channelsFirst(int64_t pixel, int64_t channel, int64_t pixels, int64_t channels) {
    return (pixel / pixels * channels + channel) * pixels + pixel % pixels;
  }
  int64_t outputExtent(int64_t extent, int64_t taps, int64_t stride, int64_t dilation, int64_t pads, int64_t outputPadding) const {
    if (transposed) return (extent - 1) * stride + dilation * (taps - 1) + 1 + outputPadding - pads;
    return (extent + pads - dilation * (taps - 1) - 1) / stride + 1;
  }
};

/// True when no field says anything about depth.
inline bool isTwoDimensional(const Problem& p) {
  return p.d == 1 && p.t == 1 && p.padFront == 0 && p.padBack == 0 && p.strideD == 1 && p.dilationD == 1 && p.outputPaddingD == 0 &&
         p.upsampleD == 1;
}

}  // namespace shiftconv
