// How many scalar instructions of threads one host core executes per second, for typical mixes.
//
// items_per_second counts thread instructions (warp instructions times their active lanes) of the kernel alone.
#include <benchmark/benchmark.h>

#include <cstring>
#include <numeric>
#include <string>

#include "common/emulator/emulator.hpp"

namespace {

using namespace shiftconv::emulator;

constexpr uint32_t kThreads = 256;
constexpr uint32_t kCtas = 8;
constexpr uint32_t kWords = 1 << 16;

const std::string kBegin = R"(.version 9.0
.target sm_100a
.address_size 64
.shared .align 16 .b8 s[4096];
.shared .align 8 .b8 bar[16];
.visible .entry k(.param .u64 data) {
  .reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %rd<8>; .reg .f32 %f<16>;
  mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [data]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r2, 0;
)";
const std::string kLoopEnd = R"(
  add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 1000; @%p1 bra L;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r3; ret; }
)";

void run(benchmark::State& state, const std::string& body) {
  Emulator device;
  const auto module = device.load(kBegin + body, "bench");
  const uint64_t data = device.memory().allocate(kWords * 4);
  std::memset(reinterpret_cast<void*>(data), 0, kWords * 4);
  const void* arguments[] = {&data};
  machine::LaunchConfig config;
  config.block.x = kThreads;
  config.grid.x = kCtas;
  Options options;
  options.hostThreads = 1;
  uint64_t threadInstructions = 0;
  for (auto _ : state) {
    const LaunchReport report = device.launch(*module, "k", config, arguments, options);
    threadInstructions +=
        std::accumulate(report.counters.threadInstructions.begin(), report.counters.threadInstructions.end(), uint64_t{0});
  }
  state.SetItemsProcessed(static_cast<int64_t>(threadInstructions));
  device.memory().release(data);
}

void integerLoop(benchmark::State& state) {
  run(state, R"(mov.u32 %r3, %r1;
  L: mad.lo.u32 %r3, %r3, 1664525, 1013904223; xor.b32 %r4, %r3, %r2; shr.u32 %r5, %r4, 7; add.u32 %r3, %r3, %r5; and.b32 %r6, %r3, 255; sub.u32 %r3, %r3, %r6;)" +
                 kLoopEnd);
}

void floatLoop(benchmark::State& state) {
  run(state, R"(mov.u32 %r3, %r1; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F7FFF00; mov.f32 %f3, 0f3F000000;
  L: fma.rn.f32 %f1, %f1, %f2, %f3; fma.rn.f32 %f4, %f1, %f2, %f3; mul.f32 %f5, %f4, %f2; add.f32 %f1, %f1, %f5; max.f32 %f1, %f1, %f3; mul.f32 %f1, %f1, %f3;)" +
                 kLoopEnd);
}

void globalLoop(benchmark::State& state) {
  run(state, R"(mov.u32 %r3, %r1;
  L: add.u32 %r4, %r3, %r2; and.b32 %r4, %r4, 65535; mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; ld.global.u32 %r5, [%rd4]; add.u32 %r5, %r5, 1; st.global.u32 [%rd4], %r5;)" +
                 kLoopEnd);
}

void sharedLoop(benchmark::State& state) {
  run(state, R"(mov.u32 %r3, s; mad.lo.u32 %r3, %r1, 16, %r3; mov.u32 %r7, 0; st.shared.v4.u32 [%r3], {%r7, %r7, %r7, %r7};
  L: ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3]; add.u32 %r4, %r4, %r2; xor.b32 %r5, %r5, %r4; st.shared.v2.u32 [%r3], {%r4, %r5}; ld.shared.u32 %r8, [%r3+8]; st.shared.u32 [%r3+12], %r8;)" +
                 kLoopEnd);
}

void divergentLoop(benchmark::State& state) {
  run(state, R"(mov.u32 %r3, %r1;
  L: and.b32 %r4, %r3, 1; setp.eq.u32 %p2, %r4, 0; @%p2 bra A; mad.lo.u32 %r3, %r3, 3, 1; add.u32 %r3, %r3, %r2; bra B; A: shr.u32 %r3, %r3, 1; xor.b32 %r3, %r3, %r2; B:)" +
                 kLoopEnd);
}

/// Warps hand a token round through shared memory and barriers: the cost of waiting.
void barrierLoop(benchmark::State& state) {
  run(state, R"(mov.u32 %r3, s; setp.eq.u32 %p3, %r1, 0; mov.u32 %r5, 0; @%p3 st.shared.u32 [%r3], %r5; bar.sync 0;
  L: bar.sync 0; @%p3 ld.shared.u32 %r4, [%r3]; @%p3 st.shared.u32 [%r3], %r4;)" +
                 kLoopEnd);
}

BENCHMARK(integerLoop)->Unit(benchmark::kMillisecond);
BENCHMARK(floatLoop)->Unit(benchmark::kMillisecond);
BENCHMARK(globalLoop)->Unit(benchmark::kMillisecond);
BENCHMARK(sharedLoop)->Unit(benchmark::kMillisecond);
BENCHMARK(divergentLoop)->Unit(benchmark::kMillisecond);
BENCHMARK(barrierLoop)->Unit(benchmark::kMillisecond);

}  // namespace
