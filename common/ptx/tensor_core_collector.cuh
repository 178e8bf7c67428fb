// tcgen05.mma with operand A through the collector buffer: an operand that several instructions in a row multiply is read once
// (PTX ISA 9.7.16.10.9.1, .collector_usage). Hardware may read it again all the same, so it has to stay until all are complete.
#pragma once

#include <cstdint>

#include "common/ptx/tensor_core.cuh"

namespace shiftconv::ptx {

/// What an instruction does with the buffer. Use and LastUse need the same operand A as the last Fill, with nothing but Uses
/// between.
enum class Collector : uint8_t { Discard, Fill, Use, LastUse };

namespace detail {
template <Collector>
struct CollectorName;
#define SHIFTCONV_COLLECTOR(NAME, TEXT)   \
  template <>                             \
  struct CollectorName<Collector::NAME> { \
    static constexpr char kText[] = TEXT; \
  };
SHIFTCONV_COLLECTOR(Discard, "::discard")
SHIFTCONV_COLLECTOR(Fill, "::fill")
SHIFTCONV_COLLECTOR(Use, "::use")
SHIFTCONV_COLLECTOR(LastUse, "::lastuse")
#undef SHIFTCONV_COLLECTOR
}  // namespace detail

/// mma() of dense kinds with operand A in shared memory.
template <layout::MmaKind kKind, int kCtas, Collector kCollector>
__device__ __forceinline__ void mmaCollected(uint32_t accumulator, uint64_t descriptorA, uint64_t descriptorB, uint32_t instruction,
                                             bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %4, 0;\n\t"
      "tcgen05.mma.cta_group::%5.%6.collector::a%7 [%0], %1, %2, %3, accumulate;\n\t"
      "}" ::"r"(accumulator),
      "l"(descriptorA), "l"(descriptorB), "r"(instruction), "r"(static_cast<uint32_t>(accumulate)), "n"(kCtas),
      "C"(detail::KindName<kKind>::kText), "C"(detail::CollectorName<kCollector>::kText)
      : "memory");
}

}  // namespace shiftconv::ptx
