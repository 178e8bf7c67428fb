// Ordinary device code through nvcc and this machine, against the same arithmetic on the host.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "common/emulator/emulator.hpp"

namespace shiftconv::emulator {
namespace {

constexpr unsigned kThreads = 32;
constexpr uint64_t kSeed = 20250807;

class CompiledModule : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string path = KERNEL_FOLDER "/language_features.ptx";
    std::ifstream file(path);
    ASSERT_TRUE(file) << path;
    std::stringstream text;
    text << file.rdbuf();
    machine_ = std::make_unique<Emulator>();
    module_ = machine_->load(text.str(), path);
  }
  static void TearDownTestSuite() {
    module_.reset();
    machine_.reset();
  }

  /// Runs one warp; `out` starts as a pattern that no result has.
  template <class Out>
  std::vector<Out> run(const char* kernel, size_t count, const std::vector<const void*>& others) {
    std::vector<Out> out(count);
    std::memset(out.data(), 0xcb, count * sizeof(Out));
    machine_->memory().registerRange(out.data(), count * sizeof(Out), true);
    const void* pointer = out.data();
    std::vector<const void*> arguments{&pointer};
    arguments.insert(arguments.end(), others.begin(), others.end());
    machine::LaunchConfig config;
    config.block.x = kThreads;
    machine_->launch(*module_, kernel, config, arguments, {});
    machine_->memory().unregisterRange(out.data());
    return out;
  }

  template <class Out, class In>
  std::vector<Out> map(const char* kernel, size_t perThread, const std::vector<In>& in) {
    machine_->memory().registerRange(in.data(), in.size() * sizeof(In), false);
    const void* pointer = in.data();
    const std::vector<Out> out = run<Out>(kernel, perThread * kThreads, {&pointer});
    machine_->memory().unregisterRange(in.data());
    return out;
  }

  static std::unique_ptr<Emulator> machine_;
  static std::shared_ptr<const LoadedModule> module_;
};
std::unique_ptr<Emulator> CompiledModule::machine_;
std::shared_ptr<const LoadedModule> CompiledModule::module_;

template <class T>
std::vector<T> inputs() {
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> value(-4.0, 4.0);
  std::vector<T> result(kThreads);
  for (T& x : result) x = static_cast<T>(value(random));
  return result;
}

int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

TEST_F(CompiledModule, LanguageFeatures) {
  struct Arguments {
    char first = 'x';
    double factor = -1.5;
    int table[5] = {100, 200, 300, 400, 500};
  } const arguments;
  const int n = 13;
  const std::vector<double> out = run<double>("features", kThreads, {&arguments, &n});
  const int grid[3][4] = {{1, 2}, {3}, {4, 5, 6, 7}};
  const short numbers[3] = {7, -8, 9};
  const char* const words[2] = {"first", "second"};
  const float weights[4] = {0.5f, -1.25f, 3.0f, 1e-3f};
  for (int i = 0; i < static_cast<int>(kThreads); ++i) {
    double expected = 0;
    switch (i % 7) {
      case 0:
        expected = 2.5 * arguments.factor;
        break;
      case 1:
        expected = numbers[i % 3] + 'r';
        break;
      case 2:
        expected = grid[i % 3][i % 4];
        break;
      case 3:
        expected = words[i & 1][i % 5];
        break;
      case 4:
        expected = weights[i % 4];
        break;
      case 5:
        expected = (i / 7 & 1) != 0 ? i * n : i + n;
        break;
      default:
        expected = fibonacci(i % 10) + arguments.first;
    }
    const int k = n & 7;
    EXPECT_EQ(out[static_cast<size_t>(i)], expected + i * k + arguments.table[k % 5]) << "thread " << i;
  }
}

TEST_F(CompiledModule, SinglePrecisionMath) {
  const std::vector<float> in = inputs<float>();
  const std::vector<float> out = map<float>("single_math", 24, in);
  for (size_t i = 0; i < kThreads; ++i) {
    const double x = in[i];
    const double m = std::fabs(x);
    const double expected[24] = {std::sin(x),
                                 std::cos(x),
                                 std::tan(x),
                                 std::exp(x),
                                 std::log(m),
                                 std::sqrt(m),
                                 std::pow(m, static_cast<double>(1.7f)),
                                 std::atan2(x, 2.0),
                                 std::fmod(x, static_cast<double>(0.7f)),
                                 std::cbrt(x),
                                 std::erf(x),
                                 std::tanh(x),
                                 std::floor(x),
                                 std::nearbyint(x),
                                 std::round(x),
                                 std::remainder(x, static_cast<double>(0.7f)),
                                 x * 32,
                                 std::hypot(x, 3.0),
                                 std::exp2(x),
                                 std::log10(m),
                                 x / 3.0,
                                 1.0 / x,
                                 std::lgamma(m),
                                 std::fma(in[i], in[i], -1.0)};
    // Error bounds of the CUDA math library for these functions are at most 6 ulp (lgamma, which has a zero in range,
    // and remainders of exact operations aside).
    for (size_t k = 0; k < 24; ++k) {
      const double tolerance = k == 22 ? 2e-6 * (1 + std::fabs(expected[k])) : 6 * 0x1p-23 * std::fabs(expected[k]) + 1e-37;
      EXPECT_NEAR(out[24 * i + k], expected[k], tolerance) << "function " << k << " of " << x << ", seed " << kSeed;
    }
  }
}

