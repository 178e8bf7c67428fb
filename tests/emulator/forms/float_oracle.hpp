// Expected results of floating-point instructions, from exact arithmetic (exact_real.hpp) and the rules for special values.
#pragma once

#include <cstdint>
#include <string_view>

#include "tests/emulator/forms/exact_real.hpp"

namespace shiftconv::tests {

/// Modifiers of an instruction as the oracle needs them.
struct FloatRules {
  Format format = kSingle;
  Round round = Round::NearestEven;
  bool flush = false;
  bool saturate = false;  ///< .sat
  bool relu = false;
};

/// Bits of the NaN that instructions return. f64 instructions may return any NaN: compare with sameFloat.
uint64_t nanOf(Format format);
bool isNan(Format format, uint64_t bits);
/// Equal bits; for f64 any NaN equals any NaN.
bool sameFloat(Format format, uint64_t a, uint64_t b);
uint64_t flushed(Format format, uint64_t bits);
Round roundOf(std::string_view modifier);

/// a * b + c, rounded once. `a` and `b` may have another format than `c` and the result (mixed precision).
uint64_t expectedFma(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t c, Format factors);
uint64_t expectedSum(const FloatRules& rules, uint64_t a, uint64_t b, bool subtract, Format first);
uint64_t expectedProduct(const FloatRules& rules, uint64_t a, uint64_t b);
/// The quotient and the square root are checked by multiplying back.
uint64_t expectedQuotient(const FloatRules& rules, uint64_t a, uint64_t b);
uint64_t expectedRoot(const FloatRules& rules, uint64_t a);
/// .ftz, .sat and .relu on a result.
uint64_t finish(const FloatRules& rules, uint64_t bits);

}  // namespace shiftconv::tests
