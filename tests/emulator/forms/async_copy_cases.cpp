// cp.async without .bulk: sizes, zero filling, groups and mbarriers, under early and late completion.
#include "tests/emulator/forms/machine_run.hpp"
#include "tests/emulator/forms/memory_case_parts.hpp"

namespace shiftconv::tests::async_copy_cases {
namespace {

const std::string kScope = ".shared .align 16 .b8 s[2048]; .shared .align 8 .b8 bar[8];";

std::vector<uint32_t> numbered(size_t words) {
  std::vector<uint32_t> values(words);
  for (size_t i = 0; i < words; ++i) values[i] = static_cast<uint32_t>(0x01010101u * (i + 1));
  return values;
}

/// Thread t copies 16 bytes at 16 t of the array into shared memory with `copy`, waits, and stores the first two words
/// that it finds there after the array.
std::vector<uint32_t> copied(FormRun& run, const std::string& copy, const Options& options = {}) {
  const std::string body =
      R"(
    mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd1, %rd3; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 16, %r2; st.shared.v4.u32 [%r2], {9, 9, 9, 9};
    )" +
      copy +
      R"( cp.async.commit_group; cp.async.wait_group 0; ld.shared.v2.u32 {%r3, %r4}, [%r2]; mul.wide.u32 %rd4, %r1, 8; add.u64 %rd4, %rd1, %rd4; st.global.v2.u32 [%rd4+512], {%r3, %r4};)";
  const auto out = runModule(run, kernel(body, kScope), threads(32), 128 + 64, numbered(128), options);
  return {out.begin() + 128, out.end()};
}

void sizes(FormRun& run) {
  struct Variant {
    const char* copy;
    bool both;         ///< the second word is copied, too
    uint32_t mask[2];  ///< bytes that come from the source; the others are zero, or 9 where nothing is copied
  };
  const Variant variants[] = {
      {"cp.async.ca.shared.global [%r2], [%rd3], 4;", false, {~0u, 0}},
      {"cp.async.ca.shared::cta.global [%r2], [%rd3], 8;", true, {~0u, ~0u}},
      {"cp.async.ca.shared.global [%r2], [%rd3], 16;", true, {~0u, ~0u}},
      {"cp.async.cg.shared.global.L2::128B [%r2], [%rd3], 16;", true, {~0u, ~0u}},
      {"cp.async.cg.shared.global [%r2], [%rd3], 16, 6;", true, {~0u, 0xffff}},
      {"mov.u32 %r5, 3; cp.async.ca.shared.global [%r2], [%rd3], 8, %r5;", true, {0xffffff, 0}},
      {"setp.eq.u32 %p1, 0, 0; cp.async.cg.shared.global [%r2], [%rd3], 16, %p1;", true, {0, 0}},
      {"setp.eq.u32 %p1, 0, 1; cp.async.cg.shared.global [%r2], [%rd3], 16, %p1;", true, {~0u, ~0u}},
      {"mov.b64 %rd5, 0; cp.async.ca.shared.global.L2::cache_hint [%r2], [%rd3], 4, 2, %rd5;", false, {0xffff, 0}},
  };
  const auto source = numbered(128);
  for (const Variant& variant : variants)
    for (const SchedulePolicy policy : {SchedulePolicy::Earliest, SchedulePolicy::Latest}) {
      const auto out = copied(run, variant.copy, withPolicy(policy));
      for (uint32_t t = 0; t < 32; ++t) {
        ASSERT_EQ(out[2 * t], source[4 * t] & variant.mask[0]) << variant.copy;
        ASSERT_EQ(out[2 * t + 1], variant.both ? source[4 * t + 1] & variant.mask[1] : 9u) << variant.copy;
      }
    }
}

void refusals(FormRun& run) {
  expectRefused(run, "cp.async.cg.shared.global [%r1], [%rd1], 8;", "copy size of cp.async.cg is 16");
  expectRefused(run, "cp.async.ca.shared.global [%r1], [%rd1], 2;", "4, 8 or 16");
  expectRefused(run, "mov.u32 %r2, s; cp.async.ca.shared.global [%r2], [%rd1], 4, 5;", "source size 5 exceeds", kScope);
  expectRefused(run, "mov.u32 %r2, s; cp.async.ca.shared.global [%r2+4], [%rd1], 8;", "cp.async of 8 bytes", kScope);
  expectRefused(run, "mov.u32 %r2, s; cp.async.ca.shared.global [%r2], [%rd1+256], 4;", "past the end", kScope);
}

/// Two groups: after wait_group 1 the first has landed; the second not before wait_group 0 under the latest schedule.
void groups(FormRun& run) {
  const std::string begin =
      "mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group;"
      "cp.async.ca.shared.global [%r2+512], [%rd2], 4; cp.async.commit_group; cp.async.ca.shared.global [%r2+1024], [%rd2], 4; ";
  const auto source = numbered(32);
  for (const Options& options : schedules(6)) {
    const auto out = runModule(
        run,
        kernel(begin + "cp.async.wait_group 1; ld.shared.u32 %r3, [%r2]; cp.async.wait_group 0; ld.shared.u32 %r4, [%r2+512];"
                       "cp.async.wait_all; ld.shared.u32 %r5, [%r2+1024]; add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; "
                       "st.global.u32 [%rd2], %r3;",
               kScope),
        threads(32), 32, source, options);
    for (uint32_t t = 0; t < 32; ++t) ASSERT_EQ(out[t], 3 * source[t]) << nameOf(options);
  }
  // Waiting for fewer groups than needed, or for copies of a group that is still open, shows under some schedule.
  for (const char* early :
       {"cp.async.wait_group 2; ld.shared.u32 %r3, [%r2];", "cp.async.wait_group 0; ld.shared.u32 %r3, [%r2+1024];"}) {
    unsigned caught = 0;
    for (const Options& options : schedules(20))
      caught +=
          runModule(run, kernel(begin + early + "st.global.u32 [%rd2], %r3;", kScope), threads(32), 32, source, options) != source;
    EXPECT_GT(caught, 0u) << early;
  }
}

void arrivals(FormRun& run) {
  // Plain: the arrive of each copy is added to the pending count, so 32 ordinary arrivals are still needed.
  // .noinc: the arrivals of the copies are the expected ones.
  const auto source = numbered(32);
  for (const Options& options : schedules(6))
    for (const bool counted : {false, true}) {
      const std::string body = fmt::format(R"(
        mov.u32 %r4, bar; setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r4], 32; bar.warp.sync 0xffffffff;
        mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.mbarrier.arrive{}.shared.b64 [%r4];
        {}
      W: mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0; @!%p2 bra W;
        mov.u32 %r5, s; sub.u32 %r6, 31, %r1; mad.lo.u32 %r5, %r6, 4, %r5; ld.shared.u32 %r3, [%r5]; st.global.u32 [%rd2], %r3;)",
                                           counted ? ".noinc" : "", counted ? "" : "mbarrier.arrive.shared.b64 _, [%r4];");
      const auto out = runModule(run, kernel(body, kScope), threads(32), 32, source, options);
      for (uint32_t t = 0; t < 32; ++t) ASSERT_EQ(out[t], source[31 - t]) << nameOf(options);
    }
}

}  // namespace

FormCases all() {
  const std::string_view copy = formOf("cp.async.ca.shared.global");
  return {
      {copy, "sizes_and_zero_filling", sizes},
      {copy, "refusals", refusals},
      {formOf("cp.async.commit_group"), "groups", groups},
      {formOf("cp.async.wait_group"), "groups", groups},
      {formOf("cp.async.mbarrier.arrive.shared.b64"), "tracks_copies", arrivals},
  };
}

}  // namespace shiftconv::tests::async_copy_cases

namespace shiftconv::tests {
FormCases asyncCopyCases() { return async_copy_cases::all(); }
}  // namespace shiftconv::tests
