// gathered: forward convolution as a product of matrices whose operands the threads gather: any filter, stride, dilation, padding,
// channel count and group, one to three dimensions, on the tensor cores of every architecture (mma.sync).
//
// A CTA has a tile of output pixels x output channels of one group. The reduction is the filter's taps times the group's channels,
// end to end, 128 bytes a step. Threads copy a step's pixels and weights into a ring in shared memory (cp.async), in vectors as
// wide as the channel count allows; all warps multiply a step after them (ldmatrix, mma.sync).
//
// A transposed convolution is all of its phases: output pixels that leave the same rest at the division by the stride are an
// ordinary convolution with some of the taps, in the other order, whose outputs lie a stride apart. CTAs of all phases of the same
// pixels follow each other, so that L2 has what they read, and writes whole lines.
//
// NOTES
//  - Two tables in shared memory answer where a vector comes from: one entry for each output pixel of the tile, one for each filter
//    tap. A vector outside of the image arrives as zeros.
//  - The table has no taps that lie outside of the image for every pixel of the tile, so that strongly dilated filters cost
//    what they read.
//  - Rows of a stage are 128 bytes; their 16-byte columns are exchanged by the row's number (XOR), so that neither copies nor
//    ldmatrix meet on a bank.
//  - The weights' rows are in such an order that a thread's sums belong to 8 neighbouring output channels: 16 bytes to store.
//  - Where neighbouring pixels are neighbours in memory (C alone between them), all taps of a filter row are one run: few channels
//    then make wide vectors.
//  - Single elements of 1 or 2 bytes (odd channel counts) have no cp.async: they pass through registers.
//  - A kind (kinds.cuh) is all that differs between element types: ldmatrix brings 32 bytes of a row to the same lanes, whatever
//    they hold, and sums lie in the same registers.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/register_pressure.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/warp.cuh"
#include "conv/algorithms/gathered/kinds.cuh"
#include "conv/algorithms/gathered/params.hpp"
#include "conv/algorithms/gathered/phase.cuh"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/left_out.cuh"
#include "conv/kernels/plain_bytes.cuh"
#include "conv/kernels/plain_segment.cuh"

namespace shiftconv::kernels::gathered {

inline constexpr int32_t kSliceBytes = 32;  ///< of the reduction: one matrix instruction
inline constexpr int32_t kSlices = kStepBytes / kSliceBytes;
inline constexpr int32_t kNowhere = -(1 << 30);  ///< a coordinate that no tap brings into the image

/// Which of the 32 output channels of a warp lies in row `row` of its weights: thread t of a quad has columns 2t and 2t + 1 of
/// every fragment of 8, which become channels 8t..8t + 7.
__device__ __forceinline__ int32_t channelOfRow(int32_t row) {
  return row % 32 / 2 % 4 * 8 + row % 32 / 8 * 2 + row % 2 + row / 32 * 32;
}

/// Where the 16-byte column `column` of a row of a stage lies.
__device__ __forceinline__ uint32_t placeOf(uint32_t rows, int32_t row, int32_t column) {
  return rows + static_cast<uint32_t>(row * kStepBytes) + (static_cast<uint32_t>(column ^ (row & 7)) << 4);
}

template <class Kind, const Tile& kTile, int kVectorBytes>
class Cta {
  static constexpr int32_t kThreads = kTile.threads();
  static constexpr int32_t kWarpPixels = kTile.pixels / kTile.warpRows, kWarpChannels = kTile.channels / kTile.warpColumns;
  static constexpr int32_t kRowFragments = kWarpPixels / 16, kColumnFragments = kWarpChannels / 8;
  // Single elements of less than cp.async's 4 bytes go through registers, a word of them at a time.
  static constexpr int32_t kWordBytes = kVectorBytes < 4 ? 4 : kVectorBytes, kParts = kWordBytes / kVectorBytes;
  static constexpr int32_t kWords = kStepBytes / kWordBytes;                          ///< of a row of a stage
  static constexpr int32_t kRowsAtOnce = kThreads / kWords;                           ///< that the CTA's threads copy together
  static constexpr int32_t kTogether = kParts == 1 ? kTile.pixels / kRowsAtOnce : 4;  ///< rows whose loads are in flight at once
  using Sum = typename Kind::Sum;
  static constexpr bool kHasPlain = Kind::kBytes == 2;
  static constexpr uint32_t kPixelStageBytes = kTile.pixels * kStepBytes, kStageBytes = kTile.stageBytes();
  static_assert(kWarpPixels % 16 == 0 && kWarpChannels == 4 * kSegmentColumns, "each thread of a quad has a segment of a pixel");
  static_assert(kThreads % kWords == 0 && kTile.pixels % kRowsAtOnce == 0 && kTile.channels % kRowsAtOnce == 0);
  static_assert(kVectorBytes >= Kind::kBytes && kVectorBytes % Kind::kBytes == 0);

