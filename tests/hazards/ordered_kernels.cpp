#include "tests/hazards/ordered_kernels.hpp"

namespace shiftconv::tests {
namespace {

using emulator::HazardKind;

/// Every thread writes a word of `data` first, so that reads which come too early read something.
/// %r0 = thread, %r1 = warp, %rd0 = output, %p0 = first thread of the CTA.
const char* const kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>;
  .reg .b16 %h<4>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<8>;
  .shared .align 128 .b8 data[4096];
  .shared .align 8 .b64 bar;
  .shared .align 8 .b64 flag;
  mov.u32 %r0, %tid.x;
  shr.u32 %r1, %r0, 5;
  setp.eq.u32 %p0, %r0, 0;
  ld.param.u64 %rd0, [out];
  mov.u32 %r2, data;
  mov.u32 %r3, bar;
  mov.u32 %r4, flag;
  shl.b32 %r5, %r0, 2;
  add.u32 %r6, %r2, %r5;
  cvt.u64.u32 %rd1, %r5;
  add.u64 %rd2, %rd0, %rd1;
  st.shared.u32 [%r6], 3;
  bar.sync 15;
)";
const char* const kEnd = "  ret;\n}\n";

}  // namespace

std::string withBody(const std::string& body) { return kBegin + body + kEnd; }

