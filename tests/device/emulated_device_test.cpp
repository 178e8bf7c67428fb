// What only the emulated device has: counters, stream handles that are checked, reports of wrong programs.
#include "common/device/emulated_device.hpp"
#include "common/device/embedded_ptx.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>

#include "common/device/counters_json.hpp"
#include "common/emulator/machine/quiet_observer.hpp"
#include "common/emulator/tma/tensor_map.hpp"
#include "partly_emulated_image.hpp"
#include "tests/device/seam_fixture.hpp"

namespace shiftconv::device::tests {
namespace {

class EmulatedDeviceTest : public SeamTest {
 protected:
  EmulatedDevice& emulated() { return dynamic_cast<EmulatedDevice&>(*device_); }

  /// Runs `affine` over `count` elements of `size` allocated.
  Status launchAffine(uint32_t size, uint32_t count, Stream stream = 0) {
    const Kernel* affine = kernel("affine");
    if (!affine) return {StatusCode::InternalError, "no kernel"};
    const Address input = upload(std::vector<float>(size, 2.0f)), output = memory(size * sizeof(float));
    const float scale = 3;
    const std::array<const void*, 4> arguments{&input, &output, &scale, &count};
    return device_->launch(*affine, grid((count + 63) / 64, 64), arguments, stream);
  }
};

TEST_F(EmulatedDeviceTest, ReportsAccessesOutsideTensors) {
  const Status status = launchAffine(64, 100);
  EXPECT_EQ(status.code(), StatusCode::DeviceError);
  EXPECT_NE(status.message().find("affine"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("ld.global"), std::string::npos) << status.message();
}

TEST_F(EmulatedDeviceTest, ReportsHostCopiesOutsideAllocations) {
  const Address address = memory(256);
  std::array<uint8_t, 512> bytes{};
  EXPECT_EQ(device_->copyToDevice(address, bytes.data(), bytes.size(), 0).code(), StatusCode::DeviceError);
  EXPECT_EQ(device_->copyToHost(bytes.data(), address + 1, 256, 0).code(), StatusCode::DeviceError);
  EXPECT_EQ(device_->fill(address, 0, 257, 0).code(), StatusCode::DeviceError);
}

TEST_F(EmulatedDeviceTest, DecodesAKernelOfAModuleWhenThatIsFirstAskedFor) {
  const Module* module = nullptr;
  ASSERT_SUCCESS(device_->loadModule(images::partly_emulated(), module));
  const Kernel* doubled = nullptr;
  ASSERT_SUCCESS(device_->findKernel(*module, "doubled", doubled));
  const Address values = upload(std::vector<uint32_t>{3, 5, 7});
  const std::array<const void*, 1> arguments{&values};
  ASSERT_SUCCESS(device_->launch(*doubled, grid(1, 3), arguments, 0));
  EXPECT_EQ(download<uint32_t>(values, 3), (std::vector<uint32_t>{6, 10, 14}));

  const Kernel* refused = nullptr;
  const Status status = device_->findKernel(*module, "video_difference", refused);
  EXPECT_EQ(status.code(), StatusCode::Unsupported) << status.message();
  EXPECT_NE(status.message().find("vabsdiff"), std::string::npos) << status.message();
}

class ExitCounter final : public emulator::machine::QuietObserver {
 public:
  explicit ExitCounter(std::atomic<uint32_t>& exits) : exits_(exits) {}
  void ctaExits(uint32_t) override { ++exits_; }

 private:
  std::atomic<uint32_t>& exits_;
};

TEST_F(EmulatedDeviceTest, LetsAnObserverWatchEveryClusterOfLaterLaunches) {
  std::atomic<uint32_t> exits = 0, clusters = 0;
  ASSERT_SUCCESS(launchAffine(128, 128));
  emulated().observe([&](emulator::machine::Cluster&, uint64_t) {
    ++clusters;
    return std::make_unique<ExitCounter>(exits);
  });
  ASSERT_SUCCESS(launchAffine(192, 192));
  EXPECT_EQ(clusters, 3u);
  EXPECT_EQ(exits, 3u);
  ASSERT_SUCCESS(emulated().setOption("hazards", "warn"));
  const Status both = launchAffine(64, 64);
  EXPECT_EQ(both.code(), StatusCode::DeviceError);
  EXPECT_NE(both.message().find("observer"), std::string::npos) << both.message();
  emulated().observe({});
  ASSERT_SUCCESS(launchAffine(64, 64));
  EXPECT_EQ(exits, 3u);
}

/// What the host does to memory that a kernel of another stream may still write, and what it does after it has waited.
TEST_F(EmulatedDeviceTest, AccessesOfTheHostAreWorkOfTheirStream) {
  Stream first = 0, second = 0;
  ASSERT_SUCCESS(device_->createStream(first));
  ASSERT_SUCCESS(device_->createStream(second));
  const Kernel* affine = kernel("affine");
  ASSERT_TRUE(affine);
  device_->nameWarps(*affine, {"alpha", "beta"});
  constexpr uint32_t kCount = 64;
  const Address input = upload(std::vector<float>(kCount, 2.0f));
  const float scale = 3;
  std::array<std::byte, kCount * sizeof(float)> host{};
  const std::pair<const char*, std::function<Status(Address)>> accesses[] = {
      {"copyToHost", [&](Address at) { return device_->copyToHost(host.data(), at, host.size(), second); }},
      {"copyToDevice", [&](Address at) { return device_->copyToDevice(at, host.data(), host.size(), second); }},
      {"fill", [&](Address at) { return device_->fill(at, 7, host.size(), second); }},
      {"release", [&](Address at) { return device_->release(at); }}};
  for (const char* mode : {"warn", "error", "off"})
    for (const auto& [name, access] : accesses)
      for (const bool waits : {false, true}) {
        SCOPED_TRACE(testing::Message() << mode << ", " << name << (waits ? " after waiting" : ""));
        ASSERT_SUCCESS(device_->synchronize(0));
        ASSERT_SUCCESS(device_->synchronize(second));
        ASSERT_SUCCESS(emulated().setOption("hazards", mode));
        Address output = 0;
        ASSERT_SUCCESS(device_->allocate(host.size(), output));
        const std::array<const void*, 4> arguments{&input, &output, &scale, &kCount};
        ASSERT_SUCCESS(device_->launch(*affine, grid(1, kCount), arguments, first));
        if (waits) ASSERT_SUCCESS(device_->synchronize(first));
        emulated().resetCounters();
        const Status status = access(output);
        const bool reported = !waits && std::string_view(mode) != "off";
        EXPECT_EQ(status.ok(), !reported || std::string_view(mode) == "warn") << status.message();
        const std::string table = emulated().countersTable();
        if (reported && status.ok()) {
          EXPECT_EQ(table.find("affine: 0 launches"), 0u) << table;
          EXPECT_NE(table.find(std::string("\nhazard (race) in ") + name), std::string::npos) << table;
          EXPECT_NE(table.find(" (alpha)"), std::string::npos) << table;
        } else if (!status.ok()) {
          EXPECT_NE(status.message().find("hazard"), std::string::npos) << status.message();
        } else {
          EXPECT_EQ(table, "no launches since the counters were reset\n");
        }
        ASSERT_SUCCESS(device_->synchronize(first));
        ASSERT_SUCCESS(device_->synchronize(second));
        if (std::string_view(name) != "release") ASSERT_SUCCESS(device_->release(output));
        EXPECT_FALSE(device_->release(output).ok()) << "it is gone, whatever was reported";
      }
}

TEST_F(EmulatedDeviceTest, CountsLaunchesByKernel) {
  ASSERT_SUCCESS(launchAffine(128, 128));
  ASSERT_SUCCESS(launchAffine(128, 128));
  device_->nameWarps(*kernel("affine"), {"alpha", "beta"});
  const auto counters = emulated().counters();
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].kernel, "affine");
  EXPECT_EQ(counters[0].launches, 2u);
  EXPECT_EQ(counters[0].counters.ctas, 4u);
  // 2 launches of 128 threads, each of which loads one f32 (alone: constant and parameter space do not count as global).
  const auto& threads = counters[0].counters.bytes[static_cast<size_t>(emulator::Engine::Threads)];
  EXPECT_EQ(threads[static_cast<size_t>(emulator::Traffic::GlobalRead)], 2u * 128 * 4);
  EXPECT_EQ(threads[static_cast<size_t>(emulator::Traffic::GlobalWrite)], 2u * 128 * 4);

