// What a GEMM is asked for, of no architecture in particular.
#pragma once

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
