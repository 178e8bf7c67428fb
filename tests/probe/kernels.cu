// The questions as kernels: each performs one doubtful tcgen05 operation between a known and an observed state of Tensor Memory.
// What state to expect from which alternative is in questions.cpp. CTAs have 128 threads.
#include "common/layout/instruction_descriptor.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_core_forms.cuh"
#include "common/ptx/tensor_memory.cuh"
#include "common/ptx/warp.cuh"
#include "tests/probe/state.hpp"

namespace {

using namespace shiftconv::ptx;
using namespace shiftconv::layout;
using namespace shiftconv::probe;

/// What an operation may use. `variant` is the parameter of the step, see questions.cpp.
struct Stage {
  uint32_t tensor;  ///< Tensor Memory address of lane 0, column 0 of the state
  uint32_t shared;  ///< shared-window address of the shared state, 1024-byte aligned
  uint32_t variant;
  uint32_t done;  ///< an mbarrier whose phase 0 the operation may use, followed by the one of the kernel

  __device__ uint32_t accumulator() const { return tensor + kAccumulatorColumn; }
  __device__ uint32_t secondAccumulator() const { return tensor + kSecondAccumulatorColumn; }
  /// Rows are equal where the layout of B does not matter.
  __device__ uint64_t operandB() const { return swizzle128KMajorDescriptor(shared); }
  /// Rows 16 bytes apart, the second 16 bytes of a row kLeadingOffsetBytes after the first, from byte `offset` on.
  __device__ uint64_t unswizzledRows(uint32_t offset = 0, uint32_t groupBytes = kRowGroupBytes) const {
    return uint64_t{(shared + offset & 0x3FFFFu) >> 4} | (uint64_t{kLeadingOffsetBytes >> 4} << 16) |
           (uint64_t{groupBytes >> 4} << 32) | (uint64_t{1} << 46);
  }
};

struct SharedState {
  alignas(1024) uint32_t words[kSharedWords];
  alignas(8) uint64_t barriers[2];
  uint32_t allocation;
};

/// Every thread: Tensor Memory accesses of the CTA so far are in front of all that follow.
__device__ void synchroniseTensor() {
  tensorFenceBeforeThreadSync();
  __syncthreads();
  tensorFenceAfterThreadSync();
}

/// cells: [kLanes][kColumns] of this CTA.
__device__ void storeState(uint32_t window, const uint32_t* cells) {
#pragma unroll 1
  for (uint32_t column = 0; column < kColumns; column += 8) {
    uint32_t values[8];
    for (uint32_t i = 0; i < 8; ++i) values[i] = cells[threadIdx.x * kColumns + column + i];
    tensorStore8(window + column, values);
  }
  tensorStoreWait();
}
__device__ void loadState(uint32_t window, uint32_t* cells) {
#pragma unroll 1
  for (uint32_t column = 0; column < kColumns; column += 16) {
    uint32_t values[16];
    tensorLoad16(window + column, values);
    tensorLoadWait(values);
    for (uint32_t i = 0; i < 16; ++i) cells[threadIdx.x * kColumns + column + i] = values[i];
  }
}
__device__ uint32_t windowOf(uint32_t allocation) { return allocation + (threadIdx.x / 32 * 32 << 16); }

/// Sets the state, lets one thread of the CTA with rank `issuer` perform `operation`, waits for it, and stores the state again.
/// tensor, result: [CTAs][kLanes][kColumns]; words: [kSharedWords], the same for every CTA.
/// `loadedWindow(allocation, variant)`: the address that the threads of a warp load from.
template <int kCtas, class Operation, class LoadedWindow>
__device__ void observe(const uint32_t* tensor, const uint32_t* words, uint32_t* result, uint32_t variant, uint32_t issuer,
                        Operation operation, LoadedWindow loadedWindow) {
  __shared__ SharedState shared;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t rank = kCtas == 2 ? clusterRank() : 0;
  const uint32_t barriers = sharedAddress(shared.barriers);

  if (warp == 0) {
    forms::allocate<kCtas>(sharedAddress(&shared.allocation), kColumns);
    forms::relinquish<kCtas>();
  }
  if (threadIdx.x == 0) {
    mbarrierInit(barriers, 1);
    mbarrierInit(barriers + 8, 1);
    fenceMbarrierInit();
  }
  for (uint32_t i = threadIdx.x; i < kSharedWords; i += kLanes) shared.words[i] = words[i];
  fenceProxyAsyncShared();
  synchroniseTensor();
  const uint32_t allocation = shared.allocation;

  storeState(windowOf(allocation), tensor + rank * kLanes * kColumns);
  synchroniseTensor();
  if constexpr (kCtas == 2) {
    tensorFenceBeforeThreadSync();
    clusterBarrierSync();
    tensorFenceAfterThreadSync();
  }

  if (warp == 0 && rank == issuer) {
    if (electOne()) {
      operation(Stage{allocation, sharedAddress(shared.words), variant, barriers});
      if constexpr (kCtas == 2) {
        forms::commitToPair(barriers + 8);
      } else {
        tensorCommit(barriers + 8);
      }
    }
    __syncwarp();
  }
  mbarrierWait(barriers + 8, 0);
  tensorFenceAfterThreadSync();

  loadState(loadedWindow(allocation, variant), result + rank * kLanes * kColumns);
  synchroniseTensor();
  if constexpr (kCtas == 2) clusterBarrierSync();
  if (warp == 0) forms::release<kCtas>(allocation, kColumns);
}

template <class Operation>
__device__ void observe(const uint32_t* tensor, const uint32_t* words, uint32_t* result, uint32_t variant, Operation operation) {
  observe<1>(tensor, words, result, variant, 0, operation, [](uint32_t allocation, uint32_t) { return windowOf(allocation); });
}

__device__ constexpr LaneMask kNoLanes{{0, 0, 0, 0}};
__device__ constexpr LaneMask kMask{{kMaskWord, kMaskWord, kMaskWord, kMaskWord}};

__device__ constexpr uint32_t halfPrecision(MmaAccumulator accumulator, uint32_t m) {
  return instructionDescriptorF16(NumberType::F16, accumulator, m, kAccumulatorColumns);
}
/// PTX ISA 9.0, table 42: s32 += s8 * s8, M = 128.
[[maybe_unused]] __device__ constexpr uint32_t signedBytes(bool saturate) {
  return (static_cast<uint32_t>(saturate) << 3) | (2u << 4) | (1u << 7) | (1u << 10) | ((kAccumulatorColumns >> 3) << 17) |
         (8u << 24);
}
/// kind::f16 of tcgen05.mma.ws; bits 31:30 allow shifts of up to 8 columns.
__device__ constexpr uint32_t stationary(uint32_t m) {
  return instructionDescriptorF16(NumberType::F16, MmaAccumulator::F32, m, kStationaryN) | 1u << 30;
}
/// PTX ISA 9.0, table 43: e4m3, ue8m0 factors in byte 0, M = 128.
__device__ constexpr uint32_t scaledBytes(uint32_t n) { return ((n >> 3) << 17) | (1u << 23) | (1u << 27); }

}  // namespace

