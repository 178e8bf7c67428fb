// thin: forward convolution of few pixels or few channels on mma.sync, with both operands straight from global memory in registers.
// The time of such a product is the latency of its loads; nothing here waits for more than one batch of them, but for the longer
// reductions.
//
// GEMM view: M = output pixels, N = output channels of a group, reduction over filter taps and input channels as the filter has
// them. A warp has one tile of 16 or 32 pixels x 8 to 32 channels. The warps of a CTA share the reduction of a tile, in steps of 64
// elements in turn, or have tiles side by side; their f32 sums meet in shared memory.
//
// NOTES
//  - Lane (g, t) of a quad loads 16 bytes of row g, element 8t on: two registers for each of two m16n8k16. Both operands are
//    permuted along the reduction in the same way, so the sum is the same. Rows that are aligned to less come in vectors of 4 or 2
//    elements, or singly; a vector never crosses a tap.
//  - Rows of operand B are in such an order that a thread gets neighbouring channels of a pixel.
//  - Vectors after the end of the reduction, and pixels of taps outside of the image, are zeros without a load. Pixels and
//    channels after the end are those of the last one, and not stored.
//  - 8-bit floats become f16 in registers, exactly, after the loads of a batch: ptxas does the same for mma.sync of such floats.
//    Integers are multiplied as they are, a block at a time, and their sums are s32.
//  - Common epilogues have kernels of their own: see Lean.
//  - ptxas would sink each load to its use. A __syncwarp() after a batch keeps them together, and in flight together.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/thin/block_row.cuh"
#include "conv/algorithms/thin/params.hpp"
#include "conv/algorithms/thin/sums.cuh"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/decoding.cuh"
#include "conv/kernels/lean.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/plain_bytes.cuh"

namespace shiftconv::kernels::thin {

inline constexpr uint32_t kElementBytes = 2;  ///< of what is multiplied

/// Element: what is multiplied; kRawBytes: of an element in global memory, 1 of those that become f16. kIsLean: what Lean names,
/// and nothing else.
template <class Element, int32_t kVector, int32_t kPixels, int32_t kChannels, int32_t kRawBytes, bool kIsLean>
class Warp {
  static constexpr bool kDecodes = kRawBytes != kElementBytes;
  static constexpr Tile kTile{kPixels, kChannels};
  static constexpr int32_t kRows = kPixels / 8, kColumns = kChannels / 8;  ///< of a lane in the operands
  static constexpr int32_t kOwn = threadChannels(kChannels), kSegment = segmentChannels(kChannels);
  static constexpr int32_t kBatch = batchBlocks(kTile, kVector);
  using Row = BlockRow<kVector, kRawBytes>;
  static constexpr int32_t kBlockVectors = 4 * Row::kVectors;

 public:
  __device__ explicit Warp(const Params& params) : p_(params) {
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    rank_ = static_cast<int32_t>(warp & (split() - 1));
    team_ = warp >> p_.splitShift;
    const uint32_t channelWarps = 1u << p_.channelWarpsShift;
    const uint32_t pixelTile =
        blockIdx.x * (blockDim.x / 32 >> p_.splitShift >> p_.channelWarpsShift) + (team_ >> p_.channelWarpsShift);
    firstPixel_ = pixelTile * kPixels;
    const uint32_t tile = (blockIdx.y << p_.channelWarpsShift) + (team_ & (channelWarps - 1));
    const bool exists = tile < static_cast<uint32_t>(p_.channelTiles);
    const uint32_t group = exists ? p_.groupTiles.quotient(tile) : 0;
    const uint32_t tileOfGroup = exists ? tile - group * p_.groupTiles.divisor : 0;
    const int32_t groupEnd = static_cast<int32_t>(group + 1) * p_.groupOutputs;
    const int32_t firstChannel = groupEnd - p_.groupOutputs + static_cast<int32_t>(tileOfGroup) * kChannels;
    channel_ = firstChannel + static_cast<int32_t>(lane() % 4) * kOwn;
    channelEnd_ = exists ? groupEnd : 0;
    pixels_ = static_cast<const uint8_t*>(p_.input) + group * static_cast<uint32_t>(p_.groupBytes);
#pragma unroll
    for (int32_t j = 0; j < kColumns; ++j) {
      // Column c of product j is channel kOwn * (c / 2) + 2j + c % 2.
      const int32_t c = static_cast<int32_t>(lane() / 4);
      const int32_t channel = min(firstChannel + kOwn * (c / 2) + 2 * j + c % 2, groupEnd - 1);
      weights_[j] = channel * p_.filterRowBytes;
    }
    if (p_.isLinear)
      placeLinear();
    else
      place();
  }

