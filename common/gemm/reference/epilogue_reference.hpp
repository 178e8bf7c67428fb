// The epilogue in double with a bound of what f32 arithmetic may do to it: a running error analysis, step by step beside the
// values.
//
// Every f32 operation that rounds to nearest adds at most u|x| + 2^-150 to the error that its operands hand on, x being any number
// within reach of the result, u = 2^-24. It adds nothing when all operands are exact and so is the result: small integers pass
// exactly. An activation hands on the error of its argument times its largest slope and adds its own, derived in
// epilogue/activation.cuh. Conversions are judged by monotony: a code is right when some number within the bound rounds to it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/gemm/epilogue/params.hpp"
#include "common/numerics/block_format.hpp"

namespace shiftconv::gemm {

/// A number that the device knows within +-error.
struct Bounded {
  double value = 0;
  double error = 0;
};

struct EpilogueValue {
  Bounded activated;  ///< what `largest` sees
  Bounded scaled;     ///< what is converted, outputScale included
};

/// `params` with host addresses. The accumulator's error is the matrix product's.
EpilogueValue epilogueReference(const EpilogueParams& params, int64_t row, int64_t column, Bounded accumulator);

/// Whether the device may have written `code` for `value`; for outputs without blocks. `zeroPoint`: of integers.
bool reachable(NumberType type, Bounded value, uint32_t code, int32_t zeroPoint = 0);

/// "" when the device may have written these codes and this factor for the values of one block, or the first thing that is wrong.
std::string blockDifference(const numerics::BlockFormat& format, std::span<const Bounded> values, uint32_t scaleCode,
                            std::span<const uint32_t> codes);

}  // namespace shiftconv::gemm
