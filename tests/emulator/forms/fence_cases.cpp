// Fences pass values between CTAs; the other instructions of the family are checked for what they refuse.
#include "tests/emulator/forms/machine_run.hpp"

namespace shiftconv::tests {
namespace {

/// CTA 0 writes data, fences and raises a flag; CTA 1 waits for the flag, fences and reads.
void messagePassing(FormRun& run, std::initializer_list<const char*> fences) {
  for (const std::string_view fence : fences)
    for (const unsigned hostThreads : {1u, 2u}) {
      Options options;
      options.hostThreads = hostThreads;
      const std::string body = fmt::format(R"(
        setp.ne.u32 %p1, %r1, 0; @%p1 exit; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p2, %r2, 1; @%p2 bra READ;
        st.global.u32 [data], 1234; {0} st.volatile.global.u32 [flag], 1; ret;
      READ: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra READ; {0} ld.global.u32 %r4, [data]; st.global.u32 [%rd1], %r4;)",
                                           fence);
      const auto out =
          runModule(run, kernel(body, ".global .align 4 .u32 data; .global .align 4 .u32 flag;"), threads(32, 2), 1, {}, options);
      ASSERT_EQ(out[0], 1234u) << fence;
    }
}

void scopes(FormRun& run) {
  messagePassing(run, {"fence.gpu;", "fence.sc.gpu;", "fence.acq_rel.sys;", "fence.sc.cluster;", "fence.acq_rel.cta;",
                       "fence.acquire.gpu;", "fence.release.gpu;"});
  expectRefused(run, "fence.sc.warp;", "not supported");
  expectRefused(run, "fence.sc.gpu %r1;", "takes no operands");
}

void mbarrierInit(FormRun& run) {
  messagePassing(run, {"fence.mbarrier_init.release.cluster;"});
  expectRefused(run, "fence.mbarrier_init.release.gpu;", "not supported");
}

const std::string kMapScope = ".shared .align 128 .b8 map[128]; .global .align 128 .b8 target[256];";

void tensorMapCopy(FormRun& run) {
  // A map edited in shared memory arrives in global memory, copied once by the whole warp.
  const std::string fill =
      "mov.u32 %r2, map; mad.lo.u32 %r3, %r1, 4, %r2; mad.lo.u32 %r4, %r1, 3, 1; st.shared.u32 [%r3], %r4; bar.warp.sync "
      "0xffffffff; mov.u64 %rd5, target;";
  for (const char* scope : {"cta", "cluster", "gpu", "sys"})
    expectWords(
        run,
        fill + fmt::format("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{}.sync.aligned [%rd5], [%r2], "
                           "128; fence.proxy.tensormap::generic.acquire.{} [%rd5], 128;"
                           "mul.wide.u32 %rd6, %r1, 4; add.u64 %rd6, %rd5, %rd6; ld.global.u32 %r9, [%rd6];",
                           scope, scope),
        [](uint32_t lane) { return 3 * lane + 1; }, kMapScope);
  expectRefused(run, "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [target], [map], 64;",
                "must be 128", kMapScope);
  expectRefused(
      run, fill + "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd5+64], [%r2], 128;",
      "multiple of 128", kMapScope);
}

void tensorMapAcquire(FormRun& run) {
  for (const char* scope : {"cta", "cluster", "gpu", "sys"})
    expectWords(
        run,
        fmt::format("mov.u64 %rd5, target; mov.u32 %r9, %r1; fence.proxy.tensormap::generic.acquire.{} [%rd5+128], 128;", scope),
        [](uint32_t lane) { return lane; }, kMapScope);
  expectWords(run, "mov.u64 %rd5, 0; mov.u32 %r9, %r1; fence.proxy.tensormap::generic.acquire.gpu [%rd5], 128;",
              [](unsigned lane) { return lane; });
  expectRefused(run, "mov.u64 %rd5, target; fence.proxy.tensormap::generic.acquire.gpu [%rd5+256], 128;", "past the end",
                kMapScope);
  expectRefused(run, "mov.u64 %rd5, target; fence.proxy.tensormap::generic.acquire.gpu [%rd5], 32;", "must be 128", kMapScope);
}

template <const char* kInstruction>
void launchControl(FormRun& run) {
  expectWords(run, fmt::format("{}; mov.u32 %r9, %r1;", kInstruction), [](uint32_t lane) { return lane; });
}
constexpr char kLaunchDependents[] = "griddepcontrol.launch_dependents", kAwaitPrerequisites[] = "griddepcontrol.wait";

void registerLimits(FormRun& run) {
  const auto out = runModule(run,
                             kernel("setp.lt.u32 %p1, %r1, 128; @%p1 bra A; setmaxnreg.inc.sync.aligned.u32 232; bra J; A: "
                                    "setmaxnreg.dec.sync.aligned.u32 40; J: st.global.u32 [%rd2], %r1;"),
                             threads(256), 256);
  for (uint32_t t = 0; t < 256; ++t) ASSERT_EQ(out[t], t);
  for (const unsigned count : {16u, 25u, 264u})
    expectRefused(run, fmt::format("setmaxnreg.inc.sync.aligned.u32 {};", count), "not a multiple of 8 between 24 and 256");
  expectRefused(run, "setmaxnreg.dec.sync.aligned.u32 40;", "whole warpgroup");
  // Warps of one warpgroup that differ: shipped kernels have that, so that only the hazard checker remarks on it.
  const auto differing = runModule(run,
                                   kernel("setp.lt.u32 %p1, %r1, 64; @%p1 bra A; setmaxnreg.dec.sync.aligned.u32 48; bra J; A: "
                                          "setmaxnreg.dec.sync.aligned.u32 40; J: st.global.u32 [%rd2], %r1;"),
                                   threads(128), 128);
  for (uint32_t t = 0; t < 128; ++t) ASSERT_EQ(differing[t], t);
  expectRefused(run, "setp.lt.u32 %p1, %r1, 3; @%p1 setmaxnreg.dec.sync.aligned.u32 40; bar.sync 0;", "(.aligned)", "",
                threads(128));
}

/// The first warpgroup gives registers back that the others claim, of those that a CTA was launched with.
void registerPool(FormRun& run) {
  struct Case {
    const char* directives;
    unsigned threads, least, most;
    bool waitsForEver;
  };
  // 65536 registers are 168 for each of 384 threads, in steps of 8, and 128 for each of 512.
  for (const Case& c :
       {Case{".maxntid 384 .minnctapersm 1", 384, 40, 232, false}, Case{".maxntid 384 .minnctapersm 1", 384, 48, 232, true},
        Case{".maxntid 384 .minnctapersm 1", 384, 56, 224, false}, Case{".maxntid 384 .minnctapersm 1", 384, 64, 224, true},
        Case{".reqntid 512 .minnctapersm 1", 512, 56, 152, false}, Case{".reqntid 512 .minnctapersm 1", 512, 64, 152, true},
        Case{".maxntid 384 .minnctapersm 2", 384, 40, 96, false}, Case{".maxntid 384 .minnctapersm 2", 384, 56, 96, true},
        Case{".maxnreg 104", 256, 80, 128, false}, Case{".maxnreg 104", 256, 88, 128, true},
        // ptxas ignores these
        Case{".maxntid 384", 384, 200, 232, false}, Case{"", 256, 128, 256, false}}) {
    std::string text =
        kernel(fmt::format("setp.lt.u32 %p1, %r1, 128; @%p1 bra A; setmaxnreg.inc.sync.aligned.u32 {}; bra J; A: "
                           "setmaxnreg.dec.sync.aligned.u32 {}; J: st.global.u32 [%rd2], %r1;",
                           c.most, c.least));
    text.replace(text.find("out) {"), 6, fmt::format("out) {} {{", c.directives));
    SCOPED_TRACE(fmt::format("{}: {} and {}", c.directives, c.least, c.most));
    if (c.waitsForEver) {
      const std::string message = run.error([&] { runModule(run, text, threads(c.threads), c.threads); });
      EXPECT_NE(message.find(fmt::format("{} registers for each of its threads", c.most)), std::string::npos) << message;
    } else {
      const auto out = runModule(run, text, threads(c.threads), c.threads);
      for (uint32_t t = 0; t < c.threads; ++t) ASSERT_EQ(out[t], t);
    }
  }
}

}  // namespace