 public:
  __device__ explicit Cta(const Params& params)
      : p_(params),
        tile_(params.isTransposed ? params.phases.count.quotient(blockIdx.x) : blockIdx.x),
        phase_(params.phases, static_cast<int32_t>(blockIdx.x - tile_ * params.phases.count.divisor)) {
    extern __shared__ __align__(128) uint8_t dynamicShared[];
    header_ = reinterpret_cast<Header*>(dynamicShared);
    pixels_ = reinterpret_cast<Pixel*>(header_ + 1);
    taps_ = reinterpret_cast<Tap*>(pixels_ + kTile.pixels);
    rows_ = reinterpret_cast<int32_t*>(taps_ + p_.taps);
    stages_ = ptx::sharedAddress(dynamicShared) + static_cast<uint32_t>(p_.stagesOffset);
    sums_ = reinterpret_cast<uint4*>(dynamicShared + p_.stagesOffset);
    const uint32_t pixelTile = p_.allChannelTiles.quotient(tile_);
    const uint32_t channelTile = tile_ - pixelTile * p_.allChannelTiles.divisor;
    const uint32_t group = p_.channelTiles.quotient(channelTile);
    firstPixel_ = static_cast<int32_t>(pixelTile) * kTile.pixels;
    firstInGroup_ = static_cast<int32_t>(channelTile - group * p_.channelTiles.divisor) * kTile.channels;
    firstChannel_ = static_cast<int32_t>(group) * p_.groupOutputs + firstInGroup_;
    group_ = static_cast<int32_t>(group);
  }

  __device__ void run() {
    placePixels();
    __syncthreads();
    placeTaps();
    ptx::awaitPrerequisites();
    ptx::launchDependents();
    multiply();
    finish();
  }

 private:
  // ---- Where operands come from --------------------------------------------------------------------------------------------
  __device__ void placePixels() {
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < kTile.pixels; i += kThreads) {
      const uint32_t output = static_cast<uint32_t>(firstPixel_ + i);
      const uint32_t row = p_.outputWidth.quotient(output), plane = p_.outputHeight.quotient(row);
      const uint32_t image = p_.outputDepth.quotient(plane);
      const int32_t at[3] = {static_cast<int32_t>(plane - image * p_.outputDepth.divisor),
                             static_cast<int32_t>(row - plane * p_.outputHeight.divisor),
                             static_cast<int32_t>(output - row * p_.outputWidth.divisor)};
      const auto first = [&](int which, const Axis& axis) {
        return at[which] * axis.stride - (p_.isTransposed ? phase_.padBefore(which) : axis.padBefore);
      };
      Pixel pixel;
      pixel.width = first(2, p_.width);
      pixel.height = first(1, p_.height);
      pixel.depth = first(0, p_.depth);
      const int32_t firstDepth = static_cast<int32_t>(image) * p_.depth.extent;
      pixel.index = p_.indirect ? static_cast<int32_t>(image)
                                : ((firstDepth + pixel.depth) * p_.height.extent + pixel.height) * p_.width.extent + pixel.width;
      if (output >= static_cast<uint32_t>(p_.pixels)) pixel.width = kNowhere;
      if (p_.isTransposed) {
        if (phase_.taps() == 0) pixel.width = kNowhere;  // its outputs are sums of nothing
        rows_[i] = phase_.rowOf(output < static_cast<uint32_t>(p_.pixels), static_cast<int32_t>(image), at);
      }
      pixels_[i] = pixel;
    }
  }

