// Hazards in global memory: never-written bytes, accesses of different clusters of a launch, and what orders them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::global_test {
namespace {

using emulator::Emulator;
using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;

constexpr HazardKind kNone = HazardKind::Count;

/// A kernel with `in` and `out`, 1024 words each, zeros in the first half of `in`; the rest of `in` and all of `out` are never
/// written by the host.
struct GlobalCase {
  std::string name;
  LaunchConfig config;
  std::string body;
  HazardKind kind = kNone;  ///< kNone: nothing must be reported
  std::string first = {};   ///< part of the instruction of the earlier access
  std::string second = {};  ///< and of the later one
  std::string missing = {};
};

/// %r0 = thread, %r1 = CTA, %r2 = index in the grid, %rd0 = in, %rd1 = out, %rd2 and %rd3 = the thread's words of them,
/// %p0 = first thread of the CTA, %p1 = in CTA 0.
const std::string kBegin = R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
  .shared .align 128 .b8 data[4096];
  .shared .align 8 .b64 bar;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r2, %r1, %r3, %r0;
  setp.eq.u32 %p0, %r0, 0;
  setp.eq.u32 %p1, %r1, 0;
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd4, %r2, 4;
  add.u64 %rd2, %rd0, %rd4;
  add.u64 %rd3, %rd1, %rd4;
  mov.u32 %r4, data;
  mov.u32 %r5, bar;
)";

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

const std::string kWaitForBar = R"(
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0;
  @!%p3 bra WAIT;
)";
const std::string kInitBar = "  @%p0 mbarrier.init.shared.b64 [%r5], 1;\n  fence.mbarrier_init.release.cluster;\n  bar.sync 0;\n";

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

std::vector<Hazard> hazardsOf(const GlobalCase& one, Options options) {
  Emulator device;
  const auto module = device.load(kHeader + kBegin + one.body + "  ret;\n}\n", "test");
  const DeviceWords in(device, std::vector<uint32_t>(512, 0)), out(device, 1024);
  const void* arguments[] = {in.argument(), out.argument()};
  options.hazards = HazardMode::Warn;
  return device.launch(*module, "k", one.config, arguments, options).hazards;
}

std::string list(const std::vector<Hazard>& hazards) {
  std::string text = "reported:\n";
  for (const Hazard& hazard : hazards) text += describe(hazard) + "\n";
  return text;
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

// Lines that neighbouring lanes share out take a short way through the checker, others a long one: both see the same.
TEST(GlobalHazards, NeighbouringLanesOfTwoWarpsRaceUnlessABarrierIsBetweenThem) {
  const auto instruction = [](bool writes, uint32_t words, const std::string& address) {
    const std::string vector = words == 1 ? "u32" : "v" + std::to_string(words) + ".u32";
    const std::string registers = words == 1 ? "%r10" : words == 2 ? "{%r10, %r11}" : "{%r10, %r11, %r12, %r13}";
    return writes ? "st.global." + vector + " [" + address + "], " + registers + ";\n"
                  : "ld.global." + vector + " " + registers + ", [" + address + "];\n";
  };
  const std::string begin = R"(
  mov.u32 %r10, 1; mov.u32 %r11, 2; mov.u32 %r12, 3; mov.u32 %r13, 4; and.b32 %r14, %r0, 31; setp.lt.u32 %p4, %r0, 32;
)";
  unsigned races = 0;
  for (const uint32_t first : {1u, 2u, 4u})
    for (const uint32_t second : {1u, 2u, 4u})
      for (const unsigned writes : {1u, 2u, 3u})
        for (const uint32_t offset : {0u, 16u})
          for (const char* between : {"", "bar.sync 0;", "same warp"}) {
            const auto addressOf = [&](uint32_t words) {
              return "mul.wide.u32 %rd8, %r14, " + std::to_string(4 * words) + "; add.u64 %rd8, %rd0, %rd8;\n";
            };
            const std::string address = "%rd8+" + std::to_string(offset);
            const bool sameWarp = between == std::string("same warp");
            const std::string secondWarp = sameWarp ? "@%p4 " : "@!%p4 ";
            const GlobalCase one{"lines", threads(64),
                                 begin + addressOf(first) + "@%p4 " + instruction((writes & 1) != 0, first, address) +
                                     (sameWarp ? "" : between) + "\n" + addressOf(second) + secondWarp +
                                     instruction((writes & 2) != 0, second, address)};
            SCOPED_TRACE(one.body);
            const std::vector<Hazard> hazards = hazardsOf(one, Options{});
            const bool isRace = sameWarp ? first != second : *between == '\0';
            EXPECT_EQ(!hazards.empty(), isRace) << list(hazards);
            for (const Hazard& hazard : hazards) EXPECT_EQ(hazard.kind, HazardKind::Race) << list(hazards);
            races += isRace;
          }
  EXPECT_EQ(races, 54u + 36u);
}