#define PROBE_PARAMETERS const uint32_t *tensor, const uint32_t *shared, uint32_t *result, uint32_t variant
#define PROBE(name)                                                             \
  extern "C" __global__ void __launch_bounds__(kLanes) name(PROBE_PARAMETERS) { \
    observe(tensor, shared, result, variant, [](const Stage& stage) {
#define PROBE_END \
  });             \
  }

// variant: the lane of the address.
PROBE(shift_at_lane)
tensorShiftDown(stage.tensor + (stage.variant << 16));
PROBE_END

// variant: M.
PROBE(shift_after_mma)
mmaMasked<MmaKind::F16, OperandShift::DownAfterRead>(stage.accumulator(), TensorOperand{stage.tensor}, stage.operandB(),
                                                     halfPrecision(MmaAccumulator::F32, stage.variant), kNoLanes);
PROBE_END

PROBE(shift_after_masked_mma)
mmaMasked<MmaKind::F16, OperandShift::DownAfterRead>(stage.accumulator(), TensorOperand{stage.tensor}, stage.operandB(),
                                                     halfPrecision(MmaAccumulator::F32, 128), kMask);
PROBE_END

// An MMA with another accumulator right after the one that shifts.
PROBE(mma_behind_shift)
const uint32_t instruction = halfPrecision(MmaAccumulator::F32, 128);
mmaMasked<MmaKind::F16, OperandShift::DownAfterRead>(stage.accumulator(), TensorOperand{stage.tensor}, stage.operandB(),
                                                     instruction, kNoLanes);
mma<MmaKind::F16>(stage.secondAccumulator(), TensorOperand{stage.tensor}, stage.operandB(), instruction, false);
PROBE_END

