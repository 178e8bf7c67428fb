// Integer arithmetic of PTX ISA 9.0, 9.7.1, as pure functions of one lane.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace shiftconv::emulator::isa::integer {

template <class T>
struct Wide;
template <>
struct Wide<uint16_t> {
  using Type = uint32_t;
};
template <>
struct Wide<int16_t> {
  using Type = int32_t;
};
template <>
struct Wide<uint32_t> {
  using Type = uint64_t;
};
template <>
struct Wide<int32_t> {
  using Type = int64_t;
};
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;
template <>
struct Wide<uint64_t> {
  using Type = Uint128;
};
template <>
struct Wide<int64_t> {
  using Type = Int128;
};
template <class T>
using WideOf = typename Wide<T>::Type;

template <class T>
inline constexpr unsigned kBits = sizeof(T) * 8;

/// Wrapping arithmetic goes through an unsigned type that integer promotion cannot make signed.
template <class T>
using Modular = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b));
}
template <class T>
T subtract(T a, T b) {
  return static_cast<T>(static_cast<Modular<T>>(a) - static_cast<Modular<T>>(b));
}
template <class T>
T multiplyLow(T a, T b) {
  return static_cast<T>(static_cast<Modular<T>>(a) * static_cast<Modular<T>>(b));
}
template <class T>
T multiplyHigh(T a, T b) {
  return static_cast<T>((static_cast<WideOf<T>>(a) * static_cast<WideOf<T>>(b)) >> kBits<T>);
}
template <class T>
WideOf<T> multiplyWide(T a, T b) {
  return static_cast<WideOf<T>>(a) * static_cast<WideOf<T>>(b);
}
template <class T>
T multiplyAddLow(T a, T b, T c) {
  return add(multiplyLow(a, b), c);
}
template <class T>
T multiplyAddHigh(T a, T b, T c) {
  return add(multiplyHigh(a, b), c);
}
template <class T>
WideOf<T> multiplyAddWide(T a, T b, WideOf<T> c) {
  return add(multiplyWide(a, b), c);
}

inline int32_t saturate(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}
inline int32_t addSaturate(int32_t a, int32_t b) { return saturate(int64_t{a} + b); }
inline int32_t subtractSaturate(int32_t a, int32_t b) { return saturate(int64_t{a} - b); }
inline int32_t multiplyAddHighSaturate(int32_t a, int32_t b, int32_t c) { return saturate(int64_t{multiplyHigh(a, b)} + c); }

/// The low 24 bits of an operand, sign-extended for signed types.
template <class T>
int64_t low24(T value) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<int32_t>(static_cast<uint32_t>(value) << 8) >> 8;
  else
    return value & 0xff'ffff;
}
template <class T>
T multiply24Low(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(low24(a) * low24(b)));
}
template <class T>
T multiply24High(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(low24(a) * low24(b)) >> 16);
}
template <class T>
T multiplyAdd24Low(T a, T b, T c) {
  return add(multiply24Low(a, b), c);
}
template <class T>
T multiplyAdd24High(T a, T b, T c) {
  return add(multiply24High(a, b), c);
}
inline int32_t multiplyAdd24HighSaturate(int32_t a, int32_t b, int32_t c) { return saturate(int64_t{multiply24High(a, b)} + c); }

template <class T>
T sumOfAbsoluteDifference(T a, T b, T c) {
  return add(c, a < b ? subtract(b, a) : subtract(a, b));
}

