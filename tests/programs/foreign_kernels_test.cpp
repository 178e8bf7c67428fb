// Kernels that are not this library's, compiled by nvcc, run through ptxrun and compared element by element.
// All values are small integers (or halves of such) so that sums are exact in any order.
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "tests/support/program_fixture.hpp"

namespace shiftconv::tests {
namespace {

using Words = std::vector<std::string>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class ForeignKernels : public PtxrunTest {
 protected:
  std::vector<float> randomFloats(size_t count, int limit) {
    std::vector<float> values(count);
    for (float& value : values) {
      const int magnitude = between(1, limit);
      value = static_cast<float>(between(0, 1) ? magnitude : -magnitude);
    }
    return values;
  }
};

TEST_F(ForeignKernels, TiledGemm) {
  const size_t m = 37, n = 29, k = 45;
  const auto a = randomFloats(m * k, 9), b = randomFloats(k * n, 9), c = randomFloats(m * n, 99);
  write("a.npy", "f32", {37, 45}, a);
  write("b.npy", "f32", {45, 29}, b);
  write("c.npy", "f32", {37, 29}, c);
  for (const Words& schedule : schedules()) {
    ptxrunOk(Words{ptx("tiled_gemm"),
                   "--kernel",
                   "tiled_gemm",
                   "--grid",
                   "2,3",
                   "--block",
                   "16,16",
                   "--arg",
                   "i32:37",
                   "--arg",
                   "i32:29",
                   "--arg",
                   "i32:45",
                   "--arg",
                   "f32:0.5",
                   "--arg",
                   "buf:a.npy",
                   "--arg",
                   "buf:b.npy",
                   "--arg",
                   "f32:-2",
                   "--arg",
                   "inout:c.npy:result.npy"} +
             schedule);
    const auto result = read<float>("result.npy");
    ASSERT_EQ(result.size(), c.size());
    for (size_t row = 0; row < m; ++row)
      for (size_t column = 0; column < n; ++column) {
        double sum = 0;
        for (size_t i = 0; i < k; ++i) sum += static_cast<double>(a[row * k + i]) * b[i * n + column];
        ASSERT_EQ(result[row * n + column], 0.5 * sum - 2.0 * c[row * n + column])
            << row << "," << column << " under " << schedule[1];
      }
  }
}

TEST_F(ForeignKernels, GemmInDynamicSharedMemoryFromRawFiles) {
  const size_t m = 5, n = 67, k = 19;
  const auto a = randomFloats(m * k, 9), b = randomFloats(k * n, 9);
  write("a.bin", "f32", {95}, a);
  write("b.bin", "f32", {19 * 67}, b);
  ptxrunOk({ptx("tiled_gemm"), "--kernel", "row_panel_gemm", "--grid", "5",         "--block", "48",
            "--shared",        "76",       "--arg",          "i32:5",  "--arg",     "i32:67",  "--arg",
            "i32:19",          "--arg",    "buf:a.bin",      "--arg",  "buf:b.bin", "--arg",   "out:c.bin:f32:5x67"});
  const auto result = read<float>("c.bin");
  ASSERT_EQ(result.size(), m * n);
  for (size_t row = 0; row < m; ++row)
    for (size_t column = 0; column < n; ++column) {
      double sum = 0;
      for (size_t i = 0; i < k; ++i) sum += static_cast<double>(a[row * k + i]) * b[i * n + column];
      ASSERT_EQ(result[row * n + column], sum) << row << "," << column;
    }
}

struct Statistics {
  uint64_t sumOfSquares = 0;
  int32_t minimum = INT32_MAX, maximum = INT32_MIN;
  uint32_t oddCount = 0, collatzSteps = 0;
  uint32_t histogram[16]{};
  bool operator==(const Statistics&) const = default;
};
static_assert(sizeof(Statistics) == 88);

TEST_F(ForeignKernels, ReductionWithDivergenceShufflesAndAtomics) {
  std::vector<int32_t> values(1237);
  for (int32_t& value : values) value = between(-100000, 100000);
  Statistics expected;
  for (const int32_t value : values) {
    if (value % 3 != 0) expected.sumOfSquares += static_cast<uint64_t>(static_cast<int64_t>(value) * value);
    expected.minimum = std::min(expected.minimum, value);
    expected.maximum = std::max(expected.maximum, value);
    expected.oddCount += value % 2 != 0;
    ++expected.histogram[((value % 16) + 16) % 16];
    for (unsigned x = static_cast<unsigned>(std::abs(value)) % 97 + 1; x != 1; ++expected.collatzSteps)
      x = x % 2 ? 3 * x + 1 : x / 2;
  }
  write("values.npy", "i32", {values.size()}, values);
  write("start.bin", "u8", {sizeof(Statistics)}, std::vector<Statistics>(1));
  for (const Words& schedule : schedules()) {
    ptxrunOk(Words{ptx("reduction"), "--grid", "3", "--block", "160", "--arg", "buf:values.npy", "--arg", "i32:1237", "--arg",
                   "inout:start.bin:result.bin"} +
             schedule);
    const auto result = read<Statistics>("result.bin");
    ASSERT_EQ(result.size(), 1u);
    EXPECT_EQ(result[0].sumOfSquares, expected.sumOfSquares);
    EXPECT_EQ(result[0].minimum, expected.minimum);
    EXPECT_EQ(result[0].maximum, expected.maximum);
    EXPECT_EQ(result[0].oddCount, expected.oddCount);
    EXPECT_EQ(result[0].collatzSteps, expected.collatzSteps);
    EXPECT_TRUE(result[0] == expected) << "histogram differs";
  }
}

/// Bits of a half that represents `value` exactly; normal numbers and zero only.
uint16_t exactHalf(float value) {
  if (value == 0) return 0;
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto exponent = static_cast<int32_t>(bits >> 23 & 255) - 127 + 15;
  EXPECT_TRUE(exponent > 0 && exponent < 31 && (bits & 0x1fff) == 0) << value;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | static_cast<uint32_t>(exponent) << 10 | (bits >> 13 & 0x3ff));
}

TEST_F(ForeignKernels, WarpSpecialisedTmaPipeline) {
  constexpr int kRows = 75, kColumns = 100, kPitch = 104;  // ragged in both directions; the pitch is a multiple of 16 bytes
  const uint16_t untouched = 0x1234;
  std::vector<float> input(kRows * kPitch), scale(kColumns), bias(kColumns);
  std::vector<uint16_t> halves(kRows * kPitch), before(kRows * kPitch, untouched);
  const float factors[] = {0.5f, 1, 2, -1.5f, -3};
  for (int i = 0; i < kColumns; ++i) {
    scale[i] = factors[between(0, 4)];
    bias[i] = static_cast<float>(between(-60, 60));
  }
  for (size_t i = 0; i < input.size(); ++i) halves[i] = exactHalf(input[i] = static_cast<float>(between(-64, 64)));
  write("x.npy", "f16", {kRows, kPitch}, halves);
  write("before.npy", "f16", {kRows, kPitch}, before);
  write("scale.npy", "f32", {kColumns}, scale);
  write("bias.npy", "f32", {kColumns}, bias);
  // The maps view buffers that are no arguments of the kernel.
  const auto map = [](const std::string& buffer) {
    return R"({"buffer": ")" + buffer +
           R"(", "type": "f16", "dims": [100, 75], "strides": [208], "box": [64, 32], "swizzle": "128B"})";
  };
  write("x.json", "u8", {}, [&] {
    const std::string text = map("x");
    return std::vector<char>(text.begin(), text.end());
  }());
  for (const Words& schedule : schedules()) {
    const std::string output = ptxrunOk(Words{ptx("tma_pipeline"),
                                              "--grid",
                                              "2",
                                              "--block",
                                              "160",
                                              "--shared",
                                              "24576",
                                              "--buffer",
                                              "x=buf:x.npy",
                                              "--buffer",
                                              "y=inout:before.npy:y.npy",
                                              "--arg",
                                              "tmap:x.json",
                                              "--arg",
                                              "tmap:" + map("y"),
                                              "--arg",
                                              "buf:scale.npy",
                                              "--arg",
                                              "buf:bias.npy",
                                              "--arg",
                                              "i32:75",
                                              "--arg",
                                              "i32:100",
                                              "--counters",
                                              "--roles",
                                              "producer,consumer"} +
                                        schedule);
    EXPECT_NE(output.find("producer"), std::string::npos) << output;
    const auto result = read<uint16_t>("y.npy");
    ASSERT_EQ(result.size(), halves.size());
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kPitch; ++column) {
        const int i = row * kPitch + column;
        // The pitch ends with the 16 bytes that hold the last column, which a tensor store writes as a whole (observed on an
        // H200): the zeros that the kernel computes after the last column arrive, too.
        const uint16_t expected = column < kColumns ? exactHalf(std::max(input[i] * scale[column] + bias[column], 0.0f)) : 0;
        ASSERT_EQ(result[i], expected) << "row " << row << " column " << column << " under " << schedule[1];
      }
  }
}