  __device__ void run() {
    ptx::awaitPrerequisitesWith<kDecodes>(pixels_, p_);
    if (p_.launchEarly) ptx::launchDependents();
    loadEpilogue();
    if (kBatch > 1 && p_.blocks == 1) {
      if (rank_ == 0) addBatch<1>(0, 0);
      return finishAll();
    }
    for (int32_t block = rank_ * kStepBlocks; block < p_.blocks; block += kStepBlocks * static_cast<int32_t>(split())) {
      if constexpr (kBatch <= kStepBlocks) {
#pragma unroll 1
        for (int32_t i = 0; i < kStepBlocks; i += kBatch) addBatch<kBatch>(block + i, 0);
      } else {
        const int32_t next = kStepBlocks * static_cast<int32_t>(split());
        addBatch<kBatch>(block, next);
        block += next;
      }
    }
    finishAll();
  }

 private:
  __device__ __forceinline__ void finishAll() {
    if (!p_.launchEarly) ptx::launchDependents();
    sums_.addChains(areIntegers());
    if (!kIsLean && p_.isWhole) return finishWhole();
    if (split() > 1) exchange();
    if (areIntegers()) sums_.makeFloats();
    if constexpr (kIsLean)
      withLean(p_.lean, [&](auto tag) { forOwnRows([&](int32_t row) { storeLean<decltype(tag)::kLean>(row); }); });
    else if constexpr (kDecodes)
      forOwnRows([&](int32_t row) { storeBytes(row); });
    else
      forOwnRows([&](int32_t row) { store(row); });
  }

  /// The sums are bits of s32.
  __device__ __forceinline__ bool areIntegers() const { return kDecodes && p_.inputs.isInteger; }
  static __device__ __forceinline__ uint32_t lane() { return threadIdx.x % 32; }
  __device__ __forceinline__ uint32_t split() const { return 1u << p_.splitShift; }

  // ---- Rows of pixels ----------------------------------------------------------------------------------------------------------
  __device__ __forceinline__ uint32_t rowPixel(int32_t row) const {
    return firstPixel_ + static_cast<uint32_t>(row) * 8 + lane() / 4;
  }
  __device__ __forceinline__ uint32_t existingPixel(int32_t row) const {
    return min(rowPixel(row), static_cast<uint32_t>(p_.epilogue.rows) - 1);
  }

  __device__ void placeLinear() {
#pragma unroll
    for (int32_t i = 0; i < kRows; ++i) {
      offset_[i] = static_cast<int32_t>(existingPixel(i)) * p_.width.bytes;
      inside_[i] = ~0u;
    }
  }

  /// Where tap 0 of every row lies, and a bit for each position of a tap along an axis that is inside of the image.
  __device__ void place() {
#pragma unroll
    for (int32_t i = 0; i < kRows; ++i) {
      const uint32_t pixel = existingPixel(i);
      const uint32_t row = p_.outputWidth.quotient(pixel), plane = p_.outputHeight.quotient(row);
      const uint32_t image = p_.outputDepth.quotient(plane);
      offset_[i] = static_cast<int32_t>(image) * p_.imageBytes;
      inside_[i] = 0;
      placeAlong(i, p_.depth, plane - image * p_.outputDepth.divisor, 0);
      placeAlong(i, p_.height, row - plane * p_.outputHeight.divisor, p_.depth.taps);
      placeAlong(i, p_.width, pixel - row * p_.outputWidth.divisor, p_.depth.taps + p_.height.taps);
    }
  }
  __device__ __forceinline__ void placeAlong(int32_t i, const Axis& axis, uint32_t output, int32_t firstBit) {
    int32_t position = static_cast<int32_t>(output) * axis.stride - axis.padBefore;
    offset_[i] += position * axis.bytes;
#pragma unroll 1
    for (int32_t tap = 0; tap < axis.taps; ++tap) {
      if (static_cast<uint32_t>(position) < static_cast<uint32_t>(axis.extent)) inside_[i] |= 1u << (firstBit + tap);
      position += axis.dilation;
    }
  }

