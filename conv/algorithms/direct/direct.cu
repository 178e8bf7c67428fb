// direct: forward convolution on CUDA cores, for whatever no other engine takes: any groups, strides, dilations and pads, one to
// three dimensions, channels of any number.
//
// A thread sums 4 output pixels x 4 output channels in f32 (integers: s32) by fused multiply-add, one filter tap after the other.
// Taps outside of the image are skipped, so that they contribute exactly nothing whatever the filter holds.
//
// NOTES
//  - The vector kernels load 16 bytes of channels at once (8 bytes of 8-bit floats). Rows of channels then are whole vectors, and
//    the 4 output channels of a thread belong to one group. The scalar kernels load single elements and may change the group
//    within a thread.
//  - Threads of a warp lie along the pixels, where they read the same weights, or along the channels of small groups, where they
//    read neighbouring inputs: Params::channelThreads.
#include <cstdint>
#include <type_traits>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/conversion.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/packed_operands.cuh"
#include "conv/algorithms/direct/params.hpp"

namespace shiftconv::kernels::direct {
namespace {

using numerics::NumberType;

SHIFTCONV_HOST_DEVICE constexpr bool isInteger(NumberType type) { return type == NumberType::S8 || type == NumberType::U8; }

/// Elements of a word as f32, exactly; tf32 loses its 13 low bits.
template <NumberType kType>
__device__ __forceinline__ void unpack(uint32_t word, float* values) {
  if constexpr (kType == NumberType::F32) {
    values[0] = __uint_as_float(word);
  } else if constexpr (kType == NumberType::TF32) {
    values[0] = __uint_as_float(word & 0xffffe000u);
  } else if constexpr (kType == NumberType::F16) {
    values[0] = ptx::unpackF16(word);
    values[1] = ptx::unpackF16(word >> 16);
  } else if constexpr (kType == NumberType::BF16) {
    values[0] = __uint_as_float(word << 16);
    values[1] = __uint_as_float(word & 0xffff0000u);
  } else {
    static_assert(kType == NumberType::E4M3 || kType == NumberType::E5M2);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t codes = word >> (16 * i);
      unpack<NumberType::F16>(kType == NumberType::E4M3 ? ptx::unpackPairE4m3(codes) : ptx::unpackPairE5m2(codes), values + 2 * i);
    }
  }
}

/// Some neighbouring channels of a pixel or of a filter tap.
template <NumberType kType, bool kWide>
struct Channels {
  static constexpr int kElementBytes = numerics::storageBits(kType) / 8;
  static constexpr int kElements = kWide ? vectorBytes(kType) / kElementBytes : 1;
  static constexpr int kWords = kWide ? vectorBytes(kType) / 4 : 1;
  uint32_t word[kWords];

  __device__ __forceinline__ void load(const uint8_t* from) {
    if constexpr (!kWide) {
      if constexpr (kElementBytes == 4)
        word[0] = *reinterpret_cast<const uint32_t*>(from);
      else if constexpr (kElementBytes == 2)
        word[0] = *reinterpret_cast<const uint16_t*>(from);
      else
        word[0] = *from;
    } else if constexpr (kWords == 2) {
      const uint2 two = *reinterpret_cast<const uint2*>(from);
      word[0] = two.x, word[1] = two.y;
    } else {
      const uint4 four = *reinterpret_cast<const uint4*>(from);
      word[0] = four.x, word[1] = four.y, word[2] = four.z, word[3] = four.w;
    }
  }
  __device__ __forceinline__ int32_t integer() const {
    static_assert(isInteger(kType) && !kWide);
    return kType == NumberType::S8 ? static_cast<int8_t>(word[0]) : static_cast<int32_t>(word[0]);
  }
};

/// The same as operands: f32, or packed integers.
template <NumberType kType, bool kWide>
struct Values {
  using From = Channels<kType, kWide>;
  static constexpr int kPerWord = 4 / From::kElementBytes;
  float value[From::kWords * kPerWord];

