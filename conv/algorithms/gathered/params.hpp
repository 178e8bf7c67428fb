// The geometry of the gathered kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/input_part.hpp"

namespace shiftconv::kernels::gathered {

inline constexpr int32_t kStepBytes = 128;           ///< of the reduction at a time: one row of a stage
inline constexpr int32_t kMaximumTaps = 2048;        ///< T * R * S: their table lies in shared memory
inline constexpr int32_t kSegmentColumns = 8;        ///< output channels of a thread at a time, in the epilogue
inline constexpr int32_t kMostStride = 32;           ///< of an axis of a transposed convolution: a table has its phases
inline constexpr int32_t kMostCoordinate = 1 << 14;  ///< of a tap's place inside the filter: two of them share a word

/// A tile of one CTA: output pixels x output channels, warps, stages of the ring.
struct Tile {
  int32_t pixels, channels, warpRows, warpColumns, stages;
  int32_t ctas;  ///< of a multiprocessor at once, at least, by registers and shared memory

  SHIFTCONV_HOST_DEVICE constexpr int32_t threads() const { return warpRows * warpColumns * 32; }
  SHIFTCONV_HOST_DEVICE constexpr int32_t stageBytes() const { return (pixels + channels) * kStepBytes; }
};
inline constexpr Tile k128x128{128, 128, 2, 4, 3, 2}, k128x64{128, 64, 2, 2, 3, 3}, k64x64{64, 64, 2, 2, 4, 3},
    k128x32{128, 32, 4, 1, 3, 3};

/// In front of the tables, in shared memory.
struct alignas(16) Header {
  int32_t taps;  ///< entries of the table
};
/// A filter tap that reads inside the image for some pixel of the tile.
struct alignas(16) Tap {
  int32_t pixelOffset;     ///< of its pixel from that of tap (0, 0, 0)
  int32_t filterVector;    ///< its first vector of a filter's row
  int32_t depth;           ///< its coordinates from tap (0, 0, 0)
  int32_t heightAndWidth;  ///< height * 2^16 + width
};
/// An output pixel of the tile.
struct alignas(16) Pixel {
  /// Of the input pixel of tap (0, 0, 0), counted from the tensor's first; may lie outside. Of an input of Params::indirect, the
  /// number of its image.
  int32_t index;
  int32_t depth, height, width;  ///< its coordinates
};

/// Header, pixels, taps and, of transposed convolutions, where pixels are written, rounded up to rows of a stage.
SHIFTCONV_HOST_DEVICE constexpr int32_t sharedTableBytes(int32_t pixels, int32_t taps, bool isTransposed = false) {
  const int32_t bytes =
      static_cast<int32_t>(sizeof(Header) + static_cast<uint32_t>(pixels) * (sizeof(Pixel) + (isTransposed ? sizeof(int32_t) : 0)) +
                           static_cast<uint32_t>(taps) * sizeof(Tap));
  return (bytes + 1023) / 1024 * 1024;
}

/// One spatial axis: the tap `i` of output position `o` lies at o * stride + i * dilation - padBefore.
struct Axis {
  int32_t extent = 1, taps = 1, stride = 1, dilation = 1, padBefore = 0;  ///< extent: of the image, repeated pixels included
  int32_t storedExtent = 1;                                               ///< of the tensor: extent / upsample
  layout::FastDivisor upsample;                                           ///< how often a pixel is repeated
};

/// What operands of one kind may be beside each other.
struct OperandTypes {
  bool inputIsE5m2 = false, filterIsE5m2 = false;      ///< else e4m3
  bool inputIsSigned = false, filterIsSigned = false;  ///< of bytes
};

/// One axis of a phase of a transposed convolution: output positions that leave the same rest at the division by the stride. They
/// are an ordinary convolution with stride 1: output j of tap i reads input j + i * Axis::dilation - padBefore.
struct AxisPhase {
  int16_t taps = 0, firstTap = 0;  ///< tap i is tap firstTap + (taps - 1 - i) * tapStep of the filter
  int32_t padBefore = 0;
};

/// Of a transposed convolution: blockIdx.x counts the phases of a tile, the width fastest, and then the tiles. Depth, height,
/// width.
struct Phases {
  layout::FastDivisor count;
  int32_t stride[3] = {1, 1, 1}, tapStep[3] = {1, 1, 1}, filterTaps[3] = {1, 1, 1};
  int32_t outputs[3] = {1, 1, 1};  ///< of the whole convolution
  AxisPhase axis[3][kMostStride];
};

struct Params {
  InputPart parts[2];
  const uint8_t* filter = nullptr;
  OperandTypes types;
  Axis depth, height, width;
  layout::FastDivisor outputDepth, outputHeight, outputWidth, filterHeight, filterWidth;  ///< outputs: of the largest phase
  layout::FastDivisor channelTiles;                                                       ///< of a group
  layout::FastDivisor allChannelTiles;                                                    ///< of all groups
  layout::FastDivisor tapVectors;                                                         ///< of a group's channels
  int32_t taps = 1;
  int32_t groupOutputs = 0;    ///< K / groups
  int32_t groupVectors = 0;    ///< vectors from a group's channels to the next group's
  int64_t filterRowBytes = 0;  ///< of the taps and channels of one output channel
  int32_t stagesOffset = 0;    ///< of the ring in shared memory, after header and tables: sharedTableBytes
  /// A tap is a filter row with all of its columns, and pixels count as elements: the axis of the width, indices and the input's
  /// pixelBytes.
  bool runs = false;
  bool indirect = false;          ///< some axis repeats its pixels, or the input lies in two tensors; not with runs
  bool isTransposed = false;      ///< with phases; neither runs nor indirect
  bool plain = false;             ///< bias, residual of the output's type and ReLU after the sums, and nothing else
  int32_t pixels = 0;             ///< of a phase, as outputWidth, outputHeight and outputDepth count them; else the epilogue's rows
  gemm::EpilogueParams epilogue;  ///< rows are output pixels, columns output channels
  Phases phases;
};

}  // namespace shiftconv::kernels::gathered
