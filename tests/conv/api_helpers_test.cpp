// Helpers on the emulated devices, and on a GPU where there is one: every element against an exact reference, and what lies between
// them as it was. Refusals: api_helpers_refusals_test.cpp.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <shiftconv/shiftconv.hpp>
#include <vector>

#include "common/gemm/reference/epilogue_reference.hpp"
#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"
#include "conv/problem/types.hpp"
#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests {
namespace {

using gemm::Bounded;

constexpr uint8_t kPoison = 0xCD;
constexpr uint64_t kSeed = 20261122;

/// Elements of a type, on the host.
class Elements {
 public:
  Elements(DataType type, size_t count) : type_(type), bytes_(count * bytesOf(type), kPoison) {}
  static Elements random(DataType type, size_t count, std::mt19937_64& generator) {
    Elements elements(type, count);
    std::uniform_real_distribution<double> values(-4, 4);
    for (size_t i = 0; i < count; ++i) elements.set(i, numerics::encode(numberType(type), values(generator)));
    return elements;
  }

  DataType type() const { return type_; }
  size_t count() const { return bytes_.size() / bytesOf(type_); }
  std::vector<uint8_t>& bytes() { return bytes_; }
  uint32_t code(size_t i) const {
    uint32_t code = 0;
    std::memcpy(&code, bytes_.data() + i * bytesOf(type_), bytesOf(type_));
    return code;
  }
  void set(size_t i, uint32_t code) { std::memcpy(bytes_.data() + i * bytesOf(type_), &code, bytesOf(type_)); }
  double value(size_t i) const { return numerics::decode(numberType(type_), code(i)); }

 private:
  DataType type_;
  std::vector<uint8_t> bytes_;
};

class ApiHelpers : public testing::TestWithParam<const char*> {
 protected:
  /// Runs `helper(addresses...)` with the inputs and a poisoned output; the output afterwards.
  template <class Helper>
  Elements run(const Helper& helper, std::vector<Elements> inputs, Elements output) {
    std::vector<Memory> memory;
    for (Elements* tensor : allOf(inputs, output)) {
      memory.emplace_back(device_, tensor->bytes().size());
      device_.copyToDevice(memory.back().get(), tensor->bytes().data(), tensor->bytes().size());
    }
    helper(memory);
    device_.copyToHost(output.bytes().data(), memory.back().get(), output.bytes().size());
    device_.synchronize();
    return output;
  }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator_); }
  DataType pickType() { return std::array{DataType::F16, DataType::BF16, DataType::F32}[static_cast<size_t>(pick(0, 2))]; }

  Device device_{GetParam()};
  std::mt19937_64 generator_{kSeed};

 private:
  static std::vector<Elements*> allOf(std::vector<Elements>& inputs, Elements& output) {
    std::vector<Elements*> all;
    for (Elements& input : inputs) all.push_back(&input);
    all.push_back(&output);
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, ApiHelpers, testing::Values("emulated", "emulated:sm_90a"),
                         [](const auto& info) { return std::string(info.index == 0 ? "sm_100a" : "sm_90a"); });
INSTANTIATE_TEST_SUITE_P(Gpu, ApiHelpers, testing::Values("cuda"), [](const auto&) { return "cuda"; });

// ---- Relayout ----

