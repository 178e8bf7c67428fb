// Phases of the cluster barrier and of mbarriers that other CTAs drive (PTX ISA 9.0, 9.7.13.4 and 9.7.13.15).
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/program.hpp"

namespace shiftconv::recordings::cluster_synchronisation_cases {
namespace {

constexpr uint32_t kThreads = 64;

Program clusterProgram(uint32_t ctas) {
  Program program;
  program.launch = {.grid = {2 * ctas, 1, 1}, .block = {kThreads, 1, 1}, .cluster = {ctas, 1, 1}, .dynamicShared = 2048};
  return program;
}

/// %rd0 = place of this thread in an array of 4 bytes for each thread and round.
std::string ownPlace(size_t buffer, uint32_t rounds) {
  return fmt::format("  mad.lo.u32 %r40, %cta, %threads, %thread;\n  mul.wide.u32 %rd0, %r40, {};\n  add.u64 %rd0, %rd0, %buf{};\n",
                     4 * rounds, buffer);
}

/// In each round every thread writes to the CTA `round` places on and reads what came from the one `round` places back. Warps
/// reach the barrier by different branches where it is not aligned.
Case barrierRounds(uint32_t ctas, const std::string& arrive, const std::string& wait, bool divergent) {
  constexpr uint32_t kRounds = 7;
  Program program = clusterProgram(ctas);
  const size_t out = program.output(size_t{2} * ctas * kThreads * 4 * kRounds);
  std::string text =
      ownPlace(out, kRounds) + fillShared(0, 2048) +
      "  bar.sync 0;\n  mad.lo.u32 %r0, %rank, 1000, %thread;\n  shl.b32 %r1, %thread, 2;\n  add.u32 %r1, %r1, %dyn;\n";
  const auto barrier = [&] {
    if (!divergent) return fmt::format("  barrier.cluster.arrive{};\n  barrier.cluster.wait{};\n", arrive, wait);
    const std::string odd = uniqueLabel(), joined = uniqueLabel();
    return fmt::format(
        "  and.b32 %r5, %lane, 1;\n  setp.ne.u32 %p1, %r5, 0;\n  @%p1 bra {2};\n  barrier.cluster.arrive{0};\n  "
        "barrier.cluster.wait{1};\n  bra {3};\n{2}:\n"
        "  barrier.cluster.arrive{0};\n  barrier.cluster.wait{1};\n{3}:\n  bar.warp.sync -1;\n",
        arrive, wait, odd, joined);
  };
  text += barrier();
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t area = 256 * (round % 4);
    text += fmt::format(
        "  add.u32 %r2, %rank, {0};\n  rem.u32 %r2, %r2, {1};\n  mapa.shared::cluster.u32 %r3, %r1, %r2;\n  mad.lo.u32 %r0, %r0, "
        "5, {0};\n  st.shared::cluster.b32 [%r3+{2}], %r0;\n",
        round, ctas, area);
    if (arrive.find(".relaxed") != std::string::npos) text += "  fence.acq_rel.cluster;\n";
    text +=
        barrier() + fmt::format("  ld.shared.b32 %r0, [%r1+{}];\n  st.global.b32 [%rd0+{}], %r0;\n", area, 4 * round) + barrier();
  }
  program.body = text;
  return program.build();
}

/// CTA 0 owns a barrier; the others arrive with counts, expect and complete bytes there, and everybody sees its phases.
Case remoteTransactions(uint32_t ctas) {
  constexpr uint32_t kSteps = 5;
  Program program = clusterProgram(ctas);
  const size_t out = program.output(size_t{2} * ctas * kThreads * 4 * 2 * kSteps);
  const std::string sync = "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";
  std::string text =
      ownPlace(out, 2 * kSteps) +
      byThread0(fmt::format("  mbarrier.init.shared.b64 [%dyn], {};\n  fence.mbarrier_init.release.cluster;\n", 2 * ctas)) + sync;
  text += "  mapa.shared::cluster.u32 %r20, %dyn, 0;\n  add.u32 %r21, %rank, 1;\n  shl.b32 %r21, %r21, 4;\n";
  const std::vector<std::string> steps{"  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20];\n",
                                       "  mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r20], %r21;\n",
                                       "  mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r20], %r21;\n",
                                       "  mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r20], 32;\n  "
                                       "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20], 2;\n",
                                       "  mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r20], 32;\n"};
  for (uint32_t step = 0; step < kSteps; ++step) {
    text += byThread0(steps[step]) + sync;
    const std::string other = uniqueLabel();
    text += fmt::format("  setp.ne.u32 %p3, %rank, 0;\n  @%p3 bra {};\n", other);
    for (uint32_t parity = 0; parity < 2; ++parity)
      text += fmt::format(
          "  mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%dyn], {0};\n  selp.b32 %r1, 1, 0, %p1;\n  "
          "st.global.b32 [%rd0+{1}], %r1;\n",
          parity, 4 * (2 * step + parity));
    text += other + ":\n" + sync;
  }
  program.body = text;
  return program.build();
}

}  // namespace

void addAll(CaseList& cases) {
  struct Spelling {
    const char *arrive, *wait;
    bool divergent;
  };
  for (const Spelling& spelling : {Spelling{".aligned", ".aligned", false},
                                   {"", "", false},
                                   {"", "", true},
                                   {".release.aligned", ".acquire.aligned", false},
                                   {".relaxed.aligned", ".acquire.aligned", false},
                                   {".relaxed", "", true}})
    for (const uint32_t ctas : {2u, 5u})
      cases.push_back({"cluster",
                       fmt::format("barrier.cluster.arrive{}, wait{}{} of {} CTAs", spelling.arrive, spelling.wait,
                                   spelling.divergent ? " divergent" : "", ctas),
                       [=] { return barrierRounds(ctas, spelling.arrive, spelling.wait, spelling.divergent); }});
  for (const uint32_t ctas : {2u, 4u})
    cases.push_back({"cluster", fmt::format("mbarrier driven by {} CTAs", ctas), [ctas] { return remoteTransactions(ctas); }});
}

}  // namespace shiftconv::recordings::cluster_synchronisation_cases

namespace shiftconv::recordings {
void addClusterSynchronisationCases(CaseList& cases) { cluster_synchronisation_cases::addAll(cases); }
}  // namespace shiftconv::recordings