  /// The tap that a vector belongs to.
  struct Place {
    int32_t offset;   ///< of its bytes from those of tap 0 of the pixel
    uint32_t needed;  ///< bits of inside_
  };
  __device__ __forceinline__ Place placeOf(int32_t vector) const {
    constexpr int32_t kBytes = kVector * kRawBytes;
    if (p_.taps == 1) return {vector * kBytes, 7};
    const uint32_t tap = p_.tapVectors.quotient(static_cast<uint32_t>(vector));
    const uint32_t line = p_.filterWidth.quotient(tap), t = p_.filterHeight.quotient(line);
    const int32_t s = static_cast<int32_t>(tap - line * p_.filterWidth.divisor);
    const int32_t r = static_cast<int32_t>(line - t * p_.filterHeight.divisor);
    return {(vector - static_cast<int32_t>(tap * p_.tapVectors.divisor)) * kBytes +
                static_cast<int32_t>(t) * p_.depth.dilation * p_.depth.bytes + r * p_.height.dilation * p_.height.bytes +
                s * p_.width.dilation * p_.width.bytes,
            1u << t | 1u << (p_.depth.taps + r) | 1u << (p_.depth.taps + p_.height.taps + s)};
  }

  // ---- Products ----------------------------------------------------------------------------------------------------------------
  /// kCount blocks from `first` on; those after a step are `next` further on.
  template <int32_t kCount>
  __device__ __forceinline__ void addBatch(int32_t first, int32_t next) {
    Row pixels[kCount][kRows], weights[kCount][kColumns];
    const int32_t last = blockOf(first, next, kCount - 1);
    if (p_.isDense && (last + 1) * kBlockVectors <= p_.vectors)
      loadWhole(pixels, weights, first, next);
    else
      load(pixels, weights, first, next);
    __syncwarp();  // site: loads_kept
    if constexpr (kDecodes)
      withCoding(p_.inputs, p_.filters,
                 [&](auto coding) { sums_.template add<decltype(coding)::kValue>(pixels, weights, p_.inputs, p_.filters); });
    else
      sums_.template add<Coding::Floats>(pixels, weights, p_.inputs, p_.filters);
  }
  static __device__ __forceinline__ int32_t blockOf(int32_t first, int32_t next, int32_t b) {
    return first + b / kStepBlocks * next + b % kStepBlocks;
  }

  /// Where all vectors exist, and all pixels are inside of the image.
  template <int32_t kCount>
  __device__ __forceinline__ void loadWhole(Row (&pixels)[kCount][kRows], Row (&weights)[kCount][kColumns], int32_t first,
                                            int32_t next) const {
    constexpr int32_t kBlockBytes = kBlockElements * kRawBytes;
#pragma unroll
    for (int32_t b = 0; b < kCount; ++b) {
      const int32_t offset = blockOf(first, next, b) * kBlockBytes + static_cast<int32_t>(lane() % 4) * (kVector * kRawBytes);
      const auto loadAt = [&](Row& row, const uint8_t* at) {
#pragma unroll
        for (int32_t i = 0; i < Row::kVectors; ++i) row.load(i, at + i * (kBlockBytes / Row::kVectors), true);
      };
#pragma unroll
      for (int32_t j = 0; j < kColumns; ++j) loadAt(weights[b][j], static_cast<const uint8_t*>(p_.filter) + (weights_[j] + offset));
#pragma unroll
      for (int32_t j = 0; j < kRows; ++j) loadAt(pixels[b][j], pixels_ + (offset_[j] + offset));
    }
  }
  template <int32_t kCount>
  __device__ __forceinline__ void load(Row (&pixels)[kCount][kRows], Row (&weights)[kCount][kColumns], int32_t first,
                                       int32_t next) const {
#pragma unroll
    for (int32_t b = 0; b < kCount; ++b) {
#pragma unroll
      for (int32_t i = 0; i < Row::kVectors; ++i) {
        const int32_t vector = blockOf(first, next, b) * kBlockVectors + i * 4 + static_cast<int32_t>(lane() % 4);
        const bool exists = vector < p_.vectors;
        const auto* const ofWeights = static_cast<const uint8_t*>(p_.filter) + vector * (kVector * kRawBytes);
#pragma unroll
        for (int32_t j = 0; j < kColumns; ++j) weights[b][j].load(i, ofWeights + weights_[j], exists);
        const Place place = placeOf(vector);
#pragma unroll
        for (int32_t j = 0; j < kRows; ++j)
          pixels[b][j].load(i, pixels_ + (offset_[j] + place.offset), exists && (inside_[j] & place.needed) == place.needed);
      }
    }
  }