TEST_P(ApiHelpers, RelayoutReachesEveryElementAndNoOther) {
  SCOPED_TRACE(kSeed);
  ASSERT_OK(shiftconv_helpers_prepare(device_.handle()));
  for (int round = 0; round < 12; ++round) {
    // NCHW to channels `first`.. of an NHWC tensor with a wider pitch; or back.
    const bool back = round % 3 == 2;
    const int n = pick(1, 3), c = pick(1, 9), h = pick(1, 6), w = pick(1, 7), gap = pick(0, 3), pitch = c + gap;
    const size_t dense = static_cast<size_t>(n * c * h * w), spread = static_cast<size_t>(n * h * w * pitch);
    const DataType from = pickType(), to = pickType();
    shiftconv_relayout_t relayout = SHIFTCONV_RELAYOUT_INIT;
    int64_t* const planar = back ? relayout.destination_stride : relayout.source_stride;
    int64_t* const pixels = back ? relayout.source_stride : relayout.destination_stride;
    const int64_t extent[] = {n, h, w, c}, planarStride[] = {c * h * w, w, 1, h * w},
                  pixelStride[] = {h * w * pitch, w * pitch, pitch, 1};
    for (int axis = 0; axis < 4; ++axis)
      relayout.extent[axis + 1] = extent[axis], planar[axis + 1] = planarStride[axis], pixels[axis + 1] = pixelStride[axis];
    relayout.source_type = static_cast<int32_t>(from), relayout.destination_type = static_cast<int32_t>(to);
    const Elements source = Elements::random(from, back ? spread : dense, generator_);
    const Elements result = run(
        [&](const std::vector<Memory>& m) {
          ASSERT_OK(shiftconv_relayout_run(device_.handle(), &relayout, m[0].get(), m[1].get(), nullptr));
        },
        {source}, Elements(to, back ? dense : spread));
    Elements expected(to, result.count());
    for (int image = 0; image < n; ++image)
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x)
          for (int k = 0; k < c; ++k) {
            const auto inPlanes = static_cast<size_t>(((image * c + k) * h + y) * w + x);
            const auto inPixels = static_cast<size_t>(((image * h + y) * w + x) * pitch + k);
            const double value = source.value(back ? inPixels : inPlanes);
            expected.set(back ? inPlanes : inPixels, numerics::encode(numberType(to), value));
          }
    for (size_t i = 0; i < result.count(); ++i)
      ASSERT_EQ(result.code(i), expected.code(i))
          << "round " << round << ", element " << i << " of " << n << "x" << h << "x" << w << "x" << c;
  }
}

TEST_P(ApiHelpers, RelayoutMovesCodesAndRepeatsThem) {
  for (const DataType type : {DataType::S8, DataType::E4M3, DataType::F16, DataType::S32}) {
    Elements source(type, 6);
    for (size_t i = 0; i < 6; ++i) source.set(i, 0x7f81a5c3u >> i);  // NaNs of every kind are codes like others
    shiftconv_relayout_t relayout = SHIFTCONV_RELAYOUT_INIT;
    // Rows and columns of a 2x3 image, each twice.
    const int64_t extent[] = {2, 2, 3, 2}, from[] = {3, 0, 1, 0}, to[] = {12, 6, 2, 1};
    for (int axis = 0; axis < 4; ++axis)
      relayout.extent[axis + 1] = extent[axis], relayout.source_stride[axis + 1] = from[axis],
                             relayout.destination_stride[axis + 1] = to[axis];
    relayout.source_type = relayout.destination_type = static_cast<int32_t>(type);
    const Elements result = run(
        [&](const std::vector<Memory>& m) {
          ASSERT_OK(shiftconv_relayout_run(device_.handle(), &relayout, m[0].get(), m[1].get(), nullptr));
        },
        {source}, Elements(type, 26));
    for (size_t y = 0; y < 4; ++y)
      for (size_t x = 0; x < 6; ++x) EXPECT_EQ(result.code(y * 6 + x), source.code(y / 2 * 3 + x / 2)) << y << ", " << x;
    EXPECT_EQ(result.code(24), Elements(type, 1).code(0)) << "behind the last element";
  }
}

// ---- Pooling ----

