// cp.async.bulk without tensor maps, and bulk async-groups.
#include <fmt/format.h>

#include "tests/emulator/forms/bulk_kernel.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;

constexpr std::string_view kLoadCta = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}";
constexpr std::string_view kLoadCluster =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast::cluster}{.L2::cache_hint}";
constexpr std::string_view kPeer = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
constexpr std::string_view kStore = "cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}{.cp_mask}";
constexpr std::string_view kPrefetch = "cp.async.bulk.prefetch.L2.global{.L2::cache_hint}";
constexpr std::string_view kCommit = "cp.async.bulk.commit_group";
constexpr std::string_view kWait = "cp.async.bulk.wait_group{.read}";

uint64_t bulkBytes(const LaunchReport& report, Traffic traffic) {
  return report.counters.bytes[static_cast<size_t>(Engine::BulkCopy)][static_cast<size_t>(traffic)];
}

void loadCta(FormRun& form) {
  const BulkKernel kernel{.body = expectBytes(1280) + R"(
  @%leader cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%in+48], 1024, [%bar];
  mov.b64 %rd0, 0x1000000000000000;
  mov.u32 %r0, 256;
  @%leader cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%tile+1024], [%in], %r0, [%bar], %rd0;
)" + waitForBarrier() + dumpTile(1280),
                          .input = randomBytes(form, 2048),
                          .outputBytes = 1280};
  LaunchReport report;
  const Bytes output = kernel.runEverySchedule(form, &report);
  EXPECT_EQ(slice(output, 0, 1024), slice(kernel.input, 48, 1024));
  EXPECT_EQ(slice(output, 1024, 256), slice(kernel.input, 0, 256));
  EXPECT_EQ(bulkBytes(report, Traffic::GlobalRead), 1280u);
  EXPECT_EQ(bulkBytes(report, Traffic::SharedWrite), 1280u);
  EXPECT_EQ(bulkBytes(report, Traffic::GlobalWrite), 0u);
}

/// One copy per executing lane: four lanes copy 32 bytes each.
void loadPerLane(FormRun& form) {
  const BulkKernel kernel{.body = expectBytes(128) + R"(
  bar.sync 0;
  setp.lt.u32 %p0, %lane, 4;
  shl.b32 %r0, %lane, 5;
  add.u32 %r1, %tile, %r0;
  xor.b32 %r0, %r0, 96;
  cvt.u64.u32 %rd0, %r0;
  add.u64 %rd0, %rd0, %in;
  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 32, [%bar];
)" + waitForBarrier() + dumpTile(128),
                          .input = randomBytes(form, 128),
                          .outputBytes = 128};
  const Bytes output = kernel.runEverySchedule(form);
  for (size_t lane = 0; lane < 4; ++lane) EXPECT_EQ(slice(output, 32 * lane, 32), slice(kernel.input, 32 * (3 - lane), 32));
}

void loadFaults(FormRun& form) {
  const auto copy = [&](const std::string& operands, uint32_t ctas = 1) {
    return BulkKernel{.body = "  mapa.shared::cluster.u32 %r0, %bar, " + std::to_string(ctas - 1) +
                              ";\n  @%leader cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes " + operands + ";\n",
                      .ctas = ctas,
                      .input = randomBytes(form, 256),
                      .outputBytes = 16};
  };
  expectError(form, copy("[%tile], [%in], 20, [%bar]"), {"size 20", "16", "cp.async.bulk"});
  expectError(form, copy("[%tile+8], [%in], 32, [%bar]"), {"offset 0x", "16"});
  expectError(form, copy("[%tile], [%in+4], 32, [%bar]"), {"global read of 32 bytes", "16"});
  expectError(form, copy("[%tile], [%in+240], 32, [%bar]"), {"outside every allocation"});
  expectError(form, copy("[%tile+16368], [%in], 256, [%bar]"), {"outside"});
  expectError(form, copy("[%tile], [%in], 32, [%tile]"), {"mbarrier"});
  expectError(form, copy("[%tile], [%in], 32, [%r0]", 2), {"mbarrier", "cluster CTA 1", ".shared::cta"});
}

/// Each CTA fills the other one's tile and signals the other one's barrier.
void loadCluster(FormRun& form) {
  const BulkKernel kernel{.body = expectBytes(512) + clusterBarrier() + R"(
  xor.b32 %r0, %rank, 1;
  mapa.shared::cluster.u32 %r1, %tile, %r0;
  mapa.shared::cluster.u32 %r2, %bar, %r0;
  mul.wide.u32 %rd0, %r0, 512;
  add.u64 %rd0, %rd0, %in;
  @%leader cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 512, [%r2];
)" + waitForBarrier() + dumpTile(512),
                          .ctas = 2,
                          .input = randomBytes(form, 1024),
                          .outputBytes = 1024};
  EXPECT_EQ(kernel.runEverySchedule(form), kernel.input);
}

