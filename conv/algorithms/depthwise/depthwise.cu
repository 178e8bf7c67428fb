// depthwise: forward convolution of each channel with a filter of its own, on m16n8k16.
//
// For one channel and one filter row, 8 neighbouring outputs of an image row are the product of a window of input pixels with a
// banded matrix: out[q] = sum_k in[k] * B[k][q], B[k][q] = w[k - q]. With 16 image rows as M and a window of 16 pixels as K, one
// m16n8k16 does 16 x 8 outputs, 7/16 of it useful for a 7-wide filter; the filter rows accumulate.
//
// The pixels of a channel lie a pixel apart in NHWC, but a thread that loads 16 bytes of two neighbouring pixels has the operand
// pairs of eight channels, one byte permutation each. Windows of neighbouring blocks overlap by half, so that a block loads half
// of its window.
//
// NOTES
//  - Every input pixel of a window is multiplied, by zero where the band ends: an infinity or NaN in the input spreads to the
//    outputs whose 16-pixel window has it, beyond those whose filter taps do.
//  - B is read from shared memory as pairs (w[d], w[d + 1]). They stand there twice, for even and for odd d, zeros around them, so
//    that each is one aligned word.
//  - A warp has 8 channels of 16 rows. Tiles of twice the rows in one CTA with two boxes were slower (63 against 58 us for
//    64x56x56x96 with a 7x7 filter): its warps all load, multiply and store at the same time.
//  - Elements of 8 bits become f16 in registers, exactly, after the permutation that pairs the pixels. Sums of integers stay below
//    2^24, as the planner sees to, and are exact, too. Their plain epilogue is that of isLeanBytes.
//  - With the whole epilogue (gemm::EpilogueParams) a thread stores from its registers, which hold eight channels of every pixel.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/register_pressure.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/warp.cuh"
#include "conv/algorithms/depthwise/params.hpp"
#include "conv/kernels/bias.cuh"
#include "conv/kernels/decoding.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/plain_bytes.cuh"
#include "conv/kernels/scaled_channels.cuh"
#include "conv/kernels/staged_residual.cuh"

namespace shiftconv::kernels::depthwise {
namespace {

constexpr int32_t kThreads = kWarps * 32;

struct Control {
  uint64_t full[kSlots];
  uint64_t residual;  ///< the tile's has come to where the output will be staged
};

/// Activated: scales, a bias and an activation.
enum class Epilogue { Plain, Residual, Activated, Full };

/// Operands as they come, and what is multiplied.
template <class ElementType>
struct Halves {
  using Element = ElementType;
  static constexpr int32_t kBytes = 2;
};
template <Coding kCodingOfBytes>
struct Bytes {
  using Element = __half;
  static constexpr int32_t kBytes = 1;
  static constexpr Coding kCoding = kCodingOfBytes;
};

template <class Operands, Epilogue kEpilogue>
class Cta {
  using Element = typename Operands::Element;
  static constexpr bool kFull = kEpilogue == Epilogue::Full, kResidual = kEpilogue == Epilogue::Residual;
  static constexpr int32_t kElementBytes = Operands::kBytes;
  static constexpr bool kDecodes = kElementBytes == 1;
  static constexpr uint32_t kPixelBytes = pixelBytes(kElementBytes), kStagingBytes = stagingBytes(kElementBytes);
  static constexpr uint32_t kWarpBytes = kWarpChannels * kElementBytes;  ///< of a pixel

 public:
  __device__ Cta(const CUtensorMap& input, const CUtensorMap& output, const CUtensorMap& residual, const Params& params)
      : inputMap_(input), outputMap_(output), residualMap_(residual), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control>(dynamicShared);
    boxes_ = ptx::sharedAddress(control_) + kControlBytes;
    staging_ = boxes_ + kSlots * alignedBoxBytes(p_.filterHeight, kElementBytes);
    diagonals_ = reinterpret_cast<uint32_t*>(reinterpret_cast<uint8_t*>(control_) +
                                             (staging_ + kStagingBytes - ptx::sharedAddress(control_)));
  }

