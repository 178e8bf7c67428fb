// tcgen05.mma.ws with operand B through one of its four collector buffers: an operand that several instructions multiply is read
// once, also where they take its columns shifted (PTX ISA 9.7.16.10.9.3). Hardware may read it again all the same, so it has to
// stay until all are complete.
#pragma once

#include <cstdint>

#include "common/host_device.hpp"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_core_collector.cuh"

namespace shiftconv::ptx {

/// Zero-column mask descriptor (9.7.16.4.3): the instruction multiplies columns shift, shift + 1, ... of B; of every `period`
/// columns of D one counts as zero, the first of them or the last.
enum class ZeroColumn : uint8_t { None, First, Last };
SHIFTCONV_HOST_DEVICE constexpr uint64_t columnMask(uint32_t shift, uint32_t period, ZeroColumn zero) {
  const uint64_t shifted = uint64_t{shift} << 56;
  if (zero == ZeroColumn::None) return shifted;
  constexpr uint64_t kNonZeroMask = uint64_t{1} << 39, kAllBeginSkipping = uint64_t{15} << 32;
  return shifted | kNonZeroMask | uint64_t{period - 2} << 48 | (zero == ZeroColumn::First ? kAllBeginSkipping : 0);
}

/// D = A * B (+ D) with both operands in shared memory; buffer `kBuffer` of 0..3.
template <layout::MmaKind kKind, uint32_t kBuffer, Collector kCollector>
__device__ __forceinline__ void mmaStationary(uint32_t accumulator, uint64_t descriptorA, uint64_t descriptorB,
                                              uint32_t instruction, uint64_t columnMask, bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %5, 0;\n\t"
      "tcgen05.mma.ws.cta_group::1.%6.collector::b%7%8 [%0], %1, %2, %3, accumulate, %4;\n\t"
      "}" ::"r"(accumulator),
      "l"(descriptorA), "l"(descriptorB), "r"(instruction), "l"(columnMask), "r"(static_cast<uint32_t>(accumulate)),
      "C"(detail::KindName<kKind>::kText), "n"(kBuffer), "C"(detail::CollectorName<kCollector>::kText)
      : "memory");
}

}  // namespace shiftconv::ptx
