// What the GEMM kernels move and multiply, against figures worked out by hand: 512 x 256 outputs in f32, K = 256. These are the
// counters that bench/gemm prints.
#include <gtest/gtest.h>

#include "common/device/embedded_ptx.hpp"
#include "gemm_sm100_image.hpp"
#include "tests/gemm/gemm_runner.hpp"

namespace shiftconv::tests::counters_test {
namespace {

using emulator::Engine;
using emulator::Traffic;
using gemm::sm100::GemmChoices;
using gemm::sm100::GemmPlan;
using gemm::sm100::Grouping;
using enum numerics::NumberType;
using numerics::NumberType;

/// Bytes, but for the number of matrix instructions.
struct Figures {
  uint64_t globalRead;    ///< by bulk copies; a multicast reads once
  uint64_t sharedWrite;   ///< by bulk copies
  uint64_t operandsRead;  ///< from shared memory by the tensor core
  uint64_t copied;        ///< from shared to Tensor Memory
  uint64_t instructions;
};

struct Case {
  const char* name;
  NumberType a, b;
  int32_t blockSize;
  GemmChoices choices;
  const char* shape;  ///< of the instructions
  Figures expected;
};

GemmChoices choose(Grouping grouping, int32_t tileRows, int32_t tileN, gemm::sm100::Engine engine = gemm::sm100::Engine::SharedA) {
  GemmChoices choices;
  choices.grouping = grouping, choices.tileRows = tileRows, choices.tileN = tileN, choices.engine = engine;
  choices.splits = 1, choices.schedule = gemm::sm100::Schedule::Static;
  return choices;
}
GemmChoices residentInOneCluster(GemmChoices choices) {
  choices.residentWeights = true, choices.clusters = 1;
  return choices;
}

std::vector<Case> cases() {
  using enum Grouping;
  constexpr uint64_t kKiB = 1024;
  const auto tensorA = gemm::sm100::Engine::TensorA;
  return {
      // 128 rows of f16 are 64 KiB. 8 tiles of 128 x 128, each with its rows of A and B; 16 instructions a tile read 32 bytes of
      // 128
      // rows of A and of B, 8 KiB.
      {"single", F16, F16, 0, choose(Single, 128, 128), "m128n128k16", {8 * 128 * kKiB, 8 * 128 * kKiB, 8 * 16 * 8 * kKiB, 0, 128}},
      // All of A passes through Tensor Memory once; instructions read B only.
      {"tensor_a",
       F16,
       F16,
       0,
       choose(Single, 128, 128, tensorA),
       "m128n128k16",
       {8 * 128 * kKiB, 8 * 128 * kKiB, 8 * 16 * 4 * kKiB, 8 * 64 * kKiB, 128}},
      // Two tiles fetch one B, which is written twice.
      {"sharing",
       F16,
       F16,
       0,
       choose(Sharing, 128, 128),
       "m128n128k16",
       {4 * 192 * kKiB, 4 * 256 * kKiB, 8 * 16 * 8 * kKiB, 0, 128}},
      // 4 tiles of 256 x 128; each CTA holds and reads half of B.
      {"pair", F16, F16, 0, choose(Pair, 128, 128), "m256n128k16", {4 * 192 * kKiB, 4 * 192 * kKiB, 4 * 16 * 12 * kKiB, 0, 64}},
      // 16 tiles of 64 x 128: 32 KiB of A, 64 KiB of B.
      {"rows64", F16, F16, 0, choose(Single, 64, 128), "m64n128k16", {16 * 96 * kKiB, 16 * 96 * kKiB, 16 * 16 * 6 * kKiB, 0, 256}},
      // 8 tiles of 128 x 128, of which either CTA has 64 rows of A and of B.
      {"rows64_pair",
       F16,
       F16,
       0,
       choose(Pair, 64, 128),
       "m128n128k16",
       {8 * 128 * kKiB, 8 * 128 * kKiB, 8 * 16 * 8 * kKiB, 0, 128}},
      // A once for each of the two columns of tiles, B once in all: a CTA for each column of tiles.
      {"resident",
       F16,
       F16,
       0,
       residentInOneCluster(choose(Single, 128, 128)),
       "m128n128k16",
       {(8 * 64 + 2 * 64) * kKiB, (8 * 64 + 2 * 64) * kKiB, 8 * 16 * 8 * kKiB, 0, 128}},
      // 128 rows of e4m3 are 32 KiB, of e2m1 16 KiB in memory and 32 KiB in shared memory, half of it padding.
      {"packed", E4M3, E2M1, 0, choose(Single, 128, 128), "m128n128k32", {8 * 48 * kKiB, 8 * 64 * kKiB, 8 * 8 * 8 * kKiB, 0, 64}},
      // Besides: 128 rows have 8 scale factors each, which is 1 KiB of A and 1 KiB of B a tile, copied to Tensor Memory.
      {"mxf8f6f4",
       E4M3,
       E4M3,
       32,
       choose(Single, 128, 128),
       "m128n128k32",
       {8 * 66 * kKiB, 8 * 66 * kKiB, 8 * 8 * 8 * kKiB, 8 * 2 * kKiB, 64}},
      // A pair: 64 KiB of A, 32 KiB of B, 2 KiB of factors of A; the 1 KiB of B is fetched once, written to both CTAs, copied in
      // both.
      {"mxf8f6f4_pair",
       E4M3,
       E4M3,
       32,
       choose(Pair, 128, 128),
       "m256n128k32",
       {4 * 99 * kKiB, 4 * 100 * kKiB, 4 * 8 * 12 * kKiB, 4 * 4 * kKiB, 32}},
      // 2 tiles of 256 x 256: 32 KiB of A, 32 KiB of B; 16 factors a row, which is 4 KiB of A and 4 KiB of B.
      {"nvf4_pair",
       E2M1,
       E2M1,
       16,
       choose(Pair, 128, 256),
       "m256n256k64",
       {2 * 72 * kKiB, 2 * 76 * kKiB, 2 * 4 * 16 * kKiB, 2 * 12 * kKiB, 8}},
  };
}

class GemmCounters : public testing::TestWithParam<Case> {};

TEST_P(GemmCounters, EqualTheFiguresWorkedOutByHand) {
  const Case& what = GetParam();
  gemm::GemmProblem problem;
  problem.m = 512, problem.n = 256, problem.k = 256;
  problem.a.type = what.a, problem.b.type = what.b;
  problem.blockSize = what.blockSize, problem.scale = what.blockSize == 16 ? UE4M3 : UE8M0;
  problem.a.scaleLayout = problem.b.scaleLayout = layout::ScaleFactorLayout::Interleaved128x4;
  problem = withPitches(problem);
  GemmPlan plan;
  ASSERT_EQ(planGemm(problem, fewMultiprocessors(), what.choices, plan), "");
  emulator::Options options;
  options.numerics = emulator::Numerics::Fast;
  GemmRunner runner(device::ptxFor(images::gemm_sm100(), "sm_100a"));
  const Observation seen = runner.run(GemmCase(problem, 1), plan, options);
  ASSERT_EQ(seen.difference, "");

  const emulator::Counters& counters = seen.counters;
  const auto bytes = [&](Engine engine, Traffic traffic) {
    return counters.bytes[static_cast<size_t>(engine)][static_cast<size_t>(traffic)];
  };
  EXPECT_EQ(bytes(Engine::BulkCopy, Traffic::GlobalRead), what.expected.globalRead);
  EXPECT_EQ(bytes(Engine::BulkCopy, Traffic::SharedWrite), what.expected.sharedWrite);
  EXPECT_EQ(bytes(Engine::TensorCore, Traffic::SharedRead), what.expected.operandsRead);
  EXPECT_EQ(bytes(Engine::TensorCopy, Traffic::SharedRead), what.expected.copied);
  ASSERT_EQ(counters.mma.size(), 1u);
  EXPECT_NE(counters.mma.begin()->first.find(what.shape), std::string::npos) << counters.mma.begin()->first;
  EXPECT_EQ(counters.mma.begin()->second, what.expected.instructions);
  // Every output leaves Tensor Memory once, and shared memory once in whole rows.
  constexpr uint64_t kOutputBytes = 512 * 256 * sizeof(float);
  EXPECT_EQ(bytes(Engine::TensorLoadStore, Traffic::TmemRead), kOutputBytes);
  EXPECT_EQ(bytes(Engine::BulkCopy, Traffic::GlobalWrite), kOutputBytes);
  EXPECT_EQ(bytes(Engine::Threads, Traffic::GlobalRead) + bytes(Engine::Threads, Traffic::GlobalWrite), 0u);
}

INSTANTIATE_TEST_SUITE_P(Gemm, GemmCounters, testing::ValuesIn(cases()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace shiftconv::tests::counters_test