struct PoolReference {
  const shiftconv_pool_t& p;
  const Elements& input;
  /// What the arithmetic allows: sums of n numbers round n - 1 times, each at most 2^-24 of the sum of magnitudes; the quotient
  /// once more. (n + 1) * 2^-24 leaves room for second-order terms.
  Bounded at(int64_t image, int64_t y, int64_t x, int64_t channel) const {
    const int64_t pitch = p.input_pixel_pitch ? p.input_pixel_pitch : p.c;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0, magnitudes = 0;
    int64_t inside = 0;
    for (int64_t r = 0; r < p.r; ++r)
      for (int64_t s = 0; s < p.s; ++s) {
        const int64_t row = y * p.stride_h + r * p.dilation_h - p.pad_top, column = x * p.stride_w + s * p.dilation_w - p.pad_left;
        if (row < 0 || row >= p.h || column < 0 || column >= p.w) continue;
        const double value = input.value(static_cast<size_t>(((image * p.h + row) * p.w + column) * pitch + channel));
        largest = std::isnan(value) || std::isnan(largest) ? std::nan("") : std::max(largest, value);
        sum += value, magnitudes += std::abs(value), ++inside;
      }
    if (p.kind == SHIFTCONV_POOL_MAXIMUM) return {largest, 0};
    const auto divisor = static_cast<double>(p.count_padding ? p.r * p.s : inside);
    return {sum / divisor, static_cast<double>(inside + 1) * 0x1p-24 * magnitudes / divisor};
  }
};

TEST_P(ApiHelpers, PoolsAgreeWithTheReference) {
  SCOPED_TRACE(kSeed);
  for (int round = 0; round < 40; ++round) {
    shiftconv_pool_t p = SHIFTCONV_POOL_INIT;
    p.n = pick(1, 3), p.h = pick(1, 8), p.w = pick(1, 9), p.c = round % 2 ? 4 * pick(1, 3) : pick(1, 7);
    const bool whole = round % 5 == 0;
    p.r = whole ? p.h : pick(1, 3), p.s = whole ? p.w : pick(1, 3);
    if (!whole) {
      p.stride_h = pick(1, 3), p.stride_w = pick(1, 3), p.dilation_h = pick(1, 2), p.dilation_w = pick(1, 2);
      p.pad_top = pick(0, 2), p.pad_bottom = pick(0, 2), p.pad_left = pick(0, 2), p.pad_right = pick(0, 2);
      p.pad_bottom = std::max(p.pad_bottom, (p.r - 1) * p.dilation_h + 1 - p.h - p.pad_top);
      p.pad_right = std::max(p.pad_right, (p.s - 1) * p.dilation_w + 1 - p.w - p.pad_left);
    }
    const int64_t gap = 2 * pick(0, 2), outputGap = 4 * pick(0, 1);
    p.input_pixel_pitch = gap ? p.c + gap : 0, p.output_pixel_pitch = outputGap ? p.c + outputGap : 0;
    p.kind = pick(0, 1), p.count_padding = pick(0, 1);
    const DataType type = pickType();
    p.type = static_cast<int32_t>(type);
    const int64_t height = (p.h + p.pad_top + p.pad_bottom - p.dilation_h * (p.r - 1) - 1) / p.stride_h + 1;
    const int64_t width = (p.w + p.pad_left + p.pad_right - p.dilation_w * (p.s - 1) - 1) / p.stride_w + 1;
    const int64_t pitch = p.c + outputGap;
    Elements input = Elements::random(type, static_cast<size_t>(p.n * p.h * p.w * (p.c + gap)), generator_);
    if (round % 4 == 1) input.set(input.count() / 2, numerics::encode(numberType(type), std::nan("")));
    const Elements result = run(
        [&](const std::vector<Memory>& m) { ASSERT_OK(shiftconv_pool_run(device_.handle(), &p, m[0].get(), m[1].get(), nullptr)); },
        {input}, Elements(type, static_cast<size_t>(p.n * height * width * pitch)));
    const PoolReference reference{p, input};
    size_t at = 0;
    for (int64_t image = 0; image < p.n; ++image)
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x)
          for (int64_t channel = 0; channel < pitch; ++channel, ++at) {
            if (channel >= p.c) {
              ASSERT_EQ(result.code(at), Elements(type, 1).code(0)) << "round " << round << ", gap at " << at;
              continue;
            }
            const Bounded expected = reference.at(image, y, x, channel);
            const bool right = std::isnan(expected.value) ? std::isnan(result.value(at))
                                                          : gemm::reachable(numberType(type), expected, result.code(at));
            ASSERT_TRUE(right) << "round " << round << ", element " << at << ": " << result.value(at) << " instead of "
                               << expected.value << " +- " << expected.error;
          }
  }
}