// A copy onto operand A right after the MMAs that read it.
PROBE(copy_behind_mma)
const uint32_t instruction = halfPrecision(MmaAccumulator::F32, 128);
for (uint32_t i = 0; i < kQueuedMmas; ++i)
  mma<MmaKind::F16>(stage.accumulator(), TensorOperand{stage.tensor}, stage.operandB(), instruction, i != 0);
tensorCopy128x256(stage.tensor, stage.unswizzledRows(kSecondSourceBytes));
PROBE_END

PROBE(mma_to_half_precision)
mma<MmaKind::F16>(stage.accumulator(), TensorOperand{stage.tensor}, stage.operandB(), halfPrecision(MmaAccumulator::F16, 128),
                  false);
PROBE_END

PROBE(masked_mma_without_input)
forms::mmaF16Masked(stage.accumulator(), stage.tensor, stage.operandB(), halfPrecision(MmaAccumulator::F32, 128), kMask.word);
PROBE_END

// variant: columns between the 32-column boundary and the accumulator.
PROBE(mma_at_column)
mma<MmaKind::F16>(stage.accumulator() + stage.variant, TensorOperand{stage.tensor}, stage.operandB(),
                  halfPrecision(MmaAccumulator::F32, 128), false);
PROBE_END

PROBE(mma_without_swizzle)
mma<MmaKind::F16>(stage.accumulator(), TensorOperand{stage.tensor}, stage.unswizzledRows(), halfPrecision(MmaAccumulator::F32, 128),
                  false);
PROBE_END

// The collector keeps A, A changes in Tensor Memory, and the next MMA may use what was kept.
PROBE(mma_with_kept_operand)
const uint32_t instruction = halfPrecision(MmaAccumulator::F32, 128);
forms::mmaF16KeptA<forms::Collector::Fill>(stage.accumulator(), stage.tensor, stage.operandB(), instruction);
tensorCommit(stage.done);
mbarrierWait(stage.done, 0);
tensorFenceAfterThreadSync();
tensorCopy128x256(stage.tensor, stage.unswizzledRows(kSecondSourceBytes));
forms::mmaF16KeptA<forms::Collector::Use>(stage.secondAccumulator(), stage.tensor, stage.operandB(), instruction);
PROBE_END

// D = A * B with B kept per column: M = 64 has columns 0..31 in lanes 0..63 and 32..63 in lanes 64..127.
PROBE(stationary_mma)
forms::mmaF16Stationary(stage.accumulator(), stage.tensor, stage.operandB(), stationary(64), 0);
PROBE_END

// variant: columns by which B is shifted, under a mask of the last of every kStationaryPeriod columns.
PROBE(stationary_mma_with_mask)
forms::mmaF16Stationary(stage.accumulator(), stage.tensor, stage.operandB(), stationary(128),
                        uint64_t{1} << 39 | uint64_t{kStationaryPeriod - 2} << 48 | uint64_t{stage.variant} << 56);
PROBE_END

// variant: columns by which an operand B is shifted that was kept without a shift.
PROBE(stationary_mma_with_kept_operand)
forms::mmaF16KeptB<forms::Collector::Fill>(stage.secondAccumulator(), stage.tensor, stage.operandB(), stationary(64), 0);
forms::mmaF16KeptB<forms::Collector::Use>(stage.accumulator(), stage.tensor, stage.operandB(), stationary(64),
                                          uint64_t{stage.variant} << 56);
PROBE_END

// variant: bits 31:30 of the address of A's scale factors.
PROBE(mma_with_scale_address_bits)
forms::mmaScaledF8(stage.accumulator(), stage.tensor, stage.operandB(), scaledBytes(kAccumulatorColumns),
                   stage.tensor + kScaleAColumn | stage.variant << 30, stage.tensor + kScaleBColumn);
PROBE_END

// variant: N.
PROBE(mma_with_odd_scales)
forms::mmaScaledF8(stage.accumulator(), stage.tensor, stage.operandB(), scaledBytes(stage.variant), stage.tensor + kScaleAColumn,
                   stage.tensor + kScaleBColumn);
PROBE_END

// sm_110a has no scale-input-d, sm_103a no kind::i8.
#if __CUDA_ARCH__ != 1100
PROBE(mma_with_halved_input)
forms::mmaF16HalvedInput(stage.accumulator(), stage.tensor, stage.operandB(), halfPrecision(MmaAccumulator::F32, 128));
PROBE_END
#endif

#if __CUDA_ARCH__ != 1030
// variant: the saturate bit.
PROBE(mma_of_integers)
forms::mmaI8(stage.accumulator(), stage.tensor, stage.operandB(), signedBytes(stage.variant != 0));
PROBE_END
#endif