/// Division by zero is unspecified in PTX; this machine gives all ones and, as remainder, the dividend.
template <class T>
T divide(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return subtract(T{0}, a);
  return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

template <class T>
T negate(T a) {
  return subtract(T{0}, a);
}
template <class T>
T absolute(T a) {
  return a < 0 ? negate(a) : a;
}
template <class T>
T minimum(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T maximum(T a, T b) {
  return a < b ? b : a;
}
template <class T>
T minimumRelu(T a, T b) {
  return maximum(minimum(a, b), T{0});
}
template <class T>
T maximumRelu(T a, T b) {
  return maximum(maximum(a, b), T{0});
}

template <class T>
uint32_t populationCount(T a) {
  return static_cast<uint32_t>(std::popcount(a));
}
template <class T>
uint32_t countLeadingZeros(T a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}

template <class T>
T reverseBits(T value) {
  T result = 0;
  for (unsigned bit = 0; bit < kBits<T>; ++bit) result |= ((value >> bit) & 1) << (kBits<T> - 1 - bit);
  return result;
}

/// Position of the most significant bit that differs from the sign (or is set), as position or left-shift amount.
template <class T, bool kShiftAmount>
uint32_t findMostSignificant(T value) {
  using Unsigned = std::make_unsigned_t<T>;
  auto bits = static_cast<Unsigned>(value);
  if constexpr (std::is_signed_v<T>)
    if (value < 0) bits = static_cast<Unsigned>(~bits);
  if (bits == 0) return 0xffff'ffffu;
  const auto zeros = static_cast<uint32_t>(std::countl_zero(bits));
  return kShiftAmount ? zeros : kBits<T> - 1 - zeros;
}

/// fns.b32: position of the offset-th set bit of `mask`, counted from bit `base` upwards or downwards.
inline uint32_t findNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == 0) return base < 32 && (mask >> base & 1) != 0 ? base : 0xffff'ffffu;
  const int step = offset > 0 ? 1 : -1;
  int64_t left = offset > 0 ? int64_t{offset} : -int64_t{offset};
  for (int32_t position = static_cast<int32_t>(base); position >= 0 && position < 32; position += step)
    if ((mask >> position & 1) != 0 && --left == 0) return static_cast<uint32_t>(position);
  return 0xffff'ffffu;
}

/// bfe: length and position are the low bytes of b and c; bits beyond the top are the sign (or zero).
template <class T>
T extractField(T value, uint32_t b, uint32_t c) {
  const uint32_t position = b & 0xff;
  const uint32_t length = c & 0xff;
  constexpr uint32_t kTop = kBits<T> - 1;
  using Unsigned = std::make_unsigned_t<T>;
  const auto bits = static_cast<Unsigned>(value);
  const bool sign = std::is_signed_v<T> && length != 0 && ((bits >> std::min(position + length - 1, kTop)) & 1) != 0;
  Unsigned result = sign ? static_cast<Unsigned>(~Unsigned{0}) : Unsigned{0};
  for (uint32_t i = 0; i <= kTop && i < length && position + i <= kTop; ++i) {
    const Unsigned bit = Unsigned{1} << i;
    result = (bits >> (position + i) & 1) != 0 ? result | bit : result & ~bit;
  }
  return static_cast<T>(result);
}

/// bfi: `length` low bits of a replace those of b from `position` on.
template <class T>
T insertField(T a, T b, uint32_t c, uint32_t d) {
  const uint32_t position = c & 0xff;
  const uint32_t length = d & 0xff;
  if (position >= kBits<T> || length == 0) return b;
  const T field = length >= kBits<T> ? ~T{0} : (T{1} << length) - 1;
  return (b & ~(field << position)) | ((a & field) << position);
}

/// szext: sign- or zero-extends the low b bits of a; b is clamped to 32 or wrapped to 5 bits.
template <class T, bool kWrap>
T extendFrom(T value, uint32_t b) {
  const uint32_t length = kWrap ? b & 31 : std::min<uint32_t>(b, 32);
  if (length == 0) return 0;
  const uint32_t shift = 32 - length;
  return static_cast<T>(static_cast<T>(static_cast<uint32_t>(value) << shift) >> shift);
}

/// bmsk: b one bits from position a on.
template <bool kWrap>
uint32_t bitMask(uint32_t a, uint32_t b) {
  const uint32_t position = kWrap ? a & 31 : std::min<uint32_t>(a, 32);
  const uint32_t length = kWrap ? b & 31 : std::min<uint32_t>(b, 32);
  return static_cast<uint32_t>(((uint64_t{1} << length) - 1) << position);
}

/// dp4a: four products of bytes; A and B are int8_t or uint8_t.
template <class A, class B>
int32_t dotProduct4(uint32_t a, uint32_t b, int32_t c) {
  auto sum = static_cast<uint32_t>(c);
  for (unsigned i = 0; i < 4; ++i) sum += static_cast<uint32_t>(static_cast<A>(a >> (8 * i)) * static_cast<B>(b >> (8 * i)));
  return static_cast<int32_t>(sum);
}

/// dp2a: two 16-bit halves of a times two bytes of the low or high half of b; A is int16_t or uint16_t.
template <class A, class B, bool kHigh>
int32_t dotProduct2(uint32_t a, uint32_t b, int32_t c) {
  auto sum = static_cast<uint32_t>(c);
  const uint32_t half = kHigh ? b >> 16 : b;
  for (unsigned i = 0; i < 2; ++i) sum += static_cast<uint32_t>(static_cast<A>(a >> (16 * i)) * static_cast<B>(half >> (8 * i)));
  return static_cast<int32_t>(sum);
}

}  // namespace shiftconv::emulator::isa::integer
