// Hazards in global memory: never-written bytes, accesses of different clusters of a launch, and what orders them. Accesses of many
// lanes: global_lanes_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/hazards/global_case.hpp"

namespace shiftconv::tests::global_test {
namespace {

/// CTA 0 writes word 16 of in and raises the flag in word 0; CTA 1 waits for it and reads.
std::string handshake(const std::string& raise, const std::string& look,
                      const std::string& data = "ld.global.u32 %r8, [%rd0+64];") {
  return R"(
  @!%p0 bra END;
  @!%p1 bra SPIN;
  st.global.u32 [%rd0+64], 5;
)" + raise +
         R"(
  bra END;
SPIN:
)" + look +
         R"(
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra SPIN;
)" + data +
         "\nEND:\n";
}

/// CTA 1 loads 16 bytes of in after the handshake.
std::string loadBehind(const std::string& raise, const std::string& look) {
  return kInitBar + handshake(raise, look, R"(
  mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r5], 16;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r4], [%rd0+64], 16, [%r5];
)" + kWaitForBar + "  ld.shared.u32 %r8, [%r4];");
}

/// CTA 0 stores 16 bytes from shared memory to in by a bulk copy, then raises the flag; CTA 1 reads.
std::string storeBefore(const std::string& wait) {
  return R"(
  @!%p0 bra END;
  @!%p1 bra SPIN;
  st.shared.v4.u32 [%r4], {1, 2, 3, 4};
  fence.proxy.async;
  cp.async.bulk.global.shared::cta.bulk_group [%rd0+64], [%r4], 16;
  cp.async.bulk.commit_group;
)" + wait +
         R"(
  st.release.gpu.global.u32 [%rd0], 1;
  bra END;
SPIN:
  ld.acquire.gpu.global.u32 %r7, [%rd0];
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra SPIN;
  ld.global.u32 %r8, [%rd0+64];
END:
)";
}

/// Thread 0 stores 16 bytes by a bulk copy and reads them back.
std::string storeThenRead(const std::string& wait, const std::string& read) {
  return kInitBar + R"(
  @!%p0 bra END;
  st.shared.v4.u32 [%r4], {1, 2, 3, 4};
  fence.proxy.async;
  cp.async.bulk.global.shared::cta.bulk_group [%rd0+64], [%r4], 16;
  cp.async.bulk.commit_group;
)" + wait +
         read + "  cp.async.bulk.wait_group.read 0;\nEND:\n";
}

const std::string kLoadBack = R"(
  mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r5], 16;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r4+64], [%rd0+64], 16, [%r5];
)" + kWaitForBar + "  ld.shared.u32 %r8, [%r4+64];\n";

std::vector<GlobalCase> cases() {
  const std::string release = "  st.release.gpu.global.u32 [%rd0], 1;", acquire = "  ld.acquire.gpu.global.u32 %r7, [%rd0];";
  const std::string anotherCluster = "they belong to different clusters";
  const LaunchConfig pair = threads(32, 2), one = threads(64);
  std::vector<GlobalCase> all;
  // Never-written bytes.
  all.push_back({"reads_what_the_host_wrote", threads(64, 4), "  ld.global.u32 %r8, [%rd2];\n  st.global.u32 [%rd3], %r8;\n"});
  all.push_back({"reads_its_own_write", threads(64, 4), "  st.global.u32 [%rd3], %r0;\n  ld.global.u32 %r8, [%rd3];\n"});
  all.push_back({"reads_never_written", one, "  ld.global.u32 %r8, [%rd3];\n", HazardKind::UndefinedData, "", "ld.global.u32",
                 "nothing has written"});
  all.push_back({"reads_half_written_vector", threads(32), R"(
  @!%p0 bra END;
  st.global.v2.u32 [%rd1], {1, 2};
  ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd1];
END:
)",
                 HazardKind::UndefinedData, "", "ld.global.v4", "nothing has written"});
  all.push_back({"broadcast_of_never_written", one, "  ld.global.u32 %r8, [%rd1];\n", HazardKind::UndefinedData, "",
                 "ld.global.u32", "nothing has written"});
  all.push_back({"adds_to_never_written", threads(32), "  red.global.add.u32 [%rd1], 1;\n", HazardKind::UndefinedData, "",
                 "red.global.add", "nothing has written"});
  // Threads of one CTA.
  all.push_back({"barrier_between", one, R"(
  st.global.u32 [%rd2], %r0;
  bar.sync 0;
  xor.b32 %r6, %r0, 32;
  mul.wide.u32 %rd5, %r6, 4;
  add.u64 %rd5, %rd0, %rd5;
  ld.global.u32 %r8, [%rd5];
)"});
  all.push_back({"no_barrier_between", one, R"(
  st.global.u32 [%rd2], %r0;
  xor.b32 %r6, %r0, 32;
  mul.wide.u32 %rd5, %r6, 4;
  add.u64 %rd5, %rd0, %rd5;
  setp.lt.u32 %p2, %r0, 32;
  @!%p2 ld.global.u32 %r8, [%rd5];
)",
                 HazardKind::Race, "st.global.u32 [%rd2]", "ld.global.u32 %r8", "nothing orders the two"});
  // The first word is the lane's own.
  const std::string walk = R"(
  mov.u32 %r6, 0; @!%p0 bra END;
