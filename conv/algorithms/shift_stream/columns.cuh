// What the multiplying thread of shift_stream does with one column of filter taps.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/gemm_params.hpp"
#include "common/gemm/sm100/kinds.cuh"
#include "common/ptx/tensor_core.cuh"
#include "conv/algorithms/shift_stream/params.hpp"

namespace shiftconv::kernels::shift_stream {

inline constexpr uint32_t kLastLane = static_cast<uint32_t>(kStreamWindowLanes - 1) << 16;  // of a window, in an address

/// One tap column s of one input row: for every slice, the MMAs of all filter rows, then the shift and the refill.
template <class Group>
struct TapColumn {
  uint32_t accumulators;  // Tensor Memory of the first in the ring
  uint32_t filters;       // shared memory of the first stage
  uint32_t operand;       // Tensor Memory
  int32_t slices;
  int32_t accumulator, count;  // ring index of the first output row's; output rows
  int32_t filter, filterStep;  // stage of the first output row's tap, and from there to the next one's
  int32_t freshFrom;           // output rows from here on have not been begun
  bool shifts;                 // another tap column of the same copy follows
  uint32_t refill;             // shared memory of what the last lanes of the windows take after the shift, or 0
  ptx::LaneMask disabled[Group::kCtas];
  uint32_t scaleA, scaleB, scaleStepB;  // Tensor Memory; of the first output row's tap, and from there to the next one's
};

template <class Group, layout::MmaKind kKind>
__device__ __forceinline__ void multiplyColumnIn(const ShiftStreamParams& p, const TapColumn<Group>& column) {
  const auto multiplySlice = [&](uint32_t slice) {
    const uint32_t operand = column.operand + slice * gemm::sm100::kSliceColumns;
    int32_t accumulator = column.accumulator, filter = column.filter;
    uint32_t scaleB = column.scaleB;
#pragma unroll 1
    for (int32_t i = 0; i < column.count; ++i) {
      const uint32_t target = column.accumulators + static_cast<uint32_t>(accumulator) * p.accumulatorColumns;
      const uint64_t b = layout::advanceDescriptor(
          layout::swizzle128KMajorDescriptor(column.filters + static_cast<uint32_t>(filter) * p.filter.stageBytes),
          slice * layout::kMmaRowBytes);
      const bool accumulate = slice != 0 || i < column.freshFrom;
      if constexpr (layout::isBlockScaled(kKind)) {
        const uint32_t scale = slice * gemm::sm100::scalesPerSlice(kKind), atom = scale / gemm::sm100::kScaleAtomBlocks;
        ptx::mmaScaled<kKind, Group::kCtaGroup>(
            target, ptx::TensorOperand{operand}, b,
            layout::selectScaleByte(p.instructionDescriptor, scale % gemm::sm100::kScaleAtomBlocks),
            column.scaleA + atom * static_cast<uint32_t>(p.scaleCopies) * gemm::sm100::kScaleAtomColumns,
            scaleB + atom * static_cast<uint32_t>(p.filterScales.rowTiles) * gemm::sm100::kScaleAtomColumns, accumulate);
        scaleB += column.scaleStepB;
      } else {
        ptx::mmaInLanes<kKind>(target, ptx::TensorOperand{operand}, b, p.instructionDescriptor, column.disabled, accumulate);
      }
      if (++accumulator == p.accumulators) accumulator = 0;
      filter += column.filterStep;
      if (filter >= p.filter.stages) filter -= p.filter.stages;
    }
    if (column.shifts) ptx::tensorShiftDown<Group::kCtaGroup>(operand);
    // shift -> cp.4x256b -> mma of one thread are ordered (PTX ISA 9.7.16.6.2).
    if (column.refill != 0)
      ptx::tensorCopy4x256<Group::kCtaGroup>(
          operand + kLastLane,
          layout::advanceDescriptor(layout::swizzle128KMajorDescriptor(column.refill), slice * layout::kMmaRowBytes));
  };
  gemm::sm100::forEachSlice(column.slices, multiplySlice);
}
/// The kind is chosen once a tap column.
template <bool kScaled, class Group>
__device__ __forceinline__ void multiplyColumn(const ShiftStreamParams& p, const TapColumn<Group>& column) {
  using gemm::sm100::Kinds;
  gemm::sm100::inKind<kScaled ? Kinds::BlockScaled : Kinds::Dense>(
      p.kind, [&]<layout::MmaKind kKind>() { multiplyColumnIn<Group, kKind>(p, column); });
}

}  // namespace shiftconv::kernels::shift_stream