  __device__ void run() {
    if (threadIdx.x == 0) {
      ptx::prefetchTensorMap(&inputMap_);
      if constexpr (!kFull) ptx::prefetchTensorMap(&outputMap_);
      for (uint32_t slot = 0; slot < kSlots; ++slot) ptx::mbarrierInit(full(slot), 1);
      if constexpr (kResidual) {
        ptx::prefetchTensorMap(&residualMap_);
        ptx::mbarrierInit(ptx::sharedAddress(&control_->residual), 1);
      }
      ptx::fenceMbarrierInit();
    }
    __syncthreads();  // site: barriers_ready
    ptx::awaitPrerequisites();
    ptx::launchDependents();
    if (threadIdx.x == 0) {
      for (int32_t slot = 0; slot < kSlots; ++slot)
        if (tileOf(slot) < p_.tiles) load(tileOf(slot), static_cast<uint32_t>(slot));
    }
    constexpr uint32_t kVectors = kPixelBytes / 16;
    if (threadIdx.x < kSlots * kVectors)
      ptx::storeShared16Bytes(boxAddress(threadIdx.x / kVectors) + p_.boxBytes + threadIdx.x % kVectors * 16, 0, 0, 0, 0);
    buildDiagonals();
    // Turn and slot are worked out again where they are needed: the sums leave few registers.
    for (int32_t turn = 0; tileOf(turn) < p_.tiles; ++turn) {
      const uint32_t slot = static_cast<uint32_t>(turn % kSlots);
      if (kResidual && threadIdx.x == 0) loadResidual(tileOf(turn));
      ptx::mbarrierWait(full(slot), static_cast<uint32_t>(turn / kSlots) & 1);
      float d[kBlocks][kWarpChannels][4] = {};
      // The last block may be beyond the output's last column. Left out by a branch in the row's own loop, it saved nothing.
      if (originOf(tileOf(turn)).column + (kBlocks - 1) * kBlockColumns < p_.outputWidth) {
        multiplyRows<kBlocks>(d, boxAddress(slot));
      } else {
        multiplyRows<kBlocks - 1>(d, boxAddress(slot));
      }
      if (threadIdx.x == 0) ptx::bulkWaitGroupRead<0>();
      __syncthreads();  // everybody has read the box, and the tile before has left
      if (threadIdx.x == 0 && tileOf(turn + kSlots) < p_.tiles) load(tileOf(turn + kSlots), slot);
      if constexpr (kFull) {
        storeFull(d, originOf(tileOf(turn)));
      } else {
        if constexpr (kResidual) ptx::mbarrierWait(ptx::sharedAddress(&control_->residual), static_cast<uint32_t>(turn) & 1);
        stage(d);
        ptx::fenceProxyAsyncShared();
        __syncthreads();
        if (threadIdx.x == 0) {
          const TileOrigin origin = originOf(tileOf(turn));
          ptx::storeTile4d(&outputMap_, firstChannel(), origin.column, origin.row, origin.image, staging_);
          ptx::bulkCommitGroup();
        }
      }
    }
    if (!kFull && threadIdx.x == 0) ptx::bulkWaitGroupRead<0>();
  }

 private:
  struct TileOrigin {
    int32_t column, row, image;
  };
  static __device__ int32_t tileOf(int32_t turn) {
    return static_cast<int32_t>(blockIdx.x) + turn * static_cast<int32_t>(gridDim.x);
  }
  __device__ TileOrigin originOf(int32_t tile) const {
    const uint32_t pixels = static_cast<uint32_t>(tile);
    const uint32_t rows = p_.columnTiles.quotient(pixels), image = p_.rowTiles.quotient(rows);
    return {static_cast<int32_t>(pixels - rows * p_.columnTiles.divisor) * kTileColumns,
            static_cast<int32_t>(rows - image * p_.rowTiles.divisor) * kTileRows, static_cast<int32_t>(image)};
  }
  static __device__ uint32_t channelWarp() { return threadIdx.x / 32 % kChannelWarps; }
  static __device__ uint32_t rowWarp() { return threadIdx.x / 32 / kChannelWarps; }
  __device__ int32_t firstChannel() const { return static_cast<int32_t>(blockIdx.y) * kCtaChannels; }

  __device__ uint32_t full(uint32_t slot) const { return ptx::sharedAddress(&control_->full[slot]); }
  __device__ uint32_t boxAddress(uint32_t slot) const { return boxes_ + slot * alignedBoxBytes(p_.filterHeight, kElementBytes); }

