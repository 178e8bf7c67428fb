#include "tests/support/wgmma_kernel.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

namespace shiftconv::tests {

using namespace emulator;

std::string registerList(const char* name, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

uint64_t wgmmaDescriptor(uint32_t start, uint32_t leading, uint32_t stride, uint32_t swizzle, uint32_t base) {
  return (uint64_t{start} >> 4) + (uint64_t{leading >> 4 & 0x3fff} << 16) + (uint64_t{stride >> 4 & 0x3fff} << 32) +
         (uint64_t{base} << 49) + (uint64_t{swizzle} << 62);
}

std::string wgmmaProduct(const std::string& shape, uint32_t registers, uint64_t a, uint64_t b, const std::string& tail,
                         bool aInRegisters) {
  return fmt::format(
      "  add.u64 %rd0, %desc, {:#x};\n  add.u64 %rd1, %desc, {:#x};\n  wgmma.fence.sync.aligned;\n"
      "  wgmma.mma_async.sync.aligned.{} {}, {}, %rd1, {};\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned "
      "0;\n",
      a, b, shape, registerList("%d", registers), aInRegisters ? registerList("%a", 4) : "%rd0", tail);
}

std::string WgmmaKernel::text() const {
  std::string text = fmt::format(R"(.version 9.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry k(.param .u64 image, .param .u64 d, .param .u64 a, .param .u64 out)
{{
  .reg .b32 %thread, %tile, %d<128>, %a<4>, %r<10>, %fill<6>;
  .reg .b64 %desc, %rd<10>, %run<4>;
  .reg .pred %p<4>, %more;
  mov.u32 %thread, %tid.x;
  mov.u32 %tile, dynamic;
  cvt.u64.u32 %desc, %tile;
  shr.u64 %desc, %desc, 4;
  ld.param.u64 %run0, [image];
  mul.lo.u32 %fill0, %thread, 16;
FILL:
  setp.ge.u32 %more, %fill0, {0};
  @%more bra FILLED;
  cvt.u64.u32 %run1, %fill0;
  add.u64 %run1, %run1, %run0;
  ld.global.v4.b32 {{%fill2, %fill3, %fill4, %fill5}}, [%run1];
  add.u32 %fill1, %fill0, %tile;
  st.shared.v4.b32 [%fill1], {{%fill2, %fill3, %fill4, %fill5}};
  add.u32 %fill0, %fill0, {1};
  bra FILL;
FILLED:
  fence.proxy.async;
  bar.sync 0;
  ld.param.u64 %run0, [d];
  mul.wide.u32 %run1, %thread, {2};
  add.u64 %run0, %run0, %run1;
  ld.param.u64 %run2, [a];
  mul.wide.u32 %run3, %thread, 16;
  add.u64 %run2, %run2, %run3;
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%run2];
)",
                                 image.size(), 16 * threads, 4 * registers);
  for (uint32_t i = 0; i < registers; ++i) text += fmt::format("  ld.global.b32 %d{}, [%run0+{}];\n", i, 4 * i);
  text += body + "  ld.param.u64 %run0, [out];\n  add.u64 %run0, %run0, %run1;\n";
  for (uint32_t i = 0; i < registers; ++i) text += fmt::format("  st.global.b32 [%run0+{}], %d{};\n", 4 * i, i);
  return text + "  ret;\n}\n";
}

std::vector<uint32_t> WgmmaKernel::run(Emulator& machine, const Options& options, LaunchReport* report) const {
  machine::GlobalMemory& memory = machine.memory();
  const auto upload = [&](const void* data, size_t present, size_t bytes) {
    const uint64_t address = memory.allocate(bytes);
    std::byte* const to = memory.access(address, bytes, 16, true);
    std::memset(to, 0, bytes);
    if (present != 0) std::memcpy(to, data, present);
    return address;
  };
  const size_t words = size_t{threads} * registers;
  const uint64_t addresses[] = {upload(image.data(), image.size(), image.size() + 16), upload(d.data(), d.size() * 4, words * 4),
                                upload(a.data(), a.size() * 4, size_t{threads} * 16), memory.allocate(words * 4)};
  const auto module = machine.load(text(), "wgmma.ptx");
  LaunchConfig config;
  config.block.x = threads;
  config.dynamicSharedBytes = sharedBytes != 0 ? sharedBytes : static_cast<uint32_t>(image.size());
  const void* arguments[] = {&addresses[0], &addresses[1], &addresses[2], &addresses[3]};
  const LaunchReport result = machine.launch(*module, "k", config, arguments, options);
  if (report != nullptr) *report = result;
  std::vector<uint32_t> out(words);
  std::memcpy(out.data(), memory.access(addresses[3], words * 4, 4, false), words * 4);
  for (uint64_t address : addresses) memory.release(address);
  return out;
}

std::vector<uint32_t> WgmmaKernel::runEverySchedule() const {
  std::vector<uint32_t> first;
  for (const SchedulePolicy policy : {SchedulePolicy::Earliest, SchedulePolicy::Latest, SchedulePolicy::Random})
    for (uint64_t seed = 1; seed <= (policy == SchedulePolicy::Random ? 4u : 1u); ++seed) {
      Options options;
      options.policy = policy;
      options.seed = seed;
      Emulator machine;
      const std::vector<uint32_t> out = run(machine, options);
      if (first.empty()) first = out;
      EXPECT_EQ(out, first) << "policy " << static_cast<int>(policy) << ", seed " << seed;
    }
  return first;
}

}  // namespace shiftconv::tests