// Words that several lanes read, and sectors that parts of a warp share, take short ways, too: whoever writes one of the words
// races with the other lanes that read it, unless a barrier is between them.
TEST(GlobalHazards, WritesRaceWithEveryLaneThatReadTheWord) {
  unsigned races = 0;
  for (const char* word :
       {"and.b32 %r14, %r0, 15;", "shr.u32 %r14, %r0, 4;", "shr.u32 %r14, %r0, 2;", "and.b32 %r14, %r0, 7;", "mov.u32 %r14, 3;"})
    for (const unsigned ctas : {1u, 3u})
      for (const uint32_t writer : {0u, 1u, 5u, 14u, 15u, 16u, 31u, 32u, 63u})
        for (const char* between : {"", "bar.sync 0;"}) {
          const bool synchronised = *between != '\0';
          // Every CTA has its own words, after those of the others.
          const GlobalCase one{"shared_words", threads(64, ctas), std::string(word) + R"(
  shl.b32 %r15, %r1, 6; add.u32 %r14, %r14, %r15; mul.wide.u32 %rd8, %r14, 4; add.u64 %rd8, %rd0, %rd8;
  ld.global.u32 %r10, [%rd8];
)" + between + "\n  setp.eq.u32 %p3, %r0, " + std::to_string(writer) + ";\n  @%p3 st.global.u32 [%rd8], 1;\n"};
          SCOPED_TRACE(one.body);
          const std::vector<Hazard> hazards = hazardsOf(one, Options{});
          EXPECT_EQ(!hazards.empty(), !synchronised) << list(hazards);
          for (const Hazard& hazard : hazards) EXPECT_EQ(hazard.kind, HazardKind::Race) << list(hazards);
          races += !hazards.empty();
        }
  EXPECT_EQ(races, 5u * 2u * 9u);
}

enum class Middle { Nothing, Reader, Barrier };

/// Lanes of warp 0 that walk along rows of `in`, `steps` accesses of `bytes` each. A lane of warp 1 writes one byte of a row.
struct RowWalk {
  bool writes = false;
  uint32_t bytes = 4, steps = 1;
  uint32_t pitch = 64;              ///< of the rows, in bytes
  uint32_t lanesOfRow = 1;          ///< which read the same
  Middle middle = Middle::Nothing;  ///< Reader: lane 1 reads the first word of the row behind its own. Barrier: of both warps
  uint32_t half() const { return steps / 2; }
};