FormCases fenceCases() {
  const auto passes = [](std::string_view form, void (*body)(FormRun&)) { return FormCase{formOf(form), "message_passing", body}; };
  return {
      passes("membar.gl",
             [](FormRun& run) {
               messagePassing(run, {"membar.cta;", "membar.gl;", "membar.sys;"});
             }),
      passes("membar.proxy.alias", [](FormRun& run) { messagePassing(run, {"membar.proxy.alias;"}); }),
      passes("fence.sc.gpu", scopes),
      passes("fence.acquire.sync_restrict::shared::cluster.cluster",
             [](FormRun& run) { messagePassing(run, {"fence.acquire.sync_restrict::shared::cluster.cluster;"}); }),
      passes("fence.release.sync_restrict::shared::cta.cluster",
             [](FormRun& run) { messagePassing(run, {"fence.release.sync_restrict::shared::cta.cluster;"}); }),
      passes("fence.proxy.alias", [](FormRun& run) { messagePassing(run, {"fence.proxy.alias;"}); }),
      passes("fence.proxy.async",
             [](FormRun& run) {
               messagePassing(run, {"fence.proxy.async;", "fence.proxy.async.global;", "fence.proxy.async.shared::cta;",
                                    "fence.proxy.async.shared::cluster;"});
             }),
      passes("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
             [](FormRun& run) {
               messagePassing(run, {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"});
             }),
      passes("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
             [](FormRun& run) { messagePassing(run, {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"}); }),
      passes("fence.mbarrier_init.release.cluster", mbarrierInit),
      passes("fence.proxy.tensormap::generic.release.gpu",
             [](FormRun& run) {
               messagePassing(run, {"fence.proxy.tensormap::generic.release.gpu;", "fence.proxy.tensormap::generic.release.sys;"});
             }),
      {formOf("fence.proxy.tensormap::generic.acquire.gpu"), "needs_a_map", tensorMapAcquire},
      {formOf("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"), "copies_a_map",
       tensorMapCopy},
      {formOf(kLaunchDependents), "passes", launchControl<kLaunchDependents>},
      {formOf(kAwaitPrerequisites), "passes", launchControl<kAwaitPrerequisites>},
      {formOf("setmaxnreg.inc.sync.aligned.u32"), "range_and_uniformity", registerLimits},
      {formOf("setmaxnreg.inc.sync.aligned.u32"), "what_a_cta_has", registerPool},
  };
}

}  // namespace shiftconv::tests
