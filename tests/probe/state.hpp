// The state that a question starts from and is judged by: what kernels and host agree on.
#pragma once

#include <cstdint>

namespace shiftconv::probe {

inline constexpr uint32_t kLanes = 128;    ///< of Tensor Memory, and threads of a CTA
inline constexpr uint32_t kColumns = 256;  ///< of Tensor Memory
inline constexpr uint32_t kSharedWords =
    6144;  ///< a swizzled tile of 128 rows of 128 bytes, moved by up to 8 rows, and room behind
inline constexpr uint32_t kSecondSourceBytes = 4096;  ///< where the second operand in shared memory starts

/// Columns: operand A of MMAs at 0, scale factors, accumulators.
inline constexpr uint32_t kScaleAColumn = 64, kScaleBColumn = 72;
inline constexpr uint32_t kAccumulatorColumn = 128;
inline constexpr uint32_t kAccumulatorColumns = 16;  ///< N
inline constexpr uint32_t kSecondAccumulatorColumn = 160;
inline constexpr uint32_t kWideColumns = 48;  ///< N of the question about scale factors: no multiple of 32

/// tcgen05.mma.ws: with M = 64 a half of the columns of D in each half of the lanes. Of kStationaryPeriod columns the last counts
/// as zero.
inline constexpr uint32_t kStationaryN = 64, kStationaryPeriod = 5, kStationaryShift = 2;

/// Lanes that masked MMAs leave alone, in each window.
inline constexpr uint32_t kMaskWord = 0xAAAA5A5Au;
/// Words 0 to 3 of the mask of a CTA pair with M = 128; words 4 to 7 are zero.
inline constexpr uint32_t kPairMask[4] = {0xAAAA5A5Au, 0x0F0F3C3Cu, 0x80000001u, 0x12345678u};

/// MMAs in front of the copy that overwrites their operand.
inline constexpr uint32_t kQueuedMmas = 32;

/// Of the unswizzled operands.
inline constexpr uint32_t kLeadingOffsetBytes = 4096;
inline constexpr uint32_t kRowGroupBytes = 128;

/// A source whose groups of 8 rows lie 1 KiB in front of each other, if addresses wrap at 18 bits.
inline constexpr uint32_t kWrappingStartBytes = 16384;
inline constexpr uint32_t kWrappingGroupBytes = 1024;

}  // namespace shiftconv::probe
