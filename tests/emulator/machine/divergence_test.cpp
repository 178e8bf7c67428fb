// Lanes with their own program counters: results per thread never depend on what other lanes do, lanes come together
// again, and nobody starves.
#include <gtest/gtest.h>

#include "tests/emulator/machine/random_program.hpp"
#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests {
namespace {

TEST(Divergence, RandomProgramsGiveEveryThreadItsOwnResult) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomProgram program(seed);
    const std::string ptx = program.ptx();
    constexpr uint32_t kThreads = 77;  // the last warp is partial
    const auto out = runWords(ptx, threads(kThreads), kThreads + 3, withPolicy(SchedulePolicy::Random, seed));
    for (uint32_t thread = 0; thread < kThreads; ++thread)
      ASSERT_EQ(out[thread], program.run(thread)) << "thread " << thread << ", seed " << seed << "\n" << ptx;
    for (size_t i = kThreads; i < out.size(); ++i) ASSERT_EQ(out[i], kPoisonWord);
  }
}

// Stores %r9 of every thread to out[tid].
const char* const kStoreR9 = R"(
  ld.param.u64 %rd1, [out]; mov.u32 %r8, %tid.x; mul.wide.u32 %rd2, %r8, 4; add.u64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r9; ret; })";
const char* const kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
  mov.u32 %r1, %tid.x; )";

TEST(Divergence, LanesComeTogetherBehindNestedBranches) {
  // Both sides of both branches meet at J; %r9 is the active mask there.
  const auto out = runWords(std::string(kBegin) + R"(
    and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra A;
    and.b32 %r2, %r1, 2; setp.eq.u32 %p1, %r2, 0; @%p1 bra B;
    mov.u32 %r3, 1; bra J;
  B: mov.u32 %r3, 2; bra J;
  A: mov.u32 %r3, 3;
  J: activemask.b32 %r9;)" + kStoreR9,
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 0xffffffffu) << lane;
}

TEST(Divergence, LoopsWithDifferentTripCountsEndTogether) {
  const auto out = runWords(std::string(kBegin) + R"(
    mov.u32 %r2, 0;
  L: setp.ge.u32 %p1, %r2, %r1; @%p1 bra E; add.u32 %r2, %r2, 1; bra L;
  E: activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r9, %r3, 1000, %r2;)" +
                                kStoreR9,
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 32000 + lane);
}

TEST(Divergence, ExitedLanesAreNotWaitedFor) {
  // Odd lanes leave; the others exchange values under the full mask.
  const auto out = runWords(std::string(kBegin) + R"(
    and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; @%p1 exit;
    bar.warp.sync 0xffffffff;
    vote.sync.ballot.b32 %r9, 1, 0xffffffff;)" +
                                kStoreR9,
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane % 2 == 0 ? 0x55555555u : kPoisonWord) << lane;
}

TEST(Divergence, HalvesOfAWarpShuffleUnderTheirOwnMasks) {
  // The lower half takes the value of its neighbour; the upper half reverses, at another instruction.
  const auto out = runWords(std::string(kBegin) + R"(
    add.u32 %r2, %r1, 100; setp.ge.u32 %p1, %r1, 16; @%p1 bra H;
    xor.b32 %r3, %r1, 1; shfl.sync.idx.b32 %r9, %r2, %r3, 31, 0x0000ffff; bra J;
  H: sub.u32 %r3, 47, %r1; shfl.sync.idx.b32 %r9, %r2, %r3, 31, 0xffff0000;
  J: )" + std::string(kStoreR9),
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 100 + (lane < 16 ? lane ^ 1 : 47 - lane)) << lane;
}

TEST(Divergence, OneInstructionWithDifferentMasksPerLane) {
  // All lanes execute the same vote, but the two halves bring their own member masks.
  const auto out = runWords(std::string(kBegin) + R"(
    setp.ge.u32 %p1, %r1, 16; selp.b32 %r2, 0xffff0000, 0x0000ffff, %p1;
    and.b32 %r3, %r1, 3; setp.eq.u32 %p2, %r3, 0;
    vote.sync.ballot.b32 %r9, %p2, %r2;)" +
                                std::string(kStoreR9),
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], lane < 16 ? 0x00001111u : 0x11110000u) << lane;
}

TEST(Divergence, SyncInstructionsWaitForLanesThatComeLater) {
  // Lane 5 reaches the vote after a long detour, at a higher program counter first.
  const auto out = runWords(std::string(kBegin) + R"(
    setp.eq.u32 %p1, %r1, 5; @%p1 bra DETOUR;
  V: vote.sync.ballot.b32 %r9, 1, 0xffffffff; bra S;
  DETOUR: mov.u32 %r2, 0;
  D: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 500; @%p2 bra D; bra V;
  S: )" + std::string(kStoreR9),
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 0xffffffffu) << lane;
}