WALK:
  ld.global.u32 %r8, [%rd2];
  add.u64 %rd2, %rd2, 4; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 8; @%p2 bra WALK;
END:
)";
  all.push_back({"walks_along_what_lanes_wrote", threads(32), "  st.global.u32 [%rd2], %r0;\n" + walk, HazardKind::Race,
                 "st.global.u32 [%rd2]", "ld.global.u32 %r8", "nothing orders the two"});
  all.push_back({"walks_behind_a_warp_barrier", threads(32), "  st.global.u32 [%rd2], %r0;\n  bar.warp.sync -1;\n" + walk});
  // Clusters of one launch.
  all.push_back({"disjoint_words", threads(64, 8), "  st.global.u32 [%rd3], %r0;\n"});
  all.push_back(
      {"disjoint_bytes", threads(64, 8), "  cvt.u64.u32 %rd5, %r2;\n  add.u64 %rd5, %rd1, %rd5;\n  st.global.u8 [%rd5], %r0;\n"});
  all.push_back({"same_word", pair, "  @%p0 st.global.u32 [%rd1], %r1;\n", HazardKind::Race, "st.global.u32 [%rd1]",
                 "st.global.u32 [%rd1]", anotherCluster});
  all.push_back({"histogram", threads(64, 8), R"(
  and.b32 %r6, %r2, 15;
  mul.wide.u32 %rd5, %r6, 4;
  add.u64 %rd5, %rd0, %rd5;
  red.global.add.u32 [%rd5], 1;
)"});
  all.push_back({"histogram_at_cta_scope", pair, "  @%p0 red.relaxed.cta.global.add.u32 [%rd0], 1;\n", HazardKind::Race,
                 "red.relaxed.cta", "red.relaxed.cta", anotherCluster});
  all.push_back({"histogram_read_without_atomics", pair,
                 "  @%p0 red.global.add.u32 [%rd0], 1;\n  @%p0 ld.global.u32 %r8, [%rd0];\n", HazardKind::Race, "red.global.add",
                 "", anotherCluster});
  all.push_back({"release_and_acquire", pair, handshake(release, acquire)});
  all.push_back({"relaxed_flag", pair, handshake("  st.relaxed.gpu.global.u32 [%rd0], 1;", acquire), HazardKind::Race,
                 "st.global.u32 [%rd0+64], 5", "ld.global.u32 %r8", anotherCluster});
  all.push_back({"relaxed_look", pair, handshake(release, "  ld.relaxed.gpu.global.u32 %r7, [%rd0];"), HazardKind::Race,
                 "st.global.u32 [%rd0+64], 5", "ld.global.u32 %r8", anotherCluster});
  all.push_back({"narrow_release", pair, handshake("  st.release.cta.global.u32 [%rd0], 1;", acquire), HazardKind::Race, "st.",
                 "ld.", anotherCluster});
  all.push_back({"fences_around_volatile", pair,
                 handshake("  membar.gl;\n  st.volatile.global.u32 [%rd0], 1;", "  ld.volatile.global.u32 %r7, [%rd0];",
                           "  fence.acq_rel.gpu;\n  ld.global.u32 %r8, [%rd0+64];")});
  all.push_back({"narrow_fence", pair,
                 handshake("  membar.cta;\n  st.volatile.global.u32 [%rd0], 1;", "  ld.volatile.global.u32 %r7, [%rd0];",
                           "  fence.acq_rel.gpu;\n  ld.global.u32 %r8, [%rd0+64];"),
                 HazardKind::Race, "st.global.u32 [%rd0+64], 5", "ld.global.u32 %r8", anotherCluster});
  all.push_back({"weak_flag", pair, handshake("  membar.gl;\n  st.global.u32 [%rd0], 1;", acquire), HazardKind::Race,
                 "st.global.u32 [%rd0]", "ld.acquire.gpu", anotherCluster});
  all.push_back(
      {"atomic_flag", pair,
       handshake("  atom.add.release.gpu.global.u32 %r9, [%rd0], 1;", "  atom.or.acquire.gpu.global.b32 %r7, [%rd0], 0;")});
  // All threads of a CTA write, one of them tells everybody; the others hear of it through a barrier.
  const std::string gridBarrier = R"(
  st.global.u32 [%rd2+64], %r0;
  bar.sync 0;
  @!%p0 bra TOLD;
  fence.acq_rel.gpu;
  red.relaxed.gpu.global.add.u32 [%rd0], 1;
SPIN:
  ld.relaxed.gpu.global.u32 %r7, [%rd0];
  setp.lt.u32 %p2, %r7, 4;
  @%p2 bra SPIN;
  fence.acq_rel.gpu;
TOLD:
  bar.sync 0;
  xor.b32 %r6, %r2, 127;
  mul.wide.u32 %rd5, %r6, 4;
  add.u64 %rd5, %rd0, %rd5;
  ld.global.u32 %r8, [%rd5+64];
)";
  all.push_back({"grid_barrier", threads(32, 4), gridBarrier});
  std::string unfenced = gridBarrier;
  unfenced.replace(unfenced.find("fence.acq_rel.gpu;"), 18, "");
  all.push_back({"grid_barrier_without_release", threads(32, 4), unfenced, HazardKind::Race, "st.global.u32 [%rd2+64]",
                 "ld.global.u32 %r8", anotherCluster});
  // Bulk copies.
  all.push_back({"load_behind_proxy_fence", pair, loadBehind("  fence.proxy.async;\n" + release, acquire)});
  all.push_back({"load_without_proxy_fence", pair, loadBehind(release, acquire), HazardKind::ProxyFence,
                 "st.global.u32 [%rd0+64], 5", "cp.async.bulk", "fence.proxy.async"});
  all.push_back({"store_awaited", pair, storeBefore("  cp.async.bulk.wait_group 0;")});
  all.push_back({"store_not_awaited", pair, storeBefore("  cp.async.bulk.wait_group.read 0;"), HazardKind::Race,
                 "cp.async.bulk.global", "ld.global.u32", "cp.async.bulk.wait_group"});
  all.push_back({"store_then_load", threads(32), storeThenRead("  cp.async.bulk.wait_group 0;\n", kLoadBack)});
  all.push_back({"store_then_load_at_once", threads(32), storeThenRead("", kLoadBack), HazardKind::Race, "cp.async.bulk",
                 "cp.async.bulk", "cp.async.bulk.wait_group"});
  all.push_back(
      {"store_then_read", threads(32), storeThenRead("  cp.async.bulk.wait_group 0;\n", "  ld.global.u32 %r8, [%rd0+64];\n")});
  all.push_back({"bulk_reductions_of_all", threads(32, 4), R"(
  @!%p0 bra END;
  st.shared.v4.u32 [%r4], {1, 2, 3, 4};
  fence.proxy.async;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r4], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
)"});
  all.push_back({"bulk_stores_of_all", pair, R"(
  @!%p0 bra END;
  st.shared.v4.u32 [%r4], {1, 2, 3, 4};
  fence.proxy.async;
  cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r4], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
)",
                 HazardKind::Race, "cp.async.bulk", "cp.async.bulk", anotherCluster});
  return all;
}

