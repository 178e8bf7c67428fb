// The geometry of the raw_rows kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/decoding.hpp"
#include "conv/kernels/lean.hpp"

namespace shiftconv::kernels::raw_rows {

inline constexpr int32_t kThreads = 256;
inline constexpr int32_t kCtasPerMultiprocessor = 2;  ///< by registers and, as the planner sees to it, shared memory
inline constexpr int32_t kSegmentColumns = 8;         ///< output channels of a thread at a time, in the epilogue
inline constexpr int32_t kStepPairs = 8;              ///< of the reduction at a time, two elements each: one matrix instruction
inline constexpr int32_t kChunkBytes = 16;            ///< rows in shared memory begin and end at multiples of it
inline constexpr int32_t kWarpPixels = 32;            ///< of a pass of a warp

/// What a thread of a quad reads for one step: where its two pairs lie, counted from the pixel's first element.
struct alignas(8) StepPairs {
  uint32_t low, high;  ///< each: bytes in the low kOffsetBits bits, the byte selector (prmt) that zeroes what is padding above
};
inline constexpr int32_t kOffsetBits = 17;
static_assert(sizeof(StepPairs) == 8);

/// Shared memory: the table of all steps, the weights as operands of the matrix instruction, their bias, two windows of input rows.
SHIFTCONV_HOST_DEVICE constexpr int32_t tableBytes(int32_t steps) { return steps * 4 * static_cast<int32_t>(sizeof(StepPairs)); }
SHIFTCONV_HOST_DEVICE constexpr int32_t weightBytes(int32_t steps, int32_t channels) { return steps * kStepPairs * 4 * channels; }
SHIFTCONV_HOST_DEVICE constexpr int32_t biasBytes(int32_t channels) { return channels * static_cast<int32_t>(sizeof(float)); }

struct Params {
  const uint8_t* input = nullptr;
  const uint8_t* filter = nullptr;
  layout::FastDivisor columnTiles, rowTiles, outputDepth;  ///< of tile numbers: columns first, then rows, planes, images
  layout::FastDivisor tileColumns;                         ///< output columns of a tile
  layout::FastDivisor windowHeight;                        ///< input rows of one plane of a tile's window
  layout::FastDivisor filterHeight, runPairs;              ///< of runs: filter rows of a plane, pairs of a run
  int32_t tiles = 0, tileRows = 0, tilePixels = 0;
  int32_t outputHeight = 0, outputWidth = 0;
  int32_t inputDepth = 0, inputHeight = 0, inputRow = 0;  ///< inputRow: elements, W * C
  int32_t strideD = 1, strideH = 1, columnStep = 0;       ///< columnStep: elements, strideW * C
  int32_t padFront = 0, padTop = 0, padLeft = 0;          ///< padLeft: elements
  int32_t dilationD = 1, dilationH = 1;
  int32_t runs = 0, runElements = 0;  ///< T * R runs of S * C elements
  int32_t lead = 0;                   ///< elements in front of a run that make its first pair begin at an even one
  int32_t steps = 0;
  int32_t windowRows = 0, rowBytes = 0;  ///< rowBytes: of a row of the window, a multiple of kChunkBytes
  int32_t copyBytes = 0;                 ///< 16, 8, 4, 2 or 1: what neither begin nor end of an input row cuts
  bool filterAhead = false;              ///< the filter is constant, and is read before the kernel ahead has ended
  bool plain = false;                    ///< bias, residual of the output's type and an activation
  bool scales = false;                   ///< isScaledSegment
  LeanFlags lean;                        ///< where outputs are whole segments
  gemm::EpilogueParams epilogue;         ///< rows are output pixels, columns output channels
  Decoding inputs, filters;              ///< of elements of 8 bits
};

}  // namespace shiftconv::kernels::raw_rows
