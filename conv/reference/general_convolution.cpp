#include "conv/reference/general_convolution.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "common/gemm/reference/epilogue_reference.hpp"
#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"
#include "conv/problem/tensors.hpp"

namespace shiftconv::reference {
namespace {

double load(DataType type, std::span<const std::byte> bytes, int64_t bitOffset) {
  return numerics::decode(numberType(type), numerics::loadPacked(numberType(type), bytes.data(), bitOffset / bitsOf(type)));
}

/// Exponents as error_bound.hpp has them: subnormal elements carry their type's smallest, zeros -126, and in the 4-bit kinds a
/// term's exponent may be that of the scale factors alone.
double hardwarePower(DataType type, double value, DataType factorType, double factor) {
  const int factorExponent = std::max(std::ilogb(factor), factorType == DataType::UE4M3 ? -6 : -127);
  int exponent = -126;
  if (value != 0 && std::isfinite(value)) exponent = std::max(std::ilogb(value), smallestExponent(type));
  if (type == DataType::E2M1) exponent = std::max(exponent, 0);
  return std::ldexp(1.0, exponent + factorExponent);
}

/// Rows of channels as numbers: block factors included, the zero point subtracted.
struct DecodedRows {
  int64_t channels = 0;
  std::vector<double> values;  ///< [row][channel]
  std::vector<uint8_t> tiny;   ///< by element: subnormal, in bf16 also zero (error_bound.hpp, steps 5 and 6)
  std::vector<double> powers;  ///< by element: 2^(the exponent that the hardware gives it), scale factor included
};

struct Rows {
  DataType type;
  int64_t rows, channels;
  int32_t zeroPoint;
  const BlockScale& scale;
};

/// A number of a tensor.
struct Stored {
  std::span<const std::byte> bytes;
  int64_t index;
};

/// placeOf(row, channel): a Stored.
template <class PlaceOf>
DecodedRows decodeRows(const Rows& of, PlaceOf placeOf, std::span<const std::byte> scales, bool tf32) {
  DecodedRows decoded;
  decoded.channels = of.channels;
  const int64_t blocks = of.scale.blockSize == 0 ? 0 : (of.channels + of.scale.blockSize - 1) / of.scale.blockSize;
  for (int64_t row = 0; row < of.rows; ++row)
    for (int64_t c = 0; c < of.channels; ++c) {
      const Stored stored = placeOf(row, c);
      const uint32_t code = numerics::loadPacked(numberType(of.type), stored.bytes.data(), stored.index);
      const double value = numerics::decode(tf32 ? numerics::NumberType::TF32 : numberType(of.type), code);
      const double smallest = of.type == DataType::BF16 ? 0x1p-126 : 0x1p-14;
      decoded.tiny.push_back(std::abs(value) < smallest && (of.type == DataType::BF16 || value != 0));
      double factor = 1;
      if (blocks != 0) {
        const int64_t at = layout::scaleFactorOffset(layoutOf(of.scale.order), row, c / of.scale.blockSize, blocks);
        factor = numerics::decode(numberType(of.scale.type), std::to_integer<uint32_t>(scales[static_cast<size_t>(at)]));
      }
      decoded.values.push_back((value - of.zeroPoint) * factor);
      decoded.powers.push_back(hardwarePower(tf32 ? DataType::F32 : of.type, value, of.scale.type, factor));
    }
  return decoded;
}

/// An accumulator and what its bound depends on.
struct Sum {
  double value = 0;
  ElementSums sums;

  void add(double x, double w, double power, bool tinyInput) {
    value += x * w;
    sums.largestPower = std::max(sums.largestPower, power);
    sums.absoluteSum += std::abs(x * w);
    if (std::isfinite(x)) sums.largestInput = std::max(sums.largestInput, std::abs(x));
    sums.tinyInput |= tinyInput;
  }
};

gemm::Activation activationOf(Activation activation) { return static_cast<gemm::Activation>(activation); }
static_assert(static_cast<int>(gemm::Activation::Tanh) == static_cast<int>(Activation::Tanh) &&
                  static_cast<int>(gemm::Activation::Clamp) == static_cast<int>(Activation::Clamp),
              "both enumerations list the activations in the same order");

class General {
 public:
  General(const Problem& problem, const Operands& operands, Accumulation accumulation)
      : p_(problem), accumulation_(accumulation), taps_(p_.t * p_.r * p_.s) {
    const bool tf32 = p_.compute == Compute::TF32;
    const auto inputPlace = [&](int64_t pixel, int64_t channel) -> Stored {
      const Problem::InputPlace place = p_.inputPlace(pixel, channel);
      return {place.isSecond ? operands.secondInput : operands.input, place.index};
    };
    const auto filterPlace = [&](int64_t row, int64_t channel) -> Stored {
      return {operands.filter, row * p_.groupChannels() + channel};
    };
    input_ =
        decodeRows({p_.inputType, p_.inputPixels(), p_.c, p_.inputZeroPoint, p_.inputScale}, inputPlace, operands.inputScale, tf32);
    filter_ = decodeRows({p_.filterType, p_.k * taps_, p_.groupChannels(), p_.filterZeroPoint, p_.filterScale}, filterPlace,
                         operands.filterScale, tf32);
    for (int64_t k = 0; k < p_.k; ++k) {
      if (p_.hasBias) bias_.push_back(static_cast<float>(load(p_.biasType, operands.bias, k * bitsOf(p_.biasType))));
      if (p_.hasChannelScale)
        channelScale_.push_back(static_cast<float>(load(DataType::F32, operands.channelScale, k * bitsOf(DataType::F32))));
    }
    if (p_.hasResidual())
      for (int64_t pixel = 0; pixel < p_.outputPixels(); ++pixel)
        for (int64_t k = 0; k < p_.k; ++k)
          residual_.push_back(
              static_cast<float>(load(p_.residualType, operands.residual, p_.residualIndex(pixel, k) * bitsOf(p_.residualType))));
    describeEpilogue();
  }