TEST(Divergence, WarpBarrierJoinsLanesFromDifferentPlaces) {
  // Both sides of the branch have a bar.warp.sync of their own with the same mask. Lane values written before it are
  // visible after it.
  const auto out = runWords(R"(.shared .align 4 .b8 s[128];)" + std::string(kBegin) + R"(
    mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;
    mov.u32 %r6, s; sub.u32 %r4, 31, %r1; shl.b32 %r4, %r4, 2; add.u32 %r6, %r6, %r4;
    mul.lo.u32 %r5, %r1, 3; st.shared.u32 [%r2], %r5;
    setp.ge.u32 %p1, %r1, 16; @%p1 bra H;
    bar.warp.sync 0xffffffff; ld.shared.u32 %r9, [%r6]; bra J;
  H: bar.warp.sync 0xffffffff; ld.shared.u32 %r9, [%r6]; add.u32 %r9, %r9, 1000;
  J: )" + kStoreR9,
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], (31 - lane) * 3 + (lane < 16 ? 0 : 1000)) << lane;
}

TEST(Divergence, LanesReleasedByAWarpBarrierMeetAtOnce) {
  // The halves wait at barriers of their own; after the join all lanes run together again.
  const auto out = runWords(std::string(kBegin) + R"(
    setp.ge.u32 %p1, %r1, 16; @%p1 bra H;
    bar.warp.sync 0xffffffff; bra J;
  H: bar.warp.sync 0xffffffff;
  J: activemask.b32 %r9;)" + std::string(kStoreR9),
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 0xffffffffu) << lane;
}

TEST(Divergence, ArrivalsWithAnotherMaskDoNotCount) {
  // The upper half waits for itself only; the lower one, which waits for the whole warp, is left alone and never released.
  try {
    runWords(std::string(kBegin) + R"(
    setp.ge.u32 %p1, %r1, 16; @%p1 bra H;
    bar.warp.sync 0xffffffff; bra J;
  H: bar.warp.sync 0xffff0000;
  J: bar.sync 0; mov.u32 %r9, 1;)" +
                 std::string(kStoreR9),
             threads(32), 32);
    ADD_FAILURE() << "no error";
  } catch (const EmulatorError& error) {
    EXPECT_CONTAINS(error.what(), "wait at a warp barrier of lanes");
  }
}

TEST(Divergence, ASpinningLaneDoesNotStarveItsWarpMates) {
  // Lane 0 spins at a lower program counter on a word that lane 1 writes after the loop.
  const auto out = runWords(R"(.shared .align 4 .b8 flag[4];)" + std::string(kBegin) + R"(
    mov.u32 %r2, flag; mov.u32 %r3, 0; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r2], %r3; bar.warp.sync 0xffffffff;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra W;
  L: ld.volatile.shared.u32 %r9, [%r2]; setp.eq.u32 %p2, %r9, 0; @%p2 bra L; bra S;
  W: mov.u32 %r9, 7; setp.eq.u32 %p1, %r1, 1; @%p1 st.volatile.shared.u32 [%r2], 42;
  S: )" + kStoreR9,
                            threads(32), 32);
  EXPECT_EQ(out[0], 42u);
  for (uint32_t lane = 1; lane < 32; ++lane) EXPECT_EQ(out[lane], 7u) << lane;
}

TEST(Divergence, TableBranchesScatterLanes) {
  const auto out = runWords(std::string(kBegin) + R"(
    and.b32 %r2, %r1, 3;
    T: .branchtargets A, B, C, D;
    brx.idx %r2, T;
  A: mov.u32 %r9, 10; bra J;
  B: mov.u32 %r9, 20; bra J;
  C: mov.u32 %r9, 30; bra J;
  D: mov.u32 %r9, 40;
  J: )" + std::string(kStoreR9),
                            threads(32), 32);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 10 + 10 * (lane & 3)) << lane;
}

TEST(Divergence, AlignedInstructionsWaitForTheWarp) {
  // Lane 0 is late at the aligned barrier although it is at a lower place: the others run ahead while it sleeps.
  const auto out = runWords(R"(.shared .align 8 .b8 bar[8];)" + std::string(kBegin) + R"(
    mov.u32 %r2, bar; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r2], 1; bar.sync 0;
    setp.ge.u32 %p2, %r1, 32; @%p2 bra OTHER;
    @!%p1 bra JOIN;
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0; @!%p3 bra W;
  JOIN: bar.sync 1, 64; mov.u32 %r9, 5; bra S;
  OTHER: setp.eq.u32 %p3, %r1, 40; @%p3 mbarrier.arrive.shared.b64 _, [%r2]; bar.sync 1, 64; mov.u32 %r9, 6;
  S: )" + kStoreR9,
                            threads(64), 64);
  for (uint32_t lane = 0; lane < 64; ++lane) EXPECT_EQ(out[lane], lane < 32 ? 5u : 6u) << lane;
}

}  // namespace
}  // namespace shiftconv::tests
