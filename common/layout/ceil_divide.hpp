// How many tiles cover a length.
#pragma once

#include <cstdint>

namespace shiftconv {

/// a / b rounded up, for a >= 0 and b > 0.
constexpr int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The least multiple of b that is not below a, for a >= 0 and b > 0.
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDivide(a, b) * b; }

}  // namespace shiftconv
