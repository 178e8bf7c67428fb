// The geometry of the channelwise kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/decoding.hpp"
#include "conv/kernels/lean.hpp"

namespace shiftconv::kernels::channelwise {

inline constexpr int32_t kMostThreads = 128;  ///< of a CTA
// Of the form Stream.
inline constexpr int32_t kStages = 4;  ///< input rows in shared memory; 3 to 6 took the same time (observed on an H200)
static_assert((kStages & (kStages - 1)) == 0, "a row's stage is worked out without a division");
inline constexpr uint32_t kStageAlignment = 128;      ///< of bulk tensor copies, PTX ISA 5.5.6
inline constexpr uint32_t kStreamControlBytes = 128;  ///< barriers, before the stages

/// Weights that are converted once, for all pixels of a CTA, lie in shared memory as words of 32 bits, [word][channel].
inline constexpr int32_t kWordBytes = 4;
/// From word to word of a channel. `channels` more than a multiple of 32 banks: a thread loads its `channels` words as one vector,
/// and of lanes that store neighbouring words of one channel no more than `channels` meet in a bank.
SHIFTCONV_HOST_DEVICE constexpr uint32_t stagedPitch(uint32_t ctaChannels, uint32_t channels) {
  return (ctaChannels + 31 - channels) / 32 * 32 + channels;
}

/// One spatial axis: tap `i` of output position `o` lies at o * stride + i * dilation - padBefore.
struct Axis {
  int32_t extent = 1, taps = 1, stride = 1, dilation = 1, padBefore = 0;
};

/// An axis of a plane where taps or outputs of a thread are no neighbours.
struct Gaps {
  int32_t step = 1;           ///< from one output of a thread to its next: the dilation where such outputs share pixels, else 1
  layout::FastDivisor steps;  ///< by `step`
  int32_t pixels = 1;         ///< of the input, from one position to the next
  int32_t outputPixels = 1;
};

/// A unit is the outputs of a thread but for their channels: `columns` of the kernel's Kind along the axis `across` by `rows` down
/// the other one. A CTA has ctaUnits units of channelThreads * channels channels.
///
/// Outputs `dilation` apart share pixels as neighbours do without dilation. So a unit has every step-th column and row, and
/// neighbouring units fill the gaps.
struct Params {
  // What images without depth read comes first, see EpilogueParams.
  const void* input = nullptr;
  const void* filter = nullptr;               ///< [K][T*R*S]
  layout::FastDivisor columnUnits, rowUnits;  ///< units along an axis
  layout::FastDivisor channelBlocks;          ///< blockIdx.x counts them first, then the CTAs along the units
  layout::FastDivisor channelThreads;
  layout::FastDivisor multiplier;  ///< K / C
  /// The height is down, and the width across. In the forms General and Long the other way about for filters of one column; and for
  /// filters of one pixel a plane, the depth is across, and the pixels of a plane are down.
  Axis down, across;
  int32_t outputsDown = 0, outputsAcross = 0;
  int32_t units = 0, ctaUnits = 0;
  int32_t rows = 1;               ///< output rows of a unit
  int32_t pixelBytes = 0;         ///< from input pixel to input pixel
  uint32_t weightBytes = 0;       ///< of the filters of a CTA, as staged in shared memory; 0: every thread loads its own
  bool bf16 = false;              ///< what has 16 bits; else it is f16
  bool hasHalves = false;         ///< outputs of 16 bits of 8-bit operands
  bool hasSeparateSteps = false;  ///< each is rounded, also of outputs of f32
  bool slides = false;            ///< columns of a thread share pixels
  LeanFlags lean;
  gemm::EpilogueParams epilogue;  ///< rows are output pixels, columns output channels
  Axis depth;
  layout::FastDivisor outputDepth;  ///< planes of an image
  Decoding inputs, filters;         ///< of other types
  // Read by kernels of dilated filters, and by the forms General and Long.
  Gaps gapsDown, gapsAcross;
  int64_t planePixels = 0, outputPlanePixels = 0;
  int64_t rowBytes = 0;                      ///< from a tap down to the next
  int64_t outputStep = 0, residualStep = 0;  ///< bytes from an output of a thread to its next across
  int32_t columnBytes = 0;                   ///< from a tap across to the next
  layout::FastDivisor depthTaps;             ///< read by kernels of filters with depth
  // Of staged words, in the form Long.
  layout::FastDivisor stagedWords;  ///< of a channel, at once
  layout::FastDivisor rowWords;     ///< of a filter row: one a tap, of integers one for four
  int32_t stagedRows = 0;           ///< filter rows that are staged at once
  // Of the form Stream.
  uint32_t boxBytes = 0, stageBytes = 0;  ///< of an input row, and from stage to stage
};

}  // namespace shiftconv::kernels::channelwise
