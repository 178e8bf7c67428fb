// CUDA's own headers and idioms on the emulated device, each under every schedule, against host arithmetic.
#include <cmath>

#include "tests/support/program_fixture.hpp"

namespace shiftconv::tests {
namespace {

class LibraryCode : public PtxrunTest {
 protected:
  std::vector<int32_t> randomIntegers(size_t count, int low, int high) {
    std::vector<int32_t> values(count);
    for (int32_t& value : values) value = between(low, high);
    return values;
  }

  /// Runs the kernel once per schedule and calls check() after each run.
  template <class Check>
  void forEverySchedule(std::vector<std::string> arguments, Check&& check) {
    arguments.insert(arguments.begin(), ptx("library_code"));
    for (const std::vector<std::string>& schedule : schedules()) {
      SCOPED_TRACE(schedule[1]);
      std::vector<std::string> all = arguments;
      all.insert(all.end(), schedule.begin(), schedule.end());
      ptxrunOk(all);
      check();
      if (HasFatalFailure()) return;
    }
  }
};

TEST_F(LibraryCode, VirtualFunctionsAndFunctionPointers) {
  const auto in = randomIntegers(29, -100, 100);
  write("in.npy", "i32", {29}, in);
  forEverySchedule({"--kernel", "indirect_calls", "--block", "29", "--arg", "buf:in.npy", "--arg", "out:out.npy:i32:29x2"}, [&] {
    const auto out = read<int32_t>("out.npy");
    ASSERT_EQ(out.size(), 58u);
    for (int32_t i = 0; i < 29; ++i) {
      const int32_t x = in[static_cast<size_t>(i)];
      const int32_t table[] = {x + i, x * i, x - i};
      EXPECT_EQ(out[static_cast<size_t>(i) * 2], x & 1 ? x * 7 + 1 : x - 15) << i;
      EXPECT_EQ(out[static_cast<size_t>(i) * 2 + 1], table[static_cast<uint32_t>(x) % 3]) << i;
    }
  });
}

TEST_F(LibraryCode, CooperativeGroups) {
  const auto in = randomIntegers(96, 0, 60);
  write("in.npy", "i32", {96}, in);
  forEverySchedule({"--kernel", "thread_groups", "--block", "96", "--arg", "buf:in.npy", "--arg", "out:out.npy:i32:2x96"}, [&] {
    const auto out = read<int32_t>("out.npy");
    ASSERT_EQ(out.size(), 192u);
    for (size_t i = 0; i < 96; ++i) {
      int32_t sum = 0, agreeing = 0, multiples = 0, rank = 0;
      for (size_t j = i / 16 * 16; j < i / 16 * 16 + 16; ++j) sum += in[j];
      for (size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) {
        agreeing += (in[j] & 3) == (in[i] & 3);
        multiples += in[j] % 3 == 0;
        rank += in[j] % 3 == 0 && j < i;
      }
      EXPECT_EQ(out[i], sum + 1000 * agreeing) << i;
      EXPECT_EQ(out[96 + i], in[i] % 3 == 0 ? multiples * 100 + rank : -1) << i;
    }
  });
}

TEST_F(LibraryCode, BarriersWithAsynchronousCopies) {
  const auto in = randomIntegers(128, -1000, 1000);
  write("in.npy", "i32", {128}, in);
  forEverySchedule({"--kernel", "async_barrier", "--block", "128", "--arg", "buf:in.npy", "--arg", "out:out.npy:i32:128"}, [&] {
    const auto out = read<int32_t>("out.npy");
    ASSERT_EQ(out.size(), 128u);
    for (size_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], in[(i + 1) % 128] * 2) << i;
  });
}

TEST_F(LibraryCode, DistributedSharedMemory) {
  const auto in = randomIntegers(256, 0, 900);
  write("in.npy", "i32", {256}, in);
  // The cluster comes from the kernel's .reqnctapercluster.
  forEverySchedule(
      {"--kernel", "distributed_shared", "--grid", "4", "--block", "64", "--arg", "buf:in.npy", "--arg", "out:out.npy:i32:256"},
      [&] {
        const auto out = read<int32_t>("out.npy");
        ASSERT_EQ(out.size(), 256u);
        for (size_t i = 0; i < 256; ++i) EXPECT_EQ(out[i], in[(i / 64 ^ 1) * 64 + 63 - i % 64] + (in[i] + 1) * 1000) << i;
      });
}

TEST_F(LibraryCode, LastBlockReduction) {
  std::vector<uint32_t> in(2501);
  __extension__ using Wide = unsigned __int128;
  Wide sum = 0;
  for (uint32_t& value : in) {
    value = static_cast<uint32_t>(random());
    sum += static_cast<uint32_t>((uint64_t{value} * 0x9e3779b9u) >> 32) ^ (value >> 3);
  }
  write("in.npy", "u32", {2501}, in);
  forEverySchedule({"--kernel", "last_block_sum", "--grid", "7", "--block", "32", "--arg", "buf:in.npy", "--arg", "u32:2501",
                    "--arg", "zeros:u64:7", "--arg", "zeros:u32:1", "--arg", "out:out.npy:u64:2"},
                   [&] {
                     const auto out = read<uint64_t>("out.npy");
                     ASSERT_EQ(out.size(), 2u);
                     EXPECT_EQ(out[0], static_cast<uint64_t>(sum));
                     EXPECT_EQ(out[1], static_cast<uint64_t>((sum * sum) >> 64));
                   });
}

// CUDA's documentation (C++ programming guide, mathematical functions) gives the largest errors in ulp: sin 2, exp 2, log 1,
// pow 4, division and square root 0.5, tanh 2; the last column is a rounding to f16.
TEST_F(LibraryCode, MathematicalFunctionsWithinTheirDocumentedErrors) {
  std::vector<float> in(128);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = std::ldexp(static_cast<float>(between(-99999, 99999)), between(-24, -12)) + (i % 2 ? 1e-4f : -1e-4f);
  write("in.npy", "f32", {128}, in);
  forEverySchedule({"--kernel", "mathematics", "--block", "128", "--arg", "buf:in.npy", "--arg", "out:out.npy:f32:128x8"}, [&] {
    const auto out = read<float>("out.npy");
    ASSERT_EQ(out.size(), 1024u);
    for (size_t i = 0; i < in.size(); ++i) {
      const double x = in[i];
      const double expected[] = {std::sin(static_cast<double>(in[i] * 1000.0f)),
                                 std::exp(x),
                                 std::log(std::fabs(x)),
                                 std::pow(std::fabs(x), 1.75),
                                 x / static_cast<double>(3.7f),
                                 std::sqrt(std::fabs(x)),
                                 std::tanh(x)};
      const double limits[] = {2, 2, 1, 4, 0.5, 0.5, 2};
      for (size_t j = 0; j < std::size(expected); ++j) {
        const auto nearest = static_cast<float>(std::fabs(expected[j]));
        const double ulp = static_cast<double>(std::nextafter(nearest, INFINITY)) - nearest;
        EXPECT_LE(std::fabs(out[8 * i + j] - expected[j]), (limits[j] + 1e-3) * ulp) << "function " << j << " of " << x;
      }
      int exponent = 0;
      std::frexp(x, &exponent);
      const double quantum = std::ldexp(1.0, std::max(exponent - 11, -24));
      EXPECT_EQ(out[8 * i + 7], std::nearbyint(x / quantum) * quantum) << x;
    }
  });
}

}  // namespace
}  // namespace shiftconv::tests
