// mbarrier phases: random legal sequences, tokens, rings, cp.async arrivals (PTX ISA 9.0, 9.7.13.15).
#include <fmt/format.h>

#include <algorithm>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/operands.hpp"
#include "tests/hardware_recordings/program.hpp"

namespace shiftconv::recordings {
namespace {

/// Just enough of an mbarrier to keep a random sequence inside what the ISA defines.
struct Model {
  int64_t pending, expected, transactions = 0;
  void settle() {
    if (pending == 0 && transactions == 0) pending = expected;
  }
};

/// One thread; after each operation both parities are tested, so that every phase is observed.
Case randomSequence(unsigned number) {
  Random random(kSuiteSeed + 77 * number);
  Program program;
  const size_t out = program.output(2 * 4 * 40);
  Model model{.pending = static_cast<int64_t>(1 + random.below(4)), .expected = 0};
  model.expected = model.pending;
  std::string text = fmt::format("  mbarrier.init.shared::cta.b64 [%dyn], {};\n", model.pending);
  for (uint32_t step = 0; step < 40; ++step) {
    const uint64_t choice = random.below(6);
    const int64_t bytes = static_cast<int64_t>(16 * (1 + random.below(8)));
    if (choice == 0 && model.pending > 0) {
      text += fmt::format("  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%dyn], {};\n", bytes);
      model.transactions += bytes;
    } else if (choice == 1 && model.transactions > 0) {
      const int64_t amount = std::min(bytes, model.transactions);
      text += fmt::format("  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%dyn], {};\n", amount);
      model.transactions -= amount;
    } else if (choice == 1 && model.pending > 0) {
      // Completions may run ahead of their expectation while arrivals keep the phase open.
      text += fmt::format(
          "  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%dyn], {0};\n  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 "
          "[%dyn], {0};\n",
          bytes);
    } else if (choice == 2 && model.pending > 0) {
      text += fmt::format("  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%dyn], {};\n", bytes);
      model.transactions += bytes;
      --model.pending;
    } else if (choice == 3 && model.pending > 1 && model.expected > 1) {
      text += "  mbarrier.arrive_drop.shared::cta.b64 %rd0, [%dyn];\n";
      --model.expected;
      --model.pending;
    } else if (model.pending > 0) {
      const int64_t count = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(model.pending)));
      text += fmt::format("  mbarrier.arrive.shared::cta.b64 %rd0, [%dyn], {};\n", count);
      model.pending -= count;
    } else {
      // All have arrived and bytes are outstanding.
      text += fmt::format("  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%dyn], {};\n", model.transactions);
      model.transactions = 0;
    }
    model.settle();
    for (uint32_t parity : {0u, 1u})
      text += fmt::format("  mbarrier.test_wait.parity.shared::cta.b64 %p0, [%dyn], {};\n", parity) +
              putPredicate(out, 2 * step + parity, "%p0");
  }
  program.launch.block = {1, 1, 1};
  program.launch.dynamicShared = 16;
  program.body = text;
  return program.build();
}

