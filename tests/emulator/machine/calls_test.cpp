// Device functions: activations per set of lanes, parameters, results, recursion, indirect calls.
#include <gtest/gtest.h>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::calls_test {
namespace {

const char* const kStore = R"(
  ld.param.u64 %rd1, [out]; mov.u32 %r8, %tid.x; mul.wide.u32 %rd2, %r8, 4; add.u64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r9; ret; })";
const char* const kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
  mov.u32 %r1, %tid.x; )";

// factorial(n) with the recursive call in the middle, so that registers and locals must survive it.
const char* const kFactorial = R"(
.func (.param .b32 result) factorial(.param .b32 n) {
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  .local .align 8 .b8 keep[16];
  ld.param.u32 %r1, [n];
  mul.lo.u32 %r4, %r1, 3; st.local.u32 [keep+4], %r4;
  mov.u32 %r2, 1;
  setp.le.u32 %p1, %r1, 1; @%p1 bra DONE;
  sub.u32 %r3, %r1, 1;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), factorial, (a); ld.param.b32 %r2, [b]; }
  ld.local.u32 %r5, [keep+4]; mul.lo.u32 %r6, %r1, 3; setp.ne.u32 %p1, %r5, %r6; @%p1 trap;
  mul.lo.u32 %r2, %r2, %r1;
DONE: st.param.b32 [result], %r2; ret; })";

uint32_t factorial(uint32_t n) { return n <= 1 ? 1 : n * factorial(n - 1); }

TEST(Calls, RecursionKeepsRegistersAndLocalsPerActivation) {
  const auto out = runWords(std::string(kFactorial) + kBegin + R"(
    and.b32 %r2, %r1, 15;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), factorial, (a); ld.param.b32 %r9, [b]; })" +
                                kStore,
                            threads(64), 64);
  for (uint32_t thread = 0; thread < 64; ++thread) EXPECT_EQ(out[thread], factorial(thread & 15)) << thread;
}

TEST(Calls, DivergentCallersShareNothing) {
  // Odd lanes call with tid, even lanes with tid + 1 from another place; a third of the lanes does not call at all.
  const auto out = runWords(std::string(kFactorial) + kBegin + R"(
    .reg .b32 %q<4>;
    rem.u32 %q1, %r1, 3; mov.u32 %r9, 777; setp.eq.u32 %p3, %q1, 0; @%p3 bra S;
    and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; and.b32 %r4, %r1, 7; @%p1 bra EVEN;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; call (b), factorial, (a); ld.param.b32 %r9, [b]; } bra S;
  EVEN: add.u32 %r4, %r4, 1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; call (b), factorial, (a); ld.param.b32 %r9, [b]; }
  S: )" + kStore,
                            threads(32), 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 3 == 0 ? 777 : factorial((t & 7) + (t % 2 == 0 ? 1 : 0))) << t;
}

TEST(Calls, FunctionsMayExitThreads) {
  const auto out = runWords(R"(
.func leave(.param .b32 n) { .reg .pred %p<2>; .reg .b32 %r<4>; ld.param.u32 %r1, [n]; and.b32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 1;
  @%p1 exit; ret; })" + std::string(kBegin) +
                                R"(
    { .param .b32 a; st.param.b32 [a], %r1; call leave, (a); }
    activemask.b32 %r9;)" + kStore,
                            threads(32), 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 2 == 0 ? 0x55555555u : kPoisonWord) << t;
}

TEST(Calls, IndirectCallsFollowEachLane) {
  const auto out = runWords(R"(
.func (.param .b32 r) twice(.param .b32 n) { .reg .b32 %r<4>; ld.param.u32 %r1, [n]; shl.b32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) square(.param .b32 n) { .reg .b32 %r<4>; ld.param.u32 %r1, [n]; mul.lo.u32 %r1, %r1, %r1; st.param.b32 [r], %r1; ret; }
)" + std::string(kBegin) + R"(
    mov.u64 %rd3, twice; mov.u64 %rd4, square; setp.ge.u32 %p1, %r1, 10; selp.b64 %rd3, %rd4, %rd3, %p1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;
      prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (b), %rd3, (a), prototype; ld.param.b32 %r9, [b]; })" +
                                kStore,
                            threads(32), 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t >= 10 ? t * t : 2 * t) << t;
}

