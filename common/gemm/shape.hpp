// What a GEMM is asked for, of no architecture in particular.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "common/layout/instruction_descriptor.hpp"
#include "common/layout/scale_factor_layout.hpp"
#include "common/numerics/number_types.hpp"

namespace shiftconv::gemm {

using numerics::NumberType;

/// One operand: rows of M or N with K elements each, in global memory.
struct Operand {
  NumberType type = NumberType::F16;
  /// M or N is the contiguous dimension: [K][rows] in memory instead of [rows][K].
  bool mnMajor = false;
  /// Bytes from one line of memory to the next, a multiple of 16. e2m1, e2m3 and e3m2 lie densely packed; where they go with types
  /// of another width a multiple of 32, and every line has at least K rounded up to 128 elements, of which those from K on are
  /// zeros unless the other operand has a byte for each element.
  int64_t pitch = 0;
  /// Of the block scale factors, if any.
  layout::ScaleFactorLayout scaleLayout = layout::ScaleFactorLayout::RowMajor;
};

/// A matrix that is not stored: its rows are the positions of a window that moves over pixels [images][z][y][x][channels]. A row
/// has the elements of the window's taps [z][y][x][channels], of which those outside of the tensor are zeros. Positions run over
/// images, z, y and x, the last one fastest.
struct Window {
  struct Axis {
    int64_t extent = 1;     ///< pixels
    int64_t positions = 1;  ///< of the window
    int64_t taps = 1;
    int64_t before = 0;  ///< pixels of position 0 that lie in front of the tensor
    int64_t stride = 1;  ///< pixels from position to position
    int64_t step = 1;    ///< pixels from tap to tap
  };
  int64_t images = 1, channels = 0;
  /// A pixel has the channels of as many groups, side by side, and B the rows of as many: each group's rows of B, N / groups of
  /// them, multiply its own channels alone.
  int64_t groups = 1;
  std::array<Axis, 3> axes;  ///< x, y, z
  /// Pixels may be in two tensors: the first firstChannels channels of all of them, or the first firstPlanes planes (z) of every
  /// image, in one, and the others in another. 0: not split there. At most one of them is set.
  int64_t firstChannels = 0, firstPlanes = 0;
  int64_t secondPitch = 0;  ///< bytes from pixel to pixel in the second tensor

  int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  int64_t rows() const { return images * axes[0].positions * axes[1].positions * axes[2].positions; }
  bool isSplit() const { return firstChannels != 0 || firstPlanes != 0; }
  int64_t pixels() const { return images * axes[0].extent * axes[1].extent * axes[2].extent; }
};

/// D[M][N] = A[M][K] * B[N][K]^T.
struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  Operand a, b;
  /// Elements of K that share a scale factor: 0 (none), 16 or 32; the type of the factors, UE8M0 or UE4M3. They are
  /// [rows][ceil(K / blockSize)] bytes in either layout.
  int32_t blockSize = 0;
  NumberType scale = NumberType::UE8M0;
  NumberType accumulator = NumberType::F32;  ///< F32, F16 or S32
  NumberType output = NumberType::F32;       ///< what the epilogue stores (epilogue/params.hpp)
  int32_t outputBlock = 0;                   ///< elements of an output row that share a scale factor: 0 (none), 16 or 32
  int64_t outputPitch = 0;                   ///< bytes from one row to the next
  /// A's rows come from it: M and K are rows() and taps() * channels; A's pitch is that of pixels, B's that of taps; scale factors
  /// belong to pixels and to taps of B, [N * taps][blocks of channels].
  std::optional<Window> window;

  /// Elements of K that lie side by side in memory.
  int64_t lineElements() const { return window ? window->channels : k; }
  /// The same of A, whose pixels have all groups; of a window's pixels in two tensors, those of the first.
  int64_t lineElementsA() const { return window && window->firstChannels != 0 ? window->firstChannels : lineElements() * groups(); }
  int64_t groups() const { return window ? window->groups : 1; }
};

/// The bytes of an operand's line that hold elements.
int64_t lineBytes(const GemmProblem& problem, const Operand& operand, int64_t rows);

/// Which matrix instruction computes it: nothing, and `why` in one sentence, when none does.
std::optional<layout::MmaKind> kindOf(const GemmProblem& problem, std::string& why);

/// "kind::f16", "kind::mxf4nvf4.block16", ...
const char* toString(layout::MmaKind kind);

/// "m=128,n=64,k=96,a=e4m3,b=e2m1.mn,...": for messages and tests.
std::string describe(const GemmProblem& problem);

}  // namespace shiftconv::gemm
