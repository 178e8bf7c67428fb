// The kind of a launch's MMAs, for code that is compiled for each.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/gemm_params.hpp"
#include "common/layout/instruction_descriptor.hpp"

namespace shiftconv::gemm::sm100 {

/// The kinds that a kernel has.
enum class Kinds : uint8_t { Dense, BlockScaled, All };

/// Calls body.operator()<kKind>() for the launch's kind, if it is among them. That costs a branch, and saves a kernel for each.
template <Kinds kKinds, class Body>
__device__ __forceinline__ void inKind(layout::MmaKind kind, Body&& body) {
  using layout::MmaKind;
  constexpr bool kDense = kKinds != Kinds::BlockScaled, kScaled = kKinds != Kinds::Dense;
  switch (kind) {
    case MmaKind::F16:
      if constexpr (kDense) body.template operator()<MmaKind::F16>();
      return;
    case MmaKind::TF32:
      if constexpr (kDense) body.template operator()<MmaKind::TF32>();
      return;
    case MmaKind::F8F6F4:
      if constexpr (kDense) body.template operator()<MmaKind::F8F6F4>();
      return;
    case MmaKind::I8:
      // The planner refuses it on sm_103a, whose assembler does not know it (PTX ISA 9.7.16.10).
      if constexpr (kDense) body.template operator()<MmaKind::I8>();
      return;
    case MmaKind::MxF8F6F4:
      if constexpr (kScaled) body.template operator()<MmaKind::MxF8F6F4>();
      return;
    case MmaKind::MxF4:
      if constexpr (kScaled) body.template operator()<MmaKind::MxF4>();
      return;
    case MmaKind::NvF4:
      if constexpr (kScaled) body.template operator()<MmaKind::NvF4>();
      return;
  }
}

/// Calls body(slice) for the slices of a chunk. A full chunk is unrolled: a thread that loops around every MMA cannot keep the
/// tensor core busy.
template <class Body>
__device__ __forceinline__ void forEachSlice(int32_t slices, Body&& body) {
  if (slices == kChunkSlices) {
#pragma unroll
    for (uint32_t slice = 0; slice < kChunkSlices; ++slice) body(slice);
  } else {
#pragma unroll 1
    for (uint32_t slice = 0; slice < static_cast<uint32_t>(slices); ++slice) body(slice);
  }
}

}  // namespace shiftconv::gemm::sm100