/// A race may be seen from either end; every other kind has a direction.
bool isExpected(const Hazard& hazard, const GlobalCase& one) {
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  const auto joins = [&](const emulator::HazardAccess& a, const emulator::HazardAccess& b) {
    return has(a.where, one.first) && has(b.where, one.second);
  };
  return hazard.kind == one.kind && has(hazard.missing, one.missing) &&
         (joins(hazard.first, hazard.second) || (one.kind == HazardKind::Race && joins(hazard.second, hazard.first)));
}

TEST(GlobalHazards, CorrectKernelsHaveNoneAndBrokenOnesTheExpectedOne) {
  for (const GlobalCase& one : cases())
    for (const Options& options : schedules(2)) {
      SCOPED_TRACE(one.name + ", " + nameOf(options));
      const std::vector<Hazard> hazards = hazardsOf(one, options);
      if (one.kind == kNone) {
        EXPECT_TRUE(hazards.empty()) << list(hazards);
        continue;
      }
      EXPECT_TRUE(std::any_of(hazards.begin(), hazards.end(), [&](const Hazard& hazard) { return isExpected(hazard, one); }))
          << list(hazards);
      for (const Hazard& hazard : hazards) EXPECT_EQ(hazard.kind, one.kind) << list(hazards);
    }
}

