// Errors carry what is needed to find them: address, size, allocation, kernel, CTA, warp, lanes, PTX and source line.
#include <gtest/gtest.h>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::error_test {
namespace {

const char* const kBegin = R"(
.visible .entry k(.param .u64 out) {
  .reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
  mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out]; )";

EmulatorError errorIn(const std::string& body, const LaunchConfig& config = threads(32), const std::string& variables = "") {
  return errorOf(variables + kBegin + body + " ret; }", config);
}

TEST(Errors, ContextNamesKernelThreadAndLines) {
  const EmulatorError error = errorOf(R"(.file 1 "gemm.cu"
)" + std::string(kBegin) + R"(
    mov.u32 %r2, %warpid; setp.ne.u32 %p1, %r2, 1; @%p1 bra S;
    .loc 1 77 3
    setp.gt.u32 %p2, %r1, 59;
    @%p2 trap;
  S: ret; })",
                                      threads(96, 2));
  EXPECT_EQ(error.kind(), ErrorKind::Trap);
  EXPECT_CONTAINS(error.what(), "the kernel executed trap");
  EXPECT_CONTAINS(error.what(), "in kernel k, CTA (0,0,0) rank 0, warp 1, lanes 0xf0000000");
  EXPECT_CONTAINS(error.what(), "at PTX line 12 (gemm.cu:77): @%p2 trap;");
}

TEST(Errors, GlobalAccesses) {
  const EmulatorError past =
      errorIn("mul.wide.u32 %rd2, %r1, 16; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], 1;");  // 64 words exist
  EXPECT_EQ(past.kind(), ErrorKind::OutOfBounds);
  EXPECT_CONTAINS(past.what(), "lane 16: global write of 4 bytes at 0x");
  EXPECT_CONTAINS(past.what(), "0 bytes past the end of the 256-byte allocation");
  const EmulatorError odd = errorIn("mul.wide.u32 %rd2, %r1, 2; add.u64 %rd2, %rd1, %rd2; ld.global.u32 %r2, [%rd2];");
  EXPECT_EQ(odd.kind(), ErrorKind::Misaligned);
  EXPECT_CONTAINS(odd.what(), "lane 1: global read of 4 bytes");
  EXPECT_CONTAINS(odd.what(), "multiple of 4 (byte 2 of the allocation");
  EXPECT_EQ(errorIn("ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd1+8];").kind(), ErrorKind::Misaligned);
  EXPECT_CONTAINS(errorIn("mov.u64 %rd2, 0; ld.u8 %h1, [%rd2];").what(), "global read of 1 bytes at 0x0");
  EXPECT_CONTAINS(errorIn("mov.b64 %rd2, out; cvta.param.u64 %rd2, %rd2; st.u32 [%rd2], 0;").what(), "read-only");
  EXPECT_CONTAINS(errorIn("mov.b64 %rd2, out; ld.param.u32 %r2, [%rd2+8];").what(),
                  "outside the 8 bytes of the kernel's parameters");
}

TEST(Errors, SharedAccesses) {
  const std::string tile = ".shared .align 16 .b8 s[64];";
  const EmulatorError outside = errorIn("mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; st.shared.u32 [%r2], 1;", threads(32), tile);
  EXPECT_EQ(outside.kind(), ErrorKind::OutOfBounds);
  EXPECT_CONTAINS(outside.what(), "lane 16: shared memory write of 4 bytes at offset 0x440 is outside the 1088 bytes of the CTA");
  EXPECT_EQ(errorIn("mov.u32 %r2, s; st.shared.u32 [%r2+2], 1;", threads(32), tile).kind(), ErrorKind::Misaligned);
  const EmulatorError foreign =
      errorIn("mov.u32 %r2, s; mapa.shared::cluster.u32 %r3, %r2, 1; st.shared.u32 [%r3], 1;", threads(32, 2, 2), tile);
  EXPECT_CONTAINS(foreign.what(), "not in the shared::cta window of CTA rank 0");
  EXPECT_CONTAINS(errorIn("mov.u32 %r2, s; mapa.shared::cluster.u32 %r3, %r2, 2;", threads(32, 2, 2), tile).what(),
                  "mapa to CTA rank 2, but the cluster has 2 CTAs");
}

