// The read-modify-write operations of atom, red, red.async and the bulk reductions, on values as bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/emulator/ptx/module.hpp"
#include "common/numerics/float16.hpp"

namespace shiftconv::emulator::machine {

/// What an operation may depend on besides its values.
struct AtomicPlace {
  bool global = false;
  bool bulk = false;  ///< done by the copy engine
};

template <class T>
using Combine = T (*)(T old, T operand, AtomicPlace place);

/// Other clusters run on other host threads, so this is an atomic operation of the host, too.
template <class T, class Update>
T exchange(std::byte* pointer, Update&& update) {
  T* const object = reinterpret_cast<T*>(pointer);
  T old = __atomic_load_n(object, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(object, &old, update(old), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

template <class T>
T bitAnd(T a, T b, AtomicPlace) {
  return a & b;
}
template <class T>
T bitOr(T a, T b, AtomicPlace) {
  return a | b;
}
template <class T>
T bitXor(T a, T b, AtomicPlace) {
  return a ^ b;
}
template <class T>
T replace(T, T b, AtomicPlace) {
  return b;
}
template <class T>
T add(T a, T b, AtomicPlace) {
  return a + b;
}
template <class T>
T smaller(T a, T b, AtomicPlace) {
  return std::min(a, b);
}
template <class T>
T larger(T a, T b, AtomicPlace) {
  return std::max(a, b);
}
inline uint32_t increment(uint32_t a, uint32_t b, AtomicPlace) { return a >= b ? 0 : a + 1; }
inline uint32_t decrement(uint32_t a, uint32_t b, AtomicPlace) { return a == 0 || a > b ? b : a - 1; }

inline float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }

/// atom and red on global memory take and give zeros for subnormals; on shared memory, and in bulk reductions, they do not
/// (observed on H200).
inline uint32_t addF32(uint32_t a, uint32_t b, AtomicPlace place) {
  constexpr uint32_t kCanonicalNan = 0x7fffffff;
  const bool flush = place.global && !place.bulk;
  float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  if (flush) x = flushed(x), y = flushed(y);
  const float sum = flush ? flushed(x + y) : x + y;
  return std::isnan(sum) ? kCanonicalNan : std::bit_cast<uint32_t>(sum);
}

/// Of two NaNs the operand passes on global memory, just as it is; the old value, made quiet, on shared memory (observed on
/// H200).
inline uint64_t addF64(uint64_t a, uint64_t b, AtomicPlace place) {
  constexpr uint64_t kQuiet = 0x0008'0000'0000'0000, kGeneratedNan = 0xfff8'0000'0000'0000;
  const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
  if (place.global && std::isnan(y)) return b;
  if (std::isnan(x)) return place.global ? a : a | kQuiet;
  if (std::isnan(y)) return b | kQuiet;
  return std::isnan(x + y) ? kGeneratedNan : std::bit_cast<uint64_t>(x + y);
}

struct Half {
  static float decode(uint16_t bits) { return numerics::decodeF16(bits); }
  static uint16_t encode(float value) { return numerics::encodeF16(value); }
};
struct Bfloat {
  static float decode(uint16_t bits) { return numerics::decodeBf16(bits); }
  static uint16_t encode(float value) { return numerics::encodeBf16(value); }
};

enum class HalfOperation : uint8_t { Add, Min, Max };

/// f32 has more than twice the precision of both formats plus two bits, so rounding its sum once more is exact.
template <class Format, HalfOperation kOperation>
uint16_t combineHalf(uint16_t a, uint16_t b, AtomicPlace) {
  const float x = Format::decode(a), y = Format::decode(b);
  if constexpr (kOperation == HalfOperation::Add) return Format::encode(x + y);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) ? numerics::kCanonicalNan16 : std::isnan(x) ? b : a;
  const bool firstIsSmaller = x < y || (x == y && std::signbit(x));
  return (kOperation == HalfOperation::Min) == firstIsSmaller ? a : b;
}

template <class Format, HalfOperation kOperation>
uint32_t combineHalves(uint32_t a, uint32_t b, AtomicPlace place) {
  const auto part = [&](unsigned shift) {
    return uint32_t{combineHalf<Format, kOperation>(static_cast<uint16_t>(a >> shift), static_cast<uint16_t>(b >> shift), place)}
           << shift;
  };
  return part(0) | part(16);
}

/// Calls use.operator()<T, combine>() for the operation ("and" .. "max", "exch") on values of `type`, with T the bits or the
/// integer of that type, and returns what it returns. Which pairs exist is the business of the instruction's rows; bits of
/// 16-bit floats are combined without flushing subnormals.
template <class Use>
auto withCombine(std::string_view operation, ptx::ScalarType type, Use&& use) {
  using ptx::ScalarType;
  const auto half = [&]<HalfOperation kOperation>() {
    switch (type) {
      case ScalarType::F16:
        return use.template operator()<uint16_t, combineHalf<Half, kOperation>>();
      case ScalarType::BF16:
        return use.template operator()<uint16_t, combineHalf<Bfloat, kOperation>>();
      case ScalarType::F16x2:
        return use.template operator()<uint32_t, combineHalves<Half, kOperation>>();
      default:
        return use.template operator()<uint32_t, combineHalves<Bfloat, kOperation>>();
    }
  };
  const auto bits = [&]<class T>() {
    if (operation == "and") return use.template operator()<T, bitAnd<T>>();
    if (operation == "or") return use.template operator()<T, bitOr<T>>();
    if (operation == "xor") return use.template operator()<T, bitXor<T>>();
    return use.template operator()<T, replace<T>>();
  };
  const auto range = [&]<class T>() {
    return operation == "min" ? use.template operator()<T, smaller<T>>() : use.template operator()<T, larger<T>>();
  };
  const bool isHalf =
      type == ScalarType::F16 || type == ScalarType::BF16 || type == ScalarType::F16x2 || type == ScalarType::BF16x2;
  const bool wide = ptx::sizeOf(type) == 8;
  if (operation == "add") {
    if (isHalf) return half.template operator()<HalfOperation::Add>();
    if (type == ScalarType::F32) return use.template operator()<uint32_t, addF32>();
    if (type == ScalarType::F64) return use.template operator()<uint64_t, addF64>();
    return wide ? use.template operator()<uint64_t, add<uint64_t>>() : use.template operator()<uint32_t, add<uint32_t>>();
  }
  if (operation == "inc") return use.template operator()<uint32_t, increment>();
  if (operation == "dec") return use.template operator()<uint32_t, decrement>();
  if (operation == "min" || operation == "max") {
    if (isHalf)
      return operation == "min" ? half.template operator()<HalfOperation::Min>() : half.template operator()<HalfOperation::Max>();
    switch (type) {
      case ScalarType::U32:
        return range.template operator()<uint32_t>();
      case ScalarType::S32:
        return range.template operator()<int32_t>();
      case ScalarType::U64:
        return range.template operator()<uint64_t>();
      default:
        return range.template operator()<int64_t>();
    }
  }
  return wide ? bits.template operator()<uint64_t>() : bits.template operator()<uint32_t>();
}

}  // namespace shiftconv::emulator::machine
