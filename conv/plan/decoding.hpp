// Operands that kernels decode before they multiply them.
#pragma once

#include <cstdint>

#include "conv/kernels/decoding.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// `type`: of the problem's input or filter.
inline kernels::Decoding decodingOf(const Problem& problem, DataType type) {
  constexpr uint32_t kKeptOfTf32 = 0xffffe000u;
  kernels::Decoding decoding;
  decoding.isInteger = isInteger(type);
  decoding.isE5m2 = type == DataType::E5M2;
  decoding.sign = type == DataType::S8 ? 0x80 : 0;
  if (problem.compute == Compute::TF32) decoding.kept = kKeptOfTf32;
  return decoding;
}

/// Products of 8-bit integers whose sum f32 holds exactly, whatever they are: it stays below 2^24.
inline int64_t mostExactProducts(const Problem& problem) {
  const auto largest = [](DataType type) { return type == DataType::S8 ? 128 : 255; };
  return ((int64_t{1} << 24) - 1) / (largest(problem.inputType) * largest(problem.filterType));
}

}  // namespace shiftconv::plan