#if __CUDA_ARCH__ == 1000
// variant: scale-input-d.
PROBE(mma_of_integers_with_halved_input)
if (stage.variant == 0) {
  forms::mmaI8(stage.accumulator(), stage.tensor, stage.operandB(), signedBytes(false));
} else {
  forms::mmaI8ScaledInput(stage.accumulator(), stage.tensor, stage.operandB(), signedBytes(false));
}
PROBE_END
#endif

// variant: the base offset; the tile then starts that many 128-byte rows after a 1024-byte boundary.
PROBE(copy_swizzled_rows)
tensorCopy128x256(stage.tensor,
                  swizzle128KMajorDescriptor(stage.shared + stage.variant * kSwizzle128RowBytes) | (uint64_t{stage.variant} << 49));
PROBE_END

// variant: the lane of the address.
PROBE(copy_four_rows)
tensorCopy4x256(stage.tensor + (stage.variant << 16), stage.unswizzledRows());
PROBE_END

// variant: 0: without decompression, 1: with it.
PROBE(copy_four_rows_of_4_bits)
if (stage.variant == 0) {
  tensorCopy4x256(stage.tensor, stage.unswizzledRows());
} else {
  forms::copy4x256From4Bits(stage.tensor, stage.unswizzledRows());
}
PROBE_END

PROBE(copy_rows_of_6_bits)
forms::copy128x128From6Bits(stage.tensor, stage.unswizzledRows());
PROBE_END

// variant: 0: rows one behind the other, 1: groups of rows that wrap.
PROBE(copy_beyond_18_bits)
forms::copy128x128(stage.tensor, stage.variant == 0 ? stage.unswizzledRows()
                                                    : stage.unswizzledRows(kWrappingStartBytes, 0x40000 - kWrappingGroupBytes));
PROBE_END

// variant: the lane that warp 1 writes into its addresses, where 32 is the first lane of its window.
extern "C" __global__ void __launch_bounds__(kLanes) load_at_lane(PROBE_PARAMETERS) {
  observe<1>(
      tensor, shared, result, variant, 0, [](const Stage&) {},
      [](uint32_t allocation, uint32_t lane) { return threadIdx.x / 32 == 1 ? allocation + (lane << 16) : windowOf(allocation); });
}

// variant: 0: M = 256, issued by the odd CTA; 1: M = 128, issued by the even one.
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(kLanes) masked_mma_of_pair(PROBE_PARAMETERS) {
  observe<2>(
      tensor, shared, result, variant, variant == 0 ? 1 : 0,
      [](const Stage& stage) {
        if (stage.variant == 0) {
          forms::mmaF16MaskedInPair(stage.accumulator(), stage.tensor, stage.operandB(), halfPrecision(MmaAccumulator::F32, 256),
                                    {0, 0, 0, 0, kMaskWord, kMaskWord, kMaskWord, kMaskWord});
        } else {
          forms::mmaF16MaskedInPair(stage.accumulator(), stage.tensor, stage.operandB(), halfPrecision(MmaAccumulator::F32, 128),
                                    {kPairMask[0], kPairMask[1], kPairMask[2], kPairMask[3], 0, 0, 0, 0});
        }
      },
      [](uint32_t allocation, uint32_t) { return windowOf(allocation); });
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(kLanes) shift_after_mma_of_pair(PROBE_PARAMETERS) {
  observe<2>(
      tensor, shared, result, variant, 0,
      [](const Stage& stage) {
        forms::mmaF16InPairThenShift(stage.accumulator(), stage.tensor, stage.operandB(), halfPrecision(MmaAccumulator::F32, 256));
      },
      [](uint32_t allocation, uint32_t) { return windowOf(allocation); });
}

// Columns that were written, freed and allocated again, with the state in `tensor` as what they held before.
extern "C" __global__ void __launch_bounds__(kLanes) load_after_allocation(PROBE_PARAMETERS) {
  __shared__ uint32_t allocation;
  const uint32_t warp = threadIdx.x / 32;
  for (uint32_t round = 0; round < 2; ++round) {
    if (warp == 0) tensorMemoryAllocate(sharedAddress(&allocation), kColumns);
    synchroniseTensor();
    if (round == 0) {
      storeState(windowOf(allocation), tensor);
    } else {
      loadState(windowOf(allocation), result);
    }
    synchroniseTensor();
    if (warp == 0) tensorMemoryFree(allocation, kColumns);
    __syncthreads();
  }
  if (warp == 0) tensorMemoryRelinquish();
}