GlobalCase walkAlongRows(const RowWalk& walk, uint32_t byte, bool synchronised) {
  const char* const value = walk.bytes == 16 ? "{%rd9, %rd10}" : walk.bytes == 8 ? "%rd9" : "%r10";
  const std::string type = (walk.bytes == 16 ? "v2.u" : "u") + std::to_string(8 * std::min(walk.bytes, 8u));
  const std::string access = fmt::format("{}.global.{} {}, {}", walk.writes ? "st" : "ld", type, walk.writes ? "[%rd8]" : value,
                                         walk.writes ? value : "[%rd8]");
  std::string middle;
  if (walk.middle == Middle::Reader)
    middle = fmt::format("setp.eq.and.u32 %p5, %r0, 1, %p5; @%p5 ld.global.u32 %r11, [%rd11+{}];", walk.pitch);
  if (walk.middle == Middle::Barrier) middle = "@%p5 bar.sync 0;";
  return {"rows", threads(64),
          fmt::format(R"(
  mov.u32 %r10, 0; mov.u64 %rd9, 0; mov.u64 %rd10, 0; mov.u32 %r15, 0;
  setp.lt.u32 %p4, %r0, 32; @!%p4 bra WRITER;
  div.u32 %r14, %r0, {}; mul.wide.u32 %rd8, %r14, {}; add.u64 %rd8, %rd0, %rd8; mov.u64 %rd11, %rd8;
WALK:
  {};
  add.u64 %rd8, %rd8, {}; add.u32 %r15, %r15, 1; setp.eq.u32 %p5, %r15, {};
  {}
  setp.lt.u32 %p6, %r15, {}; @%p6 bra WALK;
  bra THEN;
WRITER:
  {}
THEN:
  {}
  setp.eq.u32 %p5, %r0, 37; @%p5 st.global.u8 [%rd0+{}], 1;
)",
                      walk.lanesOfRow, walk.pitch, access, walk.bytes, walk.half(), middle, walk.steps,
                      walk.middle == Middle::Barrier ? "bar.sync 0;" : "", synchronised ? "bar.sync 0;" : "", byte)};
}

// A walk along a sector takes a short way: it knows what is behind the walker, and what is not.
TEST(GlobalHazards, WritesRaceWithWhatALoopHasPassedAndNothingElse) {
  unsigned walks = 0;
  const auto isRace = [](const RowWalk& walk, uint32_t byte, bool synchronised = false) {
    const GlobalCase one = walkAlongRows(walk, byte, synchronised);
    SCOPED_TRACE(one.body);
    const std::vector<Hazard> hazards = hazardsOf(one, Options{});
    for (const Hazard& hazard : hazards) EXPECT_EQ(hazard.kind, HazardKind::Race) << list(hazards);
    return !hazards.empty();
  };
  for (const uint32_t bytes : {1u, 4u, 8u, 16u})
    for (const uint32_t passed : {16u, 32u, 48u})
      for (const uint32_t lanesOfRow : {1u, 3u, 16u})
        for (const uint32_t pitch : {64u, 56u})
          for (const Middle middle : {Middle::Nothing, Middle::Reader, Middle::Barrier})
            for (const bool writes : {false, true}) {
              if (pitch % bytes != 0 || (writes && (lanesOfRow != 1 || middle == Middle::Reader))) continue;
              if (middle != Middle::Nothing && passed == bytes) continue;
              const RowWalk walk{writes, bytes, passed / bytes, pitch, lanesOfRow, middle};
              SCOPED_TRACE(fmt::format("{} lanes, pitch {}, {} bytes in steps of {}, middle {}", lanesOfRow, pitch, passed, bytes,
                                       static_cast<int>(middle)));
              const uint32_t row = pitch * (1 / lanesOfRow + 1), half = bytes * walk.half();
              EXPECT_EQ(isRace(walk, row), middle != Middle::Barrier);
              EXPECT_EQ(isRace(walk, row + std::max(half, 1u) - 1), middle != Middle::Barrier);
              EXPECT_TRUE(isRace(walk, row + half));
              EXPECT_TRUE(isRace(walk, row + passed - 1));
              EXPECT_FALSE(isRace(walk, row + passed));
              EXPECT_FALSE(isRace(walk, row + passed - 1, true));
              ++walks;
            }
  EXPECT_EQ(walks, (4u + 3u) * 3u * 11u - 7u) << "a walk of one step has no middle";
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
