// Seeded operand sets, heavy on the values where arithmetic goes wrong.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace shiftconv::recordings {

/// What an operand means, which decides the edge values it is drawn from.
enum class Kind : uint8_t {
  Pred,
  I8,
  I16,
  I32,
  I64,
  F16,
  BF16,
  F32,
  F64,
  I16x2,
  F16x2,
  BF16x2,
  E4M3x2,
  E5M2x2,
  Amount,  ///< 32-bit shift amount, lane delta, bit position: mostly small, sometimes far beyond any width
  Angle,   ///< f32 in [-2 pi, 2 pi]
  Count,
};

unsigned bytesOf(Kind kind);

/// splitmix64: the same stream on every machine and standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint64_t below(uint64_t limit) { return next() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  uint64_t state_;
};

uint64_t hashBytes(const void* data, size_t bytes, uint64_t seed = 0);
inline uint64_t hashText(std::string_view text) { return hashBytes(text.data(), text.size()); }

using OperandSet = std::array<uint64_t, 5>;
using OperandFilter = std::function<void(OperandSet&)>;

/// `count` sets; sets of a single operand of 16 bits or fewer are exhaustive instead. `filter` may repair a set whose
/// result the ISA leaves undefined.
std::vector<OperandSet> drawOperands(const std::vector<Kind>& kinds, size_t count, uint64_t seed, const OperandFilter& filter);

}  // namespace shiftconv::recordings
