#include "conv/reference/convolution.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "common/numerics/codec.hpp"
#include "common/numerics/float16.hpp"
#include "conv/reference/general_convolution.hpp"

namespace shiftconv::reference {
namespace {

/// Output channels that the inner loop keeps in registers. Filters are padded to a multiple of it.
constexpr int64_t kChannelBlock = 8;

int64_t roundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

double decode(DataType type, uint16_t bits) {
  return type == DataType::BF16 ? numerics::decodeBf16(bits) : numerics::decodeF16(bits);
}

/// Element `index` of a tensor of type T.
template <class T>
T elementAt(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

/// Operands whose exponent the hardware raises above that of their value; see step 5 and 6 of the derivation.
bool isTiny(DataType type, uint16_t bits) {
  if (type == DataType::BF16) return (bits & 0x7f80u) == 0;
  return numerics::isSubnormalF16(bits);
}

/// Largest finite magnitude and presence of tiny values in a group of operands. (Where an infinity or NaN takes part, the
/// result has no bound; where its tap is in the padding, it must not loosen one.)
struct Range {
  double largest = 0;
  bool tiny = false;
  void add(DataType type, uint16_t bits) {
    const double magnitude = std::abs(decode(type, bits));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
    tiny |= isTiny(type, bits);
  }
  void add(const Range& other) {
    largest = std::max(largest, other.largest);
    tiny |= other.tiny;
  }
};

struct DecodedInput {
  std::vector<double> values;  ///< [pixel][c], dense
  std::vector<Range> ranges;   ///< by pixel
};

DecodedInput decodeInput(const Problem& p, std::span<const std::byte> bytes) {
  const int64_t pixels = p.n * p.h * p.w;
  DecodedInput input;
  input.values.resize(static_cast<size_t>(pixels * p.c));
  input.ranges.resize(static_cast<size_t>(pixels));
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    for (int64_t c = 0; c < p.c; ++c) {
      const auto bits = elementAt<uint16_t>(bytes, pixel * p.inputPitch() + c);
      input.values[static_cast<size_t>(pixel * p.c + c)] = decode(p.inputType, bits);
      input.ranges[static_cast<size_t>(pixel)].add(p.inputType, bits);
    }
  return input;
}

struct DecodedFilter {
  int64_t channels = 0;        ///< K rounded up to the block
  std::vector<double> values;  ///< [r*S + s][block][c][channel in block]
  std::vector<Range> ranges;   ///< by k
  const double* tap(const Problem& p, int64_t r, int64_t s) const { return values.data() + (r * p.s + s) * p.c * channels; }
};

DecodedFilter decodeFilter(const Problem& p, std::span<const std::byte> bytes) {
  DecodedFilter filter;
  filter.channels = roundUp(p.k, kChannelBlock);
  filter.values.resize(static_cast<size_t>(p.r * p.s * p.c * filter.channels));
  filter.ranges.resize(static_cast<size_t>(p.k));
  int64_t source = 0;
  for (int64_t k = 0; k < p.k; ++k)
    for (int64_t tap = 0; tap < p.r * p.s; ++tap)
      for (int64_t c = 0; c < p.c; ++c) {
        const auto bits = elementAt<uint16_t>(bytes, source++);
        const int64_t block = (tap * filter.channels / kChannelBlock + k / kChannelBlock) * p.c + c;
        filter.values[static_cast<size_t>(block * kChannelBlock + k % kChannelBlock)] = decode(p.inputType, bits);
        filter.ranges[static_cast<size_t>(k)].add(p.inputType, bits);
      }
  return filter;
}

/// Sums of one output pixel, by output channel (padded).
struct PixelSums {
  double* sum;
  double* absolute;
};

/// Adds one tap of `Pixels` output pixels. Inlined into one function per instruction set.
template <int Pixels>
[[gnu::always_inline]] inline void addTap(const double* const (&x)[Pixels], const double* filter, int64_t inputChannels,
                                          int64_t outputChannels, const PixelSums (&sums)[Pixels]) {
  for (int64_t k = 0; k < outputChannels; k += kChannelBlock, filter += inputChannels * kChannelBlock) {
    double sum[Pixels][kChannelBlock], absolute[Pixels][kChannelBlock];
    for (int i = 0; i < Pixels; ++i)
      for (int64_t j = 0; j < kChannelBlock; ++j) {
        sum[i][j] = sums[i].sum[k + j];
        absolute[i][j] = sums[i].absolute[k + j];
      }
    for (int64_t c = 0; c < inputChannels; ++c)
      for (int i = 0; i < Pixels; ++i)
        for (int64_t j = 0; j < kChannelBlock; ++j) {
          const double product = x[i][c] * filter[c * kChannelBlock + j];
          sum[i][j] += product;
          absolute[i][j] += std::abs(product);
        }
    for (int i = 0; i < Pixels; ++i)
      for (int64_t j = 0; j < kChannelBlock; ++j) {
        sums[i].sum[k + j] = sum[i][j];
        sums[i].absolute[k + j] = absolute[i][j];
      }
  }
}

template <int Pixels>
using AddTap = void (*)(const double* const (&)[Pixels], const double*, int64_t, int64_t, const PixelSums (&)[Pixels]);

template <int Pixels>
void addTapPortable(const double* const (&x)[Pixels], const double* filter, int64_t c, int64_t k, const PixelSums (&sums)[Pixels]) {
  addTap<Pixels>(x, filter, c, k, sums);
}

#if defined(__x86_64__)
template <int Pixels>
[[gnu::target("avx2")]] void addTapAvx2(const double* const (&x)[Pixels], const double* filter, int64_t c, int64_t k,
                                        const PixelSums (&sums)[Pixels]) {
  addTap<Pixels>(x, filter, c, k, sums);
}
#endif

template <int Pixels>
AddTap<Pixels> bestAddTap() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return addTapAvx2<Pixels>;
#endif
  return addTapPortable<Pixels>;
}

/// Computes whole output rows; one per host thread.
class RowWorker {
 public:
  RowWorker(const Problem& problem, const Operands& operands, const DecodedInput& input, const DecodedFilter& filter,
            Accumulation accumulation, Expectation& result)
      : p_(problem),
        operands_(operands),
        input_(input),
        filter_(filter),
        accumulation_(accumulation),
        result_(result),
        scratch_(static_cast<size_t>(4 * filter.channels)) {}