  const std::string table = formatKernelCounters(counters);
  EXPECT_NE(table.find("affine: 2 launches"), std::string::npos) << table;

  emulated().resetCounters();
  EXPECT_TRUE(emulated().counters().empty());
  EXPECT_NE(formatKernelCounters(emulated().counters()).find("no launches"), std::string::npos);
}

TEST_F(EmulatedDeviceTest, WritesCountersAsJson) {
  const Kernel* affine = kernel("affine");
  ASSERT_TRUE(affine);
  device_->nameWarps(*affine, {"alpha", "beta"});
  const Address memory = upload(std::vector<float>(64, 2.0f));
  const float scale = 3;
  const uint32_t count = 64;
  const std::array<const void*, 4> arguments{&memory, &memory, &scale, &count};
  ASSERT_SUCCESS(device_->launch(*affine, grid(1, 64), arguments, 0));
  const auto json = nlohmann::json::parse(countersJson(emulated().counters()));
  EXPECT_EQ(json["launches"], 1);
  const auto& entry = json["kernels"][0];
  EXPECT_EQ(entry["kernel"], "affine");
  EXPECT_EQ(entry["ctas"], 1);
  EXPECT_EQ(entry["bytes"]["threads"]["global_read"], 256);
  EXPECT_EQ(entry["warps"][1]["role"], "beta");
  EXPECT_GT(entry["warps"][1]["thread_instructions"], 32);
  EXPECT_TRUE(entry["unproven"].is_object());
}

TEST(CountersJson, CarriesEveryField) {
  KernelCounters kernel;
  kernel.kernel = "name with \"quotes\", a \\ and\na line";
  kernel.launches = 3;
  kernel.hostSeconds = 0.5;
  kernel.warpRoles = {"load"};
  kernel.counters.ctas = 7;
  kernel.counters.mma["kind::f16 m128n64k16"] = 11;
  kernel.counters.operations["tcgen05.commit"] = 13;
  kernel.counters.addBytes(emulator::Engine::TensorCopy, emulator::Traffic::TmemWrite, 4096);
  kernel.counters.warpInstructions = {100, 200};
  kernel.counters.threadInstructions = {3200, 200};
  kernel.counters.use(emulator::Unproven::U3);
  emulator::Hazard hazard;
  hazard.kind = emulator::HazardKind::ProxyFence;
  hazard.first.what = "write of shared memory";
  hazard.first.ptxLine = 17;
  hazard.second.where = "PTX line 19";
  hazard.missing = "fence.proxy.async";
  hazard.count = 21;
  hazard.question = "U3";
  kernel.hazards = {hazard, hazard};
  kernel.hazards[1].first = {};
  kernel.hazards[1].question = {};
  kernel.counters.hazards[static_cast<size_t>(emulator::HazardSeverity::Formal)] = 42;
  const auto json = nlohmann::json::parse(countersJson({kernel, kernel}));
  EXPECT_EQ(json["launches"], 6);
  EXPECT_EQ(json["host_seconds"], 1.0);
  const auto& entry = json["kernels"][1];
  EXPECT_EQ(entry["kernel"], kernel.kernel);
  EXPECT_EQ(entry["mma"]["kind::f16 m128n64k16"], 11);
  EXPECT_EQ(entry["operations"]["tcgen05.commit"], 13);
  EXPECT_EQ(entry["bytes"]["tensor_copy"]["tmem_write"], 4096);
  EXPECT_EQ(entry["warps"][0]["role"], "load");
  EXPECT_EQ(entry["warps"][1]["role"], "warp 1");
  EXPECT_EQ(entry["warps"][1]["warp_instructions"], 200);
  EXPECT_EQ(entry["unproven"], (nlohmann::json{{"U3", 1}}));
  EXPECT_EQ(entry["bytes"].size(), 1u);
  EXPECT_EQ(entry["hazards_by_severity"].size(), emulator::kHazardSeverities.size());
  EXPECT_EQ(entry["hazards_by_severity"][toString(emulator::HazardSeverity::Formal)], 42);
  ASSERT_EQ(entry["hazards"].size(), 2u);
  EXPECT_EQ(entry["hazards"][0]["question"], "U3");
  EXPECT_FALSE(entry["hazards"][1].contains("question"));
  EXPECT_FALSE(entry["hazards"][1].contains("first"));
  EXPECT_EQ(entry["hazards"][0]["kind"], "missing proxy fence");
  EXPECT_EQ(entry["hazards"][0]["first"]["ptx_line"], 17);
  EXPECT_EQ(entry["hazards"][0]["second"]["where"], "PTX line 19");
  EXPECT_EQ(entry["hazards"][0]["missing"], "fence.proxy.async");
  EXPECT_EQ(entry["hazards"][0]["count"], 21);
  EXPECT_NE(formatKernelCounters({kernel}).find("hazard (missing proxy fence)"), std::string::npos);
}

TEST_F(EmulatedDeviceTest, KnowsItsStreams) {
  Stream stream = 0;
  ASSERT_SUCCESS(device_->createStream(stream));
  const Stream foreign = stream + 1000;
  EXPECT_EQ(device_->synchronize(foreign).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(launchAffine(64, 64, foreign).code(), StatusCode::InvalidArgument);
  ASSERT_SUCCESS(launchAffine(64, 64, stream));
  ASSERT_SUCCESS(device_->destroyStream(stream));
  EXPECT_EQ(device_->synchronize(stream).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(device_->destroyStream(stream).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(device_->destroyStream(0).code(), StatusCode::InvalidArgument);
}

TEST_F(EmulatedDeviceTest, NeedsPtxForItsTarget) {
  const Module* module = nullptr;
  Status status = device_->loadModule({"binary_only", {}, {}}, module);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_NE(status.message().find("binary_only"), std::string::npos) << status.message();
  const PtxImage hopper{"sm_90a", ptxFor(image(), "sm_90a")};
  status = device_->loadModule({"hopper_only", {&hopper, 1}, {}}, module);
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_NE(status.message().find("no PTX for sm_100a"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("it has sm_90a"), std::string::npos) << status.message();
}

TEST_F(EmulatedDeviceTest, TakesTheTextForItsTarget) {
  const Module* module = nullptr;
  const std::array<PtxImage, 2> texts{{{"sm_90a", "this is not PTX"}, {"sm_100a", ptxFor(image(), "sm_100a")}}};
  ASSERT_SUCCESS(device_->loadModule({"both", texts, {}}, module));
  const Kernel* affine = nullptr;
  ASSERT_SUCCESS(device_->findKernel(*module, "affine", affine));
}

TEST_F(EmulatedDeviceTest, FindsEmbeddedTextsByModuleAndTarget) {
  EXPECT_EQ(ptxTargets(image()), (std::vector<std::string_view>{"sm_100a", "sm_90a"}));
  for (const std::string_view target : ptxTargets(image())) {
    const std::string_view text = ptxFor(image(), target);
    EXPECT_NE(text.find(".target " + std::string(target)), std::string_view::npos);
    EXPECT_NE(text.find(".entry affine"), std::string_view::npos);
    EXPECT_EQ(ptxFor(image(), target).data(), text.data()) << "unpacked once";
  }
  EXPECT_EQ(ptxFor(image(), "sm_103a"), "");
  EXPECT_EQ(ptxFor({"seam", {}, {}}, "sm_90a"), "") << "a part of the name";
  const PtxImage own{"sm_90a", "text"};
  const ModuleImage changed{image().name, {&own, 1}, {}};
  EXPECT_EQ(ptxFor(changed, "sm_90a"), "text");
  EXPECT_EQ(ptxFor(changed, "sm_100a"), "") << "own texts stand instead of embedded ones";
}

/// A kernel that writes the number of multiprocessors.
std::string multiprocessorsKernel(std::string_view target) {
  return fmt::format(
      ".version 9.0\n.target {}\n.address_size 64\n.visible .entry count(.param .u64 out)\n{{\n"
      "\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [out];\n\tmov.u32 %r1, %nsmid;\n"
      "\tst.global.u32 [%rd1], %r1;\n\tret;\n}}\n",
      target);
}

TEST_F(EmulatedDeviceTest, RunsPortablePtxAsTheDeviceThatItIs) {
  const std::string older = multiprocessorsKernel("sm_80"), portable = multiprocessorsKernel("sm_90");
  const std::array<PtxImage, 4> texts{
      {{"sm_80", older}, {"sm_90", portable}, {"sm_90a", "not for this device"}, {"sm_103", "nor this"}}};
  const ModuleImage both{"portable", texts, {}};
  EXPECT_EQ(ptxFor(both, "sm_100a"), portable) << "the newest of those for it and for older ones";
  const Module* module = nullptr;
  ASSERT_SUCCESS(device_->loadModule(both, module));
  const Kernel* count = nullptr;
  ASSERT_SUCCESS(device_->findKernel(*module, "count", count));
  const Address output = memory(sizeof(uint32_t));
  const std::array<const void*, 1> arguments{&output};
  ASSERT_SUCCESS(device_->launch(*count, grid(1, 1), arguments, 0));
  uint32_t multiprocessors = 0;
  ASSERT_SUCCESS(device_->copyToHost(&multiprocessors, output, sizeof multiprocessors, 0));
  EXPECT_EQ(multiprocessors, 148u) << "B200's, not H200's";

  const std::array<PtxImage, 2> withOwn{{{"sm_90", portable}, {"sm_100a", "its own"}}};
  EXPECT_EQ(ptxFor({"both", withOwn, {}}, "sm_100a"), "its own");
  EXPECT_EQ(ptxFor({"both", withOwn, {}}, "sm_90a"), portable);
  EXPECT_EQ(ptxFor({"both", {&texts[3], 1}, {}}, "sm_100a"), "") << "for a later device";
}

TEST_F(EmulatedDeviceTest, ReadsTheSameTextOnce) {
  const Module *first = nullptr, *again = nullptr, *other = nullptr;
  ASSERT_SUCCESS(device_->loadModule(image(), first));
  const std::string copy(ptxFor(image(), "sm_100a"));
  const PtxImage sameText{"sm_100a", copy};
  ASSERT_SUCCESS(device_->loadModule({image().name, {&sameText, 1}, {}}, again));
  EXPECT_EQ(again, first);
  const std::string changed = copy + "\n";
  const PtxImage otherText{"sm_100a", changed};
  ASSERT_SUCCESS(device_->loadModule({image().name, {&otherText, 1}, {}}, other));
  EXPECT_NE(other, first);
}

TEST_F(EmulatedDeviceTest, EncodesEveryFieldOfAnIm2colMap) {
  Im2colMap map;
  map.tensor.type = layout::MapType::BF16;
  map.tensor.rank = 4;
  map.tensor.globalAddress = 1 << 20;
  map.tensor.dims = {16, 7, 6, 2};
  map.tensor.strides = {32, 7 * 32, 6 * 7 * 32};
  map.tensor.elementStrides = {1, 2, 3, 1, 1};
  map.tensor.swizzle = layout::MapSwizzle::B32;
  map.pixels = {.lowerCorner = {-1, -2}, .upperCorner = {-3, -4}, .channelsPerPixel = 16, .pixelsPerColumn = 33};
  TensorMap encoded;
  ASSERT_SUCCESS(device_->encodeIm2col(map, encoded));
  const auto decoded = emulator::tma::decode(encoded);
  ASSERT_TRUE(decoded && decoded->pixels);
  EXPECT_EQ(decoded->tensor.type, map.tensor.type);
  EXPECT_EQ(decoded->tensor.globalAddress, map.tensor.globalAddress);
  EXPECT_EQ(decoded->tensor.dims, map.tensor.dims);
  EXPECT_EQ(decoded->tensor.strides, map.tensor.strides);
  EXPECT_EQ(decoded->tensor.elementStrides, map.tensor.elementStrides);
  EXPECT_EQ(decoded->tensor.swizzle, map.tensor.swizzle);
  EXPECT_EQ(decoded->pixels->lowerCorner, map.pixels.lowerCorner);
  EXPECT_EQ(decoded->pixels->upperCorner, map.pixels.upperCorner);
  EXPECT_EQ(decoded->pixels->channelsPerPixel, 16u);
  EXPECT_EQ(decoded->pixels->pixelsPerColumn, 33u);
}

TEST_F(EmulatedDeviceTest, QuotesInstructionsItDoesNotKnow) {
  const Module* module = nullptr;
  const std::string ptx =
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n\t.reg .b32 %r<3>;\n"
      "\tfrobnicate.b32 %r1, %r2;\n\tret;\n}\n";
  const PtxImage image{"sm_100a", ptx};
  const Status status = device_->loadModule({"odd", {&image, 1}, {}}, module);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("frobnicate"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("7"), std::string::npos) << status.message();
}

TEST_F(EmulatedDeviceTest, HonoursTheInstructionLimit) {
  ASSERT_SUCCESS(emulated().setOption("instruction_limit", "3"));
  EXPECT_EQ(launchAffine(64, 64).code(), StatusCode::DeviceError);
  ASSERT_SUCCESS(emulated().setOption("instruction_limit", "0"));
  EXPECT_TRUE(launchAffine(64, 64).ok());
}

TEST_F(EmulatedDeviceTest, IsAMachineOfItsOwn) {
  std::unique_ptr<Device> other;
  ASSERT_SUCCESS(openDevice(Kind::Emulated, 0, other));
  const Address mine = memory(64);
  EXPECT_FALSE(other->fill(mine, 1, 64, 0).ok());
}

}  // namespace
}  // namespace shiftconv::device::tests
