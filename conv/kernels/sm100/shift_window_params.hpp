// What the host tells a shift_window kernel, passed by value. Shared by host and device code.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// Unsigned division by a constant of the launch: q = (x * multiplier) >> 32 >> shift, exact for x < 2^31.
struct FastDivisor {
  uint32_t divisor = 1;
  uint32_t multiplier = 0;
  uint32_t shift = 0;
};

struct ShiftWindowParams {
  void* output = nullptr;          ///< NPQK
  const float* bias = nullptr;     ///< f32[k] or null

  int32_t height = 0, width = 0;   ///< H, W
  int32_t outputHeight = 0, outputWidth = 0;  ///< P, Q
  int32_t filterHeight = 0, filterWidth = 0;  ///< R, S
  int32_t dilationH = 1, padTop = 0, padLeft = 0;
  int32_t anchors = 0;             ///< N*H*W
  int32_t outputChannels = 0;      ///< K
  int64_t outputPitch = 0;         ///< elements between neighbouring output pixels

  int32_t channelChunks = 0;       ///< ceil(C / 64)
  int32_t lastChunkSlices = 0;     ///< 16-channel slices in the last chunk, 1..4
  int32_t tileN = 0;               ///< output channels per pass, multiple of 16
  int32_t tiles = 0;               ///< tiles of 4*(33-S) anchors

  int32_t operandStages = 0;       ///< shared-memory stages of 16 KiB for activations
  int32_t operandSlots = 0;        ///< Tensor Memory slots of 32 columns for activations
  int32_t filterStages = 0;        ///< shared-memory stages of tileN*128 bytes; R*S*channelChunks when resident
  uint32_t filterResident = 0;     ///< 1: every stage is loaded once and kept
  uint32_t instructionDescriptor = 0;
  uint32_t relu = 0;

  FastDivisor byWidth, byImage;    ///< W and H*W
};

}  // namespace shiftconv::kernels