  // ---- Sums --------------------------------------------------------------------------------------------------------------------
  /// kSegment sums of a row of this team's tile that the warp `rank` has summed.
  __device__ __forceinline__ float* exchanged(int32_t row, int32_t segment, int32_t rank) const {
    extern __shared__ float4 dynamicShared[];
    const uint32_t place =
        ((team_ * kRows + static_cast<uint32_t>(row)) * (kOwn / kSegment) + static_cast<uint32_t>(segment) << p_.splitShift) +
        static_cast<uint32_t>(rank);
    return reinterpret_cast<float*>(dynamicShared) + (place * 32 + lane()) * kSegment;
  }
  struct alignas(kSegment * sizeof(float)) Segment {
    float value[kSegment];
  };
  __device__ __forceinline__ void storeSums(int32_t row) {
#pragma unroll
    for (int32_t segment = 0; segment < kOwn / kSegment; ++segment) {
      Segment values;
#pragma unroll
      for (int32_t i = 0; i < kSegment; ++i) values.value[i] = sums_.of(row, segment * kSegment + i);
      *reinterpret_cast<Segment*>(exchanged(row, segment, rank_)) = values;
    }
  }
  /// The warp that finishes a row.
  __device__ __forceinline__ int32_t ownerOf(int32_t row) const {
    return static_cast<int32_t>(static_cast<uint32_t>(row) & (split() - 1));
  }

  // ---- Output: bias, residual of the output's type, ReLU --------------------------------------------------------------------
  __device__ __forceinline__ bool isOwn(int32_t row) const {
    return ownerOf(row) == rank_ && rowPixel(row) < static_cast<uint32_t>(p_.epilogue.rows);
  }

  /// What the epilogue reads, before the operands, so that nothing waits for it. (After the first of them, in the loop, layers took
  /// 1.03 times as long without a bias and 1.06 times with one, on an H200.)
  __device__ void loadEpilogue() {
    if (!kIsLean && p_.isWhole) return;
    if constexpr (kDecodes) {
      ofBytes_.load(p_.epilogue, channel_, channelEnd_);
      if (kIsLean && p_.epilogue.residual != nullptr) loadResidualBytes();
      return;
    }
    if (p_.epilogue.bias != nullptr) loadBias(biasOf(p_.epilogue), channel_, channelEnd_, bias_);
    if (p_.epilogue.residual == nullptr) return;
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row) {
      if (!isOwn(row)) continue;
      const auto* const from = static_cast<const uint16_t*>(p_.epilogue.residual) +
                               rowPixel(row) * static_cast<uint64_t>(p_.epilogue.residualPitch / kElementBytes) + channel_;
      if (p_.storeElements >= kOwn && channel_ + kOwn <= channelEnd_) {
        const auto all = *reinterpret_cast<const Pairs*>(from);
#pragma unroll
        for (int32_t i = 0; i < kOwn / 2; ++i) residual_[row][i] = all.pair[i];
      } else {
#pragma unroll
        for (int32_t i = 0; i < kOwn; ++i)
          if (channel_ + i < channelEnd_) residual_[row][i / 2] |= static_cast<uint32_t>(from[i]) << (i % 2 * 16);
      }
    }
  }

