#include "tests/support/tensor_kernel.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

namespace shiftconv::tests {

using namespace emulator;

namespace {

constexpr uint32_t kTileBytes = 64 * 1024;

constexpr const char* kFrame = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry tensor(.param .u64 input, .param .u64 output)
{{
  .reg .b32 %thread, %warp, %lane, %rank, %tile, %bar, %tmem, %slot, %r<300>;
  .reg .b64 %in, %out, %desc, %rd<10>;
  .reg .b16 %h<4>;
  .reg .pred %issuer, %second, %firstwarp, %more, %p<8>;
  .shared .align 1024 .b8 tile[65536];
  .shared .align 8 .b64 bars[4];
  .shared .align 4 .b32 slot;
  mov.u32 %thread, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  shr.u32 %warp, %thread, 5;
  and.b32 %lane, %thread, 31;
  mov.u32 %tile, tile;
  mov.u32 %bar, bars;
  mov.u32 %slot, slot;
  ld.param.u64 %in, [input];
  ld.param.u64 %out, [output];
  mul.wide.u32 %rd0, %rank, {outputBytes};
  add.u64 %out, %out, %rd0;
  mul.wide.u32 %rd0, %rank, {inputStride};
  add.u64 %in, %in, %rd0;
  setp.eq.u32 %issuer, %thread, 0;
  setp.eq.u32 %second, %thread, 32;
  setp.eq.u32 %firstwarp, %warp, 0;
  and.b32 %r0, %tile, 0x3ffff;
  shr.u32 %r0, %r0, 4;
  cvt.u64.u32 %desc, %r0;
  @%issuer mbarrier.init.shared::cta.b64 [%bar], 1;
  @%issuer mbarrier.init.shared::cta.b64 [%bar+8], 1;
  @%issuer mbarrier.init.shared::cta.b64 [%bar+16], 1;
  @%issuer mbarrier.init.shared::cta.b64 [%bar+24], 1;
  fence.mbarrier_init.release.cluster;
  mul.lo.u32 %r1, %thread, 16;
  setp.lt.u32 %more, %r1, {inputBytes};
  @!%more bra filled;
fill:
  cvt.u64.u32 %rd0, %r1;
  add.u64 %rd0, %rd0, %in;
  add.u32 %r2, %tile, %r1;
  ld.global.v4.u32 {{%r3, %r4, %r5, %r6}}, [%rd0];
  st.shared.v4.u32 [%r2], {{%r3, %r4, %r5, %r6}};
  add.u32 %r1, %r1, 2048;
  setp.lt.u32 %more, %r1, {inputBytes};
  @%more bra fill;
filled:
  fence.proxy.async.shared::cta;
{allocate}
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
{body}
{deallocate}
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}}
)";

constexpr const char* kAllocate = R"(
  @!%firstwarp bra allocated;
  tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%slot], {columns};
  tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
allocated:
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.u32 %tmem, [%slot];
)";
constexpr const char* kDeallocate = R"(
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  @!%firstwarp bra freed;
  tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %tmem, {columns};
freed:
)";

/// Labels must be unique in a kernel.
unsigned nextLabel() {
  static std::atomic<unsigned> next{0};
  return next++;
}

}  // namespace

std::string waitForCommit(unsigned index, unsigned parity) {
  const unsigned label = nextLabel();
  return fmt::format(
      "wait{0}:\n  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%bar+{1}], {2};\n  @!%p6 bra wait{0};\n"
      "  tcgen05.fence::after_thread_sync;\n",
      label, 8 * index, parity);
}

std::string commitAndWait(unsigned index, unsigned parity, unsigned ctaGroup) {
  return fmt::format("  @%issuer tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.b64 [%bar+{}];\n", ctaGroup,
                     8 * index) +
         waitForCommit(index, parity);
}

std::string dumpColumns(uint32_t column, uint32_t count, uint32_t offset) {
  std::string text = outputOfThread(count);
  for (uint32_t i = 0; i < count; ++i) {
    text += fmt::format(
        "  add.u32 %r299, %tmem, {};\n  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r298}}, [%r299];\n"
        "  tcgen05.wait::ld.sync.aligned;\n  st.global.u32 [%rd9+{}], %r298;\n",
        column + i, 4 * (offset + i));
  }
  return text;
}

std::string fillColumns(uint32_t column, uint32_t count, uint32_t base) {
  std::string text = "  mul.lo.u32 %r297, %thread, 1000;\n";
  for (uint32_t i = 0; i < count; ++i) {
    text += fmt::format("  add.u32 %r298, %r297, {};\n  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+{}], {{%r298}};\n",
                        column + i + base, column + i);
  }
  return text + "  tcgen05.wait::st.sync.aligned;\n" + fencedBarrier();
}