TEST(Calls, AddressesOfLocalsReachAcrossCalls) {
  // The callee adds 5 to a local variable of the caller through a generic pointer.
  const auto out = runWords(R"(
.func bump(.param .b64 where) { .reg .b32 %r<4>; .reg .b64 %rd<4>; .local .align 4 .b8 mine[64]; ld.param.u64 %rd1, [where];
  ld.u32 %r1, [%rd1]; st.local.u32 [mine], %r1; add.u32 %r1, %r1, 5; st.u32 [%rd1], %r1; ret; })" +
                                std::string(kBegin) + R"(
    .local .align 16 .b8 depot[32];
    mov.u64 %rd5, depot; cvta.local.u64 %rd6, %rd5; st.local.u32 [%rd5+8], %r1; add.u64 %rd6, %rd6, 8;
    { .param .b64 a; st.param.b64 [a], %rd6; call bump, (a); }
    ld.local.u32 %r9, [depot+8];)" +
                                kStore,
                            threads(40), 40);
  for (uint32_t t = 0; t < 40; ++t) EXPECT_EQ(out[t], t + 5) << t;
}

TEST(Calls, EndlessRecursionIsStopped) {
  const EmulatorError error = errorOf(".func f() { call f; ret; }" + std::string(kBegin) + "call f;" + kStore, threads(32));
  EXPECT_EQ(error.kind(), ErrorKind::Limit);
  EXPECT_CONTAINS(error.what(), "calls are nested more than 1000 deep at 'f'");
}

TEST(Calls, AssertionsStopTheKernelWithTheirText) {
  const EmulatorError error = errorOf(R"(
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[6] = {120, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 name[2] = {102, 0};)" +
                                          std::string(kBegin) + R"(
    setp.ne.u32 %p1, %r1, 9; @%p1 bra OK;
    { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
      mov.u64 %rd3, text; st.param.b64 [a], %rd3; mov.u64 %rd3, file; st.param.b64 [b], %rd3; st.param.b32 [c], 17;
      mov.u64 %rd3, name; st.param.b64 [d], %rd3; st.param.b64 [e], 1;
      call __assertfail, (a, b, c, d, e); }
  OK: )" + kStore,
                                      threads(32));
  EXPECT_EQ(error.kind(), ErrorKind::Trap);
  EXPECT_CONTAINS(error.what(), "lane 9: assertion 'x > 0' failed at a.cu:17 in f");
}

TEST(Calls, PrintfWritesToStandardOutput) {
  testing::internal::CaptureStdout();
  runWords(R"(
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 format[14] = {37, 51, 100, 32, 37, 108, 120, 32, 37, 46, 49, 102, 10, 0};)" +
               std::string(kBegin) + R"(
    .local .align 8 .b8 depot[24];
    setp.ne.u32 %p1, %r1, 1; @%p1 bra S;
    mov.u64 %rd3, depot; cvta.local.u64 %rd4, %rd3;
    st.local.u32 [depot], 42; st.local.u64 [depot+8], 0x123456789a; st.local.f64 [depot+16], 0d3FF8000000000000;
    { .param .b64 a; .param .b64 b; .param .b32 c; mov.u64 %rd3, format; st.param.b64 [a], %rd3; st.param.b64 [b], %rd4;
      call (c), vprintf, (a, b); }
  S: )" + kStore,
           threads(32), 32);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), " 42 123456789a 1.5\n");
}

}  // namespace
}  // namespace shiftconv::tests::calls_test