  __device__ __forceinline__ explicit Values(const From& channels) {
#pragma unroll
    for (int i = 0; i < From::kWords; ++i) unpack<kType>(channels.word[i], value + i * kPerWord);
  }
};

template <NumberType kInput, NumberType kFilter, bool kWide>
class Thread {
  static constexpr bool kIntegers = isInteger(kInput);
  using Pixel = Channels<kInput, kWide>;
  using Weights = Channels<kFilter, kWide>;
  static_assert(Pixel::kElements == Weights::kElements && isInteger(kFilter) == kIntegers);
  using Sum = std::conditional_t<kIntegers, int32_t, float>;

 public:
  __device__ explicit Thread(const Params& params) : p_(params) {
    const uint32_t pixelThreads = kThreads / p_.channelThreads;
    const uint32_t pixelThread = threadIdx.x / p_.channelThreads, channelThread = threadIdx.x % p_.channelThreads;
    column_ = static_cast<int32_t>((blockIdx.y * p_.channelThreads + channelThread) * kColumns);
#pragma unroll
    for (int i = 0; i < kPixels; ++i) place(i, (blockIdx.x * kPixels + static_cast<uint32_t>(i)) * pixelThreads + pixelThread);
    const int64_t filterRow = int64_t{p_.depth.taps} * p_.height.taps * p_.width.taps * p_.groupChannels;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const int32_t column = min(column_ + j, p_.epilogue.columns - 1);  // what does not exist is summed, but not stored
      weights_[j] = static_cast<const uint8_t*>(p_.filter) + column * filterRow * Weights::kElementBytes;
      firstChannel_[j] = static_cast<int32_t>(p_.groupOutputs.quotient(static_cast<uint32_t>(column))) * p_.groupChannels;
    }
  }

  __device__ void run() {
    ptx::awaitPrerequisites();
    ptx::launchDependents();
    uint32_t largest = 0;
    if (column_ < p_.epilogue.columns) {
      for (int32_t t = 0; t < p_.depth.taps; ++t)
        for (int32_t r = 0; r < p_.height.taps; ++r)
          for (int32_t s = 0; s < p_.width.taps; ++s)
#pragma unroll 1
            for (int32_t i = 0; i < p_.partCount; ++i) addTap(p_.parts[i], t, r, s);
      finish(largest);
    }
    __syncwarp();
    gemm::mergeLargest(p_.epilogue, largest);
  }

 private:
  struct Position {
    int32_t row;                   ///< of the epilogue
    int32_t image;                 ///< -1: no pixel
    int32_t depth, height, width;  ///< of tap 0; of transposed convolutions times the stride
  };

  __device__ void place(int i, uint32_t pixel) {
    Position& at = position_[i];
    at.row = static_cast<int32_t>(pixel);
    const uint32_t row = p_.outputWidth.quotient(pixel), plane = p_.outputHeight.quotient(row);
    const uint32_t image = p_.outputDepth.quotient(plane);
    const bool transposed = p_.transposed;
    const auto first = [transposed](const Axis& axis, uint32_t output) {
      const auto o = static_cast<int32_t>(output);
      return transposed ? o + axis.padBefore : o * axis.stride - axis.padBefore;
    };
    at.width = first(p_.width, pixel - row * p_.outputWidth.divisor);
    at.height = first(p_.height, row - plane * p_.outputHeight.divisor);
    at.depth = first(p_.depth, plane - image * p_.outputDepth.divisor);
    at.image = pixel < static_cast<uint32_t>(p_.epilogue.rows) ? static_cast<int32_t>(image) : -1;
  }

  /// Where a tap lies, outside of the image where a transposed convolution has none.
  __device__ __forceinline__ int32_t under(int32_t first, int32_t tap, const Axis& axis) const {
    if (!p_.transposed) return first + tap * axis.dilation;
    const int32_t scaled = first - tap * axis.dilation, position = scaled / axis.stride;
    return position * axis.stride == scaled ? position : -1;
  }