  void row(int64_t n, int64_t p) {
    for (int64_t q = 0; q < p_.q(); q += 2) pair(n, p, q, q + 1 < p_.q() ? 2 : 1);
  }

 private:
  /// Index of the pixel under tap (r, s), or -1 in the padding.
  int64_t pixelUnder(int64_t n, int64_t p, int64_t q, int64_t r, int64_t s) const {
    const int64_t y = p * p_.strideH + r * p_.dilationH - p_.padTop;
    const int64_t x = q * p_.strideW + s * p_.dilationW - p_.padLeft;
    return y < 0 || y >= p_.h || x < 0 || x >= p_.w ? -1 : (n * p_.h + y) * p_.w + x;
  }

  void pair(int64_t n, int64_t p, int64_t q, int pixels) {
    std::fill(scratch_.begin(), scratch_.end(), 0.0);
    const PixelSums sums[2] = {{scratch_.data(), scratch_.data() + filter_.channels},
                               {scratch_.data() + 2 * filter_.channels, scratch_.data() + 3 * filter_.channels}};
    Range window[2];
    for (int64_t r = 0; r < p_.r; ++r)
      for (int64_t s = 0; s < p_.s; ++s) {
        const double* x[2] = {};
        int valid[2], count = 0;
        for (int i = 0; i < pixels; ++i) {
          const int64_t pixel = pixelUnder(n, p, q + i, r, s);
          if (pixel < 0) continue;
          window[i].add(input_.ranges[static_cast<size_t>(pixel)]);
          x[i] = input_.values.data() + pixel * p_.c;
          valid[count++] = i;
        }
        const double* tap = filter_.tap(p_, r, s);
        if (count == 2)
          addTap2_(x, tap, p_.c, filter_.channels, sums);
        else if (count == 1)
          addTap1_({x[valid[0]]}, tap, p_.c, filter_.channels, {sums[valid[0]]});
      }
    for (int i = 0; i < pixels; ++i) finish(((n * p_.p() + p) * p_.q() + q + i) * p_.k, sums[i], window[i]);
  }