  Expectation compute() const {
    Expectation result;
    int64_t pixel = 0;
    for (int64_t n = 0; n < p_.n; ++n)
      for (int64_t z = 0; z < p_.z(); ++z)
        for (int64_t p = 0; p < p_.p(); ++p)
          for (int64_t q = 0; q < p_.q(); ++q, ++pixel)
            for (int64_t k = 0; k < p_.k; ++k) finish(sumOf(n, z, p, q, k), pixel, k, result);
    return result;
  }

 private:
  void describeEpilogue() {
    epilogue_.rows = static_cast<int32_t>(p_.outputPixels());
    epilogue_.columns = static_cast<int32_t>(p_.k);
    epilogue_.accumulatorType = isInteger(p_.inputType) ? numerics::NumberType::S32 : numerics::NumberType::F32;
    epilogue_.alpha = p_.alpha;
    epilogue_.beta = p_.beta;
    epilogue_.columnScale = p_.hasChannelScale ? channelScale_.data() : nullptr;
    epilogue_.bias = p_.hasBias ? bias_.data() : nullptr;
    epilogue_.residual = p_.hasResidual() ? residual_.data() : nullptr;
    epilogue_.residualLast = p_.addsResidualLast();
    epilogue_.residualPitch = p_.k * static_cast<int64_t>(sizeof(float));
    epilogue_.activation = activationOf(p_.activation);
    epilogue_.activationA = p_.activationA;
    epilogue_.activationB = p_.activationB;
    epilogue_.outputScale = p_.outScale;
    epilogue_.roundsSteps = p_.rounding == Rounding::Separate;
    epilogue_.outputType = epilogue_.roundsSteps ? numberType(p_.outputType) : epilogue_.outputType;
  }

  /// Input position under a tap of an output position; none where a transposed convolution has none.
  std::optional<int64_t> under(int64_t output, int64_t tap, int64_t stride, int64_t dilation, int64_t padBefore) const {
    if (!p_.transposed) return output * stride + tap * dilation - padBefore;
    const int64_t scaled = output + padBefore - tap * dilation;
    if (scaled % stride != 0) return std::nullopt;
    return scaled / stride;
  }

  Sum sumOf(int64_t n, int64_t z, int64_t p, int64_t q, int64_t k) const {
    Sum sum;
    const int64_t firstChannel = k / (p_.k / p_.groups) * p_.groupChannels();
    for (int64_t t = 0; t < p_.t; ++t)
      for (int64_t r = 0; r < p_.r; ++r)
        for (int64_t s = 0; s < p_.s; ++s) {
          const int64_t tap = p_.storedTap((t * p_.r + r) * p_.s + s);
          const std::optional<int64_t> depth = under(z, t, p_.strideD, p_.dilationD, p_.padFront);
          const std::optional<int64_t> y = under(p, r, p_.strideH, p_.dilationH, p_.padTop);
          const std::optional<int64_t> x = under(q, s, p_.strideW, p_.dilationW, p_.padLeft);
          if (!depth || !y || !x) continue;
          const auto weights = static_cast<size_t>((k * taps_ + tap) * p_.groupChannels());
          for (size_t c = 0; c < static_cast<size_t>(p_.groupChannels()); ++c) {
            if (std::isfinite(filter_.values[weights + c]))
              sum.sums.largestFilter = std::max(sum.sums.largestFilter, std::abs(filter_.values[weights + c]));
            sum.sums.tinyFilter |= filter_.tiny[weights + c] != 0;
          }
          if (*depth < 0 || *depth >= p_.imageD() || *y < 0 || *y >= p_.imageH() || *x < 0 || *x >= p_.imageW()) continue;
          const int64_t row = (n * p_.d + *depth / p_.upsampleD) * p_.h + *y / p_.upsampleH;
          const auto pixel = static_cast<size_t>((row * p_.w + *x / p_.upsampleW) * p_.c + firstChannel);
          for (size_t c = 0; c < static_cast<size_t>(p_.groupChannels()); ++c)
            sum.add(input_.values[pixel + c], filter_.values[weights + c], input_.powers[pixel + c] * filter_.powers[weights + c],
                    input_.tiny[pixel + c] != 0);
        }
    return sum;
  }