  /// Where channel 0 of the input pixel that a tap of output pixel i reads would be beside those of the part; null outside of the
  /// part.
  __device__ const uint8_t* inputPixel(const InputPart& part, int i, int32_t t, int32_t r, int32_t s) const {
    const Position& at = position_[i];
    const int32_t d = under(at.depth, t, p_.depth), h = under(at.height, r, p_.height), w = under(at.width, s, p_.width);
    const auto inside = [](int32_t x, const Axis& axis) { return static_cast<uint32_t>(x) < static_cast<uint32_t>(axis.extent); };
    if (at.image < 0 || !inside(d, p_.depth) || !inside(h, p_.height) || !inside(w, p_.width)) return nullptr;
    const auto stored = [](int32_t x, const Axis& axis) { return axis.upsample.quotient(static_cast<uint32_t>(x)); };
    const auto depth = static_cast<int32_t>(stored(d, p_.depth)) - part.firstDepth;
    if (static_cast<uint32_t>(depth) >= static_cast<uint32_t>(part.depths)) return nullptr;
    const int64_t plane = int64_t{at.image} * part.depths + depth;
    const int64_t row = plane * p_.height.storedExtent + stored(h, p_.height);
    const int64_t pixel = row * p_.width.storedExtent + stored(w, p_.width);
    return part.address + (pixel * part.pixelBytes - int64_t{part.firstChannel} * Pixel::kElementBytes);
  }

  __device__ void addTap(const InputPart& part, int32_t t, int32_t r, int32_t s) {
    const uint8_t* pixel[kPixels];
    bool any = false;
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      pixel[i] = inputPixel(part, i, t, r, s);
      any |= pixel[i] != nullptr;
    }
    const int64_t tap = (int64_t{t} * p_.height.taps + r) * p_.width.taps + s;
    const int64_t firstWeight = tap * p_.groupChannels * Weights::kElementBytes;
    if (!any) return;
    // With two parts of the channels all columns are of one group.
    const int32_t first = part.firstChannel - firstChannel_[0], end = min(first + part.channels, p_.groupChannels);
    for (int32_t c = max(first, 0); c < end; c += Pixel::kElements) {
      Weights w[kColumns];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) w[j].load(weights_[j] + firstWeight + c * Weights::kElementBytes);
      multiply(pixel, c, w);
    }
  }

  __device__ __forceinline__ void multiply(const uint8_t* const (&pixel)[kPixels], int32_t c, const Weights (&w)[kColumns]) {
    const auto load = [&](Pixel& x, int i, int j) { x.load(pixel[i] + (firstChannel_[j] + c) * Pixel::kElementBytes); };
    if constexpr (kIntegers) {
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        if (pixel[i] == nullptr) continue;
        Pixel x;
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          if (j == 0 || (!kWide && firstChannel_[j] != firstChannel_[j - 1])) load(x, i, j);
          sum_[i][j] += integerProducts(x, w[j]);
        }
      }
    } else {
      const Values<kFilter, kWide> v[kColumns] = {Values<kFilter, kWide>(w[0]), Values<kFilter, kWide>(w[1]),
                                                  Values<kFilter, kWide>(w[2]), Values<kFilter, kWide>(w[3])};
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        if (pixel[i] == nullptr) continue;
        Pixel raw;
        load(raw, i, 0);
        Values<kInput, kWide> x(raw);
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          if (!kWide && j > 0 && firstChannel_[j] != firstChannel_[j - 1]) {
            load(raw, i, j);
            x = Values<kInput, kWide>(raw);
          }
#pragma unroll
          for (int e = 0; e < Pixel::kElements; ++e) sum_[i][j] = fmaf(x.value[e], v[j].value[e], sum_[i][j]);
        }
      }
    }
  }

  /// (x - inputZeroPoint) * (w - filterZeroPoint), summed; modulo 2^32, as sums of integers are.
  __device__ __forceinline__ int32_t integerProducts(const Pixel& x, const Weights& w) const {
    if constexpr (!kWide) {
      return (x.integer() - p_.inputZeroPoint) * (w.integer() - p_.filterZeroPoint);
    } else {
      constexpr bool kSignedX = kInput == NumberType::S8, kSignedW = kFilter == NumberType::S8;
      constexpr uint32_t kOnes = 0x01010101u;
      int32_t sum = 0;
#pragma unroll
      for (int i = 0; i < Pixel::kWords; ++i) sum = ptx::addByteProducts<kSignedX, kSignedW>(x.word[i], w.word[i], sum);
      if (p_.inputZeroPoint != 0) {
        int32_t ofWeights = -Pixel::kElements * p_.filterZeroPoint;
#pragma unroll
        for (int i = 0; i < Pixel::kWords; ++i) ofWeights = ptx::addByteProducts<false, kSignedW>(kOnes, w.word[i], ofWeights);
        sum -= p_.inputZeroPoint * ofWeights;
      }
      if (p_.filterZeroPoint != 0) {
        int32_t ofPixel = 0;
#pragma unroll
        for (int i = 0; i < Pixel::kWords; ++i) ofPixel = ptx::addByteProducts<kSignedX, false>(x.word[i], kOnes, ofPixel);
        sum -= p_.filterZeroPoint * ofPixel;
      }
      return sum;
    }
  }

  __device__ void finish(uint32_t& largest) const {
#pragma unroll 1
    for (int i = 0; i < kPixels; ++i) {
      uint32_t bits[kColumns];
      float values[kColumns];
      int32_t row = 0;
      // Indexed by constants only, so that the sums stay in registers.
#pragma unroll
      for (int own = 0; own < kPixels; ++own) {
        if (own != i) continue;
        row = position_[own].row;
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          if constexpr (kIntegers)
            bits[j] = static_cast<uint32_t>(sum_[own][j]);
          else
            bits[j] = __float_as_uint(sum_[own][j]);
        }
      }
      gemm::computeSegment(p_.epilogue, row, column_, bits, values, largest);
      gemm::storeSegment(p_.epilogue, row, column_, values);
    }
  }

  const Params& p_;
  int32_t column_;
  Position position_[kPixels];
  const uint8_t* weights_[kColumns];
  int32_t firstChannel_[kColumns];
  Sum sum_[kPixels][kColumns] = {};
};

}  // namespace

