// Clusters: distributed shared memory, remote barriers, st.async, multicast (PTX ISA 9.0, 9.7.9.23, 9.7.13.3).
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/operands.hpp"
#include "tests/hardware_recordings/program.hpp"

namespace shiftconv::recordings {
namespace {

const std::string kClusterSync = "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n";
/// %rd0 = this thread's place in an array of `bytes` for every thread of the grid.
std::string ownPlace(size_t buffer, uint32_t bytes) {
  return fmt::format("  mad.lo.u32 %r40, %cta, %threads, %thread;\n  mul.wide.u32 %rd0, %r40, {};\n  add.u64 %rd0, %rd0, %buf{};\n",
                     bytes, buffer);
}

Program clusterProgram(uint32_t ctas, uint32_t clusters, uint32_t threads) {
  Program program;
  program.launch.grid = {ctas * clusters, 1, 1};
  program.launch.block = {threads, 1, 1};
  program.launch.cluster = {ctas, 1, 1};
  return program;
}

Case registers() {
  Program program;
  program.launch.grid = {4, 4, 2};
  program.launch.block = {32, 1, 1};
  program.launch.cluster = {2, 2, 1};
  constexpr unsigned kWords = 16;
  const size_t out = program.output(32 * 4 * kWords);
  std::string text =
      "  mov.u32 %r0, %ctaid.y;\n  mov.u32 %r1, %ctaid.z;\n  mad.lo.u32 %r1, %r1, 4, %r0;\n  mad.lo.u32 %r1, %r1, 4, %cta;\n";
  text += fmt::format("  mul.wide.u32 %rd0, %r1, {};\n  add.u64 %rd0, %rd0, %buf{};\n", 4 * kWords, out);
  std::string stores;
  unsigned k = 0;
  for (const char* name : {"cluster_ctaid.x", "cluster_ctaid.y", "cluster_ctaid.z", "cluster_nctaid.x", "cluster_nctaid.y",
                           "cluster_nctaid.z", "cluster_ctarank", "cluster_nctarank", "clusterid.x", "clusterid.y", "clusterid.z",
                           "nclusterid.x", "nclusterid.y", "nclusterid.z"})
    stores += fmt::format("  mov.u32 %r2, %{};\n  st.global.b32 [%rd0+{}], %r2;\n", name, 4 * k++);
  stores +=
      fmt::format("  mov.pred %p1, %is_explicit_cluster;\n  selp.b32 %r2, 1, 0, %p1;\n  st.global.b32 [%rd0+{}], %r2;\n", 4 * k);
  program.body = text + byThread0(stores);
  return program.build();
}

/// Every CTA reads, writes and adds to the shared memory of every other.
Case distributedShared(uint32_t ctas) {
  Program program = clusterProgram(ctas, 2, 64);
  const size_t out = program.output(ctas * 2 * 64 * 4 * 8);
  program.launch.dynamicShared = 4096;
  std::string text = ownPlace(out, 32) + fillShared(0, 4096, 0) +
                     "  bar.sync 0;\n  mad.lo.u32 %r0, %rank, 1000, %thread;\n  shl.b32 %r1, %thread, 2;\n  add.u32 %r2, %dyn, "
                     "%r1;\n  st.shared.b32 [%r2], %r0;\n" +
                     kClusterSync;
  // Read from the next CTA, through shared::cluster and through a generic address.
  text += fmt::format(
      "  add.u32 %r3, %rank, 1;\n  rem.u32 %r3, %r3, {};\n  mapa.shared::cluster.u32 %r4, %r2, %r3;\n  ld.shared::cluster.b32 %r5, "
      "[%r4];\n  st.global.b32 [%rd0], %r5;\n",
      ctas);
  text +=
      "  cvt.u64.u32 %rd1, %r2;\n  cvta.shared.u64 %rd1, %rd1;\n  mapa.u64 %rd2, %rd1, %r3;\n  ld.b32 %r6, [%rd2];\n  "
      "st.global.b32 [%rd0+4], %r6;\n"
      "  getctarank.shared::cluster.u32 %r7, %r4;\n  st.global.b32 [%rd0+8], %r7;\n  getctarank.u64 %r7, %rd2;\n  st.global.b32 "
      "[%rd0+12], %r7;\n  getctarank.shared::cluster.u32 %r7, %r2;\n  st.global.b32 [%rd0+16], %r7;\n";
  // Write to the one after next, add to everybody.
  text += fmt::format(
      "  add.u32 %r8, %rank, 2;\n  rem.u32 %r8, %r8, {};\n  mapa.shared::cluster.u32 %r9, %r2, %r8;\n  st.shared::cluster.b32 "
      "[%r9+1024], %r0;\n",
      ctas);
  for (uint32_t target = 0; target < ctas; ++target)
    text += fmt::format(
        "  mapa.shared::cluster.u32 %r10, %dyn, {};\n  red.shared::cluster.add.u32 [%r10+2048], %r0;\n  "
        "atom.shared::cluster.max.u32 %r11, [%r10+2052], %r0;\n",
        target);
  text += kClusterSync +
          "  ld.shared.b32 %r12, [%r2+1024];\n  st.global.b32 [%rd0+20], %r12;\n  ld.shared.b32 %r12, [%dyn+2048];\n  "
          "st.global.b32 [%rd0+24], %r12;\n  ld.shared.b32 %r12, [%dyn+2052];\n"
          "  st.global.b32 [%rd0+28], %r12;\n" +
          kClusterSync;
  program.body = text;
  return program.build();
}

/// Threads of all CTAs arrive at the barrier of rank 0; a store and an addition travel asynchronously to the neighbour.
Case remoteBarriers(uint32_t ctas) {
  Program program = clusterProgram(ctas, 1, 32);
  const size_t out = program.output(ctas * 32 * 4 * 8);
  program.launch.dynamicShared = 2048;
  std::string text = ownPlace(out, 32) + fillShared(0, 2048, 5) + "  bar.sync 0;\n" +
                     byThread0(fmt::format("  mbarrier.init.shared.b64 [%dyn], {};\n  mbarrier.init.shared.b64 [%dyn+8], 1;\n  "
                                           "fence.mbarrier_init.release.cluster;\n",
                                           ctas * 32)) +
                     kClusterSync;
  text += "  mapa.shared::cluster.u32 %r0, %dyn, 0;\n  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r0];\n";
  text += "  setp.ne.u32 %p3, %rank, 0;\n  @%p3 bra waited;\n" + boundedWait(0, "0", "%p1") +
          "  selp.b32 %r1, 1, 0, %p1;\n  st.global.b32 [%rd0], %r1;\nwaited:\n";
  text += byThread0("  mbarrier.arrive.expect_tx.shared.b64 _, [%dyn+8], 896;\n") + kClusterSync;
  text += fmt::format(
      "  add.u32 %r3, %rank, 1;\n  rem.u32 %r3, %r3, {};\n  mapa.shared::cluster.u32 %r4, %dyn, %r3;\n  shl.b32 %r5, %lane, 4;\n  "
      "add.u32 %r5, %r5, %r4;\n  mad.lo.u32 %r6, %rank, 1000, %lane;\n",
      ctas);
  text +=
      "  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r5+64], {%r6, %rank, %lane, %r6}, [%r4+8];\n"
      "  shl.b32 %r7, %lane, 3;\n  add.u32 %r7, %r7, %r4;\n  mul.wide.u32 %rd3, %r6, 77777777;\n  "
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r7+640], %rd3, [%r4+8];\n"
      "  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4+1024], %r6, [%r4+8];\n";
  text += boundedWait(8, "0", "%p1") +
          "  selp.b32 %r1, 1, 0, %p1;\n  st.global.b32 [%rd0+4], %r1;\n  shl.b32 %r5, %lane, 4;\n  add.u32 %r5, %r5, %dyn;\n  "
          "ld.shared.b32 %r8, [%r5+64];\n  st.global.b32 [%rd0+8], %r8;\n"
          "  ld.shared.b32 %r8, [%r5+68];\n  st.global.b32 [%rd0+12], %r8;\n  shl.b32 %r7, %lane, 3;\n  add.u32 %r7, %r7, %dyn;\n  "
          "ld.shared.b64 %rd4, [%r7+640];\n  st.global.b64 [%rd0+16], %rd4;\n"
          "  ld.shared.b32 %r8, [%dyn+1024];\n  st.global.b32 [%rd0+24], %r8;\n" +
          kClusterSync;
  program.body = text;
  return program.build();
}

/// Each CTA sends a piece of global memory to several CTAs, or shared memory to its neighbour.
Case bulkBetweenCtas(bool multicast) {
  constexpr uint32_t kCtas = 4, kBytes = 512;
  Program program = clusterProgram(kCtas, 1, 64);
  const size_t data = program.input(noise(kCtas * kBytes, 41)), out = program.output(kCtas * (kCtas * kBytes + 8));
  program.launch.dynamicShared = kCtas * kBytes + kBytes + 16;
  const uint32_t barrier = kCtas * kBytes + kBytes;
  std::string text = fillShared(0, kCtas * kBytes) +
                     fmt::format("  add.u32 %r20, %dyn, {};\n  mul.wide.u32 %rd5, %rank, {};\n  add.u64 %rd6, %rd5, %buf{};\n",
                                 barrier, kBytes, data);
  // Received: with the mask below, rank r gets the pieces of r, and of r-1 and r-2 (mod 4).
  text +=
      byThread0(fmt::format("  mbarrier.init.shared.b64 [%r20], 1;\n  fence.mbarrier_init.release.cluster;\n  "
                            "mbarrier.arrive.expect_tx.shared.b64 _, [%r20], {};\n",
                            (multicast ? 3 : 1) * kBytes));
  text += "  fence.proxy.async;\n" + kClusterSync;
  text += fmt::format("  mul.lo.u32 %r21, %rank, {};\n  add.u32 %r22, %r21, %dyn;\n", kBytes);
  if (multicast) {
    text += byThread0(fmt::format(
        "  mov.u32 %r23, 7;\n  shl.b32 %r23, %r23, %rank;\n  shr.u32 %r24, %r23, 4;\n  or.b32 %r23, %r23, %r24;\n  and.b32 %r23, "
        "%r23, 15;\n  cvt.u16.u32 %h0, %r23;\n"
        "  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r22], [%rd6], {}, [%r20], %h0;\n",
        kBytes));
  } else {
    text +=
        fmt::format(
            "  cvt.u64.u32 %rd8, %thread;\n  mad.wide.u32 %rd7, %thread, 8, %rd6;\n  ld.global.b64 %rd9, [%rd7];\n  shl.b32 %r25, "
            "%thread, 3;\n  add.u32 %r25, %r25, %dyn;\n  st.shared.b64 [%r25+{0}], %rd9;\n"
            "  fence.proxy.async;\n  bar.sync 0;\n  add.u32 %r26, %rank, 1;\n  and.b32 %r26, %r26, 3;\n  mapa.shared::cluster.u32 "
            "%r27, %r22, %r26;\n  mapa.shared::cluster.u32 %r28, %r20, %r26;\n  add.u32 %r29, %dyn, {0};\n",
            kCtas * kBytes) +
        byThread0(fmt::format(
            "  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r27], [%r29], {}, [%r28];\n", kBytes));
  }
  text += boundedWait(barrier, "0", "%p0") +
          fmt::format("  mul.wide.u32 %rd10, %rank, {};\n  add.u64 %buf{}, %buf{}, %rd10;\n", kCtas * kBytes + 8, out, out) +
          copyToBuffer(0, kCtas * kBytes, out) + byThread0(putPredicate(out, kCtas * kBytes / 4, "%p0")) + kClusterSync;
  program.body = text;
  return program.build();
}

/// Reductions into the neighbour's shared memory.
Case bulkReduce(const std::string& operation) {
  constexpr uint32_t kCtas = 2, kBytes = 1024;
  Program program = clusterProgram(kCtas, 1, 64);
  const size_t data = program.input(noise(2 * kCtas * kBytes, 42)), out = program.output(kCtas * (kBytes + 8));
  program.launch.dynamicShared = 2 * kBytes + 16;
  std::string text = fmt::format("  add.u32 %r20, %dyn, {};\n  mul.wide.u32 %rd5, %rank, {};\n  add.u64 %buf{}, %buf{}, %rd5;\n",
                                 2 * kBytes, 2 * kBytes, data, data) +
                     copyFromBuffer(0, 2 * kBytes, data) +
                     byThread0(fmt::format("  mbarrier.init.shared.b64 [%r20], 1;\n  fence.mbarrier_init.release.cluster;\n  "
                                           "mbarrier.arrive.expect_tx.shared.b64 _, [%r20], {};\n",
                                           kBytes)) +
                     "  fence.proxy.async;\n" + kClusterSync;
  text += fmt::format(
              "  xor.b32 %r26, %rank, 1;\n  mapa.shared::cluster.u32 %r27, %dyn, %r26;\n  mapa.shared::cluster.u32 %r28, %r20, "
              "%r26;\n  add.u32 %r29, %dyn, {};\n",
              kBytes) +
          byThread0(fmt::format(
              "  cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{} [%r27], [%r29], {}, [%r28];\n",
              operation, kBytes));
  text += boundedWait(2 * kBytes, "0", "%p0") +
          fmt::format("  mul.wide.u32 %rd10, %rank, {};\n  add.u64 %buf{}, %buf{}, %rd10;\n", kBytes + 8, out, out) +
          copyToBuffer(0, kBytes, out) + byThread0(putPredicate(out, kBytes / 4, "%p0")) + kClusterSync;
  program.body = text;
  return program.build();
}

}  // namespace

void addClusterCases(CaseList& cases) {
  cases.push_back({"cluster", "cluster special registers", registers});
  for (const uint32_t ctas : {2u, 3u, 8u})
    cases.push_back(
        {"cluster", fmt::format("distributed shared memory of {} CTAs", ctas), [ctas] { return distributedShared(ctas); }});
  for (const uint32_t ctas : {2u, 4u})
    cases.push_back({"cluster", fmt::format("remote barriers of {} CTAs", ctas), [ctas] { return remoteBarriers(ctas); }});
  cases.push_back({"cluster", "cp.async.bulk multicast", [] { return bulkBetweenCtas(true); }});
  cases.push_back({"cluster", "cp.async.bulk shared to shared", [] { return bulkBetweenCtas(false); }});
  for (const char* operation : {"add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "max.u32", "max.s32", "inc.u32", "dec.u32",
                                "and.b32", "or.b32", "xor.b32"})
    cases.push_back({"cluster", std::string("cp.reduce.async.bulk.shared::cluster.") + operation,
                     [operation] { return bulkReduce(operation); }});
}

}  // namespace shiftconv::recordings