/// Thread 0 copies 32 bytes of out, of which it wrote the first 16, and reads the word of the copy at `offset`.
GlobalCase copyOfHalfWritten(const std::string& copy, uint32_t offset) {
  return {"copy", threads(32),
          kInitBar + R"(
  @!%p0 bra END;
  st.global.v4.u32 [%rd1], {1, 2, 3, 4};
  fence.proxy.async;
)" + copy + "  ld.shared.u32 %r8, [%r4+" +
              std::to_string(offset) + "];\n  st.global.u32 [%rd0+128], %r8;\nEND:\n"};
}

const std::string kBulkCopy = R"(
  mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r5], 32;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 32, [%r5];
)" + kWaitForBar;
const std::string kLaneCopies = R"(
  cp.async.cg.shared.global [%r4], [%rd1], 16;
  cp.async.cg.shared.global [%r4+16], [%rd1+16], 16;
  cp.async.wait_all;
)";

TEST(GlobalHazards, CopiesOfNeverWrittenBytesAreUndefinedWhereTheyGo) {
  for (const std::string& copy : {kBulkCopy, kLaneCopies})
    for (const Options& options : schedules(1)) {
      SCOPED_TRACE(copy + nameOf(options));
      const std::vector<Hazard> hazards = hazardsOf(copyOfHalfWritten(copy, 12), options);
      EXPECT_TRUE(hazards.empty()) << list(hazards);
      const std::vector<Hazard> used = hazardsOf(copyOfHalfWritten(copy, 16), options);
      ASSERT_EQ(used.size(), 1u) << list(used);
      EXPECT_EQ(used[0].kind, HazardKind::UndefinedData);
      EXPECT_CONTAINS(used[0].first.what, "copy of global memory bytes");
      EXPECT_CONTAINS(used[0].first.what, "of the 4096-byte allocation");
      EXPECT_CONTAINS(used[0].second.where, "st.global.u32 [%rd0+128], %r8");
      EXPECT_CONTAINS(used[0].missing, "of global memory");
    }
}

/// Writes through plain pointers show in what the memory holds; those of poison must be announced.
TEST(GlobalHazards, WhatTheHostWroteByPointerCountsAsWritten) {
  Emulator device;
  const auto module = device.load(kHeader + kBegin + "  ld.global.u32 %r8, [%rd3];\n  ret;\n}\n", "test");
  const DeviceWords in(device, 32), out(device, 32);
  const void* arguments[] = {in.argument(), out.argument()};
  Options options;
  options.hazards = HazardMode::Warn;
  const auto count = [&] { return device.launch(*module, "k", threads(32), arguments, options).hazards.size(); };
  EXPECT_EQ(count(), 1u);
  std::memset(reinterpret_cast<void*>(out.address()), 0, 64);
  EXPECT_EQ(count(), 1u) << "half of it is still poison";
  std::memset(reinterpret_cast<void*>(out.address()), 0, 128);
  EXPECT_EQ(count(), 0u);
  const DeviceWords poisoned(device, 32);
  arguments[1] = poisoned.argument();
  EXPECT_EQ(count(), 1u);
  device.memory().markWritten(poisoned.address(), 128);
  EXPECT_EQ(count(), 0u);
}

TEST(GlobalHazards, TheReportNamesBothCtasAndTheBytes) {
  GlobalCase one;
  one.config = threads(32, 2);
  one.body = "  @%p0 st.global.u32 [%rd1+8], %r1;\n";
  Options options;
  options.hostThreads = 1;
  options.warpRoles = {"epilogue"};
  const std::vector<Hazard> hazards = hazardsOf(one, options);
  ASSERT_EQ(hazards.size(), 1u) << list(hazards);
  EXPECT_CONTAINS(hazards[0].first.what, "(bytes 8..11 of the 4096-byte allocation at 0x");
  EXPECT_EQ(hazards[0].first.thread, "CTA (0,0,0), warp 0 (epilogue), lane 0");
  EXPECT_EQ(hazards[0].second.thread, "CTA (1,0,0), warp 0 (epilogue), lane 0");
  EXPECT_EQ(hazards[0].first.kernel, "k");
}

}  // namespace
}  // namespace shiftconv::tests::global_test