  /// Of own rows, whole: see Params::lean.
  __device__ __forceinline__ void loadResidualBytes() {
    const gemm::EpilogueParams& e = p_.epilogue;
    if (channel_ >= channelEnd_) return;
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row) {
      if (!isOwn(row)) continue;
      const auto* const from =
          static_cast<const uint8_t*>(e.residual) + rowPixel(row) * static_cast<uint64_t>(e.residualPitch) + channel_;
      if constexpr (kOwn == 8) {
        const auto two = *reinterpret_cast<const uint2*>(from);
        residual_[row][0] = two.x, residual_[row][1] = two.y;
      } else {
        residual_[row][0] = kOwn == 4 ? *reinterpret_cast<const uint32_t*>(from) : *reinterpret_cast<const uint16_t*>(from);
      }
    }
  }

  /// Each warp adds up the rows that it finishes.
  __device__ void exchange() {
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row)
      if (ownerOf(row) != rank_) storeSums(row);
    __syncthreads();
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row)
      if (ownerOf(row) == rank_) addOthers(row);
  }

  template <class Body>
  __device__ __forceinline__ void forOwnRows(Body&& body) {
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row)
      if (isOwn(row)) body(row);
  }

  /// To the sums of a row those of the warps that share its reduction. Their loads are in flight together, too.
  __device__ __forceinline__ void addOthers(int32_t row) {
#pragma unroll
    for (int32_t segment = 0; segment < kOwn / kSegment; ++segment) {
      Segment others[kMostWarps - 1] = {};
#pragma unroll
      for (int32_t i = 1; i < kMostWarps; ++i)
        if (i < static_cast<int32_t>(split()))
          others[i - 1] = *reinterpret_cast<const Segment*>(exchanged(row, segment, rank_ ^ i));
      __syncwarp();  // site: loads_kept
#pragma unroll
      for (const Segment& one : others)
#pragma unroll
        for (int32_t i = 0; i < kSegment; ++i) {
          float& sum = sums_.of(row, segment * kSegment + i);
          sum = added(sum, one.value[i], areIntegers());
        }
    }
  }

  struct alignas(kOwn* kElementBytes) Pairs {
    uint32_t pair[kOwn / 2];
  };

  __device__ __forceinline__ void storeBytes(int32_t row) {
    float v[kOwn];
#pragma unroll
    for (int32_t i = 0; i < kOwn; ++i) v[i] = sums_.of(row, i);
    if (p_.hasHalves) {
      ofBytes_.activate(p_.epilogue, v);
      return storePairs(row, p_.epilogue.outputType == gemm::NumberType::F16 ? packedAs<__half>(v) : packedAs<__nv_bfloat16>(v));
    }
    uint32_t words[PlainBytes<kOwn>::kWords];
    ofBytes_.finish(p_.epilogue, v, words);
    ofBytes_.store(p_.epilogue, static_cast<int32_t>(rowPixel(row)), channel_, channelEnd_, words);
  }
  template <Lean kLean>
  __device__ __forceinline__ void storeLeanBytes(int32_t row) {
    float v[kOwn];
    uint32_t residual[PlainBytes<kOwn>::kWords], words[PlainBytes<kOwn>::kWords];
#pragma unroll
    for (int32_t i = 0; i < kOwn; ++i) v[i] = sums_.of(row, i), residual[i / 4] = residual_[row][i / 4];
    ofBytes_.template finishLean<kLean>(p_.epilogue, v, residual, words);
    ofBytes_.storeWhole(p_.epilogue, static_cast<int32_t>(rowPixel(row)), channel_, words);
  }

  template <Lean kLean>
  __device__ __forceinline__ void storeLean(int32_t row) {
    if (channel_ >= channelEnd_) return;
    if constexpr (kDecodes) {
      storeLeanBytes<kLean>(row);
    } else {
      float v[kOwn];
#pragma unroll
      for (int32_t i = 0; i < kOwn; ++i) v[i] = sums_.of(row, i) + bias_[i];
      Pairs out;
      packLean<Element, kLean>(p_.epilogue, leastPair<Element>(p_.relu), v, residual_[row], out.pair);
      *reinterpret_cast<Pairs*>(static_cast<uint16_t*>(p_.epilogue.output) +
                                rowPixel(row) * static_cast<uint64_t>(p_.epilogue.outputPitch / kElementBytes) + channel_) = out;
    }
  }

  __device__ __forceinline__ void store(int32_t row) {
    const gemm::EpilogueParams& e = p_.epilogue;
    float v[kOwn];
#pragma unroll
    for (int32_t i = 0; i < kOwn; ++i) v[i] = fmaf(e.alpha, sums_.of(row, i), bias_[i]);
    const auto addPairs = [&] {
#pragma unroll
      for (int32_t i = 0; i < kOwn; i += 2) addResidual<Element>(v[i], v[i + 1], e.beta, residual_[row][i / 2]);
    };
    if (e.residual != nullptr && !e.residualLast) addPairs();
    if (!p_.relu) gemm::activate(e, v);
    if (e.residualLast) addPairs();
    const uint32_t least = leastPair<Element>(p_.relu);
    Pairs out = packedAs<Element>(v);
    for (uint32_t& pair : out.pair) pair = atLeast<Element>(pair, least);
    storePairs(row, out);
  }
  template <class Half>
  static __device__ __forceinline__ Pairs packedAs(const float (&v)[kOwn]) {
    Pairs out;
#pragma unroll
    for (int32_t i = 0; i < kOwn; i += 2) out.pair[i / 2] = packPair<Half>(v[i], v[i + 1]);
    return out;
  }
  __device__ __forceinline__ void storePairs(int32_t row, const Pairs& out) {
    auto* const to = static_cast<uint16_t*>(p_.epilogue.output) +
                     rowPixel(row) * static_cast<uint64_t>(p_.epilogue.outputPitch / kElementBytes) + channel_;
    if (p_.storeElements >= kOwn && channel_ + kOwn <= channelEnd_) {
      *reinterpret_cast<Pairs*>(to) = out;
      return;
    }
#pragma unroll
    for (int32_t i = 0; i < kOwn; i += 2) {
      if (p_.storeElements > 1 && channel_ + i + 1 < channelEnd_) {
        *reinterpret_cast<uint32_t*>(to + i) = out.pair[i / 2];
      } else {
        if (channel_ + i < channelEnd_) to[i] = static_cast<uint16_t>(out.pair[i / 2]);
        if (channel_ + i + 1 < channelEnd_) to[i + 1] = static_cast<uint16_t>(out.pair[i / 2] >> 16);
      }
    }
  }

  // ---- Output: the whole epilogue -------------------------------------------------------------------------------------------
  /// All sums go through shared memory, so that one copy of the code finishes segment after segment.
  __device__ void finishWhole() {
#pragma unroll
    for (int32_t row = 0; row < kRows; ++row) storeSums(row);
    __syncthreads();
    uint32_t largest = 0;
#pragma unroll 1
    for (int32_t i = rank_; i < kRows * (kOwn / kSegment); i += static_cast<int32_t>(split())) {
      const int32_t row = i / (kOwn / kSegment), segment = i % (kOwn / kSegment);
      const int32_t channel = channel_ + segment * kSegment;
      if (channel >= channelEnd_) continue;
      float sum[kSegment] = {};
#pragma unroll 1
      for (int32_t rank = 0; rank < static_cast<int32_t>(split()); ++rank) {
        const auto values = *reinterpret_cast<const Segment*>(exchanged(row, segment, rank));
#pragma unroll
        for (int32_t j = 0; j < kSegment; ++j) sum[j] = added(sum[j], values.value[j], areIntegers());
      }
      uint32_t bits[kSegment];
#pragma unroll
      for (int32_t j = 0; j < kSegment; ++j) bits[j] = __float_as_uint(sum[j]);
      float values[kSegment];
      gemm::computeSegment(p_.epilogue, static_cast<int32_t>(rowPixel(row)), channel, bits, values, largest);
      gemm::storeSegment(p_.epilogue, static_cast<int32_t>(rowPixel(row)), channel, values);
    }
    __syncwarp();  // site: row_staged
    gemm::mergeLargest(p_.epilogue, largest);
  }

  const Params& p_;
  int32_t rank_;   ///< among the warps that share the reduction of a tile
  uint32_t team_;  ///< of those warps
  uint32_t firstPixel_;
  int32_t channel_, channelEnd_;  ///< this thread's first channel in every row; where the tile's group ends
  const uint8_t* pixels_;
  int32_t offset_[kRows];   ///< bytes, of tap 0
  uint32_t inside_[kRows];  ///< which taps are inside of the image
  int32_t weights_[kColumns];
  Sums<Element, kRows, kColumns> sums_;
  PlainBytes<kOwn> ofBytes_;  ///< where operands have 8 bits
  float bias_[kOwn] = {};
  uint32_t residual_[kRows][kOwn / 2] = {};
};

}  // namespace shiftconv::kernels::thin
