// Where accumulators and A operands lie in Tensor Memory: PTX ISA 9.0, 9.7.16.10.5, data-path layouts D (cta_group::1, M = 128),
// F (M = 64: runs of 16 lanes), A (cta_group::2, M = 256) and B (M = 128: halves of the columns in different lanes).
#include <gtest/gtest.h>

#include "common/emulator/error.hpp"
#include "tests/published_layouts/single_mma.hpp"

namespace shiftconv::tests::layouts {
namespace {

using emulator::Emulator;
using emulator::EmulatorError;

void expectProducts(const SingleMma& mma) {
  Emulator machine;
  expectAccumulators(mma, mma.run(machine),
                     [&](uint32_t m, uint32_t n) { return static_cast<float>(product(m, n, mma.kind->depth)); });
}

/// The row of A that a lane of a CTA must hold, from the same sections; -1: none.
int rowOfLane(const SingleMma& mma, uint32_t cta, uint32_t lane) {
  if (mma.ctaGroup == 1 && mma.m == 64) {
    const bool inRun = lane % 32 >= mma.baseLane && lane % 32 < mma.baseLane + 16;
    return inRun ? static_cast<int>(lane / 32 * 16 + lane % 32 - mma.baseLane) : -1;
  }
  // Layout B: both halves of the lanes hold the 64 rows of the CTA.
  if (mma.ctaGroup == 2 && mma.m == 128) return static_cast<int>(cta * 64 + lane % 64);
  return static_cast<int>(cta * 128 + lane);
}

struct Layout {
  const char* name;
  uint32_t ctaGroup, m, baseLane;
};
class Accumulators : public testing::TestWithParam<Layout> {
 protected:
  SingleMma mma(const Kind& kind, uint32_t n) const {
    const Layout& layout = GetParam();
    return {.kind = &kind,
            .ctaGroup = layout.ctaGroup,
            .m = layout.m,
            .n = n,
            .accumulator = kind.accumulators.front(),
            .baseLane = layout.baseLane};
  }
  bool allows(const Kind& kind) const { return !kind.blockScaled || GetParam().ctaGroup == 2 || GetParam().m == 128; }
};

TEST_P(Accumulators, WithAInSharedMemory) {
  for (const Kind* kind : kKinds) {
    if (!allows(*kind)) continue;
    for (const uint32_t n : {32u, 96u, 256u}) {
      SingleMma one = mma(*kind, n);
      expectProducts(one);
      one.accumulator = kind->accumulators.back();
      expectProducts(one);
    }
  }
}

TEST_P(Accumulators, WithAInTensorMemory) {
  for (const Kind* kind : kKinds) {
    if (!allows(*kind)) continue;
    for (const uint32_t n : {32u, 160u}) {
      SingleMma one = mma(*kind, n);
      one.aLane = [one](uint32_t cta, uint32_t lane) { return rowOfLane(one, cta, lane); };
      expectProducts(one);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Accumulators,
                         testing::Values(Layout{"D_group1_m128", 1, 128, 0}, Layout{"F_group1_m64", 1, 64, 0},
                                         Layout{"F_group1_m64_upper_runs", 1, 64, 16}, Layout{"A_group2_m256", 2, 256, 0},
                                         Layout{"B_group2_m128", 2, 128, 0}),
                         [](const auto& info) { return info.param.name; });

/// Only layout F may start at lane 16, and nothing may start elsewhere.
TEST(AccumulatorLanes, OtherBasesAreRefused) {
  const struct {
    uint32_t ctaGroup, m, lane;
    const char* rule;
  } cases[] = {{1, 128, 16, "lane must be 0"},
               {1, 64, 8, "0 or 16"},
               {1, 64, 32, "0 or 16"},
               {2, 256, 16, "lane must be 0"},
               {2, 128, 64, "lane must be 0"}};
  for (const auto& one : cases) {
    Emulator machine;
    try {
      SingleMma{.ctaGroup = one.ctaGroup, .m = one.m, .n = 32, .baseLane = one.lane}.run(machine);
      ADD_FAILURE() << "M = " << one.m << " ran at lane " << one.lane;
    } catch (const EmulatorError& error) {
      EXPECT_NE(std::string(error.what()).find(one.rule), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace shiftconv::tests::layouts
