// Many CTAs: progress between them, memory traffic, atomics, repeatability.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::grid_test {
namespace {

const char* const kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; ld.param.u64 %rd1, [out]; )";

// A CTA waits for the flag of the CTA after it, and then sets its own: the first CTA finishes last.
const std::string kChain = std::string(R"(.global .align 4 .u32 flags[65];)") + kBegin + R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 exit; mov.u32 %r3, %nctaid.x; mov.u64 %rd2, flags; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd2, %rd3;
    add.u32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, %r3; mov.u32 %r5, 1; @%p2 bra SET;
  SPIN: ld.acquire.gpu.global.u32 %r5, [%rd2+4]; setp.eq.u32 %p3, %r5, 0; @%p3 bra SPIN; mad.lo.u32 %r5, %r5, 3, 1;
  SET: st.release.gpu.global.u32 [%rd2], %r5; add.u64 %rd1, %rd1, %rd3; st.global.u32 [%rd1], %r5; ret; })";

TEST(Grid, SpinningOnAFlagOfALaterCtaMakesProgress) {
  for (const unsigned hostThreads : {1u, 2u, 5u})
    for (Options options : schedules(2)) {
      options.hostThreads = hostThreads;
      constexpr uint32_t kCtas = 40;
      const auto out = runWords(kChain, threads(32, kCtas), kCtas, options);
      uint32_t expected = 1;
      for (uint32_t cta = kCtas; cta-- > 0; expected = expected * 3 + 1)
        EXPECT_EQ(out[cta], expected) << nameOf(options) << ", " << hostThreads << " threads";
    }
}

TEST(Grid, TryWaitLoopsThatPollGlobalMemoryAreNoDeadlock) {
  // CTA 0 polls a flag between time-outs of a wait that never succeeds; CTA 1 sets it.
  const std::string ptx = std::string(R"(.global .align 4 .u32 flag; .shared .align 8 .b8 bar[8];)") + kBegin + R"(
    setp.ne.u32 %p1, %r1, 0; @%p1 exit; mov.u64 %rd2, flag; setp.eq.u32 %p2, %r2, 1; @%p2 bra SET;
    mov.u32 %r3, bar; mbarrier.init.shared.b64 [%r3], 1;
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0; ld.volatile.global.u32 %r4, [%rd2]; setp.eq.u32 %p4, %r4, 0; @%p4 bra W;
    st.global.u32 [%rd1], %r4; ret;
  SET: mov.u32 %r5, 0;
  D: add.u32 %r5, %r5, 1; setp.lt.u32 %p5, %r5, 30000; @%p5 bra D; st.volatile.global.u32 [%rd2], %r5; ret; })";
  for (const unsigned hostThreads : {1u, 2u}) {
    Options options;
    options.hostThreads = hostThreads;
    EXPECT_EQ(runWords(ptx, threads(32, 2), 1, options)[0], 30000u);
  }
}

TEST(Grid, RunsOnlyTheClustersAskedFor) {
  const std::string ptx = std::string(kBegin) + R"(
    mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; mov.u32 %r3, 7; st.global.u32 [%rd1], %r3; ret; })";
  LaunchConfig config = threads(1, 12);
  config.cluster = {2, 1, 1};
  const auto untouched = runWords(ptx, threads(1), 12, {})[11];  // what nobody writes
  for (const unsigned hostThreads : {1u, 3u}) {
    Options options;
    options.hostThreads = hostThreads;
    options.clusters = {4, 1};
    const auto out = runWords(ptx, config, 12, options);
    for (uint32_t cta = 0; cta < 12; ++cta) EXPECT_EQ(out[cta], cta / 2 == 4 || cta / 2 == 1 ? 7u : untouched) << cta;
    options.clusters = {6};
    EXPECT_THROW(runWords(ptx, config, 12, options), EmulatorError);
  }
}

TEST(Grid, CtasKnowTheirPlaceInAClusterOfThreeDimensions) {
  const std::string ptx = std::string(kBegin) + R"(
    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.z; mov.u32 %r6, %nctaid.x; mov.u32 %r7, %nctaid.y;
    mad.lo.u32 %r5, %r5, %r7, %r4; mad.lo.u32 %r5, %r5, %r6, %r3; mul.wide.u32 %rd2, %r5, 32; add.u64 %rd1, %rd1, %rd2;
    mov.u32 %r8, %cluster_ctaid.x; mov.u32 %r9, %cluster_ctaid.y; mov.u32 %r10, %cluster_ctaid.z; mov.u32 %r11, %cluster_ctarank;
    mov.u32 %r12, %cluster_nctaid.x; mov.u32 %r13, %cluster_nctaid.y; mov.u32 %r14, %cluster_nctaid.z; mov.u32 %r15, %cluster_nctarank;
    st.global.v4.u32 [%rd1], {%r8, %r9, %r10, %r11}; st.global.v4.u32 [%rd1+16], {%r12, %r13, %r14, %r15}; ret; })";
  LaunchConfig config = threads(1);
  config.grid = {4, 3, 4};
  config.cluster = {2, 1, 4};
  const auto out = runWords(ptx, config, 48 * 8);
  for (uint32_t z = 0; z < 4; ++z)
    for (uint32_t y = 0; y < 3; ++y)
      for (uint32_t x = 0; x < 4; ++x) {
        const std::vector<uint32_t> seen(out.begin() + 8 * (12 * z + 4 * y + x), out.begin() + 8 * (12 * z + 4 * y + x) + 8);
        EXPECT_EQ(seen, (std::vector<uint32_t>{x % 2, 0, z, 2 * z + x % 2, 2, 1, 4, 8})) << x << "," << y << "," << z;
      }
  config.grid = {3, 6, 1};
  config.cluster = {1, 3, 1};
  const auto tall = runWords(ptx, config, 18 * 8);
  for (uint32_t y = 0; y < 6; ++y) EXPECT_EQ(tall[8 * (3 * y) + 1], y % 3) << y;
}