// ---- Pointwise ----

TEST_P(ApiHelpers, PointwiseOperationsAgreeWithTheReference) {
  SCOPED_TRACE(kSeed);
  for (int round = 0; round < 60; ++round) {
    shiftconv_pointwise_t p = SHIFTCONV_POINTWISE_INIT;
    p.rows = pick(1, 12), p.c = round % 2 ? 4 * pick(1, 6) : pick(1, 19);
    p.operation = round % 3, p.activation = round % kActivations;
    p.rows_of_b = pick(0, 1) ? pick(1, 5) : 1;
    const int64_t gapA = 4 * pick(0, 1), gapB = pick(0, 1) * 3, gap = 4 * pick(0, 1);
    p.a_pitch = gapA ? p.c + gapA : 0, p.b_pitch = gapB ? p.c + gapB : 0, p.output_pitch = gap ? p.c + gap : 0;
    p.activation_a = p.activation == SHIFTCONV_ACTIVATION_CLAMP ? -0.5F : 0.25F, p.activation_b = 1.75F;
    const DataType typeA = pickType(), typeB = pickType(), type = pickType();
    p.a_type = static_cast<int32_t>(typeA), p.b_type = static_cast<int32_t>(typeB), p.output_type = static_cast<int32_t>(type);
    const auto elements = [](int64_t count) { return static_cast<size_t>(count); };
    const Elements a = Elements::random(typeA, elements(p.rows * (p.c + gapA)), generator_);
    const Elements b = Elements::random(typeB, elements(((p.rows - 1) / p.rows_of_b + 1) * (p.c + gapB)), generator_);
    const bool binary = p.operation != SHIFTCONV_OPERATION_NONE;
    const Elements result = run(
        [&](const std::vector<Memory>& m) {
          ASSERT_OK(shiftconv_pointwise_run(device_.handle(), &p, m[0].get(), binary ? m[1].get() : nullptr, m[2].get(), nullptr));
        },
        {a, b}, Elements(type, elements(p.rows * (p.c + gap))));
    gemm::EpilogueParams activation;
    activation.activation = static_cast<gemm::Activation>(p.activation);
    activation.activationA = p.activation_a, activation.activationB = p.activation_b;
    for (int64_t row = 0; row < p.rows; ++row)
      for (int64_t i = 0; i < p.c + gap; ++i) {
        const size_t at = elements(row * (p.c + gap) + i);
        if (i >= p.c) {
          ASSERT_EQ(result.code(at), Elements(type, 1).code(0)) << "round " << round << ", gap at " << at;
          continue;
        }
        const double first = a.value(elements(row * (p.c + gapA) + i)),
                     second = b.value(elements(row / p.rows_of_b * (p.c + gapB) + i));
        const double value = !binary ? first : p.operation == SHIFTCONV_OPERATION_ADD ? first + second : first * second;
        const Bounded argument{value, binary ? 0x1p-24 * std::abs(value) : 0};
        const Bounded expected = gemm::epilogueReference(activation, 0, 0, argument).activated;
        ASSERT_TRUE(gemm::reachable(numberType(type), expected, result.code(at)))
            << "round " << round << ", element " << at << ": " << result.value(at) << " instead of " << expected.value << " +- "
            << expected.error;
      }
  }
}

// ---- Normalisation ----

