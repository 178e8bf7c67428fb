// Tensor maps that a kernel changes itself, and the fences of the tensor-map proxy that their use needs.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/emulator/tma/tensor_map.hpp"
#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests::tensor_map_test {
namespace {

using emulator::Emulator;
using emulator::Hazard;
using emulator::HazardKind;
using emulator::HazardMode;
using namespace emulator::tma;

constexpr HazardKind kNone = HazardKind::Count;

struct MapCase {
  std::string name;
  uint32_t ctas;
  std::string body;
  HazardKind kind = kNone;
  std::string first = {};    ///< part of the instruction that changed the map
  std::string missing = {};  ///< part of the words
};

/// Words of `memory`: 0 the flag, 32..63 room for a map, 64..95 a map that the host wrote, 96..111 the tensor.
/// %rd0 = the memory, %rd1 = its room for a map, %rd2 = the map of the host, %rd3 = the map parameter, %r0 = lane, %p0 = lane 0,
/// %p1 = in CTA 0, %r2 = 128 bytes of shared memory for the tile, %r3 = mbarrier, %r4 = 128 more bytes.
const std::string kBegin = R"(
.visible .entry k(.param .u64 memory, .param .align 128 .b8 map[128]) {
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<16>;
  .shared .align 128 .b8 data[256];
  .shared .align 8 .b64 bar;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  setp.eq.u32 %p0, %r0, 0;
  setp.eq.u32 %p1, %r1, 0;
  ld.param.u64 %rd0, [memory];
  add.u64 %rd1, %rd0, 128;
  add.u64 %rd2, %rd0, 256;
  mov.b64 %rd3, map;
  cvta.param.u64 %rd3, %rd3;
  mov.u32 %r2, data;
  add.u32 %r4, %r2, 128;
  mov.u32 %r3, bar;
  @%p0 mbarrier.init.shared.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
  bar.warp.sync -1;
  mul.wide.u32 %rd4, %r0, 4;
  add.u64 %rd5, %rd3, %rd4;
  ld.u32 %r5, [%rd5];
  add.u64 %rd6, %rd1, %rd4;
  shl.b32 %r6, %r0, 2;
  add.u32 %r6, %r4, %r6;
)";

/// Lane 0 loads the tile through the map at `address`.
std::string load(const std::string& address) {
  return R"(
  @!%p0 bra LOADED;
  mov.u32 %r7, 0;
  mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r3], 64;
  cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [)" +
         address + R"(, {%r7}], [%r3];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r3], 0;
  @!%p3 bra WAIT;
LOADED:
)";
}

const std::string kStore = "  st.global.u32 [%rd6], %r5;\n";
const std::string kRelease = "  fence.proxy.tensormap::generic.release.gpu;\n";
const std::string kSync = "  bar.warp.sync -1;\n";
const std::string kAcquire = "  fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";

/// CTA 0 changes the map and raises the flag; CTA 1 waits for it and loads.
std::string acrossCtas(const std::string& release, const std::string& acquire) {
  return "  @!%p1 bra SPIN;\n" + kStore + release + kSync + R"(
  @%p0 st.release.gpu.global.u32 [%rd0], 1;
  bra END;
SPIN:
  ld.acquire.gpu.global.u32 %r8, [%rd0];
  setp.eq.u32 %p2, %r8, 0;
  @%p2 bra SPIN;
)" + acquire +
         load("%rd1") + "END:\n";
}