std::vector<OrderedKernel> orderedKernels() {
  std::vector<OrderedKernel> all;
  all.push_back({"barrier",
                 threads(64),
                 R"(
  st.shared.u32 [%r6], %r0;
  bar.sync 0;
  xor.b32 %r7, %r5, 128;
  add.u32 %r7, %r2, %r7;
  ld.shared.u32 %r8, [%r7];
  st.global.u32 [%rd2], %r8;
)",
                 {{"no_barrier", "bar.sync 0;", "", HazardKind::Race, "nothing orders the two"},
                  {"barrier_of_one_warp", "bar.sync 0;", "barrier.sync %r1, 32;", HazardKind::Race, "nothing orders the two"}}});
  all.push_back({"warp_barrier",
                 threads(32),
                 R"(
  st.shared.u32 [%r6], %r0;
  bar.warp.sync -1;
  xor.b32 %r7, %r5, 4;
  add.u32 %r7, %r2, %r7;
  ld.shared.u32 %r8, [%r7];
  st.global.u32 [%rd2], %r8;
)",
                 {{"no_warp_barrier", "bar.warp.sync -1;", "", HazardKind::Race, "nothing orders the two"},
                  {"shuffle_instead", "bar.warp.sync -1;", "shfl.sync.idx.b32 %r9, %r0, 0, 31, -1;", HazardKind::Race,
                   "nothing orders the two"}}});
  // Broadcast reads, then one thread overwrites.
  all.push_back({"broadcast",
                 threads(64),
                 R"(
  @%p0 st.shared.u32 [%r2], 77;
  bar.sync 0;
  ld.shared.u32 %r8, [%r2];
  bar.sync 1;
  @%p0 st.shared.u32 [%r2], 78;
  st.global.u32 [%rd2], %r8;
)",
                 {{"write_not_awaited", "bar.sync 0;", "", HazardKind::Race, "nothing orders the two"},
                  {"reads_not_awaited", "bar.sync 1;", "", HazardKind::Race, "nothing orders the two"}}});
  all.push_back({"mbarrier",
                 threads(64),
                 R"(
  @%p0 mbarrier.init.shared.b64 [%r3], 32;
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra WAIT;
  st.shared.u32 [%r6], %r0;
  mbarrier.arrive.release.cta.shared.b64 %rd3, [%r3];
  bra END;
WAIT:
  mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  xor.b32 %r7, %r5, 128;
  add.u32 %r7, %r2, %r7;
  ld.shared.u32 %r8, [%r7];
  st.global.u32 [%rd2], %r8;
END:
)",
                 {{"init_not_awaited", "bar.sync 0;", "", kAnyError, ""},
                  {"wrong_parity", "[%r3], 0;", "[%r3], 1;", kAnyError, ""},
                  {"relaxed_arrive", "arrive.release.cta", "arrive.relaxed.cta", HazardKind::Race, "nothing orders the two"},
                  {"relaxed_wait", "parity.acquire.cta", "parity.relaxed.cta", HazardKind::Race, "nothing orders the two"},
                  {"no_wait", "mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [%r3], 0;", "setp.eq.u32 %p2, 0, 0;",
                   HazardKind::Race, "nothing orders the two"}}});
  all.push_back({"flag",
                 threads(64),
                 R"(
  @%p0 st.shared.u32 [%r4], 0;
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  st.shared.u32 [%r6], %r0;
  bar.warp.sync -1;
  @%p0 st.release.cta.shared.u32 [%r4], 1;
  bra END;
SPIN:
  ld.acquire.cta.shared.u32 %r9, [%r4];
  setp.eq.u32 %p2, %r9, 0;
  @%p2 bra SPIN;
  xor.b32 %r7, %r5, 128;
  add.u32 %r7, %r2, %r7;
  ld.shared.u32 %r8, [%r7];
  st.global.u32 [%rd2], %r8;
END:
)",
                 {{"relaxed_store", "st.release.cta", "st.relaxed.cta", HazardKind::Race, "nothing orders the two"},
                  {"relaxed_load", "ld.acquire.cta", "ld.relaxed.cta", HazardKind::Race, "nothing orders the two"},
                  {"lanes_not_gathered", "bar.warp.sync -1;", "", HazardKind::Race, "nothing orders the two"},
                  {"weak_flag", "st.release.cta", "st", HazardKind::Race, "nothing orders the two"}}});
  all.push_back({"fences_and_relaxed_flag",
                 threads(64),
                 R"(
  @%p0 st.shared.u32 [%r4], 0;
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra SPIN;
  st.shared.u32 [%r6], %r0;
  bar.warp.sync -1;
  fence.acq_rel.cta;
  @%p0 red.relaxed.cta.shared.add.u32 [%r4], 1;
  bra END;
SPIN:
  ld.relaxed.cta.shared.u32 %r9, [%r4];
  setp.eq.u32 %p2, %r9, 0;
  @%p2 bra SPIN;
  membar.cta;
  xor.b32 %r7, %r5, 128;
  add.u32 %r7, %r2, %r7;
  ld.shared.u32 %r8, [%r7];
  st.global.u32 [%rd2], %r8;
END:
)",
                 {{"writer_without_fence", "fence.acq_rel.cta;", "", HazardKind::Race, "nothing orders the two"},
                  {"reader_without_fence", "membar.cta;", "", HazardKind::Race, "nothing orders the two"}}});
  // Shared memory to global memory by a bulk copy, and the source reused.
  all.push_back({"bulk_store",
                 threads(64),
                 R"(
  st.shared.u32 [%r6], %r0;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p0 bra DONE;
  cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
DONE:
  bar.sync 1;
  st.shared.u32 [%r6], 5;
)",
                 {{"no_proxy_fence", "fence.proxy.async.shared::cta;", "", HazardKind::ProxyFence, "fence.proxy.async"},
                  {"no_barrier", "bar.sync 0;", "", HazardKind::Race, "nothing orders the two"},
                  {"source_reused", "cp.async.bulk.wait_group.read 0;", "", HazardKind::Race, "wait_group.read"},
                  {"waits_for_too_few", "wait_group.read 0;", "wait_group.read 1;", HazardKind::Race, "wait_group.read"},
                  {"not_committed", "cp.async.bulk.commit_group;", "", HazardKind::Race, "wait_group.read"},
                  {"others_not_told", "bar.sync 1;", "", HazardKind::Race, "wait_group.read"}}});
  // Global memory to shared memory by a bulk copy that signals an mbarrier.
  all.push_back({"bulk_load",
                 threads(64),
                 R"(
  st.global.u32 [%rd2], %r0;
  @%p0 mbarrier.init.shared.b64 [%r3], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  bar.sync 0;
  @!%p0 bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r3], 256;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd0], 256, [%r3];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  ld.shared.u32 %r8, [%r6];
  bar.sync 1;
  add.u32 %r8, %r8, 1;
  st.shared.u32 [%r6], %r8;
)",
                 {{"not_awaited", "mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;", "setp.eq.u32 %p2, 0, 0;", HazardKind::Race,
                   "a wait for the mbarrier"}}});
  all.push_back(
      {"mbarrier_init_published",
       threads(32),
       R"(
  @%p0 st.global.u32 [%rd0], 9;
  @%p0 mbarrier.init.shared.b64 [%r3], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  bar.warp.sync -1;
  @!%p0 bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r3], 16;
  add.u64 %rd4, %rd0, 128;
  add.u32 %r7, %r2, 1024;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r7], [%rd4], 16, [%r3];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
)",
       {{"no_init_fence", "@%p0 fence.mbarrier_init.release.cluster;", "", HazardKind::BarrierLifetime, "fence.mbarrier_init"}}});
  all.push_back(
      {"async_copy",
       threads(64),
       R"(
  st.global.u32 [%rd2], %r0;
  cp.async.ca.shared.global [%r6], [%rd2], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  xor.b32 %r7, %r5, 128;
  add.u32 %r7, %r2, %r7;
  ld.shared.u32 %r8, [%r7];
  bar.sync 1;
  st.global.u32 [%rd2], %r8;
)",
       {{"no_wait", "cp.async.wait_group 0;", "", HazardKind::Race, "cp.async.wait_group"},
        {"no_barrier", "bar.sync 0;", "", HazardKind::Race, "cp.async.wait_group"},
        {"waits_for_too_few", "wait_group 0;", "wait_group 1;", HazardKind::Race, "cp.async.wait_group"},
        {"one_lane_waits", "cp.async.wait_group 0;", "@%p0 cp.async.wait_group 0;", HazardKind::Race, "cp.async.wait_group"}}});
  // What cp.async wrote goes on through the asynchronous proxy: every copying lane has to publish its share.
  all.push_back({"async_copy_then_bulk_store",
                 threads(64),
                 R"(
  st.global.u32 [%rd2], %r0;
  cp.async.ca.shared.global [%r6], [%rd2], 4;
  cp.async.wait_all;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p0 bra DONE;
  cp.async.bulk.global.shared::cta.bulk_group [%rd0+512], [%r2], 256;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
DONE:
)",
                 {{"no_proxy_fence", "fence.proxy.async.shared::cta;", "", HazardKind::ProxyFence, "fence.proxy.async"},
                  {"alias_fence_instead", "fence.proxy.async.shared::cta;", "fence.proxy.alias;", HazardKind::ProxyFence,
                   "fence.proxy.async"},
                  {"old_alias_fence_instead", "fence.proxy.async.shared::cta;", "membar.proxy.alias;", HazardKind::ProxyFence,
                   "fence.proxy.async"},
                  {"one_lane_publishes", "fence.proxy.async.shared::cta;", "@%p0 fence.proxy.async.shared::cta;",
                   HazardKind::ProxyFence, "fence.proxy.async"}}});
  all.push_back({"async_copy_arrive",
                 threads(64),
                 R"(
  @%p0 mbarrier.init.shared.b64 [%r3], 64;
  @%p0 fence.mbarrier_init.release.cluster;
  st.global.u32 [%rd2], %r0;
  bar.sync 0;
  cp.async.ca.shared.global [%r6], [%rd2], 4;
  cp.async.mbarrier.arrive.noinc.shared.b64 [%r3];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  xor.b32 %r7, %r5, 128;
  add.u32 %r7, %r2, %r7;
  ld.shared.u32 %r8, [%r7];
)",
                 {{"not_awaited", "mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;", "setp.eq.u32 %p2, 0, 0;", HazardKind::Race,
                   "cp.async"}}});
  // Tensor Memory written by every warp in its window, read back by the same warp.
  const std::string allocation = R"(
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
  bar.sync 0;
  ld.shared.u32 %r10, [%r2];
  shl.b32 %r11, %r1, 21;
  add.u32 %r11, %r10, %r11;
)";
  const std::string release = R"(
  bar.sync 1;
  @%p1 bra FREED;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