  /// How many taps there are to look for; where tap `tap` of them is in the filter, and along each axis.
  __device__ __forceinline__ int32_t tapsToFind() const { return p_.isTransposed ? phase_.taps() : p_.taps; }
  __device__ __forceinline__ int32_t tapPlace(int32_t tap, int32_t (&at)[3]) const {
    if (p_.isTransposed) return phase_.place(tap, at);
    const uint32_t row = p_.filterWidth.quotient(static_cast<uint32_t>(tap)), plane = p_.filterHeight.quotient(row);
    at[0] = static_cast<int32_t>(plane), at[1] = static_cast<int32_t>(row - plane * p_.filterHeight.divisor);
    at[2] = tap - static_cast<int32_t>(row * p_.filterWidth.divisor);
    return tap;
  }

  /// Warp 0, in order: the taps that read inside the image for some pixel of the tile. At least one entry, so that the sums have
  /// something to start with.
  __device__ void placeTaps() {
    if (threadIdx.x < 32) {
      int32_t low[3] = {1 << 30, 1 << 30, 1 << 30}, high[3] = {kNowhere, kNowhere, kNowhere};
      for (int32_t i = static_cast<int32_t>(threadIdx.x); i < kTile.pixels; i += 32) {
        const Pixel pixel = pixels_[i];
        if (pixel.width == kNowhere) continue;
        const int32_t at[3] = {pixel.depth, pixel.height, pixel.width};
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) low[axis] = min(low[axis], at[axis]), high[axis] = max(high[axis], at[axis]);
      }
#pragma unroll
      for (int axis = 0; axis < 3; ++axis) {
        low[axis] = __reduce_min_sync(0xffffffffu, low[axis]);
        high[axis] = __reduce_max_sync(0xffffffffu, high[axis]);
      }
      // A filter row with all of its columns reaches this far to the right of its first element.
      if (p_.runs) high[2] += (static_cast<int32_t>(p_.tapVectors.divisor) * kVectorBytes) / Kind::kBytes - 1;
      int32_t found = 0;
      const int32_t taps = tapsToFind();
      for (int32_t first = 0; first < taps; first += 32) {
        const int32_t tap = first + static_cast<int32_t>(threadIdx.x);
        int32_t at[3];
        const int32_t inFilter = tapPlace(tap, at);
        const int32_t d = at[0] * p_.depth.dilation, h = at[1] * p_.height.dilation, w = at[2] * p_.width.dilation;
        const auto reads = [](int32_t from, int32_t to, int32_t extent) { return to >= 0 && from < extent; };
        const bool any = tap < taps && reads(low[0] + d, high[0] + d, p_.depth.extent) &&
                         reads(low[1] + h, high[1] + h, p_.height.extent) && reads(low[2] + w, high[2] + w, p_.width.extent);
        const uint32_t which = __ballot_sync(0xffffffffu, any);
        if (any)
          taps_[found + __popc(which & ((1u << threadIdx.x) - 1))] = {(d * p_.height.extent + h) * p_.width.extent + w,
                                                                      inFilter * static_cast<int32_t>(p_.tapVectors.divisor), d,
                                                                      h << 16 | w};
        found += __popc(which);
      }
      if (found == 0) {
        if (threadIdx.x == 0) taps_[0] = {0, 0, 0, 0};  // outside for every pixel, or it would have been found
        found = 1;
      }
      if (threadIdx.x == 0) header_->taps = found;
    }
    __syncthreads();
    vectors_ = header_->taps * static_cast<int32_t>(p_.tapVectors.divisor);
    steps_ = (vectors_ + kWords * kParts - 1) / (kWords * kParts);
  }

  // ---- Copies ----------------------------------------------------------------------------------------------------------------
  /// Where a vector of the reduction lies: the tap's and the channels' distance from tap (0, 0, 0), channel 0 of a pixel and of a
  /// filter.
  struct Source {
    bool exists;
    int32_t pixelOffset, depth, height, width;
    int32_t channelBytes;  ///< within the pixel
    int32_t filterBytes;   ///< within the filter

    __device__ __forceinline__ bool reads(const Params& p, const Pixel& pixel) const {
      const auto inside = [](int32_t at, int32_t extent) { return static_cast<uint32_t>(at) < static_cast<uint32_t>(extent); };
      return exists && inside(pixel.width + width, p.width.extent) && inside(pixel.height + height, p.height.extent) &&
             inside(pixel.depth + depth, p.depth.extent);
    }
    /// Some address where it does not read.
    __device__ __forceinline__ const uint8_t* of(const Params& p, const Pixel& pixel, bool reads) const {
      const InputPart& input = p.parts[0];
      return input.address + (reads ? pixel.index + pixelOffset : 0) * input.pixelBytes + channelBytes;
    }
    /// Repeated pixels, and those of two tensors, have no constant distances, so that theirs are found one by one.
    __device__ __forceinline__ const uint8_t* ofPart(const Params& p, const Pixel& pixel) const {
      const auto stored = [](const Axis& axis, int32_t at) {
        return static_cast<int32_t>(axis.upsample.quotient(static_cast<uint32_t>(at)));
      };
      const int32_t at = stored(p.depth, pixel.depth + depth);
      const InputPart& second = p.parts[1];
      const bool isSecond = second.depths != 0 && at >= second.firstDepth && channelBytes >= second.firstChannel * Kind::kBytes;
      const InputPart& part = isSecond ? second : p.parts[0];
      const int32_t slice = pixel.index * part.depths + at - part.firstDepth;
      const int32_t row = slice * p.height.storedExtent + stored(p.height, pixel.height + height);
      const int32_t index = row * p.width.storedExtent + stored(p.width, pixel.width + width);
      return part.address + index * part.pixelBytes + (channelBytes - part.firstChannel * Kind::kBytes);
    }
  };
  __device__ __forceinline__ Source sourceOf(int32_t vector) const {
    Source source;
    source.exists = vector < vectors_;
    const int32_t existing = source.exists ? vector : 0;
    const uint32_t tapNumber = p_.tapVectors.quotient(static_cast<uint32_t>(existing));
    const Tap tap = taps_[tapNumber];
    const int32_t channel = existing - static_cast<int32_t>(tapNumber * p_.tapVectors.divisor);
    source.pixelOffset = tap.pixelOffset;
    source.depth = tap.depth;
    source.height = tap.heightAndWidth >> 16;
    source.width = (tap.heightAndWidth & 0xffff) + (p_.runs ? channel * (kVectorBytes / Kind::kBytes) : 0);
    source.channelBytes = (group_ * p_.groupVectors + channel) * kVectorBytes;
    source.filterBytes = (tap.filterVector + channel) * kVectorBytes;
    return source;
  }

  /// This thread's vectors of one step, into a stage of the ring.
  __device__ __forceinline__ void load(int32_t step, uint32_t stage) const {
    const int32_t mine = static_cast<int32_t>(threadIdx.x) % kWords;
    // Addresses that follow from it are worked out each time: kept all along, they would not fit beside the sums.
    const int32_t firstRow = ptx::workedOutHere(static_cast<int32_t>(threadIdx.x) / kWords);
    Source sources[kParts];
#pragma unroll
    for (int32_t part = 0; part < kParts; ++part) sources[part] = sourceOf((step * kWords + mine) * kParts + part);
    const auto place = [&](uint32_t rows, int32_t row) {
      return placeOf(rows, row, mine * kWordBytes / 16) + static_cast<uint32_t>(mine * kWordBytes % 16);
    };
    const auto copyPixels = [&](int32_t i, auto&& addressOf) {
      const int32_t row = firstRow + i * kRowsAtOnce;
      const Pixel pixel = pixels_[row];
      copy(place(stage, row), sources, [&](const Source& source, bool& reads) {
        reads = source.reads(p_, pixel);
        return addressOf(source, pixel, reads);
      });
    };
    if (p_.indirect) {
#pragma unroll 2
      for (int32_t i = 0; i < kTile.pixels / kRowsAtOnce; ++i)
        copyPixels(i, [&](const Source& source, const Pixel& pixel, bool reads) {
          return reads ? source.ofPart(p_, pixel) : p_.parts[0].address;
        });
    } else {
#pragma unroll kTogether
      for (int32_t i = 0; i < kTile.pixels / kRowsAtOnce; ++i)
        copyPixels(i, [&](const Source& source, const Pixel& pixel, bool reads) { return source.of(p_, pixel, reads); });
    }
    const uint8_t* const weights = p_.filter + firstChannel_ * p_.filterRowBytes;
#pragma unroll kTogether
    for (int32_t i = 0; i < kTile.channels / kRowsAtOnce; ++i) {
      const int32_t row = firstRow + i * kRowsAtOnce;
      const int32_t output = channelOfRow(row);
      copy(place(stage + kPixelStageBytes, row), sources, [&](const Source& source, bool& reads) {
        reads = source.exists && firstInGroup_ + output < p_.groupOutputs;
        return reads ? weights + output * p_.filterRowBytes + source.filterBytes : p_.filter;
      });
    }
  }

  /// One word of a row: a vector, or several of them. addressOf(source, reads): zeros where it does not read.
  template <class AddressOf>
  __device__ __forceinline__ static void copy(uint32_t destination, const Source (&sources)[kParts], AddressOf&& addressOf) {
    bool reads;
    if constexpr (kParts == 1) {
      const uint8_t* const source = addressOf(sources[0], reads);
      ptx::copyAsync<kVectorBytes>(destination, source, reads ? kVectorBytes : 0);
    } else {
      uint32_t word = 0;
#pragma unroll
      for (int32_t part = 0; part < kParts; ++part) {
        const uint8_t* const source = addressOf(sources[part], reads);
        const uint32_t element = !reads ? 0 : kVectorBytes == 1 ? *source : *reinterpret_cast<const uint16_t*>(source);
        word |= element << (part * kVectorBytes * 8);
      }
      ptx::storeShared4Bytes(destination, word);
    }
  }

  // ---- Products --------------------------------------------------------------------------------------------------------------
  __device__ void multiply() {
    constexpr int32_t kAhead = kTile.stages - 1;
#pragma unroll
    for (int32_t step = 0; step < kAhead; ++step) {
      if (step < steps_) load(step, stages_ + static_cast<uint32_t>(step) * kStageBytes);
      ptx::copyAsyncCommitGroup();
    }
    uint32_t reading = stages_, writing = stages_ + kAhead * kStageBytes;
    const uint32_t end = stages_ + kTile.stages * kStageBytes;
    for (int32_t step = 0; step < steps_; ++step) {
      ptx::copyAsyncWaitGroup<kAhead - 1>();
      __syncthreads();  // the step's operands are there, and nobody reads the stage that is written next
      if (step + kAhead < steps_) load(step + kAhead, writing);
      ptx::copyAsyncCommitGroup();
      multiplyStage(reading);
      reading = reading + kStageBytes == end ? stages_ : reading + kStageBytes;
      writing = writing + kStageBytes == end ? stages_ : writing + kStageBytes;
    }
  }

  __device__ __forceinline__ void multiplyStage(uint32_t stage) {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    const int32_t firstPixel = warpRow() * kWarpPixels, firstChannel = warpColumn() * kWarpChannels;
#pragma unroll
    for (int32_t slice = 0; slice < kSlices; ++slice) {
      uint32_t a[kRowFragments][4], b[kColumnFragments][2];
#pragma unroll
      for (int32_t i = 0; i < kRowFragments; ++i)
        ptx::loadMatrices(a[i], placeOf(stage, firstPixel + i * 16 + lane % 16, slice * 2 + lane / 16));
#pragma unroll
      for (int32_t j = 0; j < kColumnFragments; j += 2) {
        uint32_t two[4];
        ptx::loadMatrices(
            two, placeOf(stage + kPixelStageBytes, firstChannel + j * 8 + lane % 8 + lane / 16 * 8, slice * 2 + lane / 8 % 2));
        b[j][0] = two[0], b[j][1] = two[1], b[j + 1][0] = two[2], b[j + 1][1] = two[3];
      }
      Kind::multiply(p_.types, sum_, a, b);
    }
  }

  // ---- Epilogue --------------------------------------------------------------------------------------------------------------
  __device__ __forceinline__ void finish() const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    const int32_t column = warpColumn() * kWarpChannels + lane % 4 * kSegmentColumns, channel = firstChannel_ + column;
    // Columns of the tile beyond the group's last channel belong to others.
    const int32_t columns = min(firstChannel_ - firstInGroup_ + p_.groupOutputs, p_.epilogue.columns);
    const auto pixelOf = [&](int32_t i) {
      const int32_t pixel = warpRow() * kWarpPixels + i * 8 + lane / 4;
      return p_.isTransposed ? rows_[pixel] : firstPixel_ + pixel;
    };
    const auto exists = [&](int32_t i) { return pixelOf(i) < p_.epilogue.rows; };
    constexpr int32_t kSegments = kRowFragments * 2;
    if constexpr (kHasPlain) {
      if (p_.plain) {
        if (channel >= columns) return;
        float bias[kSegmentColumns];
        loadBias(biasOf(p_.epilogue), channel, columns, bias);
        constexpr int32_t kTogether = 2;  // segments
#pragma unroll
        for (int32_t begin = 0; begin < kSegments; begin += kTogether) {
          if (!exists(begin) && !p_.isTransposed) break;
          float v[kTogether * kSegmentColumns];
#pragma unroll
          for (int32_t i = 0; i < kTogether; ++i) {
            float one[kSegmentColumns];
            segment(begin + i, one);
#pragma unroll
            for (int32_t j = 0; j < kSegmentColumns; ++j) v[i * kSegmentColumns + j] = fmaf(p_.epilogue.alpha, one[j], bias[j]);
          }
          const auto pixel = [&](int32_t i) { return pixelOf(begin + i); };
          finishPlainSegments<typename Kind::Element>(
              p_.epilogue, channel, columns, v, [&](int32_t i) { return exists(begin + i); }, pixel,
              [&](int32_t i) { return plainTarget(p_.epilogue, pixel(i), channel); });
        }
        return;
      }
    }
    if constexpr (Kind::kBytes == 1) {
      if (p_.plain) {
        if (channel >= columns) return;
        PlainBytes<kSegmentColumns> own;
        own.load(p_.epilogue, channel, columns);
#pragma unroll
        for (int32_t i = 0; i < kSegments; ++i) {
          if (!exists(i)) continue;
          Sum sums[kSegmentColumns];
          segment(i, sums);
          float v[kSegmentColumns];
#pragma unroll
          for (int32_t j = 0; j < kSegmentColumns; ++j) v[j] = static_cast<float>(sums[j]);
          uint32_t words[kSegmentColumns / 4];
          own.finish(p_.epilogue, v, words);
          own.store(p_.epilogue, pixelOf(i), channel, columns, words);
        }
        return;
      }
    }
    // The whole epilogue needs the registers that hold the sums: each thread puts its own away, over the stages.
    __syncthreads();  // other warps may still read the last one
    uint4* const own = sums_ + threadIdx.x;