int32_t ackermann(int32_t m, int32_t n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

int32_t operate(int32_t code, int32_t a, int32_t b) {
  const auto ua = static_cast<uint32_t>(a), ub = static_cast<uint32_t>(b);
  const auto wrap = [](uint32_t value) { return static_cast<int32_t>(value); };
  switch (code) {
    case 0:
      return wrap(ua + ub);
    case 1:
      return wrap(ua - 3 * ub);
    case 2:
      return wrap(ua * ub);
    case 3:
      return b == 0 ? -1 : a / b;
    case 4:
      return b == 0 ? -2 : a % b;
    case 5:
      return a & b;
    case 6:
      return a | ~b;
    case 7:
      return a ^ b;
    case 8:
      return wrap(ua << (ub & 31));
    case 9:
      return a >> (ub & 31);
    case 10:
      return std::popcount(ua) - std::countl_zero(ub);
    case 11:
      return std::min(a, b);
    case 12: {
      uint32_t reversed = 0;
      for (int i = 0; i < 32; ++i) reversed |= (ua >> i & 1u) << (31 - i);
      return wrap(reversed ^ ub);
    }
    default:
      return 1000 + code;
  }
}

TEST_F(ForeignKernels, CallsLocalArraysAndSwitches) {
  constexpr int kThreads = 75;
  constexpr int32_t kWeights[8] = {3, -1, 4, 1, -5, 9, 2, -6};
  std::vector<int32_t> input(18 * kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    int32_t* mine = &input[size_t{18} * static_cast<size_t>(thread)];
    mine[0] = between(-1, 14);
    mine[1] = between(-2000000000, 2000000000);
    mine[2] = between(0, 3) ? between(-2000000000, 2000000000) : 0;
    mine[3] = between(0, 14);
    for (int i = 0; i < 14; ++i) mine[4 + i] = between(-1000, 1000);
  }
  write("in.npy", "i32", {kThreads, 18}, input);
  for (const Words& schedule : schedules()) {
    ptxrunOk(Words{ptx("front_end"), "--kernel", "front_end", "--grid", "2", "--block", "64", "--arg", "buf:in.npy", "--arg",
                   "i32:75", "--arg", "out:out.npy:i32:75x7"} +
             schedule);
    const auto result = read<int32_t>("out.npy");
    ASSERT_EQ(result.size(), 7u * kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      const int32_t* mine = &input[size_t{18} * static_cast<size_t>(thread)];
      const int64_t numerator = static_cast<int64_t>(mine[1]) * mine[2] - 7;
      const int64_t quotient = numerator / (mine[3] + 1);
      std::vector<int32_t> sorted(mine + 4, mine + 4 + mine[3]);
      std::sort(sorted.begin(), sorted.end());
      int32_t fold = 0;
      for (size_t i = 0; i < sorted.size(); ++i) fold += sorted[i] * kWeights[i % 8];
      const std::array<int32_t, 4> table{static_cast<int32_t>(static_cast<uint32_t>(mine[2]) + 11),
                                         static_cast<int32_t>(static_cast<uint32_t>(mine[2]) * static_cast<uint32_t>(-5)), ~mine[2],
                                         static_cast<int32_t>(static_cast<uint32_t>(mine[2]) * static_cast<uint32_t>(-5))};
      const std::array<int32_t, 7> expected{operate(mine[0], mine[1], mine[2]),
                                            static_cast<int32_t>(quotient),
                                            static_cast<int32_t>(quotient >> 32),
                                            static_cast<int32_t>(numerator % (mine[3] + 1)),
                                            fold,
                                            ackermann(thread % 3, thread % 5),
                                            table[static_cast<uint32_t>(mine[1]) % 4]};
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(result[static_cast<size_t>(7 * thread) + i], expected[i])
            << "thread " << thread << " result " << i << " under " << schedule[1];
    }
  }
}

}  // namespace
}  // namespace shiftconv::tests