TEST_F(CompiledModule, DoublePrecisionMath) {
  const std::vector<double> in = inputs<double>();
  const std::vector<double> out = map<double>("double_math", 12, in);
  for (size_t i = 0; i < kThreads; ++i) {
    const double x = in[i];
    const double m = std::fabs(x);
    const double expected[12] = {std::sin(x),      std::exp(x),       std::log(m),  std::sqrt(m),
                                 std::pow(m, 1.7), x / 3.0,           std::cbrt(x), std::fmod(x, 0.7),
                                 std::erf(x),      std::nearbyint(x), 1.0 / x,      std::atan2(x, 2.0)};
    for (size_t k = 0; k < 12; ++k)
      EXPECT_NEAR(out[12 * i + k], expected[k], 4 * 0x1p-52 * std::fabs(expected[k]))
          << "function " << k << " of " << x << ", seed " << kSeed;
  }
}

TEST_F(CompiledModule, IntegerMath) {
  std::mt19937_64 random(kSeed);
  std::vector<int64_t> in(kThreads);
  for (size_t i = 0; i < kThreads; ++i) in[i] = static_cast<int64_t>(random() >> (i % 60));
  const std::vector<int64_t> out = map<int64_t>("integer_math", 12, in);
  __extension__ typedef __int128 Wide;
  for (size_t i = 0; i < kThreads; ++i) {
    const int64_t a = in[i];
    const int64_t b = in[(i + 1) % kThreads];
    const auto c = static_cast<int32_t>(a);
    const auto d = static_cast<int32_t>(b);
    const auto uc = static_cast<uint32_t>(c);
    const auto ud = static_cast<uint32_t>(d);
    uint32_t reversed = 0;
    for (unsigned bit = 0; bit < 32; ++bit) reversed |= (uc >> bit & 1) << (31 - bit);
    // 0x2143 picks bytes 3, 4, 1, 2 of {d, c} from the low end.
    const uint64_t bytes = uint64_t{ud} << 32 | uc;
    const auto byte = [&](unsigned n) { return static_cast<uint32_t>(bytes >> (8 * n) & 0xff); };
    const uint32_t picked = byte(3) | byte(4) << 8 | byte(1) << 16 | byte(2) << 24;
    const unsigned shift = ud & 31;
    const uint32_t funnel = shift == 0 ? ud : ud << shift | uc >> (32 - shift);
    const int64_t expected[12] = {a / (b | 1),
                                  a % (b | 1),
                                  c / 7,
                                  uc % 13u,
                                  static_cast<int64_t>((Wide{a} * b) >> 64),
                                  std::popcount(static_cast<uint64_t>(a)) + 64 * std::countl_zero(static_cast<uint64_t>(b)),
                                  c == 0 ? 0 : std::countr_zero(uc) + 1,
                                  picked,
                                  funnel,
                                  std::min(c, d) + std::max(a, b),
                                  reversed,
                                  static_cast<int64_t>(static_cast<uint64_t>(a) / (static_cast<uint64_t>(b) | 1))};
    for (size_t k = 0; k < 12; ++k)
      EXPECT_EQ(out[12 * i + k], expected[k]) << "function " << k << " of " << a << " and " << b << ", seed " << kSeed;
  }
}

/// Nearest value with `fractionBits` bits behind the leading one (no subnormals occur here).
double rounded(double x, int fractionBits) {
  if (x == 0) return x;
  const int exponent = std::ilogb(x);
  return std::ldexp(std::nearbyint(std::ldexp(x, fractionBits - exponent)), exponent - fractionBits);
}

TEST_F(CompiledModule, HalfPrecisionMath) {
  const std::vector<float> in = inputs<float>();
  const std::vector<float> out = map<float>("half_math", 12, in);
  for (size_t i = 0; i < kThreads; ++i) {
    const double x0 = rounded(in[i], 10);
    const double x1 = rounded(in[(i + 1) % kThreads], 10);
    const double y0 = rounded(in[i], 7);
    const double y1 = rounded(in[(i + 1) % kThreads], 7);
    const float* o = out.data() + 12 * i;
    EXPECT_EQ(o[0], rounded(x0 * x0 + x0, 10)) << i;
    EXPECT_EQ(o[1], rounded(x1 * x1 + x1, 10)) << i;
    EXPECT_EQ(o[2], rounded(y0 * y0 + y0, 7)) << i;
    EXPECT_EQ(o[3], rounded(y1 * y1 + y1, 7)) << i;
    EXPECT_NEAR(o[4], x0 / x1, 0x1p-10 * std::fabs(x0 / x1)) << i;
    EXPECT_NEAR(o[5], std::sqrt(std::fabs(x0)), 0x1p-10 * std::sqrt(std::fabs(x0))) << i;
    EXPECT_NEAR(o[6], std::exp(x0), 0x1p-9 * std::exp(x0)) << i;
    EXPECT_NEAR(o[7], std::exp(y0), 0x1p-6 * std::exp(y0)) << i;
    EXPECT_EQ(o[8], std::nearbyint(x0)) << i;
    EXPECT_EQ(o[9], x0 > x1 ? 1.0f : 0.0f) << i;
    EXPECT_EQ(o[10], std::fabs(x0)) << i;
    EXPECT_EQ(o[11], std::min(std::max(rounded(2 * x1, 10), 0.0), 1.0)) << i;
  }
}

}  // namespace
}  // namespace shiftconv::emulator