#pragma unroll
    for (int32_t i = 0; i < kSegments; ++i) {
      Sum v[kSegmentColumns];
      segment(i, v);
      own[2 * i * kThreads] = make_uint4(bitsOf(v[0]), bitsOf(v[1]), bitsOf(v[2]), bitsOf(v[3]));
      own[(2 * i + 1) * kThreads] = make_uint4(bitsOf(v[4]), bitsOf(v[5]), bitsOf(v[6]), bitsOf(v[7]));
    }
    uint32_t largest = 0;
    // Segments of groups that begin or end anywhere are stored column by column.
    const bool whole = p_.groupOutputs % kSegmentColumns == 0 || p_.groupOutputs == p_.epilogue.columns;
    if (channel < columns) {
#pragma unroll 1
      for (int32_t i = 0; i < kSegments && (exists(i) || p_.isTransposed); i += 2) {
        if (whole) {
          uint32_t sums[2 * kSegmentColumns];
#pragma unroll
          for (int32_t j = 0; j < 4; ++j) {
            const uint4 four = own[(2 * i + j) * kThreads];
            sums[4 * j] = four.x, sums[4 * j + 1] = four.y, sums[4 * j + 2] = four.z, sums[4 * j + 3] = four.w;
          }
          const gemm::SegmentPlace at[2] = {{pixelOf(i), channel}, {pixelOf(i + 1), channel}};
          gemm::finishSegments<kSegmentColumns>(p_.epilogue, at, sums, largest);
        } else {
#pragma unroll 1
          for (int32_t j = 0; j < 2 * kSegmentColumns; ++j)
            if (channel + j % kSegmentColumns < columns)
              storeOne(pixelOf(i + j / kSegmentColumns), channel + j % kSegmentColumns,
                       reinterpret_cast<const uint32_t*>(own + (2 * i + j / 4) * kThreads)[j % 4], largest);
        }
      }
    }
    __syncwarp();  // site: row_staged
    gemm::mergeLargest(p_.epilogue, largest);
  }

  __device__ __forceinline__ static uint32_t bitsOf(float sum) { return __float_as_uint(sum); }
  __device__ __forceinline__ static uint32_t bitsOf(int32_t sum) { return static_cast<uint32_t>(sum); }

  /// Segment i of this thread's sums: pixel 8 * i + lane / 4 of the warp's.
  __device__ __forceinline__ void segment(int32_t i, Sum (&v)[kSegmentColumns]) const {
#pragma unroll
    for (int32_t j = 0; j < kColumnFragments; ++j)
      v[2 * j] = sum_[i / 2][j][i % 2 * 2], v[2 * j + 1] = sum_[i / 2][j][i % 2 * 2 + 1];
  }

  __device__ __forceinline__ void storeOne(int32_t pixel, int32_t channel, uint32_t sum, uint32_t& largest) const {
    const gemm::EpilogueParams& e = p_.epilogue;
    if (pixel >= e.rows) return;
    const uint32_t sums[1] = {sum};
    float value[1];
    gemm::computeSegment(e, pixel, channel, sums, value, largest);
    float segment[2] = {value[0], 0};  // the narrowest, of which one column exists
    const int32_t bytes = numerics::storageBits(e.outputType) / 8;
    gemm::convertSegment(e, pixel, channel, segment,
                         gemm::GlobalRow{static_cast<uint8_t*>(e.output) + pixel * e.outputPitch + channel * bytes, 1});
  }

  __device__ static int32_t warpRow() { return static_cast<int32_t>(threadIdx.x) / 32 % kTile.warpRows; }
  __device__ static int32_t warpColumn() { return static_cast<int32_t>(threadIdx.x) / 32 / kTile.warpRows; }

  const Params& p_;
  uint32_t tile_;
  Phase phase_;  ///< of a transposed convolution
  Header* header_;
  Pixel* pixels_;
  Tap* taps_;
  int32_t* rows_;  ///< of a transposed convolution: where its pixels are written
  uint4* sums_;
  uint32_t stages_;
  int32_t firstPixel_, firstChannel_, firstInGroup_, group_;
  int32_t vectors_ = 0, steps_ = 0;  ///< of the reduction
  Sum sum_[kRowFragments][kColumnFragments][4] = {};
};

#define SHIFTCONV_GATHERED_KERNEL_OF(NAME, KIND, TILE, BYTES)                             \
  SHIFTCONV_KERNEL(                                                                       \
      NAME, extern "C" __global__ void __launch_bounds__(k##TILE.threads(), k##TILE.ctas) \
                NAME(const __grid_constant__ Params params) { Cta<KIND, k##TILE, BYTES>(params).run(); })
#define SHIFTCONV_GATHERED_KERNEL(NAME, KIND, TILE, BYTES) \
  SHIFTCONV_GATHERED_KERNEL_OF(gathered_##NAME##_##TILE##_v##BYTES, KIND, TILE, BYTES)
/// Those that every kind has.
#define SHIFTCONV_GATHERED_KERNELS(NAME, KIND)      \
  SHIFTCONV_GATHERED_KERNEL(NAME, KIND, 128x64, 16) \
  SHIFTCONV_GATHERED_KERNEL(NAME, KIND, 64x64, 16)  \
  SHIFTCONV_GATHERED_KERNEL(NAME, KIND, 128x32, 16) \
  SHIFTCONV_GATHERED_KERNEL(NAME, KIND, 128x64, 4)

}  // namespace shiftconv::kernels::gathered
