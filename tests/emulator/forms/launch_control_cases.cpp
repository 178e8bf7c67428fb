// clusterlaunchcontrol: whichever clusters start, the work of every CTA of the grid is done exactly once.
#include <utility>

#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests::launch_control_cases {
namespace {

const std::string kScope = ".shared .align 16 .b8 response[32]; .shared .align 8 .b8 bar[8];";
const std::string kTryCancel = "clusterlaunchcontrol.try_cancel.async{}.mbarrier::complete_tx::bytes{}.b128 ";
constexpr uint32_t kX = 8, kY = 3, kZ = 2;

LaunchConfig grid(uint32_t cluster) {
  LaunchConfig config = threads(1, kX, cluster);
  config.grid.y = kY;
  config.grid.z = kZ;
  return config;
}

/// %r2 = barrier, %r3 = response, %rd5 and %rd6 the same, generic; %r5 = 0, the phase parity.
const std::string kBegin =
    "mov.u32 %r2, bar; mov.u32 %r3, response; mov.u32 %r5, 0; mbarrier.init.shared.b64 [%r2], 1; cvt.u64.u32 %rd5, %r2; "
    "cvta.shared.u64 %rd5, %rd5; cvt.u64.u32 %rd6, %r3; cvta.shared.u64 %rd6, %rd6; ";
/// Waits for the response, which is in %q1 then; %p3: canceled.
const std::string kReceive =
    " W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], %r5; @!%p2 bra W; xor.b32 %r5, %r5, 1; ld.shared.b128 %q1, [%r3];"
    " clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1; ";

struct Variant {
  const char* space;
  const char* addresses;
  bool multicast;
  const char* query;  ///< to %r6, %r7, %r8
};

const std::string kVector = "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r6, %r7, %r8, _}, %q1;";
const std::string kScalars =
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r6, %q1;"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r7, %q1;"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r8, %q1;";

/// Every CTA counts itself and, until there are none left, CTAs that it takes over, in word (z, y, x) of the array. In a
/// cluster rank 0 asks for all, and every CTA does the work of the one of its own rank.
std::string persistentKernel(const Variant& variant) {
  return kernel(
      kBegin +
          "mov.u32 %r6, %clusterid.x; mov.u32 %r10, %cluster_nctarank; mul.lo.u32 %r6, %r6, %r10; mov.u32 %r7, %ctaid.y; "
          "mov.u32 %r8, %ctaid.z; mov.u32 %r10, %cluster_ctarank; setp.eq.u32 %p1, %r10, 0; "
          "L: mad.lo.u32 %r9, %r8, 3, %r7; mad.lo.u32 %r9, %r9, 8, %r6; add.u32 %r9, %r9, %r10; mul.wide.u32 %rd3, %r9, 4; "
          "add.u64 %rd3, %rd1, %rd3; atom.global.add.u32 %r9, [%rd3], 1; barrier.cluster.arrive; barrier.cluster.wait; "
          "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16; @%p1 " +
          fmt::format(fmt::runtime(kTryCancel), variant.space, variant.multicast ? ".multicast::cluster::all" : "") +
          variant.addresses + kReceive + "@!%p3 bra E; " + variant.query +
          " bra L; E: barrier.cluster.arrive; barrier.cluster.wait;",
      kScope);
}

void everyCtaOnce(FormRun& run, const Variant& variant) {
  for (const uint32_t cluster : {1u, 4u}) {
    if (cluster > 1 && !variant.multicast) continue;
    for (Options options : schedules(3))
      for (const unsigned hosts : {1u, 3u}) {
        options.hostThreads = hosts;
        const DeviceWords out(run.emulator(), std::vector<uint32_t>(kX * kY * kZ, 7));
        const void* arguments[] = {out.argument()};
        const LaunchReport report = run.module(persistentKernel(variant), "k", grid(cluster), arguments, options);
        for (const uint32_t word : out.read()) ASSERT_EQ(word, 8u) << nameOf(options) << ", cluster of " << cluster;
        // Every request took a cluster, but for the last of each cluster that started.
        const uint64_t started = report.counters.ctas / cluster;
        const uint64_t requests = report.counters.operations.at("clusterlaunchcontrol.try_cancel");
        EXPECT_EQ(requests, kX * kY * kZ / cluster);
        EXPECT_GE(started, 1u);
        EXPECT_LE(started, hosts);
      }
  }
}

void vectors(FormRun& run) {
  everyCtaOnce(run, {".shared::cta", "[%r3], [%r2];", false, kVector.c_str()});
  everyCtaOnce(run, {".shared::cta", "[%r3], [%r2];", true, kVector.c_str()});
}
void scalars(FormRun& run) { everyCtaOnce(run, {"", "[%rd6], [%rd5];", true, kScalars.c_str()}); }

void refusals(FormRun& run) {
  const std::string request =
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16; " + fmt::format(fmt::runtime(kTryCancel), ".shared::cta", "");
  const auto refused = [&](const std::string& body, std::string_view part) {
    expectRefused(run, kBegin + body, part, kScope, threads(1));
  };
  refused(request + "[%r3], [%r2];" + kReceive + kVector, "failed is undefined");
  refused(request + "[%r3], [%r2];" + kReceive + request + "[%r3], [%r2];", "has seen an earlier one fail");
  refused(request + "[%r3+8], [%r2];", "not aligned to 16");
  refused("st.shared.v4.u32 [%r3], {1, 2, 3, 4}; ld.shared.b128 %q1, [%r3]; " + kVector, "holds no response");
  refused("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r6, %r7}, %q1;", "four registers");
}

}  // namespace

FormCases all() {
  const auto request = formOf("clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128");
  const auto vector = formOf("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128");
  return {
      {request, "every_cta_once", vectors},
      {request, "refusals", refusals},
      {formOf("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128"), "every_cta_once", vectors},
      {vector, "every_cta_once", vectors},
      {formOf("clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128"), "every_cta_once", scalars},
  };
}

}  // namespace shiftconv::tests::launch_control_cases

namespace shiftconv::tests {
FormCases launchControlCases() { return launch_control_cases::all(); }
}  // namespace shiftconv::tests
