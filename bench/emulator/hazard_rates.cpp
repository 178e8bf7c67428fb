// What hazard checking costs on kernels that mostly move data: every mix runs by turns without and with it, on one host thread.
//
// The time shown is the processor time of the checked launch, which other work on the host disturbs less than the time passed; "x
// unchecked" divides its median by that of the unchecked one. Tensor-core kernels are measured in bench/conv
// (emulated_convolution).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/emulator/emulator.hpp"

namespace {

using namespace shiftconv::emulator;

constexpr uint32_t kThreads = 256;
constexpr uint32_t kCtas = 16;
constexpr uint32_t kWords = 1 << 18;  ///< in each of the two buffers: 64 a thread

const std::string kBegin = R"(.version 9.0
.target sm_100a
.address_size 64
.shared .align 128 .b8 s[8192];
.shared .align 8 .b8 bar[16];
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %rd<16>; .reg .f32 %f<16>;
  ld.param.u64 %rd1, [in]; cvta.to.global.u64 %rd1, %rd1; ld.param.u64 %rd2, [out]; cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r1;
)";

double secondsOf(Emulator& device, const std::shared_ptr<const LoadedModule>& module, std::span<const void* const> arguments,
                 bool hazards) {
  machine::LaunchConfig config;
  config.block.x = kThreads;
  config.grid.x = kCtas;
  Options options;
  options.hostThreads = 1;
  options.hazards = hazards ? HazardMode::Warn : HazardMode::Off;
  const std::clock_t begin = std::clock();
  const LaunchReport report = device.launch(*module, "k", config, arguments, options);
  const std::clock_t end = std::clock();
  if (!report.hazards.empty()) throw std::runtime_error("a mix has hazards: " + describe(report.hazards.front()));
  return static_cast<double>(end - begin) / CLOCKS_PER_SEC;
}

double medianOf(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void run(benchmark::State& state, const char* body) {
  Emulator device;
  const auto module = device.load(kBegin + body + "\nret; }\n", "bench");
  const uint64_t in = device.memory().allocate(kWords * 4), out = device.memory().allocate(kWords * 4);
  std::memset(reinterpret_cast<void*>(in), 1, kWords * 4);
  device.memory().markWritten(in, kWords * 4);
  const void* arguments[] = {&in, &out};
  std::vector<double> without, with;
  for (auto _ : state) {
    without.push_back(secondsOf(device, module, arguments, false));
    with.push_back(secondsOf(device, module, arguments, true));
    state.SetIterationTime(with.back());
  }
  state.counters["x unchecked"] = medianOf(with) / medianOf(without);
  state.counters["unchecked ms"] = medianOf(without) * 1e3;
  device.memory().release(in);
  device.memory().release(out);
}

const char* const kCopyWords = R"(
  mov.u32 %r4, 0; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
L: ld.global.u32 %r5, [%rd4]; st.global.u32 [%rd5], %r5; add.u64 %rd4, %rd4, 16384; add.u64 %rd5, %rd5, 16384;
  add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 64; @%p1 bra L;)";

const char* const kCopyVectors = R"(
  mov.u32 %r4, 0; mul.wide.u32 %rd3, %r3, 16; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
L: ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd4]; st.global.v4.u32 [%rd5], {%r5, %r6, %r7, %r8};
  add.u64 %rd4, %rd4, 65536; add.u64 %rd5, %rd5, 65536; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 16; @%p1 bra L;)";

/// Bytes one by one, as copies of odd types do.
const char* const kCopyBytes = R"(
  mov.u32 %r4, 0; mul.wide.u32 %rd3, %r3, 1; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
L: ld.global.u8 %r5, [%rd4]; st.global.u8 [%rd5], %r5; add.u64 %rd4, %rd4, 4096; add.u64 %rd5, %rd5, 4096;
  add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 64; @%p1 bra L;)";

/// A reference GEMM's inner loop: two loads and one product a step, one of the loads shared by the warp.
const char* const kReferenceProduct = R"(
  mov.u32 %r4, 0; mov.f32 %f1, 0f00000000; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3; mul.wide.u32 %rd6, %r2, 4096;
  add.u64 %rd6, %rd1, %rd6;
L: ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd6]; fma.rn.f32 %f1, %f2, %f3, %f1; add.u64 %rd4, %rd4, 16384; add.u64 %rd6, %rd6, 4;
  add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 64; @%p1 bra L;
  add.u64 %rd5, %rd2, %rd3; st.global.f32 [%rd5], %f1;)";