/// Tokens of arrive, noComplete and pending_count, and waits on them in the same phase and the next.
Case tokens() {
  Program program;
  const size_t out = program.output(64);
  program.launch.block = {1, 1, 1};
  program.launch.dynamicShared = 16;
  std::string text =
      "  mbarrier.init.shared.b64 [%dyn], 5;\n  mbarrier.arrive.noComplete.shared.b64 %rd0, [%dyn], 2;\n  "
      "mbarrier.pending_count.b64 %r0, %rd0;\n" +
      putWord(out, 0, "%r0");
  text += "  mbarrier.test_wait.shared.b64 %p0, [%dyn], %rd0;\n" + putPredicate(out, 1, "%p0");
  text += "  mbarrier.arrive.noComplete.shared.b64 %rd1, [%dyn], 1;\n  mbarrier.pending_count.b64 %r0, %rd1;\n" +
          putWord(out, 2, "%r0");
  text += "  mbarrier.arrive.shared.b64 %rd2, [%dyn], 2;\n  mbarrier.test_wait.shared.b64 %p0, [%dyn], %rd0;\n" +
          putPredicate(out, 3, "%p0");
  text += "  mbarrier.test_wait.shared.b64 %p0, [%dyn], %rd2;\n" + putPredicate(out, 4, "%p0");
  text += "  mbarrier.arrive.noComplete.shared.b64 %rd3, [%dyn], 4;\n  mbarrier.test_wait.shared.b64 %p0, [%dyn], %rd3;\n" +
          putPredicate(out, 5, "%p0");
  text += "  mbarrier.test_wait.shared.b64 %p0, [%dyn], %rd2;\n" + putPredicate(out, 6, "%p0");
  text += "  mbarrier.pending_count.b64 %r0, %rd3;\n" + putWord(out, 7, "%r0");
  text += "  mbarrier.arrive_drop.shared.b64 %rd4, [%dyn];\n  mbarrier.test_wait.shared.b64 %p0, [%dyn], %rd3;\n" +
          putPredicate(out, 8, "%p0");
  // Four arrivals are expected after the drop.
  text += "  mbarrier.arrive.shared.b64 %rd5, [%dyn], 3;\n  mbarrier.test_wait.shared.b64 %p0, [%dyn], %rd5;\n" +
          putPredicate(out, 9, "%p0");
  text += "  mbarrier.arrive.shared.b64 %rd5, [%dyn];\n  mbarrier.try_wait.shared.b64 %p0, [%dyn], %rd5;\n" +
          putPredicate(out, 10, "%p0");
  text += "  mbarrier.inval.shared.b64 [%dyn];\n";
  program.body = text;
  return program.build();
}

/// Generic addresses, arrivals of whole blocks, values handed over through shared memory.
Case wholeBlock() {
  Program program;
  program.output(128 * 4 * 6);
  std::string text = "  cvt.u64.u32 %rd0, %dyn;\n  cvta.shared.u64 %rd0, %rd0;\n" +
                     byThread0("  mbarrier.init.b64 [%rd0], 128;\n") + "  bar.sync 0;\n";
  text +=
      "  shl.b32 %r1, %thread, 2;\n  add.u32 %r2, %dyn, %r1;\n  xor.b32 %r3, %r1, 0x1F0;\n  add.u32 %r3, %r3, %dyn;\n  "
      "mul.wide.u32 %rd2, %thread, 4;\n  add.u64 %rd2, %rd2, %buf0;\n  mov.u32 %r5, %thread;\n";
  for (unsigned round = 0; round < 6; ++round) {
    const std::string again = uniqueLabel();
    // Rounds alternate between two halves of the area: a slow reader of one round is not overtaken by the next.
    const unsigned area = 16 + 512 * (round % 2);
    text += fmt::format(
        "  mad.lo.u32 %r5, %r5, 3, {0};\n  st.shared.b32 [%r2+{1}], %r5;\n  mbarrier.arrive.b64 %rd1, [%rd0];\n{2}:\n  "
        "mbarrier.try_wait.b64 %p0, [%rd0], %rd1;\n"
        "  @!%p0 bra {2};\n  ld.shared.b32 %r5, [%r3+{1}];\n  st.global.b32 [%rd2+{3}], %r5;\n",
        round, area, again, 512 * round);
  }
  program.body = text;
  program.launch.dynamicShared = 16 + 1024;
  return program.build();
}

