// A kernel of one or two CTAs over two buffers in global memory, and the hazards of a run of it.
#pragma once

#include <string>
#include <vector>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::global_test {

using emulator::Emulator;
using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;

inline constexpr HazardKind kNone = HazardKind::Count;

/// A kernel with `in` and `out`, 1024 words each, zeros in the first half of `in`; the rest of `in` and all of `out` are never
/// written by the host.
struct GlobalCase {
  std::string name;
  LaunchConfig config;
  std::string body;
  HazardKind kind = kNone;  ///< kNone: nothing must be reported
  std::string first = {};   ///< part of the instruction of the earlier access
  std::string second = {};  ///< and of the later one
  std::string missing = {};
};

/// %r0 = thread, %r1 = CTA, %r2 = index in the grid, %rd0 = in, %rd1 = out, %rd2 and %rd3 = the thread's words of them,
/// %p0 = first thread of the CTA, %p1 = in CTA 0.
inline const std::string kBegin = R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
  .shared .align 128 .b8 data[4096];
  .shared .align 8 .b64 bar;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r2, %r1, %r3, %r0;
  setp.eq.u32 %p0, %r0, 0;
  setp.eq.u32 %p1, %r1, 0;
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  mul.wide.u32 %rd4, %r2, 4;
  add.u64 %rd2, %rd0, %rd4;
  add.u64 %rd3, %rd1, %rd4;
  mov.u32 %r4, data;
  mov.u32 %r5, bar;
)";

inline const std::string kWaitForBar = R"(
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r5], 0;
  @!%p3 bra WAIT;
)";
inline const std::string kInitBar =
    "  @%p0 mbarrier.init.shared.b64 [%r5], 1;\n  fence.mbarrier_init.release.cluster;\n  bar.sync 0;\n";

inline std::vector<Hazard> hazardsOf(const GlobalCase& one, Options options) {
  Emulator device;
  const auto module = device.load(kHeader + kBegin + one.body + "  ret;\n}\n", "test");
  const DeviceWords in(device, std::vector<uint32_t>(512, 0)), out(device, 1024);
  const void* arguments[] = {in.argument(), out.argument()};
  options.hazards = HazardMode::Warn;
  return device.launch(*module, "k", one.config, arguments, options).hazards;
}

inline std::string list(const std::vector<Hazard>& hazards) {
  std::string text = "reported:\n";
  for (const Hazard& hazard : hazards) text += describe(hazard) + "\n";
  return text;
}

}  // namespace shiftconv::tests::global_test