/// Four CTAs; CTA 2 sends to CTAs 0, 1 and 3, CTA 0 sends to CTA 2.
void loadMulticast(FormRun& form) {
  const BulkKernel kernel{.body = expectBytes(256) + clusterBarrier() + R"(
  setp.eq.and.u32 %p0, %rank, 2, %leader;
  setp.eq.and.u32 %p1, %rank, 0, %leader;
  mov.u16 %h0, 0xb;
  mov.u16 %h1, 0x4;
  mov.b64 %rd0, 0x14F0000000000000;
  @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%tile], [%in], 256, [%bar], %h0;
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%tile], [%in+256], 256, [%bar], %h1, %rd0;
)" + waitForBarrier() + dumpTile(256),
                          .ctas = 4,
                          .input = randomBytes(form, 512),
                          .outputBytes = 1024};
  LaunchReport report;
  const Bytes output = kernel.runEverySchedule(form, &report);
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(slice(output, 256 * rank, 256), slice(kernel.input, rank == 2 ? 256 : 0, 256)) << rank;
  EXPECT_EQ(bulkBytes(report, Traffic::GlobalRead), 512u) << "a multicast reads once";
  EXPECT_EQ(bulkBytes(report, Traffic::SharedWrite), 1024u);
}

/// A mask of CTAs that do not exist is a fault, an empty one copies nothing (both observed on an H200).
void multicastFaults(FormRun& form) {
  const auto kernel = [&](const char* mask) {
    return BulkKernel{.body = fillTile(256) +
                              fmt::format("  mov.u16 %h0, {};\n  @%leader cp.async.bulk.shared::cluster.global.mbarrier"
                                          "::complete_tx::bytes.multicast::cluster [%tile], [%in], 256, [%bar], %h0;\n",
                                          mask) +
                              clusterBarrier() + dumpTile(256),
                      .ctas = 2,
                      .input = randomBytes(form, 256),
                      .outputBytes = 512};
  };
  for (const char* mask : {"0x4", "0x5"}) expectError(form, kernel(mask), {"CTA mask", "beyond the 2"});
  BulkKernel none = kernel("0");
  none.body.insert(none.body.find("  mov.u16 %h0"), "  add.u64 %in, %in, 16;\n");  // other bytes than the tile has
  none.input = randomBytes(form, 512);
  const Bytes output = none.runEverySchedule(form);
  for (size_t rank = 0; rank < 2; ++rank) EXPECT_EQ(slice(output, 256 * rank, 256), slice(none.input, 0, 256));
}

void peerCopy(FormRun& form) {
  const BulkKernel kernel{.body = fillTile(512) + expectBytes(256) + clusterBarrier() + R"(
  xor.b32 %r0, %rank, 1;
  mapa.shared::cluster.u32 %r1, %tile, %r0;
  mapa.shared::cluster.u32 %r2, %bar, %r0;
  shl.b32 %r3, %rank, 8;
  add.u32 %r3, %r3, %tile;
  @%leader cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1+512], [%r3], 256, [%r2];
)" + waitForBarrier() + dumpTile(768),
                          .ctas = 2,
                          .input = randomBytes(form, 512),
                          .outputBytes = 1536};
  LaunchReport report;
  const Bytes output = kernel.runEverySchedule(form, &report);
  EXPECT_EQ(slice(output, 512, 256), slice(kernel.input, 256, 256)) << "CTA 0 receives what CTA 1 sent";
  EXPECT_EQ(slice(output, 768 + 512, 256), slice(kernel.input, 0, 256));
  EXPECT_EQ(bulkBytes(report, Traffic::SharedRead), 512u);
  const auto faulty = [&](const std::string& operands) {
    return BulkKernel{
        .body = fillTile(128) +
                "  xor.b32 %r0, %rank, 1;\n  mapa.shared::cluster.u32 %r1, %tile, %r0;\n  mapa.shared::cluster.u32 %r2, %bar, "
                "%r0;\n  @%leader cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes " +
                operands + ";\n",
        .ctas = 2,
        .input = randomBytes(form, 128),
        .outputBytes = 16};
  };
  expectError(form, faulty("[%tile+512], [%tile], 128, [%bar]"), {"executing CTA"});
  expectError(form, faulty("[%r1+512], [%tile], 128, [%bar]"), {"mbarrier", "both must be the same"});
  expectError(form, faulty("[%r1+512], [%r1], 128, [%r2]"), {"source", ".shared::cta"});
}