/// Exact values of one group, and how far f32 arithmetic may be from them.
class GroupReference {
 public:
  /// `terms`: how many additions follow one another in a thread of the kernel.
  GroupReference(const std::vector<double>& values, double epsilon, double terms) {
    const auto count = static_cast<double>(values.size());
    double sum = 0, magnitudes = 0, squares = 0;
    for (const double value : values) sum += value, magnitudes += std::abs(value);
    mean_ = sum / count;
    for (const double value : values) squares += (value - mean_) * (value - mean_);
    // Eight additions more between the threads, then a division; 2 for terms of second order.
    meanError_ = (terms + 11) * kUnit * magnitudes / count;
    // An error of the mean adds its square: the distances from the exact mean sum to 0.
    const double variance = squares / count, all = variance + meanError_ * meanError_ + epsilon;
    const double varianceError = meanError_ * meanError_ + (terms + 15) * kUnit * all;
    factor_ = 1 / std::sqrt(variance + epsilon);
    factorError_ = 1 / std::sqrt(variance + epsilon - varianceError) - factor_ + 3 * kUnit * factor_;
  }
  Bounded at(double value, double scale, double bias) const {
    const double distance = value - mean_, exact = distance * factor_ * scale;
    const double error = std::abs(distance * scale) * factorError_ +
                         (meanError_ + kUnit * std::abs(distance)) * (factor_ + factorError_) * std::abs(scale);
    return {exact + bias, error + 4 * kUnit * (std::abs(exact) + std::abs(bias) + error)};
  }

 private:
  static constexpr double kUnit = 0x1p-24;
  double mean_, meanError_, factor_, factorError_;
};

TEST_P(ApiHelpers, NormalisationAgreesWithTheReference) {
  SCOPED_TRACE(kSeed);
  for (int round = 0; round < 24; ++round) {
    shiftconv_normalize_t p = SHIFTCONV_NORMALIZE_INIT;
    const int64_t channels = round % 2 ? 4 * pick(1, 3) : pick(1, 5);
    p.n = pick(1, 3), p.pixels = round % 6 == 0 ? pick(300, 700) : pick(2, 40), p.groups = pick(1, 4), p.c = channels * p.groups;
    if (round % 5 == 4) p.groups = p.c;
    const int64_t gapIn = 4 * pick(0, 1), gapOut = pick(0, 1) * (round % 2 ? 4 : 3), pitch = p.c + gapOut;
    p.input_pixel_pitch = gapIn ? p.c + gapIn : 0, p.output_pixel_pitch = gapOut ? pitch : 0;
    p.activation = round % 3 == 0 ? round / 3 % kActivations : SHIFTCONV_ACTIVATION_NONE;
    p.activation_a = p.activation == SHIFTCONV_ACTIVATION_CLAMP ? -0.5F : 0.25F, p.activation_b = 1.75F;
    p.epsilon = round % 4 ? 1e-5F : 0.5F;
    const DataType type = pickType(), parameterType = pickType();
    p.type = static_cast<int32_t>(type), p.parameter_type = static_cast<int32_t>(parameterType);
    const auto elements = [](int64_t count) { return static_cast<size_t>(count); };
    const Elements input = Elements::random(type, elements(p.n * p.pixels * (p.c + gapIn)), generator_);
    const Elements scale = Elements::random(parameterType, elements(p.c), generator_);
    const Elements bias = Elements::random(parameterType, elements(p.c), generator_);
    const bool scaled = pick(0, 3) != 0, biased = pick(0, 3) != 0;
    const Elements result = run(
        [&](const std::vector<Memory>& m) {
          ASSERT_OK(shiftconv_normalize_run(device_.handle(), &p, m[0].get(), scaled ? m[1].get() : nullptr,
                                            biased ? m[2].get() : nullptr, m[3].get(), nullptr));
        },
        {input, scale, bias}, Elements(type, elements(p.n * p.pixels * pitch)));
    gemm::EpilogueParams activation;
    activation.activation = static_cast<gemm::Activation>(p.activation);
    activation.activationA = p.activation_a, activation.activationB = p.activation_b;
    const int64_t inGroup = p.c / p.groups;
    for (int64_t image = 0; image < p.n; ++image) {
      const auto valueAt = [&](int64_t pixel, int64_t channel) {
        return input.value(elements((image * p.pixels + pixel) * (p.c + gapIn) + channel));
      };
      for (int64_t group = 0; group < p.groups; ++group) {
        std::vector<double> values;
        for (int64_t pixel = 0; pixel < p.pixels; ++pixel)
          for (int64_t i = 0; i < inGroup; ++i) values.push_back(valueAt(pixel, group * inGroup + i));
        const GroupReference reference(values, p.epsilon, static_cast<double>(values.size() / 256 + 4));
        for (int64_t pixel = 0; pixel < p.pixels; ++pixel)
          for (int64_t channel = group * inGroup; channel < (group + 1) * inGroup; ++channel) {
            const Bounded argument = reference.at(valueAt(pixel, channel), scaled ? scale.value(elements(channel)) : 1,
                                                  biased ? bias.value(elements(channel)) : 0);
            const Bounded expected = gemm::epilogueReference(activation, 0, 0, argument).activated;
            const size_t at = elements((image * p.pixels + pixel) * pitch + channel);
            ASSERT_TRUE(gemm::reachable(numberType(type), expected, result.code(at)))
                << "round " << round << ", element " << at << ": " << result.value(at) << " instead of " << expected.value << " +- "
                << expected.error;
          }
      }
      for (int64_t pixel = 0; pixel < p.pixels; ++pixel)
        for (int64_t channel = p.c; channel < pitch; ++channel) {
          const size_t at = elements((image * p.pixels + pixel) * pitch + channel);
          ASSERT_EQ(result.code(at), Elements(type, 1).code(0)) << "round " << round << ", gap at " << at;
        }
    }
  }
}