TEST(Errors, RemoteSharedMemoryOfAnExitedCta) {
  const EmulatorError error = errorIn(R"(
    mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p1, %r2, 1; @%p1 exit; mov.u32 %r3, 0;
  D: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 2000; @%p2 bra D;
    mov.u32 %r4, s; mapa.shared::cluster.u32 %r4, %r4, 1; st.shared::cluster.u32 [%r4], 1;)",
                                      threads(32, 2, 2), ".shared .align 16 .b8 s[64];");
  EXPECT_EQ(error.kind(), ErrorKind::Synchronisation);
  EXPECT_CONTAINS(error.what(), "CTA rank 1, which has exited");
}

TEST(Errors, LocalAccesses) {
  const std::string local = ".local .align 8 .b8 depot[16]; mov.u64 %rd3, depot; ";
  EXPECT_CONTAINS(errorIn(local + "ld.local.u64 %rd4, [%rd3+16];").what(), "outside the 16 bytes of the thread");
  EXPECT_EQ(errorIn(local + "ld.local.u64 %rd4, [%rd3+4];").kind(), ErrorKind::Misaligned);
}

TEST(Errors, MbarrierProtocol) {
  const std::string bar = ".shared .align 8 .b8 bar[16];";
  const auto kindOf = [&](const std::string& body) { return errorIn("mov.u32 %r2, bar;" + body, threads(32), bar); };
  EXPECT_CONTAINS(kindOf("mbarrier.arrive.shared.b64 _, [%r2];").what(), "no mbarrier was initialised");
  EXPECT_CONTAINS(kindOf("mbarrier.init.shared.b64 [%r2], 1;").what(), "live mbarrier") << "32 threads initialise it";
  EXPECT_CONTAINS(kindOf("setp.eq.u32 %p1, %r1, 0; @%p1 mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.shared.b64 _, [%r2];"
                         "mbarrier.test_wait.parity.shared.b64 %p1, [%r2+4], 0;")
                      .what(),
                  "multiple of 8");
}

TEST(Errors, InstructionLimit) {
  Options options;
  options.instructionLimit = 100000;
  const EmulatorError error = errorOf(std::string(kBegin) + "L: bra L; }", threads(32), options);
  EXPECT_EQ(error.kind(), ErrorKind::Limit);
  EXPECT_CONTAINS(error.what(), "more than the 100000 warp instructions");
  EXPECT_CONTAINS(error.what(), "lanes 0xffffffff can run");
}

TEST(Errors, TheFirstFailingCtaIsReported) {
  // Every CTA from 3 on traps; CTA 3 does so last.
  const std::string body = R"(
    mov.u32 %r2, %ctaid.x; setp.lt.u32 %p1, %r2, 3; @%p1 exit; mov.u32 %r3, 0; sub.u32 %r4, 20, %r2; mul.lo.u32 %r4, %r4, 500;
  D: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r4; @%p2 bra D; trap;)";
  for (const unsigned hostThreads : {1u, 4u}) {
    Options options;
    options.hostThreads = hostThreads;
    EXPECT_CONTAINS(errorOf(std::string(kBegin) + body + " }", threads(32, 16), options).what(), "CTA (3,0,0)");
  }
}

TEST(Errors, BranchTablesAndIndirectCalls) {
  EXPECT_CONTAINS(errorIn("T: .branchtargets A, B; brx.idx %r1, T; A: ret; B:").what(),
                  "branch index 2 is outside the table of 2 targets");
  EXPECT_CONTAINS(errorIn("mov.u64 %rd2, 12345; P: .callprototype _ (); call %rd2, P;").what(), "not the address of a function");
}

}  // namespace
}  // namespace shiftconv::tests::error_test
