// What rows of operands consist of, for im2col_sm90, and who loads them.
#pragma once

#include <cstdint>
#include <string>

#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm90 {

inline constexpr int64_t kMapBytes = 16;  ///< what tensor maps step by

/// One tap, no strides, no padding: each output pixel reads the input pixel of its number.
bool isPixelByPixel(const Problem& p);

/// Channels of so many bytes.
int64_t mapChannels(const Problem& p);

/// Bytes that rows of pixels and of the filter consist of: 16 or fewer.
int32_t rowPieceBytes(const Problem& p);
/// Whether rows begin anywhere: threads then shift words into place, as cp.async copies 4 bytes or more.
constexpr bool isShifted(int32_t pieceBytes) { return pieceBytes % 4 != 0; }

/// Whether threads can copy rows: those of a plain matrix, wherever they begin.
bool canCopyPieces(const Problem& p);

/// Why nobody can load rows; empty where somebody can.
std::string rowRefusal(const Problem& p);

}  // namespace shiftconv::plan::sm90