/// The full/empty ring of a producer warp and three consumer warps.
Case ring() {
  constexpr unsigned kStages = 3, kRounds = 11;
  Program program;
  program.output(96 * 4 * kRounds);
  program.launch.dynamicShared = 64 + kStages * 128;
  std::string init;
  for (unsigned s = 0; s < kStages; ++s)
    init +=
        fmt::format("  mbarrier.init.shared.b64 [%dyn+{}], 32;\n  mbarrier.init.shared.b64 [%dyn+{}], 96;\n", 16 * s, 16 * s + 8);
  std::string produce, consume;
  for (unsigned round = 0; round < kRounds; ++round) {
    const unsigned s = round % kStages, phase = round / kStages & 1;
    const std::string a = uniqueLabel(), b = uniqueLabel();
    produce += fmt::format(
        "{0}:\n  mbarrier.try_wait.parity.shared.b64 %p1, [%dyn+{1}], {2};\n  @!%p1 bra {0};\n  mad.lo.u32 %r5, %lane, 7, {3};\n  "
        "st.shared.b32 [%r2+{4}], %r5;\n"
        "  mbarrier.arrive.shared.b64 _, [%dyn+{5}];\n",
        a, 16 * s + 8, phase ^ 1, round * 1000, 64 + 128 * s, 16 * s);
    consume += fmt::format(
        "{0}:\n  mbarrier.try_wait.parity.shared.b64 %p1, [%dyn+{1}], {2}, 1000;\n  @!%p1 bra {0};\n  ld.shared.b32 %r5, "
        "[%r3+{3}];\n  mbarrier.arrive.release.cta.shared::cta.b64 _, [%dyn+{4}];\n"
        "  add.u32 %r5, %r5, %warp;\n  st.global.b32 [%rd2+{5}], %r5;\n",
        b, 16 * s, phase, 64 + 128 * s, 16 * s + 8, 384 * round);
  }
  program.body =
      byThread0(init) +
      "  bar.sync 0;\n  shl.b32 %r1, %lane, 2;\n  add.u32 %r2, %dyn, %r1;\n  xor.b32 %r3, %r1, 0x14;\n  add.u32 %r3, %r3, %dyn;\n"
      "  setp.ne.u32 %p0, %warp, 0;\n  @%p0 bra consumer;\n" +
      produce +
      "  bra finished;\nconsumer:\n  sub.u32 %r6, %thread, 32;\n  mul.wide.u32 %rd2, %r6, 4;\n  add.u64 %rd2, %rd2, %buf0;\n" +
      consume + "finished:\n";
  return program.build();
}

/// cp.async arrivals: with .noinc the arrivals are counted in init, without it they count themselves.
Case asynchronousArrivals(bool noinc) {
  Program program;
  const size_t in = program.input(noise(128 * 16, 5)), out = program.output(128 * 16 + 8);
  program.launch.dynamicShared = 16 + 128 * 16;
  std::string text = byThread0("  mbarrier.init.shared.b64 [%dyn], 128;\n") + "  bar.sync 0;\n";
  text += fmt::format(
      "  mul.wide.u32 %rd0, %thread, 16;\n  add.u64 %rd0, %rd0, %buf{};\n  shl.b32 %r0, %thread, 4;\n  add.u32 %r0, %r0, %dyn;\n  "
      "cp.async.cg.shared.global [%r0+16], [%rd0], 16;\n",
      in);
  text += noinc ? "  cp.async.mbarrier.arrive.noinc.shared.b64 [%dyn];\n"
                : "  cp.async.mbarrier.arrive.shared.b64 [%dyn];\n  mbarrier.arrive.shared.b64 _, [%dyn];\n";
  text += boundedWait(0, "0", "%p0") + copyToBuffer(16, 128 * 16, out) +
          byThread0(putPredicate(out, 128 * 4, "%p0") + "  mbarrier.test_wait.parity.shared.b64 %p1, [%dyn], 1;\n" +
                    putPredicate(out, 128 * 4 + 1, "%p1"));
  program.body = text;
  return program.build();
}

}  // namespace

void addMbarrierCases(CaseList& cases) {
  for (unsigned number = 0; number < 32; ++number)
    cases.push_back({"mbarrier", fmt::format("mbarrier random sequence {}", number), [number] { return randomSequence(number); }});
  cases.push_back({"mbarrier", "mbarrier tokens", tokens});
  cases.push_back({"mbarrier", "mbarrier whole block", wholeBlock});
  cases.push_back({"mbarrier", "mbarrier ring", ring});
  cases.push_back({"mbarrier", "cp.async.mbarrier.arrive", [] { return asynchronousArrivals(false); }});
  cases.push_back({"mbarrier", "cp.async.mbarrier.arrive.noinc", [] { return asynchronousArrivals(true); }});
}

}  // namespace shiftconv::recordings