TEST_P(ApiHelpers, NormalisationFarFromZero) {
  // Sums of squares would lose all digits of the variance.
  Elements input(DataType::F32, 1024);
  for (size_t i = 0; i < 1024; ++i) input.set(i, numerics::encode(numberType(DataType::F32), 4096 + (i % 2 ? 0.5 : -0.5)));
  shiftconv_normalize_t p = SHIFTCONV_NORMALIZE_INIT;
  p.n = 1, p.pixels = 512, p.c = 2, p.type = SHIFTCONV_TYPE_F32, p.epsilon = 0;
  const Elements result = run(
      [&](const std::vector<Memory>& m) {
        ASSERT_OK(shiftconv_normalize_run(device_.handle(), &p, m[0].get(), nullptr, nullptr, m[1].get(), nullptr));
      },
      {input}, Elements(DataType::F32, 1024));
  for (size_t i = 0; i < 1024; ++i) ASSERT_EQ(result.value(i), i % 2 ? 1 : -1) << i;
}

TEST_P(ApiHelpers, AnOutputMayBeItsInput) {
  Elements a = Elements::random(DataType::F16, 24, generator_);
  shiftconv_pointwise_t p = SHIFTCONV_POINTWISE_INIT;
  p.rows = 3, p.c = 8, p.activation = SHIFTCONV_ACTIVATION_RELU;
  const Memory memory(device_, a.bytes().size());
  device_.copyToDevice(memory.get(), a.bytes().data(), a.bytes().size());
  ASSERT_OK(shiftconv_pointwise_run(device_.handle(), &p, memory.get(), nullptr, memory.get(), nullptr));
  Elements result(DataType::F16, 24);
  device_.copyToHost(result.bytes().data(), memory.get(), result.bytes().size());
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(result.value(i), std::max(a.value(i), 0.0)) << i;
}

}  // namespace
}  // namespace shiftconv::tests
