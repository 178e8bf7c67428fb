// Elements of 8 bits as f16.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/ptx/conversion.cuh"
#include "common/ptx/packed_operands.cuh"
#include "conv/kernels/decoding.hpp"

namespace shiftconv::kernels {

/// What the bytes of both operands of a product are.
enum class Coding : uint8_t { E4m3, Floats, Integers };
template <Coding kCoding>
struct CodingConstant {
  static constexpr Coding kValue = kCoding;
};
/// Calls `work` with a CodingConstant. One branch, the same for every thread of a launch, instead of one at every word. The
/// frequent cases come first, so that few instructions are fetched from elsewhere.
template <class Work>
__device__ __forceinline__ void withCoding(const Decoding& inputs, const Decoding& filters, Work&& work) {
  const bool isE5m2 = inputs.isE5m2 || filters.isE5m2;
  if (!inputs.isInteger && !isE5m2)
    work(CodingConstant<Coding::E4m3>{});
  else if (!isE5m2)
    work(CodingConstant<Coding::Integers>{});
  else
    work(CodingConstant<Coding::Floats>{});
}

/// Calls `work` with two std::bool_constant: whether bytes of the input, and of the filter, are signed integers.
template <class Work>
__device__ __forceinline__ void withSigns(const Decoding& inputs, const Decoding& filters, Work&& work) {
  const auto withFilters = [&](auto isInputSigned) {
    if (filters.sign != 0)
      work(isInputSigned, std::true_type());
    else
      work(isInputSigned, std::false_type());
  };
  if (inputs.sign != 0)
    withFilters(std::true_type());
  else
    withFilters(std::false_type());
}

/// Elements kFirst and kFirst + 1 of a word, exactly; the first lowest. No branches.
template <Coding kCoding, int32_t kFirst>
__device__ __forceinline__ uint32_t halvesAs(const Decoding& how, uint32_t word) {
  static_assert(kFirst == 0 || kFirst == 2);
  if constexpr (kCoding == Coding::Integers) {
    // 0x6400 + n is 1024 + n in f16. Of signed bytes n is 128 more than the number.
    const uint32_t raised = __byte_perm(word ^ how.sign * 0x01010101u, 0x64646464u, kFirst == 0 ? 0x4140 : 0x4342);
    return ptx::addF16x2(raised, (0xE400u + how.sign) * 0x00010001u);  // -1024 or -1152
  } else {
    const uint32_t ofE4m3 = ptx::unpackPairE4m3(word >> (kFirst * 8));
    if constexpr (kCoding == Coding::E4m3) return ofE4m3;
    // e5m2 is the upper byte of f16.
    return how.isE5m2 ? __byte_perm(word, 0, kFirst == 0 ? 0x1404 : 0x3424) : ofE4m3;
  }
}
/// All four elements of a word.
template <Coding kCoding>
__device__ __forceinline__ uint2 fourHalvesAs(const Decoding& how, uint32_t word) {
  return make_uint2(halvesAs<kCoding, 0>(how, word), halvesAs<kCoding, 2>(how, word));
}

/// Of the low 16 bits.
__device__ __forceinline__ uint32_t halvesOf(const Decoding& how, uint32_t bytes) {
  if (how.isInteger) return halvesAs<Coding::Integers, 0>(how, bytes);
  return halvesAs<Coding::Floats, 0>(how, bytes);
}

}  // namespace shiftconv::kernels