/// C = A B as one writes it first, a thread for an element, in blocks of 16 x 16: the halves of a warp read two words of A, and
/// both the same line of B.
const char* const kTripleLoop = R"(
  shr.u32 %r4, %r2, 2; and.b32 %r5, %r2, 3; shr.u32 %r6, %r1, 4; and.b32 %r7, %r1, 15;
  mad.lo.u32 %r8, %r4, 16, %r6; mad.lo.u32 %r9, %r5, 16, %r7;
  mul.wide.u32 %rd4, %r8, 1024; add.u64 %rd4, %rd1, %rd4; mul.wide.u32 %rd6, %r9, 4; add.u64 %rd6, %rd1, %rd6;
  mad.lo.u32 %r10, %r8, 64, %r9; mul.wide.u32 %rd5, %r10, 4; add.u64 %rd5, %rd2, %rd5; mov.f32 %f1, 0f00000000; mov.u32 %r4, 0;
L: ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd6+65536]; fma.rn.f32 %f1, %f2, %f3, %f1;
  add.u64 %rd4, %rd4, 4; add.u64 %rd6, %rd6, 256; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 256; @%p1 bra L;
  st.global.f32 [%rd5], %f1;)";

/// The same with a row of the result for a warp's lane: every lane reads another line of A, and all of them one word of B.
const char* const kRowsOfLanes = R"(
  mul.wide.u32 %rd4, %r1, 1024; add.u64 %rd4, %rd1, %rd4; mul.wide.u32 %rd6, %r2, 4; add.u64 %rd6, %rd1, %rd6;
  mad.lo.u32 %r10, %r1, 64, %r2; mul.wide.u32 %rd5, %r10, 4; add.u64 %rd5, %rd2, %rd5; mov.f32 %f1, 0f00000000; mov.u32 %r4, 0;
L: ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd6]; fma.rn.f32 %f1, %f2, %f3, %f1;
  add.u64 %rd4, %rd4, 4; add.u64 %rd6, %rd6, 256; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 256; @%p1 bra L;
  st.global.f32 [%rd5], %f1;)";

/// Tiles through shared memory, with barriers.
const char* const kSharedTile = R"(
  mov.u32 %r4, 0; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
  mov.u32 %r9, s; mad.lo.u32 %r10, %r1, 4, %r9; xor.b32 %r11, %r1, 255; mad.lo.u32 %r11, %r11, 4, %r9;
L: ld.global.u32 %r5, [%rd4]; st.shared.u32 [%r10], %r5; bar.sync 0; ld.shared.u32 %r6, [%r11]; bar.sync 0; st.global.u32 [%rd5], %r6;
  add.u64 %rd4, %rd4, 16384; add.u64 %rd5, %rd5, 16384; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 64; @%p1 bra L;)";

/// Bulk copies to shared memory and back, one in flight.
const char* const kBulkCopies = R"(
  setp.ne.u32 %p2, %r1, 0; @%p2 bra E;
  mov.u32 %r9, s; mov.u32 %r10, bar; mbarrier.init.shared.b64 [%r10], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;
  mov.u32 %r4, 0; mov.u32 %r12, 0; mul.wide.u32 %rd3, %r2, 8192; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
L: mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r10], 8192;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r9], [%rd4], 8192, [%r10];
W: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], %r12; @!%p3 bra W; xor.b32 %r12, %r12, 1;
  cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r9], 8192; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  add.u64 %rd4, %rd4, 131072; add.u64 %rd5, %rd5, 131072; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 8; @%p1 bra L;
E:)";

/// No memory at all: what following undefined values costs by itself.
const char* const kArithmetic = R"(
  mov.u32 %r4, 0; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F7FFF00; mov.f32 %f3, 0f3F000000;
L: fma.rn.f32 %f1, %f1, %f2, %f3; mul.f32 %f5, %f1, %f2; add.f32 %f1, %f1, %f5; max.f32 %f1, %f1, %f3;
  add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 256; @%p1 bra L;
  mul.wide.u32 %rd3, %r3, 4; add.u64 %rd5, %rd2, %rd3; st.global.f32 [%rd5], %f1;)";

BENCHMARK_CAPTURE(run, copyWords, kCopyWords)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(run, copyVectors, kCopyVectors)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(run, copyBytes, kCopyBytes)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(run, referenceProduct, kReferenceProduct)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(run, tripleLoop, kTripleLoop)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(run, rowsOfLanes, kRowsOfLanes)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(run, sharedTile, kSharedTile)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(run, bulkCopies, kBulkCopies)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(run, arithmetic, kArithmetic)->Unit(benchmark::kMillisecond)->UseManualTime();

}  // namespace
