// What the multiplying thread does with one chunk: four instructions, in the kind that the launch names.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/gemm_params.hpp"
#include "common/gemm/sm100/kinds.cuh"
#include "common/ptx/tensor_core.cuh"

namespace shiftconv::gemm::sm100 {

/// The operands of a chunk.
struct Chunk {
  uint32_t accumulator;
  uint64_t a, b;            ///< matrix descriptors of the first slices
  uint32_t tensorA;         ///< Tensor Memory of A
  uint32_t scaleA, scaleB;  ///< Tensor Memory of the scale factors
  int32_t slices;
  bool accumulates;  ///< onto what the accumulator holds
};

/// Brings `slices` slices of an operand from shared to Tensor Memory. Elements of `expandedBits` (4 or 6) become bytes; 0: none do.
template <class Group>
__device__ __forceinline__ void copyOperand(uint8_t expandedBits, uint32_t destination, uint64_t source, int32_t slices) {
  const auto copySlices = [&](auto copy) {
#pragma unroll 1
    for (int32_t slice = 0; slice < slices; ++slice)
      copy(destination + static_cast<uint32_t>(slice) * kSliceColumns,
           layout::advanceDescriptor(source, static_cast<uint32_t>(slice) * layout::kMmaRowBytes));
  };
  constexpr int kCtas = Group::kCtaGroup;
  if (expandedBits == 4) {
    copySlices(ptx::tensorCopy128x256<kCtas, ptx::CopyFormat::From4Bits>);
  } else if (expandedBits == 6) {
    copySlices(ptx::tensorCopy128x256<kCtas, ptx::CopyFormat::From6Bits>);
  } else {
    copySlices(ptx::tensorCopy128x256<kCtas>);
  }
}

/// Brings the scale factors of a chunk to Tensor Memory: the atoms of A, then those of B, row tiles of an atom side by side.
/// `source`: shared memory. Where each CTA of a pair has 64 rows, lanes 0 to 63 multiply the first half of the columns and the
/// others the second, so B has an atom for either (PTX ISA 9.7.16.10.7).
template <class Group>
__device__ __forceinline__ void copyScales(const GemmParams& p, const Chunk& chunk, uint32_t source) {
  const uint32_t atoms = scaleAtomsPerChunk(p.kind), sourceB = source + atoms * kScaleAtomBytes;
  const auto copyAtom = [&](uint32_t destination, uint32_t from) {
    ptx::tensorCopy32x128ToAllWindows<Group::kCtaGroup>(destination, layout::densePackedRowsDescriptor(from));
  };
#pragma unroll 1
  for (uint32_t atom = 0; atom < atoms; ++atom) {
    copyAtom(chunk.scaleA + atom * kScaleAtomColumns, source + atom * kScaleAtomBytes);
    const uint32_t target = chunk.scaleB + atom * p.scaleB.atomColumns,
                   from = sourceB + atom * p.scaleB.blockStep * kScaleAtomBytes;
    if constexpr (Group::kCtaGroup == 2) {
      if (p.tileRows == kHalfTileRows) {
        ptx::tensorCopy64x128ToWindowPairs<2>(target, layout::densePackedRowsDescriptor(from));
        continue;
      }
    }
#pragma unroll 1
    for (uint32_t tile = 0; tile < static_cast<uint32_t>(p.scaleB.rowTiles); ++tile)
      copyAtom(target + tile * kScaleAtomColumns, from + tile * p.scaleB.rowTileStep * kScaleAtomBytes);
  }
}

template <class Group, layout::MmaKind kKind>
__device__ __forceinline__ void multiplyIn(const GemmParams& p, const Chunk& chunk) {
  const auto multiplySlice = [&](uint32_t slice, auto a) {
    const uint64_t b = layout::advanceDescriptor(chunk.b, slice * p.b.sliceBytes);
    const bool accumulate = chunk.accumulates || slice != 0;
    if constexpr (layout::isBlockScaled(kKind)) {
      const uint32_t block = slice * scalesPerSlice(kKind), atom = block / kScaleAtomBlocks;
      ptx::mmaScaled<kKind, Group::kCtaGroup>(
          chunk.accumulator, a, b, layout::selectScaleByte(p.instructionDescriptor, block % kScaleAtomBlocks),
          chunk.scaleA + atom * kScaleAtomColumns, chunk.scaleB + atom * p.scaleB.atomColumns, accumulate);
    } else {
      ptx::mma<kKind, Group::kCtaGroup>(chunk.accumulator, a, b, p.instructionDescriptor, accumulate);
    }
  };
  if (p.tensorA) {
    forEachSlice(chunk.slices,
                 [&](uint32_t slice) { multiplySlice(slice, ptx::TensorOperand{chunk.tensorA + slice * kSliceColumns}); });
  } else {
    forEachSlice(chunk.slices,
                 [&](uint32_t slice) { multiplySlice(slice, layout::advanceDescriptor(chunk.a, slice * p.a.sliceBytes)); });
  }
}

/// Place of A and kind are chosen once a chunk.
template <class Group>
__device__ __forceinline__ void multiplyChunk(const GemmParams& p, const Chunk& chunk) {
  inKind<Kinds::All>(p.kind, [&]<layout::MmaKind kKind>() { multiplyIn<Group, kKind>(p, chunk); });
}

}  // namespace shiftconv::gemm::sm100