  __device__ void load(int32_t tile, uint32_t slot) const {
    const TileOrigin origin = originOf(tile);
    ptx::mbarrierArriveExpectBytes(full(slot), p_.boxBytes);
    ptx::loadTile4d(boxAddress(slot), &inputMap_, firstChannel(), origin.column - p_.padLeft, origin.row - p_.padTop, origin.image,
                    full(slot));
  }

  /// Beside the products, once the tile before has left.
  __device__ void loadResidual(int32_t tile) const {
    const TileOrigin origin = originOf(tile);
    const uint32_t barrier = ptx::sharedAddress(&control_->residual);
    ptx::bulkWaitGroupRead<0>();
    ptx::mbarrierArriveExpectBytes(barrier, kStagingBytes);
    ptx::loadTile4d(staging_, &residualMap_, firstChannel(), origin.column, origin.row, origin.image, barrier);
  }

  /// Word e of copy c of a filter row: w[2e - 8 + c] and w[2e - 7 + c], zero outside the filter.
  __device__ void buildDiagonals() {
    constexpr uint32_t kCopyWords = kDiagonalWords / 2;
    const uint32_t rows = static_cast<uint32_t>(p_.filterHeight), columns = static_cast<uint32_t>(p_.filterWidth);
    // The filters of a CTA's channels follow each other; firstChannel() is a multiple of 32, so they begin at a whole word.
    uint32_t* const raw = diagonals_ + rows * kCtaChannels * kDiagonalWords;
    const uint32_t ownChannels = min(static_cast<uint32_t>(p_.channels - firstChannel()), static_cast<uint32_t>(kCtaChannels));
    constexpr uint32_t kOfWord = 4 / kElementBytes;  // elements; channels come in 16 bytes
    const uint32_t rawWords = ownChannels * rows * columns / kOfWord;
    const uint32_t* filter =
        static_cast<const uint32_t*>(p_.filter) + static_cast<uint64_t>(firstChannel()) * rows * columns / kOfWord;
#pragma unroll 4
    for (uint32_t word = threadIdx.x; word < rawWords; word += kThreads) raw[word] = filter[word];
    __syncthreads();
    const auto weight = [&](uint32_t i) -> uint32_t {
      if constexpr (kDecodes)
        return halvesAs<Operands::kCoding, 0>(p_.filters, reinterpret_cast<const uint8_t*>(raw)[i]) & 0xffffu;
      else
        return reinterpret_cast<const uint16_t*>(raw)[i];
    };
    for (uint32_t row = threadIdx.x; row < rows * kCtaChannels; row += kThreads) {
      const uint32_t r = row / kCtaChannels, channel = row % kCtaChannels;
      uint32_t padded[2 * kCopyWords + 1] = {};  // w[-8..16]
      if (channel < ownChannels) {
#pragma unroll
        for (uint32_t s = 0; s < kMaximumFilterWidth; ++s)
          if (s < columns) padded[8 + s] = weight((channel * rows + r) * columns + s);
      }
#pragma unroll
      for (uint32_t e = 0; e < kCopyWords; ++e) {
        diagonals_[row * kDiagonalWords + e] = padded[2 * e] | padded[2 * e + 1] << 16;
        diagonals_[row * kDiagonalWords + kCopyWords + e] = padded[2 * e + 1] | padded[2 * e + 2] << 16;
      }
    }
    __syncthreads();
  }

