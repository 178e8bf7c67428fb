// The masked multiplication of tensor_core.cuh in a CTA pair.
#pragma once

#include <cstdint>

#include "common/ptx/tensor_core.cuh"

namespace shiftconv::ptx {

/// D[256 x N] += A * B^T in the lanes that the masks leave enabled, one for each CTA of the pair. With DownAfterRead every 32-lane
/// window of A in both CTAs moves by one lane once this instruction has read it.
template <layout::MmaKind kKind, OperandShift kShift>
__device__ __forceinline__ void mmaMasked(uint32_t accumulator, TensorOperand a, uint64_t descriptorB, uint32_t instruction,
                                          const LaneMask& disabledInEven, const LaneMask& disabledInOdd) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.eq.u32 accumulate, 0, 0;\n\t"
      "tcgen05.mma.cta_group::2.%12%13 [%0], [%1], %2, %3, {%4, %5, %6, %7, %8, %9, %10, %11}, accumulate;\n\t"
      "}" ::"r"(accumulator),
      "r"(a.address), "l"(descriptorB), "r"(instruction), "r"(disabledInEven.word[0]), "r"(disabledInEven.word[1]),
      "r"(disabledInEven.word[2]), "r"(disabledInEven.word[3]), "r"(disabledInOdd.word[0]), "r"(disabledInOdd.word[1]),
      "r"(disabledInOdd.word[2]), "r"(disabledInOdd.word[3]), "C"(detail::KindName<kKind>::kText),
      "C"(detail::ShiftName<kShift>::kText)
      : "memory");
}

}  // namespace shiftconv::ptx
