#include "tests/emulator/forms/bulk_kernel.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

namespace shiftconv::tests {
namespace {

using namespace emulator;

constexpr const char* kFrame = R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry bulk(.param .u64 input, .param .u64 output, .param .align 128 .b8 map[128])
{{
  .reg .b32 %lane, %rank, %tile, %bar, %r<20>;
  .reg .b64 %in, %out, %map, %rd<10>;
  .reg .b16 %h<8>;
  .reg .pred %leader, %p<8>;
  .shared .align 1024 .b8 tile[16384];
  .shared .align 8 .b64 bar;
  mov.u32 %lane, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %tile, tile;
  mov.u32 %bar, bar;
  ld.param.u64 %in, [input];
  ld.param.u64 %out, [output];
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  setp.eq.u32 %leader, %lane, 0;
  @%leader mbarrier.init.shared::cta.b64 [%bar], 1;
  fence.mbarrier_init.release.cluster;
{}
{}
{}
  ret;
}}
)";

/// Labels must be unique in a kernel.
unsigned nextLabel() {
  static std::atomic<unsigned> next{0};
  return next++;
}

/// A loop of 32 lanes, one word each per round; %rd8 is the global address, %r18 the shared one.
std::string wordLoop(uint32_t bytes, const char* action) {
  EXPECT_EQ(bytes % 128, 0u);
  const unsigned label = nextLabel();
  return fmt::format(R"(
  shl.b32 %r17, %lane, 2;
  add.u32 %r18, %tile, %r17;
  cvt.u64.u32 %rd9, %r17;
  add.u64 %rd8, %rd8, %rd9;
  mov.u32 %r19, {};
words{}:
  {}
  add.u32 %r18, %r18, 128;
  add.u64 %rd8, %rd8, 128;
  sub.u32 %r19, %r19, 1;
  setp.ne.u32 %p7, %r19, 0;
  @%p7 bra words{};
)",
                     bytes / 128, label, action, label);
}

}  // namespace

std::string waitForBarrier(unsigned parity) {
  const unsigned label = nextLabel();
  return fmt::format("wait{}:\n  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%bar], {};\n  @!%p6 bra wait{};\n", label, parity,
                     label);
}

std::string dumpTile(uint32_t bytes) {
  return fmt::format("  mul.wide.u32 %rd8, %rank, {};\n  add.u64 %rd8, %rd8, %out;\n", bytes) +
         wordLoop(bytes, "ld.shared.u32 %r16, [%r18];\n  st.global.u32 [%rd8], %r16;");
}

std::string fillTile(uint32_t bytes) {
  return "  mov.b64 %rd8, %in;\n" + wordLoop(bytes, "ld.global.u32 %r16, [%rd8];\n  st.shared.u32 [%r18], %r16;") +
         "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n";
}

std::string clusterBarrier() { return "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"; }

std::string expectBytes(uint32_t bytes) {
  return fmt::format("  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {};\n", bytes);
}

Bytes BulkKernel::run(FormRun& form, const Options& options, LaunchReport* report) const {
  machine::GlobalMemory& memory = form.emulator().memory();
  const uint64_t in = memory.allocate(input.size()), out = memory.allocate(outputBytes);
  std::memcpy(memory.access(in, input.size(), 1, true), input.data(), input.size());
  tma::TensorMapImage image;
  if (map) {
    tma::TiledMap described = *map;
    described.globalAddress = mapOutput ? out : in;
    EXPECT_EQ(pixels ? tma::encodeIm2col(described, *pixels, image) : tma::encodeTiled(described, image), "");
  }
  if (breakMap) image.words[3] += 1;
  const void* arguments[] = {&in, &out, &image};
  const machine::LaunchConfig config{.grid = {ctas}, .block = {32}, .cluster = {ctas}, .dynamicSharedBytes = 0};
  const auto finish = [&] {
    Bytes result(outputBytes);
    std::memcpy(result.data(), memory.access(out, outputBytes, 1, false), outputBytes);
    memory.release(in);
    memory.release(out);
    return result;
  };
  try {
    LaunchReport done =
        form.module(fmt::format(kFrame, clusterBarrier(), body, clusterBarrier()), "bulk", config, arguments, options);
    if (report != nullptr) *report = std::move(done);
  } catch (...) {
    finish();
    throw;
  }
  return finish();
}

Bytes BulkKernel::runEverySchedule(FormRun& form, LaunchReport* report) const {
  Options options;
  const Bytes first = run(form, options, report);
  options.policy = SchedulePolicy::Latest;
  EXPECT_EQ(run(form, options), first) << "policy latest";
  options.policy = SchedulePolicy::Random;
  for (options.seed = 1; options.seed <= 4; ++options.seed) EXPECT_EQ(run(form, options), first) << "seed " << options.seed;
  return first;
}

Bytes randomBytes(FormRun& form, size_t count) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(form.random() >> 24);
  return bytes;
}

Bytes slice(const Bytes& bytes, size_t begin, size_t count) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.begin() + static_cast<std::ptrdiff_t>(begin + count)};
}

void expectError(FormRun& form, const BulkKernel& kernel, const std::vector<std::string>& parts) {
  const std::string message = form.error([&] { kernel.run(form, {}); });
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in:\n" << message;
}

void expectUndefined(FormRun& form, const BulkKernel& kernel) {
  Options options;
  options.hazards = HazardMode::Error;
  const std::string message = form.error([&] { kernel.run(form, options); });
  EXPECT_NE(message.find("hazard (undefined data)"), std::string::npos) << message;
  EXPECT_NE(message.find("nothing has written these bytes"), std::string::npos) << message;
}

}  // namespace shiftconv::tests