TEST(Grid, AtomicsOfAllCtasAddUp) {
  const std::string ptx = std::string(kBegin) + R"(
    atom.global.add.u32 %r3, [%rd1], 1; atom.global.max.u32 %r4, [%rd1+4], %r2; red.global.add.u32 [%rd1+8], %r1;
    mul.wide.u32 %rd2, %r3, 4; add.u64 %rd2, %rd1, %rd2; atom.global.add.u32 %r5, [%rd2+12], 1; ret; })";
  emulator::Emulator device;
  const auto module = device.load(kHeader + ptx, "atomics");
  constexpr uint32_t kCtas = 50, kThreads = 96;
  std::vector<uint32_t> zeros(3 + kCtas * kThreads, 0);
  const DeviceWords out(device, zeros);
  const void* arguments[] = {out.argument()};
  Options options;
  options.hostThreads = 4;
  device.launch(*module, "k", threads(kThreads, kCtas), arguments, options);
  const auto values = out.read();
  EXPECT_EQ(values[0], kCtas * kThreads);
  EXPECT_EQ(values[1], kCtas - 1);
  EXPECT_EQ(values[2], kCtas * kThreads * (kThreads - 1) / 2);
  for (size_t i = 3; i < values.size(); ++i) ASSERT_EQ(values[i], 1u) << "every ticket is drawn once";
}

TEST(Grid, CountersDoNotDependOnHostThreads) {
  const std::string ptx = std::string(R"(.shared .align 4 .b8 s[1024];)") + kBegin + R"(
    mov.u32 %r3, s; mad.lo.u32 %r3, %r1, 4, %r3; st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r4, [%r3];
    mad.lo.u32 %r5, %r2, 64, %r1; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r4;
    setp.lt.u32 %p1, %r1, 8; @%p1 ld.global.u32 %r6, [%rd1]; ret; })";
  std::vector<LaunchReport> reports(2);
  for (unsigned i = 0; i < 2; ++i) {
    Options options;
    options.hostThreads = 1 + 3 * i;
    runWords(ptx, threads(64, 20), 20 * 64, options, &reports[i]);
  }
  using emulator::Engine;
  using emulator::Traffic;
  for (const LaunchReport& report : reports) {
    const auto& counters = report.counters;
    const auto& bytes = counters.bytes[static_cast<size_t>(Engine::Threads)];
    EXPECT_EQ(counters.ctas, 20u);
    EXPECT_EQ(bytes[static_cast<size_t>(Traffic::SharedWrite)], 20u * 64 * 4);
    EXPECT_EQ(bytes[static_cast<size_t>(Traffic::SharedRead)], 20u * 64 * 4);
    EXPECT_EQ(bytes[static_cast<size_t>(Traffic::GlobalWrite)], 20u * 64 * 4);
    EXPECT_EQ(bytes[static_cast<size_t>(Traffic::GlobalRead)], 20u * 8 * 4);
    // 15 instructions in each of the two warps; the guarded load runs 8 lanes of warp 0. Waiting counts once.
    EXPECT_EQ(counters.warpInstructions, (std::vector<uint64_t>{20 * 15, 20 * 15}));
    EXPECT_EQ(counters.threadInstructions, (std::vector<uint64_t>{20 * (14 * 32 + 8), 20 * 14 * 32}));
  }
}

TEST(Grid, RandomSchedulesRepeatWithTheirSeed) {
  // Warps of a CTA draw tickets from shared memory: the order is a matter of the schedule, and must be the same for
  // the same seed whatever the number of host threads.
  const std::string ptx = std::string(R"(.shared .align 4 .b8 ticket[4];)") + kBegin + R"(
    mov.u32 %r3, ticket; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r3], 0; bar.sync 0; mov.u32 %r6, 0;
  L: atom.shared.add.u32 %r4, [%r3], 1; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 50; @%p2 bra L;
    mad.lo.u32 %r5, %r2, 256, %r1; mul.wide.u32 %rd2, %r5, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r4; ret; })";
  const auto run = [&](uint64_t seed, unsigned hostThreads) {
    Options options = withPolicy(SchedulePolicy::Random, seed);
    options.hostThreads = hostThreads;
    return runWords(ptx, threads(256, 6), 6 * 256, options);
  };
  EXPECT_EQ(run(1, 1), run(1, 3));
  EXPECT_NE(run(1, 1), run(2, 1)) << "seeds make no difference";
}

}  // namespace
}  // namespace shiftconv::tests::grid_test
