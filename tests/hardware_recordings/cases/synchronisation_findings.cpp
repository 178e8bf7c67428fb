// Open questions about mbarriers, shared addresses, elections and multicast masks that a Hopper GPU can answer.
#include <fmt/format.h>

#include <cstring>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/program.hpp"

namespace shiftconv::recordings {
namespace {

template <class Number>
Number at(const std::vector<std::byte>& bytes, size_t offset) {
  Number value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string refusal(const Observation& seen) {
  return fmt::format("{}: {}", kOutcomeNames[static_cast<size_t>(seen.outcome)], seen.text);
}

struct Step {
  std::string name, text;
};

/// One thread; after each step both parity tests and, where wanted, the raw word of the barrier. The raw word is opaque,
/// and a case that shows it is not compared.
Case barrierSteps(const std::vector<Step>& steps, bool raw) {
  Program program;
  const size_t out = program.output(16 * steps.size());
  program.launch.block = {1, 1, 1};
  program.launch.dynamicShared = 16;
  uint32_t word = 0;
  for (const Step& step : steps) {
    program.body += step.text;
    if (raw)
      program.body += fmt::format("  ld.volatile.shared.b64 %rd0, [%dyn];\n  st.global.b64 [%buf{}+{}], %rd0;\n", out, 4 * word);
    for (uint32_t parity : {0u, 1u})
      program.body += fmt::format("  mbarrier.test_wait.parity.shared.b64 %p0, [%dyn], {};\n", parity) +
                      putPredicate(out, word + 2 + parity, "%p0");
    word += 4;
  }
  Case made = program.build();
  if (raw) made.unjudged = "reads or writes the barrier as memory, whose 64 bits are opaque";
  made.finding = [steps, raw](const Observation& seen) {
    if (seen.outcome != Outcome::Ok) return refusal(seen);
    std::string text;
    for (size_t i = 0; i < steps.size(); ++i) {
      text += fmt::format("\n   {:<34} wait(0) {} wait(1) {}", steps[i].name, at<uint32_t>(seen.bytes, 16 * i + 8),
                          at<uint32_t>(seen.bytes, 16 * i + 12));
      if (raw) text += fmt::format(" raw {:016x}", at<uint64_t>(seen.bytes, 16 * i));
    }
    return text;
  };
  return made;
}

Step init(uint32_t count) {
  return {fmt::format("init {}", count),
          fmt::format("  mul.lo.u32 %r0, %threads, {};\n  mbarrier.init.shared.b64 [%dyn], %r0;\n", count)};
}
Step arrive(uint32_t count = 1) {
  return {fmt::format("arrive {}", count), fmt::format("  mbarrier.arrive.shared.b64 %rd1, [%dyn], {};\n", count)};
}
Step drop() { return {"arrive_drop", "  mbarrier.arrive_drop.shared.b64 %rd1, [%dyn];\n"}; }
Step expect(uint32_t bytes) {
  return {fmt::format("expect_tx {}", bytes), fmt::format("  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%dyn], {};\n", bytes)};
}
Step complete(uint32_t bytes) {
  return {fmt::format("complete_tx {}", bytes),
          fmt::format("  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%dyn], {};\n", bytes)};
}

void addBarriers(CaseList& cases) {
  const auto add = [&](const std::string& name, const std::vector<Step>& steps, bool raw = false) {
    cases.push_back({"finding", name, [=] { return barrierSteps(steps, raw); }});
  };
  add("U-9 raw image: counts",
      {init(1), init(2), init(3), init(0xFFFFF), init(5), arrive(), arrive(2), arrive(2), arrive(5), arrive(5), drop(), arrive(4),
       arrive(4)},
      true);
  add("U-9 raw image: transactions",
      {init(2), expect(16), expect(1), complete(1), expect(0x1000), complete(0x1010), complete(32), expect(32), arrive(),
       expect(48), arrive(), complete(16), complete(32)},
      true);
  add("U-9 init 0", {init(0), arrive(1)}, true);
  add("U-9 init 2^20", {init(0x100000), arrive(1)});
  add("U-9 expect_tx up to 2^20-1 and beyond",
      {init(1), expect(0xFFFFF), expect(1), expect(1), complete(2), complete(0xFFFFF), arrive(1)});
  add("U-9 complete_tx down to -(2^20-1) and beyond",
      {init(1), complete(0xFFFFF), complete(1), complete(1), expect(2), expect(0xFFFFF), arrive(1)});
  add("U-9 arrive while pending is 0 and bytes are outstanding",
      {init(1), expect(16), arrive(1), arrive(1), complete(16), arrive(1)});
  add("U-9 more arrivals than pending", {init(2), arrive(3), arrive(1), arrive(2)});
  add("U-9 expect_tx that brings a negative count to zero with nothing pending",
      {init(1), complete(16), arrive(1), expect(16), complete(0), expect(16), complete(16)});
  add("U-11 parity over several phases", {init(1), arrive(), arrive(), arrive(), arrive()});
}

/// Addresses of the same variable in every CTA.
void addAddresses(CaseList& cases) {
  for (const uint32_t ctas : {1u, 8u})
    cases.push_back({"finding", fmt::format("U-10 shared addresses in a cluster of {}", ctas), [ctas] {
                       Program program;
                       constexpr uint32_t kWords = 16;
                       program.launch.grid = {2 * ctas, 1, 1};
                       program.launch.cluster = {ctas, 1, 1};
                       program.launch.block = {32, 1, 1};
                       program.launch.dynamicShared = 64;
                       program.moduleText = ".shared .align 16 .b8 own[32];\n";
                       const size_t out = program.output(2 * ctas * 4 * kWords);
                       std::string text = fmt::format(
                           "  mul.wide.u32 %rd0, %cta, {};\n  add.u64 %rd0, %rd0, %buf{};\n  mov.u32 %r0, own;\n  st.global.b32 "
                           "[%rd0], %r0;\n  st.global.b32 [%rd0+4], %dyn;\n",
                           4 * kWords, out);
                       text +=
                           "  mov.u64 %rd1, own;\n  cvta.shared.u64 %rd2, %rd1;\n  st.global.b64 [%rd0+8], %rd2;\n  "
                           "cvta.to.shared.u64 %rd3, %rd2;\n  st.global.b64 [%rd0+16], %rd3;\n";
                       for (uint32_t target = 0; target < 4; ++target)
                         text += fmt::format(
                             "  mov.u32 %r1, {0};\n  rem.u32 %r1, %r1, {1};\n  mapa.shared::cluster.u32 %r2, %r0, %r1;\n  "
                             "st.global.b32 [%rd0+{2}], %r2;\n",
                             target, ctas, 24 + 4 * target);
                       text += fmt::format(
                           "  mov.u32 %r1, {};\n  mapa.u64 %rd4, %rd2, %r1;\n  st.global.b64 [%rd0+40], %rd4;\n  mov.u32 %r3, "
                           "%total_smem_size;\n  st.global.b32 [%rd0+48], %r3;\n  mov.u32 %r3, %dynamic_smem_size;\n"
                           "  st.global.b32 [%rd0+52], %r3;\n",
                           ctas - 1);
                       program.body = byThread0(text);
                       Case made = program.build();
                       made.unjudged = "addresses: the emulator lays out its shared window in its own way";
                       made.finding = [ctas](const Observation& seen) {
                         if (seen.outcome != Outcome::Ok) return refusal(seen);
                         std::string found;
                         for (size_t cta = 0; cta<2 * ctas; cta += ctas> 1 ? 3 : 1) {
                           const size_t o = 64 * cta;
                           found += fmt::format(
                               "\n   cta {}: static {:#x} dynamic {:#x} generic {:#x} back {:#x} mapa(0..3) {:#x} {:#x} {:#x} "
                               "{:#x} generic mapa(last) {:#x} total {} dynamic size {}",
                               cta, at<uint32_t>(seen.bytes, o), at<uint32_t>(seen.bytes, o + 4), at<uint64_t>(seen.bytes, o + 8),
                               at<uint64_t>(seen.bytes, o + 16), at<uint32_t>(seen.bytes, o + 24), at<uint32_t>(seen.bytes, o + 28),
                               at<uint32_t>(seen.bytes, o + 32), at<uint32_t>(seen.bytes, o + 36), at<uint64_t>(seen.bytes, o + 40),
                               at<uint32_t>(seen.bytes, o + 48), at<uint32_t>(seen.bytes, o + 52));
                         }
                         return found;
                       };
                       return made;
                     }});
}

void addElections(CaseList& cases) {
  const std::vector<uint32_t> masks{0xFFFFFFFF, 0xFFFF0000, 0x80000000, 0x00000100, 0xAAAAAAAA, 0x7FFFFFF0, 0x0000FFFE, 0xC0000003};
  cases.push_back({"finding", "U-17 leader of elect.sync", [masks] {
                     Program program;
                     program.launch.block = {32, 1, 1};
                     const size_t out = program.output(masks.size() * 8);
                     for (size_t i = 0; i < masks.size(); ++i) {
                       const std::string skip = uniqueLabel();
                       program.body += fmt::format(
                           "  shr.u32 %r0, {0:#x}, %lane;\n  and.b32 %r0, %r0, 1;\n  setp.eq.u32 %p0, %r0, 0;\n  @%p0 bra {1};\n  "
                           "elect.sync %r1|%p1, {0:#x};\n  @%p1 st.global.b32 [%buf{2}+{3}], %lane;\n"
                           "  st.global.b32 [%buf{2}+{4}], %r1;\n{1}:\n  bar.warp.sync -1;\n",
                           masks[i], skip, out, 8 * i, 8 * i + 4);
                     }
                     Case made = program.build();
                     made.finding = [masks](const Observation& seen) {
                       if (seen.outcome != Outcome::Ok) return refusal(seen);
                       std::string text;
                       for (size_t i = 0; i < masks.size(); ++i)
                         text += fmt::format(" mask {:08x}: lane {} (d = {})", masks[i], at<uint32_t>(seen.bytes, 8 * i),
                                             at<uint32_t>(seen.bytes, 8 * i + 4));
                       return text;
                     };
                     return made;
                   }});
}

/// A multicast whose mask names CTAs that do not exist, or none.
void addMasks(CaseList& cases) {
  for (const uint32_t mask : {0x1u, 0x2u, 0x3u, 0x0u, 0x4u, 0x5u, 0xFFFFu})
    cases.push_back(
        {"finding", fmt::format("U-18 multicast mask {:#06x} in a cluster of 2", mask), [mask] {
           Program program;
           program.launch.grid = {2, 1, 1};
           program.launch.cluster = {2, 1, 1};
           program.launch.block = {32, 1, 1};
           program.launch.dynamicShared = 512;
           const size_t data = program.input(noise(256, 61)), out = program.output(2 * 264);
           program.body =
               fillShared(0, 256) +
               byThread0(
                   "  mbarrier.init.shared.b64 [%dyn+256], 1;\n  fence.mbarrier_init.release.cluster;\n  "
                   "mbarrier.arrive.expect_tx.shared.b64 _, [%dyn+256], 256;\n") +
               "  fence.proxy.async;\n  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  or.b32 %r0, %rank, "
               "%thread;\n  setp.ne.u32 %p1, %r0, 0;\n  @%p1 bra issued;\n" +
               fmt::format(
                   "  mov.u16 %h0, {};\n  add.u32 %r1, %dyn, 256;\n  "
                   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%dyn], [%buf{}], 256, "
                   "[%r1], %h0;\nissued:\n",
                   mask, data) +
               // With a legal mask only the CTAs in it have something to wait for.
               fmt::format(
                   "  setp.ne.u32 %p2, %dyn, %dyn;\n  shr.u32 %r5, {}, %rank;\n  and.b32 %r5, %r5, 1;\n  setp.eq.u32 %p3, %r5, "
                   "0;\n  @%p3 bra unmasked;\n",
                   mask == 0 || mask > 3 ? 3 : mask) +
               // With an empty one nothing will come; a test after a while tells.
               (mask != 0 ? boundedWait(256, "0", "%p2")
                          : std::string("  nanosleep.u32 100000;\n  mbarrier.test_wait.parity.shared.b64 %p2, [%dyn+256], 0;\n")) +
               "unmasked:\n" + fmt::format("  mul.wide.u32 %rd1, %rank, 264;\n  add.u64 %buf{0}, %buf{0}, %rd1;\n", out) +
               copyToBuffer(0, 256, out) + byThread0(putPredicate(out, 64, "%p2")) +
               "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
           Case made = program.build();
           made.finding = [](const Observation& seen) {
             if (seen.outcome != Outcome::Ok) return refusal(seen);
             const auto state = [&](size_t o) {
               return fmt::format("data {}, phase completed {}", at<uint32_t>(seen.bytes, o) == 0xEEEEEEEE ? "absent" : "present",
                                  at<uint32_t>(seen.bytes, o + 256));
             };
             return fmt::format("rank 0: {}; rank 1: {}", state(0), state(264));
           };
           return made;
         }});
}

/// One warpgroup gives registers back after a while; another one asks for more than the pool holds until then.
void addRegisterPool(CaseList& cases) {
  cases.push_back({"finding", "U-20 setmaxnreg waits for registers", [] {
                     Program program("sm_90a");
                     program.launch.block = {384, 1, 1};
                     const size_t out = program.output(16);
                     program.body = fmt::format(
                         "  shr.u32 %r0, %warp, 2;\n  and.b32 %r1, %thread, 127;\n  setp.eq.u32 %p0, %r1, 0;\n  bar.sync 0;\n  "
                         "setp.eq.u32 %p1, %r0, 0;\n  @%p1 bra giving;\n  setp.eq.u32 %p1, %r0, 1;\n"
                         "  @%p1 bra taking;\n  setmaxnreg.dec.sync.aligned.u32 160;\n  bra finished;\ngiving:\n  nanosleep.u32 "
                         "200000;\n  mov.u64 %rd0, %globaltimer;\n  @%p0 st.global.b64 [%buf{0}], %rd0;\n"
                         "  setmaxnreg.dec.sync.aligned.u32 40;\n  bra finished;\ntaking:\n  setmaxnreg.inc.sync.aligned.u32 "
                         "232;\n  mov.u64 %rd0, %globaltimer;\n  @%p0 st.global.b64 [%buf{0}+8], %rd0;\nfinished:\n",
                         out);
                     Case made = program.build();
                     const size_t head = made.ptx.find(")\n{", made.ptx.find(".entry"));
                     made.ptx.insert(head + 2, ".maxnreg 168\n.reqntid 384, 1, 1\n");
                     made.unjudged = "times; the emulator does not count registers";
                     made.finding = [](const Observation& seen) {
                       if (seen.outcome != Outcome::Ok) return refusal(seen);
                       return fmt::format("the warpgroup that takes went on {} ns after the one that gives",
                                          static_cast<int64_t>(at<uint64_t>(seen.bytes, 8) - at<uint64_t>(seen.bytes, 0)));
                     };
                     return made;
                   }});
}

void addTimes(CaseList& cases) {
  cases.push_back({"finding", "U-20 how long try_wait waits", [] {
                     Program program;
                     program.launch.block = {1, 1, 1};
                     program.launch.dynamicShared = 16;
                     static constexpr unsigned kWaits = 64;
                     const std::vector<std::string> hints{"", "", ", 0", ", 1000", ", 100000", ", 1000000", ", 10000000"};
                     const size_t out = program.output(16 * hints.size());
                     program.body = "  mbarrier.init.shared.b64 [%dyn], 1;\n";
                     for (size_t i = 0; i < hints.size(); ++i) {
                       const std::string again = uniqueLabel();
                       program.body +=
                           fmt::format(
                               "  mov.u32 %r0, 0;\n  mov.u64 %rd0, %globaltimer;\n{0}:\n  mbarrier.try_wait.parity.shared.b64 %p0, "
                               "[%dyn], 0{1};\n  add.u32 %r0, %r0, 1;\n  setp.lt.u32 %p1, %r0, {2};\n  @%p1 bra {0};\n"
                               "  mov.u64 %rd1, %globaltimer;\n  sub.u64 %rd1, %rd1, %rd0;\n  st.global.b64 [%buf{3}+{4}], %rd1;\n",
                               again, hints[i], kWaits, out, 16 * i) +
                           putPredicate(out, static_cast<uint32_t>(4 * i + 2), "%p0");
                     }
                     Case made = program.build();
                     made.unjudged = "times";
                     made.finding = [hints](const Observation& seen) {
                       if (seen.outcome != Outcome::Ok) return refusal(seen);
                       std::string text;
                       for (size_t i = 0; i < hints.size(); ++i)
                         text += fmt::format(" hint '{}': {} waits in {} ns, returned {};", hints[i], kWaits,
                                             at<uint64_t>(seen.bytes, 16 * i), at<uint32_t>(seen.bytes, 16 * i + 8));
                       return text;
                     };
                     return made;
                   }});
}

}  // namespace

void addSynchronisationFindings(CaseList& cases) {
  addBarriers(cases);
  addAddresses(cases);
  addElections(cases);
  addMasks(cases);
  addTimes(cases);
  addRegisterPool(cases);
}

}  // namespace shiftconv::recordings