  double boundOf(const Sum& sum) const {
    if (isInteger(p_.inputType)) return 0;
    const auto half = [](DataType type) { return type == DataType::F16 || type == DataType::BF16; };
    if (half(p_.inputType) && p_.filterType == p_.inputType && p_.compute == Compute::Default)
      return accumulationBound(p_, sum.sums, accumulation_);
    if (accumulation_ == Accumulation::FusedMultiplyAdd && p_.inputScale.blockSize == 0 && p_.filterScale.blockSize == 0 &&
        p_.compute != Compute::F16)
      return accumulationBound(p_, sum.sums, accumulation_);
    return narrowAccumulationBound(p_, sum.sums, accumulation_);
  }

  /// Error of outScale * (alpha * channel_scale * sum + bias + beta * residual) where the scale is multiplied into the others
  /// first, as short epilogues of bytes do (conv/kernels/lean_bytes.cuh). With u = 2^-24: the product of three factors has two
  /// roundings, the bias one, and fma rounds once; an integer above 2^24 becomes f32 first. A residual's factor has one rounding,
  /// and the sum with it another. Products of errors are below 2^-16 of that, subnormal results off by less than 2^-140. Less than
  /// by single steps, unless the bias cancels the sum. 0 where it is the same arithmetic.
  double foldedError(double value, double sum, double sumError, int64_t pixel, int64_t k) const {
    int exponent = 0;
    const bool isPowerOfTwo = std::frexp(p_.outScale, &exponent) == 0.5f;
    const bool isShort = (p_.activation == Activation::None || p_.activation == Activation::Relu) &&
                         (!p_.hasResidual() || p_.residualType == p_.outputType) && !p_.addsResidualLast();
    if (isPowerOfTwo || !isShort || bitsOf(p_.outputType) != 8) return 0;
    const auto channel = static_cast<size_t>(k);
    const double factor = std::abs(double{p_.alpha} * (p_.hasChannelScale ? double{channelScale_[channel]} : 1.0) * p_.outScale);
    const double bias = p_.hasBias ? std::abs(double{bias_[channel]} * p_.outScale) : 0.0;
    const double carried = factor * sumError;
    constexpr double kUnit = 0x1p-24;
    const double roundings = isInteger(p_.inputType) && std::abs(sum) > 0x1p24 ? 3 : 2;  // of factor * sum
    const double product = factor * (std::abs(sum) + sumError);
    const double residual =
        p_.hasResidual() ? std::abs(double{p_.beta} * residual_[static_cast<size_t>(pixel * p_.k + k)] * p_.outScale) : 0.0;
    const double withoutResidual = p_.hasResidual() ? product + bias : 0.0;  // what is rounded before
    return carried + kUnit * (1 + 0x1p-16) * (roundings * product + bias + withoutResidual + residual + std::abs(value) + carried) +
           0x1p-140;
  }

  void finish(const Sum& sum, int64_t pixel, int64_t k, Expectation& result) const {
    gemm::EpilogueValue value = gemm::epilogueReference(epilogue_, pixel, k, {sum.value, boundOf(sum)});
    value.scaled.error = std::max(value.scaled.error, foldedError(value.scaled.value, sum.value, boundOf(sum), pixel, k));
    if (p_.hasAmax && std::abs(value.activated.value) > result.amax) result.amax = std::abs(value.activated.value);
    if (p_.hasAmax)
      result.amaxBound =
          std::isnan(value.activated.error) ? value.activated.error : std::max(result.amaxBound, value.activated.error);
    if (p_.outputScale.blockSize != 0) {  // rounded block by block (block_output.hpp)
      result.value.push_back(value.scaled.value);
      result.bound.push_back(value.scaled.error);
      return;
    }
    double converted = value.scaled.value + p_.outputZeroPoint;
    if (numerics::usualOverflow(numberType(p_.outputType)) == numerics::Overflow::Saturate)
      converted =
          std::clamp(converted, numerics::decode(numberType(p_.outputType), numerics::encode(numberType(p_.outputType), -HUGE_VAL)),
                     numerics::decode(numberType(p_.outputType), numerics::encode(numberType(p_.outputType), HUGE_VAL)));
    result.value.push_back(converted);
    result.bound.push_back(
        std::isfinite(converted) ? value.scaled.error + halfUlp(p_.outputType, std::abs(converted) + value.scaled.error) : 0.0);
  }

  const Problem& p_;
  const Accumulation accumulation_;
  const int64_t taps_;
  DecodedRows input_, filter_;
  std::vector<float> bias_, channelScale_, residual_;
  gemm::EpilogueParams epilogue_;
};

}  // namespace

Expectation convolveGeneral(const Problem& problem, const Operands& operands, Accumulation accumulation) {
  return General(problem, operands, accumulation).compute();
}

}  // namespace shiftconv::reference