void store(FormRun& form) {
  const BulkKernel kernel{.body = fillTile(1024) + R"(
  mov.b64 %rd0, 0x12F0000000000000;
  @%leader cp.async.bulk.global.shared::cta.bulk_group [%out+16], [%tile+128], 640;
  @%leader cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%out+768], [%tile], 32, %rd0;
  @%leader cp.async.bulk.commit_group;
  @%leader cp.async.bulk.wait_group 0;
)",
                          .input = randomBytes(form, 1024),
                          .outputBytes = 1024};
  LaunchReport report;
  const Bytes output = kernel.runEverySchedule(form, &report);
  for (size_t i = 0; i < 1024; ++i) {
    const std::byte expected = i >= 16 && i < 656    ? kernel.input[i - 16 + 128]
                               : i >= 768 && i < 800 ? kernel.input[i - 768]
                                                     : poison();
    ASSERT_EQ(output[i], expected) << "byte " << i;
  }
  EXPECT_EQ(bulkBytes(report, Traffic::GlobalWrite), 672u);
  EXPECT_EQ(bulkBytes(report, Traffic::SharedRead), 672u);
}

void storeByteMask(FormRun& form) {
  const BulkKernel kernel{.body = fillTile(128) + R"(
  mov.u16 %h0, 0x8421;
  mov.b64 %rd0, 0x1000000000000000;
  @%leader cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%out], [%tile], 64, %rd0, %h0;
  mov.u16 %h1, 0x00ff;
  @%leader cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out+64], [%tile+64], 64, %h1;
  @%leader cp.async.bulk.commit_group;
  @%leader cp.async.bulk.wait_group 0;
)",
                          .input = randomBytes(form, 128),
                          .outputBytes = 128};
  const Bytes output = kernel.runEverySchedule(form);
  for (size_t i = 0; i < 128; ++i) {
    const unsigned mask = i < 64 ? 0x8421 : 0x00ff;
    ASSERT_EQ(output[i], mask >> (i % 16) & 1 ? kernel.input[i] : poison()) << "byte " << i;
  }
}

void storeFaults(FormRun& form) {
  const auto copy = [&](const std::string& operands) {
    return BulkKernel{.body = fillTile(128) + "  @%leader cp.async.bulk.global.shared::cta.bulk_group " + operands + ";\n",
                      .input = randomBytes(form, 128),
                      .outputBytes = 128};
  };
  expectError(form, copy("[%out+8], [%tile], 16"), {"global write of 16 bytes", "16"});
  expectError(form, copy("[%out+64], [%tile], 128"), {"outside every allocation"});
  expectUndefined(form, copy("[%out], [%tile+64], 128"));
  expectError(form, copy("[%out], [%tile+8], 16"), {"offset 0x", "16"});
  expectError(form, copy("[%out], [%tile], 24"), {"size 24"});
}

void prefetch(FormRun& form) {
  const auto withOperands = [&](const std::string& operands) {
    return BulkKernel{.body = "  mov.b64 %rd0, 0x1000000000000000;\n  @%leader cp.async.bulk.prefetch.L2.global" + operands + ";\n",
                      .input = randomBytes(form, 256),
                      .outputBytes = 16};
  };
  LaunchReport report;
  EXPECT_EQ(withOperands(" [%in], 256").runEverySchedule(form, &report), Bytes(16, poison()));
  EXPECT_EQ(bulkBytes(report, Traffic::GlobalRead), 0u);
  EXPECT_EQ(withOperands(".L2::cache_hint [%in+16], 32, %rd0").runEverySchedule(form), Bytes(16, poison()));
  expectError(form, withOperands(" [%in+8], 32"), {"bulk prefetch", "multiple of 16"});
  expectError(form, withOperands(" [%in], 40"), {"size 40"});
}

/// Two groups write the same place: they complete in any order, but after waiting for the first one its data are
/// visible to the thread, and the second is committed only then.
void commitClosesGroups(FormRun& form) {
  const BulkKernel kernel{.body = fillTile(256) + R"(
  @!%leader bra done;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], 128;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ld.global.u32 %r0, [%out+4];
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile+128], 64;
  cp.async.bulk.commit_group;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 1;
  ld.global.u32 %r1, [%out+4];
  st.global.u32 [%out+128], %r0;
  st.global.u32 [%out+132], %r1;