  /// Eight columns of the box, 16 rows: operand registers of eight channels, for the rows lane / 4 and lane / 4 + 8.
  static constexpr uint32_t kEightRows = 8 * kBoxColumns * kPixelBytes;
  struct HalfWindow {
    uint32_t rows[2][kWarpChannels];
  };
  static __device__ __forceinline__ void loadChannels(uint32_t from, uint32_t (&words)[kWarpBytes / 4]) {
    if constexpr (kDecodes)
      ptx::loadShared8Bytes(from, words[0], words[1]);
    else
      ptx::loadShared16Bytes(from, words[0], words[1], words[2], words[3]);
  }
  __device__ HalfWindow loadHalf(uint32_t evenColumn, uint32_t oddColumn, uint32_t half) const {
    HalfWindow window;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      uint32_t even[kWarpBytes / 4], odd[kWarpBytes / 4];
      loadChannels(evenColumn + half * (8 * kPixelBytes) + i * kEightRows, even);
      loadChannels(oddColumn + half * (8 * kPixelBytes) + i * kEightRows, odd);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if constexpr (kDecodes) {
          // Channels 2c and 2c + 1 of both pixels.
          const uint32_t pairs = __byte_perm(even[c / 2], odd[c / 2], c % 2 == 0 ? 0x5140 : 0x7362);
          const uint2 halves = fourHalvesAs<Operands::kCoding>(p_.inputs, pairs);
          window.rows[i][2 * c] = halves.x, window.rows[i][2 * c + 1] = halves.y;
        } else {
          window.rows[i][2 * c] = __byte_perm(even[c], odd[c], 0x5410);
          window.rows[i][2 * c + 1] = __byte_perm(even[c], odd[c], 0x7632);
        }
      }
    }
    return window;
  }

  template <int kMultiplied>
  __device__ void multiplyRows(float (&d)[kBlocks][kWarpChannels][4], uint32_t box) const {
#pragma unroll 1
    for (int32_t r = 0; r < p_.filterHeight; ++r) multiplyRow<kMultiplied>(d, box, r);
  }

  template <int kMultiplied>
  __device__ void multiplyRow(float (&d)[kBlocks][kWarpChannels][4], uint32_t box, int32_t r) const {
    const uint32_t lane = threadIdx.x % 32, warp = channelWarp(), g = lane / 4, t = lane % 4;
    // 64-byte swizzle: bits 5:4 of an address are XORed with bits 8:7, which are the same eight columns or eight rows further on.
    // 32-byte swizzle: bit 4 with bit 7, likewise.
    constexpr uint32_t kSwizzled = kDecodes ? 0x10 : 0x30;
    const auto addressOf = [&](uint32_t column) {
      const uint32_t linear = box + ((rowWarp() * kWarpRows + static_cast<uint32_t>(r) + g) * kBoxColumns + column) * kPixelBytes;
      return linear ^ ((linear >> 3) & kSwizzled) ^ (warp * kWarpBytes);
    };
    const uint32_t evenColumn = addressOf(2 * t), oddColumn = addressOf(2 * t + 1);
    // Column g of B, rows 2t and 2t + 1, then 8 further down.
    const int32_t distance = static_cast<int32_t>(2 * t) - static_cast<int32_t>(g);
    const uint32_t word = static_cast<uint32_t>(distance & 1 ? kDiagonalWords / 2 + (distance + 7) / 2 : (distance + 8) / 2);
    const uint32_t* row = diagonals_ + (static_cast<uint32_t>(r) * kCtaChannels + warp * kWarpChannels) * kDiagonalWords + word;
    uint32_t b[kWarpChannels][2];
#pragma unroll
    for (int c = 0; c < kWarpChannels; ++c) {
      b[c][0] = row[c * kDiagonalWords];
      b[c][1] = row[c * kDiagonalWords + 4];
    }
    HalfWindow left = loadHalf(evenColumn, oddColumn, 0);
#pragma unroll
    for (int block = 0; block < kMultiplied; ++block) {
      const HalfWindow right = loadHalf(evenColumn, oddColumn, block + 1);
#pragma unroll
      for (int c = 0; c < kWarpChannels; ++c) {
        ptx::mma16x8x16<Element>(d[block][c], left.rows[0][c], left.rows[1][c], right.rows[0][c], right.rows[1][c], b[c][0],
                                 b[c][1]);
      }
      left = right;
    }
  }

  /// The tile as pixels of 32 channels in 64-byte swizzle, from where the copy engine stores it: a warp's own stores would be of 16
  /// bytes, each to another pixel. A residual is there already.
  __device__ void stage(const float (&d)[kBlocks][kWarpChannels][4]) const {
    if constexpr (kDecodes)
      stageBytes(d);
    else if constexpr (kEpilogue == Epilogue::Activated)
      stageActivated(d);
    else
      stageHalves(d);
  }
  /// The same with 32 bytes a pixel.
  __device__ void stageBytes(const float (&d)[kBlocks][kWarpChannels][4]) const {
    const uint32_t lane = threadIdx.x % 32;
    PlainBytes<kWarpChannels> own;
    own.load(p_.epilogue, firstChannel() + static_cast<int32_t>(channelWarp()) * kWarpChannels, p_.channels);
    // Row lane / 4, column 2 * (lane % 4). Bit 7 of its address, bit 1 of the lane, is the swizzle of every pixel of this lane.
    const uint32_t first = staging_ + ((rowWarp() * kWarpRows + lane / 4) * kTileColumns + 2 * (lane % 4)) * kPixelBytes +
                           (channelWarp() * kWarpBytes ^ lane % 4 / 2 * 16);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float v[kWarpChannels];
#pragma unroll
        for (int c = 0; c < kWarpChannels; ++c) v[c] = d[block][c][i];
        uint32_t words[2];
        own.template finishLean<Lean::Rectified>(p_.epilogue, v, words);
        const uint32_t pixel = i / 2 * (8 * kTileColumns) + block * kBlockColumns + i % 2;
        ptx::storeShared8Bytes(first + pixel * kPixelBytes, words[0], words[1]);
      }
    }
  }
  /// Row lane / 4, column 2 * (lane % 4). Bits 8:7 of its address, lane % 4, are the swizzle of every pixel of this lane.
  __device__ uint32_t firstStagedHalves(uint32_t thread) const {
    const uint32_t lane = thread % 32, warp = thread / 32;
    return staging_ + ((warp / kChannelWarps * kWarpRows + lane / 4) * kTileColumns + 2 * (lane % 4)) * kPixelBytes +
           (warp % kChannelWarps ^ lane % 4) * 16;
  }
  /// From there to sum i of a block.
  static __device__ constexpr uint32_t stagedPixel(int block, int i) {
    return i / 2 * (8 * kTileColumns) + block * kBlockColumns + i % 2;
  }
  __device__ void stageActivated(const float (&d)[kBlocks][kWarpChannels][4]) const {
    // As in storeFull.
    const int32_t thread = ptx::workedOutHere(static_cast<int32_t>(threadIdx.x));
    ScaledChannels<kWarpChannels> own;
    own.load(p_.epilogue, firstChannel() + thread / 32 % kChannelWarps * kWarpChannels);
    const uint32_t first = firstStagedHalves(static_cast<uint32_t>(thread));
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      float v[4 * kWarpChannels];  // with one choice of the activation
#pragma unroll
      for (int i = 0; i < 4 * kWarpChannels; ++i)
        v[i] = own.applied(i % kWarpChannels, d[block][i % kWarpChannels][i / kWarpChannels]);
      gemm::activate(p_.epilogue, v);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* const pixel = v + i * kWarpChannels;
        ptx::storeShared16Bytes(first + stagedPixel(block, i) * kPixelBytes, packPair<Element>(pixel[0], pixel[1]),
                                packPair<Element>(pixel[2], pixel[3]), packPair<Element>(pixel[4], pixel[5]),
                                packPair<Element>(pixel[6], pixel[7]));
      }
    }
  }
  __device__ void stageHalves(const float (&d)[kBlocks][kWarpChannels][4]) const {
    const int32_t channel = firstChannel() + static_cast<int32_t>(channelWarp()) * kWarpChannels;
    float bias[kWarpChannels] = {};
    if (p_.bias.numbers != nullptr && channel < p_.channels) {
#pragma unroll
      for (int c = 0; c < kWarpChannels; ++c) bias[c] = biasNumber(p_.bias, channel + c);
    }
    const uint32_t first = firstStagedHalves(threadIdx.x);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint32_t pixel = stagedPixel(block, i);
        uint32_t residual[4] = {};
        if constexpr (kResidual)
          ptx::loadShared16Bytes(first + pixel * kPixelBytes, residual[0], residual[1], residual[2], residual[3]);
        uint32_t packed[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          float low = d[block][2 * c][i] + bias[2 * c], high = d[block][2 * c + 1][i] + bias[2 * c + 1];
          if constexpr (kResidual) addResidual<Element>(low, high, p_.beta, residual[c]);
          packed[c] = limited<Element>(packPair<Element>(low, high), p_.limits);
        }
        ptx::storeShared16Bytes(first + pixel * kPixelBytes, packed[0], packed[1], packed[2], packed[3]);
      }
    }
  }

  /// What the whole epilogue takes.
  static __device__ __forceinline__ uint32_t bitsOf(float sum) {
    if constexpr (kDecodes)
      if (Operands::kCoding == Coding::Integers) return static_cast<uint32_t>(__float2int_rn(sum));
    return __float_as_uint(sum);
  }
  __device__ void storeFull(const float (&d)[kBlocks][kWarpChannels][4], const TileOrigin& origin) const {
    // The sums of the next tile leave no registers for what does not depend on the tile.
    const int32_t thread = ptx::workedOutHere(static_cast<int32_t>(threadIdx.x)), lane = thread % 32, warp = thread / 32;
    const int32_t channel = firstChannel() + warp % kChannelWarps * kWarpChannels;
    const int32_t firstRow = origin.row + warp / kChannelWarps * kWarpRows + lane / 4;
    const int32_t firstColumn = origin.column + 2 * (lane % 4);
    uint32_t largest = 0;
#pragma unroll 1
    for (int piece = 0; piece < kBlocks * 4; ++piece) {
      uint32_t bits[kWarpChannels];
      // Sums are indexed by constants only, so that they stay in registers.
#pragma unroll
      for (int own = 0; own < kBlocks * 4; ++own) {
        if (own != piece) continue;
#pragma unroll
        for (int c = 0; c < kWarpChannels; ++c) bits[c] = bitsOf(d[own / 4][c][own % 4]);
      }
      const int32_t row = firstRow + piece % 4 / 2 * 8, column = firstColumn + piece / 4 * kBlockColumns + piece % 2;
      const bool exists = row < p_.outputHeight && column < p_.outputWidth;
      const int32_t pixel = exists ? (origin.image * p_.outputHeight + row) * p_.outputWidth + column : -1;
      float values[kWarpChannels];
      gemm::computeSegment(p_.epilogue, pixel, channel, bits, values, largest);
      gemm::storeSegment(p_.epilogue, pixel, channel, values);
    }
    gemm::mergeLargest(p_.epilogue, largest);  // of every tile: one register more from tile to tile would be spilled
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& outputMap_;
  const CUtensorMap& residualMap_;
  const Params& p_;
  Control* control_;
  uint32_t boxes_, staging_;
  uint32_t* diagonals_;
};

}  // namespace

