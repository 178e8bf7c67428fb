// Launch configurations and arguments that do not fit are refused with the limit they break.
#include <gtest/gtest.h>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests {
namespace {

class Launch : public ::testing::Test {
 protected:
  std::string refusal(const std::string& directives, const LaunchConfig& config, const std::string& body = "",
                      const std::string& variables = "") {
    const EmulatorError error =
        errorOf(variables + ".visible .entry k(.param .u64 out) " + directives + " { .reg .b32 %r<4>; " + body + " ret; }", config);
    EXPECT_EQ(error.kind(), ErrorKind::Launch) << error.what();
    return error.what();
  }
};

TEST_F(Launch, BlocksAndGrids) {
  EXPECT_CONTAINS(refusal("", threads(1025)), "the block (1025,1,1) has 1025 threads; the limits are 1024 threads");
  LaunchConfig config = threads(1);
  config.block = {1, 1, 65};
  EXPECT_CONTAINS(refusal("", config), "64 along x, y and z");
  config = threads(32);
  config.grid = {1, 65536, 1};
  EXPECT_CONTAINS(refusal("", config), "65535");
  EXPECT_CONTAINS(refusal("", threads(0)), "empty");
  EXPECT_CONTAINS(refusal("", threads(32, 0)), "empty");
}

TEST_F(Launch, Directives) {
  EXPECT_CONTAINS(refusal(".reqntid 128", threads(64)), "the block is (64,1,1), but .reqntid demands (128,1,1)");
  EXPECT_CONTAINS(refusal(".maxntid 64", threads(96)), "the block has 96 threads, but .maxntid allows 64");
  EXPECT_CONTAINS(refusal(".reqnctapercluster 2", threads(32, 4, 4)),
                  "the cluster is (4,1,1), but .reqnctapercluster demands (2,1,1)");
}

TEST_F(Launch, Clusters) {
  EXPECT_CONTAINS(refusal("", threads(32, 6, 4)), "the cluster (4,1,1) does not divide the grid (6,1,1)");
  EXPECT_CONTAINS(refusal("", threads(32, 32, 32)), "32 CTAs; the limit is 16");
  EXPECT_CONTAINS(refusal(".reqnctapercluster 2", threads(32, 3)), "does not divide");
}

TEST_F(Launch, SharedMemory) {
  LaunchConfig config = threads(32);
  config.dynamicSharedBytes = 227 * 1024 - 1000;
  EXPECT_CONTAINS(refusal("", config, "mov.u32 %r1, s;", ".shared .align 8 .b8 s[1024];"), "exceed the 232448 bytes of a CTA");
  config.dynamicSharedBytes = 227 * 1024;
  runWords(".visible .entry k(.param .u64 out) { ret; }", config, 1);  // exactly fits
}

TEST_F(Launch, Arguments) {
  emulator::Emulator device;
  const auto module = device.load(kHeader + ".visible .entry k(.param .u64 a, .param .u32 b) { ret; } .func f() { ret; }", "test");
  const uint64_t value = 0;
  const void* one[] = {&value};
  const void* nothing[] = {&value, nullptr};
  const auto launch = [&](std::string_view name, std::span<const void* const> arguments) {
    try {
      device.launch(*module, name, threads(32), arguments, {});
    } catch (const EmulatorError& error) {
      return std::string(error.what());
    }
    return std::string("launched");
  };
  EXPECT_CONTAINS(launch("k", one), "it has 2 parameters, 1 arguments were given");
  EXPECT_CONTAINS(launch("k", nothing), "argument 1 is a null pointer");
  EXPECT_CONTAINS(launch("missing", one), "module test has no kernel missing");
  EXPECT_CONTAINS(launch("f", one), "no kernel f");
}

TEST_F(Launch, SpecialRegistersDescribeTheLaunch) {
  // 3 x 2 grid of clusters of 3 CTAs; block (5, 3, 2); one word of every register, by linear thread of the grid.
  const std::vector<std::string> names = {"%tid.x",
                                          "%tid.y",
                                          "%tid.z",
                                          "%ntid.x",
                                          "%ntid.y",
                                          "%ntid.z",
                                          "%ctaid.x",
                                          "%ctaid.y",
                                          "%nctaid.x",
                                          "%nctaid.y",
                                          "%laneid",
                                          "%warpid",
                                          "%nwarpid",
                                          "%clusterid.x",
                                          "%clusterid.y",
                                          "%nclusterid.x",
                                          "%nclusterid.y",
                                          "%cluster_ctaid.x",
                                          "%cluster_nctaid.x",
                                          "%cluster_ctarank",
                                          "%cluster_nctarank",
                                          "%lanemask_eq",
                                          "%lanemask_lt",
                                          "%lanemask_le",
                                          "%lanemask_gt",
                                          "%lanemask_ge",
                                          "%dynamic_smem_size"};
  std::string body;
  for (size_t i = 0; i < names.size(); ++i)
    body += "mov.u32 %r1, " + names[i] + "; st.global.u32 [%rd1+" + std::to_string(4 * i) + "], %r1;\n";
  const std::string ptx = R"(.visible .entry k(.param .u64 out) { .reg .b32 %r<20>; .reg .b64 %rd<8>;
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mad.lo.u32 %r4, %r3, 3, %r2; mad.lo.u32 %r4, %r4, 5, %r1;
    mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ctaid.y; mad.lo.u32 %r5, %r6, 9, %r5; mad.lo.u32 %r4, %r5, 30, %r4;
    ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r4, )" +
                          std::to_string(4 * names.size()) + "; add.u64 %rd1, %rd1, %rd2;\n" + body + " ret; }";
  LaunchConfig config;
  config.grid = {9, 2, 1};
  config.block = {5, 3, 2};
  config.cluster = {3, 1, 1};
  config.dynamicSharedBytes = 4096;
  const auto out = runWords(ptx, config, 18 * 30 * names.size());
  size_t at = 0;
  for (uint32_t cy = 0; cy < 2; ++cy)
    for (uint32_t cx = 0; cx < 9; ++cx)
      for (uint32_t t = 0; t < 30; ++t) {
        const uint32_t lane = t % 32, bit = 1u << lane;
        const std::vector<uint32_t> expected = {
            t % 5, t / 5 % 3, t / 15, 5,      3, 2,      cx, cy,  9,       2,           lane,           t / 32,     1,   cx / 3,
            cy,    3,         2,      cx % 3, 3, cx % 3, 3,  bit, bit - 1, bit * 2 - 1, ~(bit * 2 - 1), ~(bit - 1), 4096};
        for (size_t i = 0; i < names.size(); ++i)
          ASSERT_EQ(out[at++], expected[i]) << names[i] << ", thread " << t << " of CTA " << cx << "," << cy;
      }
}

}  // namespace
}  // namespace shiftconv::tests