FREED:
)";
  all.push_back({"tensor_store_load",
                 threads(128),
                 allocation + R"(
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r11], {%r0};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r12}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  st.global.u32 [%rd2], %r12;
)" + release,
                 {{"address_not_awaited", "bar.sync 0;", "", kAnyError, ""},
                  {"store_not_awaited", "tcgen05.wait::st.sync.aligned;", "", HazardKind::TensorWait, "tcgen05.wait::st"},
                  {"load_not_awaited", "tcgen05.wait::ld.sync.aligned;", "", HazardKind::PendingRegister, "tcgen05.wait::ld"},
                  {"freed_too_early", "bar.sync 1;", "", kAnyError, ""}}});
  // One warp of a second warpgroup reads what a warp of the first one stored in the same window.
  all.push_back({"tensor_across_warps",
                 threads(256),
                 allocation + R"(
  and.b32 %r13, %r1, 3;
  shl.b32 %r11, %r13, 21;
  add.u32 %r11, %r10, %r11;
  setp.ge.u32 %p3, %r1, 4;
  @%p3 bra READ;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r11], {%r0};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.arrive 2, 256;
  bra DONE;
READ:
  bar.sync 2, 256;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r12}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  st.global.u32 [%rd2], %r12;
DONE:
)" + release,
                 {{"no_fence_before", "tcgen05.fence::before_thread_sync;", "", HazardKind::TensorFence, "before_thread_sync"},
                  {"no_fence_after", "tcgen05.fence::after_thread_sync;", "", HazardKind::TensorFence, "after_thread_sync"},
                  {"store_not_awaited", "tcgen05.wait::st.sync.aligned;", "", HazardKind::TensorWait, "tcgen05.wait::st"}}});
  // Copies from shared memory, a shift, a refill and a commit: every order that PTX ISA 9.7.16.6.2 does not list is missing.
  // The descriptor: start address / 16, leading offset 16 bytes, stride offset 128 bytes, version 1, no swizzle.
  all.push_back({"tensor_copy",
                 threads(128),
                 R"(
  @%p0 mbarrier.init.shared.b64 [%r3], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  add.u32 %r14, %r2, %r5;
  st.shared.u32 [%r14+512], %r0;
  st.shared.u32 [%r14+1024], %r0;
  st.shared.u32 [%r14+1536], %r0;
  st.shared.u32 [%r14+2048], %r0;
  fence.proxy.async.shared::cta;
)" + allocation + R"(
  shr.u32 %r15, %r2, 4;
  add.u32 %r15, %r15, 32;
  cvt.u64.u32 %rd5, %r15;
  or.b64 %rd5, %rd5, 0x0000400800010000;
  @!%p0 bra COMMITTED;
  tcgen05.cp.cta_group::1.128x128b [%r10], %rd5;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3];
COMMITTED:
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r12}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  st.shared.u32 [%r14+512], %r12;
  st.global.u32 [%rd2], %r12;
)" + release,
                 {{"no_proxy_fence", "fence.proxy.async.shared::cta;", "", HazardKind::ProxyFence, "fence.proxy.async"},
                  {"no_fence_after", "tcgen05.fence::after_thread_sync;", "", HazardKind::TensorFence, "after_thread_sync"},
                  {"no_wait", "mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;", "setp.eq.u32 %p2, 0, 0;", kAnyError, ""}}});
  // Distributed shared memory.
  all.push_back(
      {"cluster",
       threads(32, 2, 2),
       R"(
  mov.u32 %r16, %cluster_ctarank;
  add.u32 %r17, %r0, %r16;
  st.shared.u32 [%r6], %r17;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  xor.b32 %r18, %r16, 1;
  mapa.shared::cluster.u32 %r19, %r6, %r18;
  ld.shared::cluster.u32 %r8, [%r19];
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  st.shared.u32 [%r6], %r8;
)",
       {{"relaxed_arrive", "arrive.release.aligned", "arrive.relaxed.aligned", HazardKind::Race, "nothing orders the two"}}});
  // A CTA may go as soon as it knows that nobody uses it any more; who arrives there may go at once.
  all.push_back({"arrive_at_peer",
                 threads(32, 2, 2),
                 R"(
  @%p0 mbarrier.init.shared.b64 [%r3], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r16, %cluster_ctarank;
  setp.eq.u32 %p1, %r16, 0;
  @%p1 bra WAIT;
  mov.u32 %r18, 0;
  mapa.shared::cluster.u32 %r19, %r3, %r18;
  @%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r19];
  bra END;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
END:
)",
                 {{"gone_before_the_arrival", "mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r3], 0;",
                   "setp.eq.u32 %p2, 0, 0;", HazardKind::Outlives, "before it exits"},
                  {"init_not_published", "@%p0 fence.mbarrier_init.release.cluster;", "", HazardKind::BarrierLifetime,
                   "fence.mbarrier_init"}}});
  // A bulk copy out of a CTA and into its peer: both must stay, and both must learn that it is over.
  all.push_back({"copy_to_peer",
                 threads(32, 2, 2),
                 R"(
  @%p0 mbarrier.init.shared.b64 [%r3], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r16, %cluster_ctarank;
  setp.eq.u32 %p1, %r16, 0;
  @%p1 bra WAIT;
  mov.u32 %r18, 0;
  add.u32 %r7, %r2, 1024;
  mapa.shared::cluster.u32 %r19, %r3, %r18;
  mapa.shared::cluster.u32 %r20, %r7, %r18;
  @%p0 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r19], 64;
  @%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r20], [%r2], 64, [%r19];
  bra END;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
END:
  barrier.cluster.arrive.release;
  barrier.cluster.wait.acquire;
)",
                 {{"source_gone", "barrier.cluster.arrive.release;\n  barrier.cluster.wait.acquire;", "", HazardKind::Outlives,
                   "before the CTA exits"}}});
  return all;
}

}  // namespace shiftconv::tests