#define SHIFTCONV_DEPTHWISE_KERNEL(NAME, OPERANDS, EPILOGUE)                                            \
  extern "C" __global__ void __launch_bounds__(kThreads, kCtasPerMultiprocessor)                        \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap outputMap, \
           const __grid_constant__ Params params) {                                                     \
    Cta<OPERANDS, Epilogue::EPILOGUE>(inputMap, outputMap, outputMap, params).run();                    \
  }
#define SHIFTCONV_DEPTHWISE_RESIDUAL_KERNEL(NAME, ELEMENT)                                              \
  extern "C" __global__ void __launch_bounds__(kThreads, kCtasPerMultiprocessor)                        \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap outputMap, \
           const __grid_constant__ CUtensorMap residualMap, const __grid_constant__ Params params) {    \
    Cta<Halves<ELEMENT>, Epilogue::Residual>(inputMap, outputMap, residualMap, params).run();           \
  }

SHIFTCONV_DEPTHWISE_KERNEL(depthwise_f16, Halves<__half>, Plain)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_bf16, Halves<__nv_bfloat16>, Plain)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_e4m3, Bytes<Coding::E4m3>, Plain)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_integers, Bytes<Coding::Integers>, Plain)
SHIFTCONV_DEPTHWISE_RESIDUAL_KERNEL(depthwise_f16_residual, __half)
SHIFTCONV_DEPTHWISE_RESIDUAL_KERNEL(depthwise_bf16_residual, __nv_bfloat16)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_f16_activated, Halves<__half>, Activated)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_bf16_activated, Halves<__nv_bfloat16>, Activated)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_f16_full, Halves<__half>, Full)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_bf16_full, Halves<__nv_bfloat16>, Full)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_e4m3_full, Bytes<Coding::E4m3>, Full)
SHIFTCONV_DEPTHWISE_KERNEL(depthwise_integers_full, Bytes<Coding::Integers>, Full)

}  // namespace shiftconv::kernels::depthwise