  void finish(int64_t first, const PixelSums& sums, const Range& window) {
    for (int64_t k = 0; k < p_.k; ++k) {
      const Range& filter = filter_.ranges[static_cast<size_t>(k)];
      const ElementSums element{sums.absolute[k], window.largest, filter.largest, window.tiny, filter.tiny};
      const double bias = p_.hasBias ? static_cast<double>(elementAt<float>(operands_.bias, k)) : 0.0;
      const double value = sums.sum[k] + bias;
      const auto index = static_cast<size_t>(first + k);
      result_.value[index] = p_.activation == Activation::Relu && value < 0 ? 0.0 : value;
      result_.bound[index] = std::isfinite(value) ? outputBound(p_, value, accumulationBound(p_, element, accumulation_)) : 0.0;
    }
  }

  const Problem& p_;
  const Operands& operands_;
  const DecodedInput& input_;
  const DecodedFilter& filter_;
  const Accumulation accumulation_;
  Expectation& result_;
  std::vector<double> scratch_;  ///< [pixel of the pair][sum, absolute][channels]
  const AddTap<1> addTap1_ = bestAddTap<1>();
  const AddTap<2> addTap2_ = bestAddTap<2>();
};

/// The smallest magnitude that rounds to infinity; infinite for types that saturate.
double overflowOf(DataType type) {
  if (numerics::usualOverflow(numberType(type)) == numerics::Overflow::Saturate) return std::numeric_limits<double>::infinity();
  const double largest = numerics::largestValue(numberType(type));
  return largest + halfUlp(type, largest);
}

/// What the fast path below computes: two dimensions, one group, 16-bit operands of one type, bias and ReLU.
bool isPlain(const Problem& p) {
  Problem plain;
  plain.n = p.n, plain.h = p.h, plain.w = p.w, plain.c = p.c, plain.k = p.k, plain.r = p.r, plain.s = p.s;
  plain.padTop = p.padTop, plain.padBottom = p.padBottom, plain.padLeft = p.padLeft, plain.padRight = p.padRight;
  plain.strideH = p.strideH, plain.strideW = p.strideW, plain.dilationH = p.dilationH, plain.dilationW = p.dilationW;
  plain.inputPixelPitch = p.inputPixelPitch, plain.outputPixelPitch = p.outputPixelPitch;
  plain.inputType = p.inputType, plain.filterType = p.inputType, plain.outputType = p.outputType;
  plain.hasBias = p.hasBias;
  plain.activation = p.activation == Activation::Relu ? Activation::Relu : Activation::None;
  const auto half = [](DataType type) { return type == DataType::F16 || type == DataType::BF16; };
  return plain == p && half(p.inputType) && (half(p.outputType) || p.outputType == DataType::F32);
}

}  // namespace

Expectation convolve(const Problem& problem, const Operands& operands, Accumulation accumulation, unsigned threads) {
  if (!isPlain(problem)) return convolveGeneral(problem, operands, accumulation);
  const DecodedInput input = decodeInput(problem, operands.input);
  const DecodedFilter filter = decodeFilter(problem, operands.filter);
  Expectation result;
  const int64_t rows = problem.n * problem.p();
  const auto elements = static_cast<size_t>(rows * problem.q() * problem.k);
  result.value.resize(elements);
  result.bound.resize(elements);

  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    RowWorker worker(problem, operands, input, filter, accumulation, result);
    for (int64_t row = next++; row < rows; row = next++) worker.row(row / problem.p(), row % problem.p());
  };
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> helpers;  // joined before the result moves anywhere
    for (int64_t i = 1; i < std::min<int64_t>(threads, rows); ++i) helpers.emplace_back(work);
    work();
  }
  return result;
}

Expectation convolve(const Problem& problem, const Operands& operands, const Accumulations& accumulations) {
  const auto widen = [](double& bound, double other) {
    if (!std::isnan(bound) && !(bound >= other)) bound = other;
  };
  Expectation result;
  for (const Accumulation accumulation : accumulations) {
    Expectation one = convolve(problem, operands, accumulation);
    if (result.value.empty()) {
      result = std::move(one);
      continue;
    }
    for (size_t i = 0; i < result.bound.size(); ++i) widen(result.bound[i], one.bound[i]);
    widen(result.amaxBound, one.amaxBound);
  }
  return result;
}

bool agrees(const Problem& problem, double value, double bound, float computed) {
  if (std::isnan(value) || std::isnan(computed)) return std::isnan(value) && std::isnan(computed);
  if (std::isinf(value)) return computed == value;
  if (std::isinf(computed))
    return std::signbit(computed) == std::signbit(value) && std::abs(value) + bound >= overflowOf(problem.outputType);
  return std::abs(static_cast<double>(computed) - value) <= bound;
}

}  // namespace shiftconv::reference
