// The geometry of the pointwise kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/decoding.hpp"
#include "conv/kernels/lean.hpp"

namespace shiftconv::kernels::pointwise {

inline constexpr int32_t kMostWarps = 8;        ///< of a CTA
inline constexpr int32_t kStepChannels = 16;    ///< input channels of one m16n8k16
inline constexpr int32_t kGroupChannels = 32;   ///< output channels that a warp sums at once: 8 for each lane of a quad
inline constexpr int32_t kSegmentChannels = 8;  ///< neighbouring output channels of a thread
inline constexpr int32_t kOperandBytes = 2;     ///< of an element that is multiplied

/// A kernel of each type: elements of a load, steps of kStepChannels that hold all input channels, pixels of a warp's tile.
struct Instance {
  int32_t vector, steps, pixels;
};
inline constexpr Instance kInstances[] = {{8, 2, 16}, {8, 2, 32}, {8, 4, 16}, {8, 6, 16}, {8, 8, 16}, {8, 10, 16},
                                          {4, 1, 16}, {4, 1, 32}, {4, 3, 16}, {4, 8, 16}, {2, 4, 16}, {2, 8, 16}};

/// Of elements of 8 bits.
inline constexpr Instance kByteInstances[] = {{8, 2, 16}, {8, 2, 32},  {8, 4, 16},  {8, 4, 32}, {8, 6, 16},
                                              {8, 8, 16}, {8, 10, 16}, {8, 16, 16}, {4, 1, 16}, {4, 1, 32},
                                              {4, 3, 16}, {4, 3, 32},  {4, 8, 16},  {2, 4, 16}, {2, 8, 16}};

/// By registers: a tile's pixels as operands, the next one's as they come, its sums, and what the rest takes.
SHIFTCONV_HOST_DEVICE constexpr int32_t ctasPerMultiprocessor(int32_t elementBytes, Instance i) {
  // Two more of bytes, where the whole epilogue decodes residuals of e4m3: without them ptxas spills at 3 steps.
  const int32_t registers = i.pixels / 8 * i.steps * (2 + elementBytes) + i.pixels / 8 * 8 + (elementBytes == 1 ? 47 : 45);
  return registers <= 80 ? 3 : registers <= 150 ? 2 : 1;
}

/// Whether the kernel has registers for more than one way to finish: at 10 steps ptxas would spill for gathering a tile's outputs
/// in shared memory, and for a lean epilogue.
SHIFTCONV_HOST_DEVICE constexpr bool hasSpareRegisters(int32_t steps) { return steps < 10; }
/// At 10 steps of 16 bits it would spill for the whole epilogue, too, and for isScaledSegment.
SHIFTCONV_HOST_DEVICE constexpr bool hasWholeEpilogue(int32_t elementBytes, int32_t steps) {
  return elementBytes == 1 || hasSpareRegisters(steps);
}

/// Bytes from filter row to filter row in shared memory, so that the lanes of a load meet all banks: of 16 bytes, 8 lanes read two
/// rows at once; of 8 bytes, 16 lanes read four.
SHIFTCONV_HOST_DEVICE constexpr int32_t filterPitch(int32_t vector, int32_t steps) {
  const int32_t row = steps * kStepChannels * kOperandBytes;
  if (vector == 8) return row % 128 == 0 ? row + 64 : row;
  return row % 64 == 0 ? row + 32 : row;
}

/// The grid is (CTAs that share the pixels, shares of the output channels). Bytes are from an output position to the next, in the
/// input.
struct Params {
  // What linear pixels need comes first, see EpilogueParams.
  const uint8_t* input = nullptr;
  const uint8_t* filter = nullptr;  ///< [K][C]
  int32_t tiles = 0;                ///< of pixels
  int32_t inputChannels = 0;
  int32_t channelGroups = 0;       ///< of kGroupChannels, of a CTA
  uint32_t channelWarpsShift = 0;  ///< binary logarithm of the warps that share a tile's output channels
  int64_t pixelBytes = 0;
  /// Of what lies in shared memory after the filter and, of 16-bit elements, the bias of its channels: the filter's elements of 8
  /// bits as they come, then places of outputs, one for each tile of the CTA at a time.
  int32_t spareOffset = 0;
  bool isLinear = false;  ///< output pixel i reads input pixel i
  bool gathers = false;   ///< a tile's outputs, one run of bytes, in shared memory; needs output addresses of 16 bytes
  /// Bias, residual of the output's type and an activation; of 8 bits what PlainBytes has.
  bool plain = false;
  bool scales = false;                                         ///< isScaledSegment; only with hasSpareRegisters
  LeanFlags lean;                                              ///< where segments are whole, but for the addresses
  gemm::EpilogueParams epilogue;                               ///< rows are output pixels, columns output channels
  Decoding inputs, filters;                                    ///< of elements of 8 bits
  layout::FastDivisor outputDepth, outputHeight, outputWidth;  ///< where not isLinear
  int64_t rowBytes = 0, planeBytes = 0, imageBytes = 0;        ///< likewise
};

}  // namespace shiftconv::kernels::pointwise