std::string fencedBarrier() { return "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n"; }

std::string outputOfThread(uint32_t words) {
  return fmt::format("  mul.wide.u32 %rd9, %thread, {};\n  add.u64 %rd9, %rd9, %out;\n", 4 * words);
}

void expectRefusal(FormRun& form, const TensorKernel& kernel, const std::vector<std::string>& parts) {
  const std::string message = form.error([&] { kernel.run(form); });
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in:\n" << message;
}

std::vector<std::byte> randomInput(FormRun& form, size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(form.random() >> 24);
  return bytes;
}

uint32_t sourceWord(const std::vector<std::byte>& input, uint32_t row, uint32_t word) {
  uint32_t value;
  std::memcpy(&value, input.data() + row % 8 * 16 + row / 8 * 256 + word / 4 * 128 + word % 4 * 4, 4);
  return value;
}

uint64_t descriptorBits(uint32_t start, uint32_t leading, uint32_t stride, uint32_t swizzle) {
  return uint64_t{start >> 4} | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 | uint64_t{1} << 46 |
         uint64_t{swizzle} << 61;
}

std::vector<uint32_t> TensorKernel::run(Emulator& emulator, const Options& options, LaunchReport* report,
                                        const Launch& launch) const {
  const size_t inputBytes = inputPerCta ? input.size() / ctas : input.size();
  EXPECT_LE(inputBytes, kTileBytes);
  EXPECT_EQ(inputBytes % 16, 0u);
  const uint64_t outputBytes = uint64_t{outputWords} * 4 * ctas;
  machine::GlobalMemory& memory = emulator.memory();
  const uint64_t in = memory.allocate(std::max<size_t>(input.size(), 16)),
                 out = memory.allocate(std::max<uint64_t>(outputBytes, 16));
  if (!input.empty()) std::memcpy(memory.access(in, input.size(), 1, true), input.data(), input.size());
  using fmt::arg;
  const auto optional = [&](const char* text) {
    return columns == 0 ? std::string() : fmt::format(fmt::runtime(text), arg("group", ctaGroup), arg("columns", columns));
  };
  const std::string ptx = fmt::format(kFrame, arg("outputBytes", outputWords * 4), arg("inputBytes", inputBytes),
                                      arg("inputStride", inputPerCta ? inputBytes : 0), arg("allocate", optional(kAllocate)),
                                      arg("body", body), arg("deallocate", optional(kDeallocate)));
  const void* arguments[] = {&in, &out};
  machine::LaunchConfig config;
  config.grid.x = config.cluster.x = ctas;
  config.block.x = 128;
  const auto finish = [&] {
    std::vector<uint32_t> result(outputBytes / 4);
    if (outputBytes != 0) std::memcpy(result.data(), memory.access(out, outputBytes, 1, false), outputBytes);
    memory.release(in);
    memory.release(out);
    return result;
  };
  try {
    LaunchReport done = launch(ptx, config, arguments, options);
    if (report != nullptr) *report = std::move(done);
  } catch (...) {
    finish();
    throw;
  }
  return finish();
}

std::vector<uint32_t> TensorKernel::run(Emulator& emulator, const Options& options, LaunchReport* report) const {
  return run(emulator, options, report,
             [&](const std::string& ptx, const machine::LaunchConfig& config, std::span<const void* const> arguments,
                 const Options& o) { return emulator.launch(*emulator.load(ptx, "tensor"), "tensor", config, arguments, o); });
}

std::vector<uint32_t> TensorKernel::run(FormRun& form, const Options& options, LaunchReport* report) const {
  return run(form.emulator(), options, report,
             [&](const std::string& ptx, const machine::LaunchConfig& config, std::span<const void* const> arguments,
                 const Options& o) { return form.module(ptx, "tensor", config, arguments, o); });
}

std::vector<uint32_t> TensorKernel::runEverySchedule(FormRun& form, LaunchReport* report) const {
  Options options;
  const std::vector<uint32_t> first = run(form, options, report);
  options.policy = SchedulePolicy::Latest;
  EXPECT_EQ(run(form, options), first) << "policy latest";
  options.policy = SchedulePolicy::Random;
  for (options.seed = 1; options.seed <= 4; ++options.seed) EXPECT_EQ(run(form, options), first) << "seed " << options.seed;
  return first;
}

}  // namespace shiftconv::tests