done:
)",
                          .input = randomBytes(form, 256),
                          .outputBytes = 136};
  const Bytes output = kernel.runEverySchedule(form);
  EXPECT_EQ(slice(output, 0, 64), slice(kernel.input, 128, 64));
  EXPECT_EQ(slice(output, 64, 64), slice(kernel.input, 64, 64));
  EXPECT_EQ(slice(output, 128, 4), slice(kernel.input, 4, 4));
  EXPECT_EQ(slice(output, 132, 4), slice(kernel.input, 132, 4)) << "the empty second group does not count as the first";
}

/// After wait_group.read the source may be overwritten; after wait_group the destination may be read.
void waitForReadsAndWrites(FormRun& form) {
  const BulkKernel kernel{.body = fillTile(256) + R"(
  @!%leader bra done;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], 128;
  cp.async.bulk.commit_group;
  cp.async.bulk.global.shared::cta.bulk_group [%out+128], [%tile+128], 128;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 1;
  mov.u32 %r0, 0x5a5a5a5a;
  st.shared.u32 [%tile], %r0;
  cp.async.bulk.wait_group.read 0;
  st.shared.u32 [%tile+128], %r0;
  cp.async.bulk.wait_group 0;
  ld.global.u32 %r1, [%out+252];
  st.global.u32 [%out+256], %r1;
done:
)",
                          .input = randomBytes(form, 256),
                          .outputBytes = 260};
  const Bytes output = kernel.runEverySchedule(form);
  EXPECT_EQ(slice(output, 0, 256), kernel.input);
  EXPECT_EQ(slice(output, 256, 4), slice(kernel.input, 252, 4));
}

/// Without a wait the latest schedule shows the old contents, and `.read` alone does not promise the write.
void missingWaitShows(FormRun& form) {
  const auto kernel = [&](const std::string& wait, const std::string& after) {
    return BulkKernel{.body = fillTile(128) +
                              "  @!%leader bra done;\n  cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], 128;\n  "
                              "cp.async.bulk.commit_group;\n  " +
                              wait + "\n  " + after + "\ndone:\n",
                      .input = randomBytes(form, 128),
                      .outputBytes = 132};
  };
  Options latest;
  latest.policy = SchedulePolicy::Latest;
  const std::string readBack = "ld.global.u32 %r1, [%out];\n  st.global.u32 [%out+128], %r1;";
  const std::string overwrite = "st.shared.u32 [%tile], %lane;";
  const BulkKernel unread = kernel("", readBack), halfWaited = kernel("cp.async.bulk.wait_group.read 0;", readBack),
                   overwritten = kernel("", overwrite);
  EXPECT_EQ(slice(unread.run(form, latest), 128, 4), Bytes(4, poison()));
  EXPECT_EQ(slice(halfWaited.run(form, latest), 128, 4), Bytes(4, poison()));
  EXPECT_EQ(slice(overwritten.run(form, latest), 0, 4), Bytes(4, std::byte{0}));
  const BulkKernel waited = kernel("cp.async.bulk.wait_group 0;", readBack + "\n  " + overwrite);
  EXPECT_EQ(slice(waited.run(form, latest), 128, 4), slice(waited.input, 0, 4));
  EXPECT_EQ(slice(waited.run(form, latest), 0, 128), waited.input);
}

}  // namespace

FormCases bulkCopyCases() {
  FormCases cases{
      {kLoadCta, "copies_and_signals", loadCta},
      {kLoadCta, "one_copy_per_lane", loadPerLane},
      {kLoadCta, "faults", loadFaults},
      {kLoadCluster, "to_another_cta", loadCluster},
      {kLoadCluster, "multicast", loadMulticast},
      {kLoadCluster, "multicast_faults", multicastFaults},
      {kPeer, "between_shared_memories", peerCopy},
      {kStore, "writes_exactly_its_range", store},
      {kStore, "byte_mask", storeByteMask},
      {kStore, "faults", storeFaults},
      {kPrefetch, "has_no_effect", prefetch},
      {kCommit, "closes_groups", commitClosesGroups},
      {kWait, "reads_and_writes", waitForReadsAndWrites},
      {kWait, "missing_wait_shows", missingWaitShows},
  };
  for (const FormCases& part : {bulkTensorCases(), bulkTensorModeCases(), bulkReduceCases(), mapEditCases(), remoteStoreCases()})
    cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

}  // namespace shiftconv::tests