std::vector<MapCase> cases() {
  const std::string replace = "  @%p0 tensormap.replace.tile.global_address.global.b1024.b64 [%rd2], %rd7;\n",
                    address = "  add.u64 %rd7, %rd0, 384;\n",
                    acquireHost = "  fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n",
                    publish =
                        "  st.shared.u32 [%r6], %r5;\n  bar.warp.sync -1;\n"
                        "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], "
                        "[%r4], 128;\n";
  return {{"parameter", 1, load("%rd3")},
          {"written_by_the_host", 1, load("%rd2")},
          {"stored_and_fenced", 1, kStore + kRelease + kSync + kAcquire + load("%rd1")},
          {"no_release", 1, kStore + kSync + kAcquire + load("%rd1"), HazardKind::TensorMapFence, "st.global.u32 [%rd6]",
           "fence.proxy.tensormap::generic.release behind the change"},
          {"no_acquire", 1, kStore + kRelease + kSync + load("%rd1"), HazardKind::TensorMapFence, "st.global.u32 [%rd6]",
           "fence.proxy.tensormap::generic.acquire of the tensor map's address"},
          {"acquire_of_another_map", 1, kStore + kRelease + kSync + acquireHost + load("%rd1"), HazardKind::TensorMapFence,
           "st.global.u32 [%rd6]", "fence.proxy.tensormap::generic.acquire of the tensor map's address"},
          {"ordinary_fence_instead", 1, kStore + "  fence.acq_rel.gpu;\n" + kSync + kAcquire + load("%rd1"),
           HazardKind::TensorMapFence, "st.global.u32 [%rd6]", "fence.proxy.tensormap::generic.release behind the change"},
          {"asynchronous_proxy_fence_instead", 1, kStore + "  fence.proxy.async;\n" + kSync + kAcquire + load("%rd1"),
           HazardKind::TensorMapFence, "st.global.u32 [%rd6]", "fence.proxy.tensormap::generic.release behind the change"},
          {"replaced_in_place", 1, address + replace + kRelease + acquireHost + load("%rd2")},
          {"replaced_without_fences", 1, address + replace + load("%rd2"), HazardKind::TensorMapFence, "tensormap.replace",
           "fence.proxy.tensormap::generic.release behind the change"},
          {"copied_with_a_fence", 1, publish + kAcquire + load("%rd1")},
          {"copied_but_not_acquired", 1, publish + load("%rd1"), HazardKind::TensorMapFence, "tensormap.cp_fenceproxy",
           "fence.proxy.tensormap::generic.acquire of the tensor map's address"},
          {"across_ctas", 2, acrossCtas(kRelease, kAcquire)},
          {"across_ctas_without_release", 2, acrossCtas("", kAcquire), HazardKind::TensorMapFence, "st.global.u32 [%rd6]",
           "fence.proxy.tensormap::generic.release behind the change"},
          {"across_ctas_without_acquire", 2, acrossCtas(kRelease, ""), HazardKind::TensorMapFence, "st.global.u32 [%rd6]",
           "fence.proxy.tensormap::generic.acquire of the tensor map's address"}};
}

class Machine {
 public:
  Machine() : memory_(device_, words()) {
    TiledMap tensor{.type = DataType::U32, .rank = 1, .dims = {16}, .box = {16}};
    tensor.globalAddress = memory_.address() + 96 * 4;
    const std::string why = encodeTiled(tensor, map_);
    EXPECT_EQ(why, "");
    std::memcpy(device_.memory().access(memory_.address() + 256, sizeof map_, 64, true), &map_, sizeof map_);
  }

  std::vector<Hazard> run(const std::string& body, uint32_t ctas, Options options = {}) {
    const auto module = device_.load(kHeader + kBegin + body + "  ret;\n}\n", "test");
    const void* arguments[] = {memory_.argument(), &map_};
    options.hazards = HazardMode::Warn;
    return device_.launch(*module, "k", threads(32, ctas), arguments, options).hazards;
  }

 private:
  static std::vector<uint32_t> words() {
    std::vector<uint32_t> values(112, 0);
    for (uint32_t i = 96; i < values.size(); ++i) values[i] = 1000 + i;
    return values;
  }
  Emulator device_;
  DeviceWords memory_;
  TensorMapImage map_;
};

std::string list(const std::vector<Hazard>& hazards) {
  std::string text = "reported:\n";
  for (const Hazard& hazard : hazards) text += describe(hazard) + "\n";
  return text;
}

TEST(TensorMapHazards, FencesOfChangedMapsAreAskedFor) {
  for (const MapCase& one : cases())
    for (const Options& options : schedules(2)) {
      SCOPED_TRACE(one.name + ", " + nameOf(options));
      const std::vector<Hazard> hazards = Machine().run(one.body, one.ctas, options);
      if (one.kind == kNone) {
        EXPECT_TRUE(hazards.empty()) << list(hazards);
        continue;
      }
      ASSERT_EQ(hazards.size(), 1u) << list(hazards);
      EXPECT_EQ(hazards[0].kind, one.kind) << list(hazards);
      EXPECT_CONTAINS(hazards[0].first.where, one.first);
      EXPECT_CONTAINS(hazards[0].second.where, "cp.async.bulk.tensor.1d");
      EXPECT_CONTAINS(hazards[0].missing, one.missing);
    }
}

TEST(TensorMapHazards, TheEndOfALaunchPublishesAChangedMap) {
  Machine machine;
  EXPECT_TRUE(machine.run(kStore, 1).empty());
  const std::vector<Hazard> hazards = machine.run(load("%rd1"), 1);
  EXPECT_TRUE(hazards.empty()) << list(hazards);
}

}  // namespace
}  // namespace shiftconv::tests::tensor_map_test