#define SHIFTCONV_DIRECT_KERNEL(NAME, INPUT, FILTER, WIDE)                                                                     \
  extern "C" __global__ void __launch_bounds__(kThreads, kCtasPerMultiprocessor) NAME(const __grid_constant__ Params params) { \
    Thread<NumberType::INPUT, NumberType::FILTER, WIDE>(params).run();                                                         \
  }
#define SHIFTCONV_DIRECT_KERNELS(NAME, INPUT, FILTER)                  \
  SHIFTCONV_DIRECT_KERNEL(direct_##NAME##_vector, INPUT, FILTER, true) \
  SHIFTCONV_DIRECT_KERNEL(direct_##NAME##_scalar, INPUT, FILTER, false)

SHIFTCONV_DIRECT_KERNELS(f16_f16, F16, F16)
SHIFTCONV_DIRECT_KERNELS(f16_bf16, F16, BF16)
SHIFTCONV_DIRECT_KERNELS(bf16_f16, BF16, F16)
SHIFTCONV_DIRECT_KERNELS(bf16_bf16, BF16, BF16)
SHIFTCONV_DIRECT_KERNELS(f32_f32, F32, F32)
SHIFTCONV_DIRECT_KERNELS(tf32_tf32, TF32, TF32)
SHIFTCONV_DIRECT_KERNELS(e4m3_e4m3, E4M3, E4M3)
SHIFTCONV_DIRECT_KERNELS(e4m3_e5m2, E4M3, E5M2)
SHIFTCONV_DIRECT_KERNELS(e5m2_e4m3, E5M2, E4M3)
SHIFTCONV_DIRECT_KERNELS(e5m2_e5m2, E5M2, E5M2)
SHIFTCONV_DIRECT_KERNELS(s8_s8, S8, S8)
SHIFTCONV_DIRECT_KERNELS(s8_u8, S8, U8)
SHIFTCONV_DIRECT_KERNELS(u8_s8, U8, S8)
SHIFTCONV_DIRECT_KERNELS(u8_u8, U8, U8)

}  // namespace shiftconv::kernels::direct
