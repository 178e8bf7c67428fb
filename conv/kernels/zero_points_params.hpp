// What zero points take from the sums of a convolution, and the pass in front of it that finds out. Shared by planner and device
// code.
//
//   sum (x - zx) * (w - zw)  =  sum x*w  -  zx * sum (w - zw)  -  zw * sum x         over the taps inside of the image
//
// The second part depends on the output channel and on which taps are inside: equal for all output pixels of a border class. The
// third depends on the output pixel.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/host_device.hpp"
#include "conv/kernels/input_part.hpp"

namespace shiftconv::kernels {

inline constexpr int32_t kZeroPointThreads = 128;
inline constexpr int32_t kZeroPointMaximumTaps = 1024;     ///< T*R*S: their sums lie in shared memory
inline constexpr int32_t kZeroPointMaximumClasses = 4096;  ///< of borders

/// One axis of a convolution. Positions whose first tap lies in front of the image, and those whose last lies after it, are
/// classes of their own; all others together are one.
struct ZeroPointAxis {
  int32_t extent = 1, positions = 1, taps = 1, stride = 1, dilation = 1, before = 0;
  int32_t leading = 0, trailing = 0;  ///< positions with classes of their own
  int32_t upsample = 1;               ///< how often a pixel of the tensor is repeated: the extent is that of the repeated ones

  SHIFTCONV_HOST_DEVICE constexpr int32_t classes() const { return leading + 1 + trailing; }
  SHIFTCONV_HOST_DEVICE constexpr int32_t classOf(int32_t position) const {
    const int32_t behind = position - (positions - trailing);
    return position < leading ? position : behind >= 0 ? leading + 1 + behind : leading;
  }
  /// A position of a class; of an empty one any.
  SHIFTCONV_HOST_DEVICE constexpr int32_t positionOf(int32_t oneClass) const {
    return oneClass <= leading ? oneClass : positions - trailing + oneClass - leading - 1;
  }
  SHIFTCONV_HOST_DEVICE constexpr int32_t placeOf(int32_t position, int32_t tap) const {
    return position * stride + tap * dilation - before;
  }
  SHIFTCONV_HOST_DEVICE constexpr bool isInside(int32_t position, int32_t tap) const {
    const int32_t place = placeOf(position, tap);
    return place >= 0 && place < extent;
  }
};

struct ZeroPointParams {
  InputPart parts[2];               ///< [images][z][y][x][channels] each, of bytes; the second may be empty
  const uint8_t* filter = nullptr;  ///< [filters][z][y][x][channels]
  bool inputIsSigned = false, filterIsSigned = false;
  uint16_t padding = 0;  ///< named, so that it is 0: equal plans have equal bytes
  int32_t channels = 0;  ///< of a group; with a zero point of the filter there is one group
  int32_t filters = 0;   ///< output channels
  int32_t pixels = 0;    ///< of the output
  ZeroPointAxis x, y, z;
  int32_t inputZeroPoint = 0, filterZeroPoint = 0;

  int32_t correctionPitch = 0;          ///< elements from class to class
  int32_t* columnCorrection = nullptr;  ///< [classes][correctionPitch]: zx * sum (w - zw)
  int32_t* rowClass = nullptr;          ///< [pixels]
  int32_t* rowCorrection = nullptr;     ///< [pixels]: zw * sum x; null without a zero point of the filter

  SHIFTCONV_HOST_DEVICE constexpr int32_t taps() const { return x.taps * y.taps * z.taps; }
  SHIFTCONV_HOST_DEVICE constexpr int32_t classes() const { return x.classes() * y.classes() * z.classes(); }
};
static_assert(std::has_unique_object_representations_v<ZeroPointParams>);

}  // namespace shiftconv::kernels
