// Handlers that apply a pure function to every executing lane.
//
// operand[0] is the destination, operand[1...] are the sources. A slot holds the values of 32 lanes side by side, so
// the loop over all lanes vectorises; packed types (f16x2, f32x2, s16x2) are simply N elements per lane.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>

#include "common/emulator/machine/execution.hpp"

namespace shiftconv::emulator::isa {

using machine::DecodedInstruction;
using machine::Execution;
using machine::Handler;
using machine::kAllLanes;
using machine::kWarpLanes;
using machine::LaneMask;
using machine::Slot;

/// Calls `body(lane)` for the lanes of `mask`; the loop over a full warp is free of dependences between lanes.
template <class Body>
inline void forLanes(LaneMask mask, Body&& body) {
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) body(lane);
  } else {
    for (LaneMask rest = mask; rest != 0; rest &= rest - 1) body(static_cast<unsigned>(std::countr_zero(rest)));
  }
}

/// Bit of each lane: `mask & kLaneBit[lane]` vectorises where a shift by the lane number does not.
inline constexpr auto kLaneBit = [] {
  std::array<LaneMask, kWarpLanes> bits{};
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) bits[lane] = LaneMask{1} << lane;
  return bits;
}();

/// Lane mask of a predicate per lane, from 32 bytes that are 0 or 1.
inline LaneMask packMask(const std::array<uint8_t, kWarpLanes>& bytes) {
  LaneMask mask = 0;
  const auto groups = std::bit_cast<std::array<uint64_t, kWarpLanes / 8>>(bytes);
  for (unsigned i = 0; i < groups.size(); ++i)
    mask |= static_cast<LaneMask>((groups[i] * 0x0102'0408'1020'4080ull) >> 56) << (8 * i);  // gathers eight low bits
  return mask;
}

/// Replaces the bits of `mask` in a predicate.
inline void assignPredicate(LaneMask& predicate, LaneMask mask, LaneMask value) {
  predicate = (predicate & ~mask) | (value & mask);
}

namespace detail {

template <auto Function, unsigned N, class Result, class... Arguments, size_t... Index>
[[gnu::always_inline]] inline void applyLanewise(const Execution& execution, const DecodedInstruction& instruction,
                                                 Result (*)(Arguments...), std::index_sequence<Index...>) {
  Result* const result = execution.lanes<Result>(instruction.operand[0]);
  const auto sources =
      std::make_tuple(static_cast<const Arguments*>(execution.lanes<Arguments>(instruction.operand[Index + 1]))...);
  if (execution.mask == kAllLanes) {
#pragma GCC ivdep
    for (unsigned i = 0; i < kWarpLanes * N; ++i) result[i] = Function(std::get<Index>(sources)[i]...);
  } else {
    for (LaneMask rest = execution.mask; rest != 0; rest &= rest - 1) {
      const unsigned first = static_cast<unsigned>(std::countr_zero(rest)) * N;
      for (unsigned i = first; i < first + N; ++i) result[i] = Function(std::get<Index>(sources)[i]...);
    }
  }
}

template <auto Function, unsigned N, class Result, class... Arguments>
[[gnu::always_inline]] inline void deduceLanewise(const Execution& execution, const DecodedInstruction& instruction,
                                                  Result (*function)(Arguments...)) {
  applyLanewise<Function, N>(execution, instruction, function, std::index_sequence_for<Arguments...>{});
}

}  // namespace detail

/// Handler for a pure function of N elements per lane: operand[0] = Function(operand[1], operand[2], ...).
template <auto Function, unsigned N = 1>
void lanewise(Execution& execution, const DecodedInstruction& instruction) {
  detail::deduceLanewise<Function, N>(execution, instruction, Function);
}

/// True on hosts with AVX2, FMA and F16C instructions.
bool hostHasWideVectors();

#if defined(__x86_64__)
/// The same for hosts with AVX2 and FMA: eight lanes at a time, and fused multiply-adds without a library call.
template <auto Function, unsigned N = 1>
[[gnu::target("avx2,fma,f16c")]] void lanewiseWide(Execution& execution, const DecodedInstruction& instruction) {
  detail::deduceLanewise<Function, N>(execution, instruction, Function);
}
#endif

/// The best handler for this host; the results do not depend on the choice.
template <auto Function, unsigned N = 1>
Handler bestLanewise() {
#if defined(__x86_64__)
  if (hostHasWideVectors()) return lanewiseWide<Function, N>;
#endif
  return lanewise<Function, N>;
}

namespace detail {

template <auto Function, class... Arguments, size_t... Index>
inline LaneMask evaluatePredicate(const Execution& execution, const DecodedInstruction& instruction, bool (*)(Arguments...),
                                  unsigned firstSource, std::index_sequence<Index...>) {
  const auto sources =
      std::make_tuple(static_cast<const Arguments*>(execution.lanes<Arguments>(instruction.operand[firstSource + Index]))...);
  std::array<uint8_t, kWarpLanes> bytes;
#pragma GCC ivdep
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) bytes[lane] = Function(std::get<Index>(sources)[lane]...);
  return packMask(bytes);
}

}  // namespace detail

/// The lanes (of all 32) for which a pure predicate holds; its arguments are operand[firstSource...].
template <auto Function>
LaneMask lanesWhere(const Execution& execution, const DecodedInstruction& instruction, unsigned firstSource) {
  return []<class... Arguments>(const Execution& e, const DecodedInstruction& i, unsigned first, bool (*function)(Arguments...)) {
    return detail::evaluatePredicate<Function>(e, i, function, first, std::index_sequence_for<Arguments...>{});
  }(execution, instruction, firstSource, Function);
}

}  // namespace shiftconv::emulator::isa
