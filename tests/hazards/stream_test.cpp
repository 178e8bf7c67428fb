// Hazards between launches, copies and releases in different streams, through the device seam.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "common/device/emulated_device.hpp"

namespace shiftconv::device {
namespace {

using emulator::Hazard;
using emulator::HazardKind;

constexpr uint32_t kWords = 256;

constexpr std::string_view kPtx = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .entry writes(.param .u64 words) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [words];
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1;
  st.global.u32 [%rd0], %r0;
  ret;
}
.visible .entry reads(.param .u64 words) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [words];
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1;
  ld.global.u32 %r1, [%rd0];
  ret;
}
.visible .entry awaits(.param .u64 words) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [words];
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1;
  griddepcontrol.launch_dependents;
  griddepcontrol.wait;
  ld.global.u32 %r1, [%rd0];
  ret;
}
.visible .entry one_warp_awaits(.param .u64 words, .param .u32 meets) {
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [words];
  ld.param.u32 %r2, [meets];
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd0, %rd0, %rd1;
  setp.ge.u32 %p0, %r0, 32;
  @%p0 bra others;
  griddepcontrol.wait;
others:
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra apart;
  bar.sync 0;
apart:
  ld.global.u32 %r1, [%rd0];
  ret;
}
)";

class StreamHazards : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(device_.setOption("hazards", "warn").ok());
    const Module* module = nullptr;
    const PtxImage image{"sm_100a", kPtx};
    ASSERT_TRUE(device_.loadModule({.name = "streams", .ptx = {&image, 1}, .fatbin = {}}, module).ok());
    ASSERT_TRUE(device_.findKernel(*module, "writes", writes_).ok());
    ASSERT_TRUE(device_.findKernel(*module, "reads", reads_).ok());
    ASSERT_TRUE(device_.findKernel(*module, "awaits", awaits_).ok());
    ASSERT_TRUE(device_.findKernel(*module, "one_warp_awaits", oneWarpAwaits_).ok());
    ASSERT_TRUE(device_.createStream(first_).ok());
    ASSERT_TRUE(device_.createStream(second_).ok());
    buffer_ = allocate();
    ASSERT_TRUE(device_.fill(buffer_, 1, kWords * 4, first_).ok());
    ASSERT_TRUE(device_.synchronize(first_).ok());
  }

  Address allocate() {
    Address address = 0;
    EXPECT_TRUE(device_.allocate(kWords * 4, address).ok());
    return address;
  }
  void launch(const Kernel* kernel, Stream stream, Address address) {
    LaunchConfig config;
    config.block.x = kWords;
    const std::array<const void*, 1> arguments{&address};
    const Status status = device_.launch(*kernel, config, arguments, stream);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// With programmatic dependent launch. `meets`: of one_warp_awaits alone, whether its warps meet at a barrier before they read.
  void launchDependent(const Kernel* kernel, Stream stream, Address address, uint32_t meets = 0) {
    LaunchConfig config;
    config.block.x = kWords;
    config.programmaticDependent = true;
    const std::array<const void*, 2> arguments{&address, &meets};
    const Status status = device_.launch(*kernel, config, {arguments.data(), kernel == oneWarpAwaits_ ? 2u : 1u}, stream);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::vector<Hazard> hazards() const {
    std::vector<Hazard> all;
    for (const KernelCounters& kernel : device_.counters()) all.insert(all.end(), kernel.hazards.begin(), kernel.hazards.end());
    return all;
  }
  void expectNone() {
    for (const Hazard& hazard : hazards()) ADD_FAILURE() << describe(hazard);
  }
  /// Exactly one race between the two, in this order.
  void expectRace(const std::string& first, const std::string& second, const std::string& missing) {
    const std::vector<Hazard> all = hazards();
    ASSERT_EQ(all.size(), 1u);
    const Hazard& hazard = all[0];
    EXPECT_EQ(hazard.kind, HazardKind::Race);
    EXPECT_NE(hazard.first.where.find(first), std::string::npos) << describe(hazard);
    EXPECT_NE(hazard.second.where.find(second), std::string::npos) << describe(hazard);
    EXPECT_NE(hazard.missing.find(missing), std::string::npos) << describe(hazard);
  }

  EmulatedDevice device_;
  const Kernel* writes_ = nullptr;
  const Kernel* reads_ = nullptr;
  const Kernel* awaits_ = nullptr;
  const Kernel* oneWarpAwaits_ = nullptr;
  Stream first_ = 0, second_ = 0;
  Address buffer_ = 0;
};

// Lines of kPtx.
const std::string kStore = "PTX line 11: st.global.u32", kLoad = "PTX line 21: ld.global.u32";

TEST_F(StreamHazards, OneStreamOrdersItsLaunches) {
  launch(writes_, first_, buffer_);
  launch(reads_, first_, buffer_);
  launch(writes_, first_, buffer_);
  expectNone();
}

TEST_F(StreamHazards, TwoStreamsMayReadTogether) {
  launch(reads_, first_, buffer_);
  launch(reads_, second_, buffer_);
  expectNone();
}

TEST_F(StreamHazards, AReadInAnotherStreamMustWaitForTheWrite) {
  launch(writes_, first_, buffer_);
  launch(reads_, second_, buffer_);
  expectRace(kStore, kLoad, "writes is in stream 0x1 and reads in stream 0x2");
  EXPECT_EQ(hazards()[0].first.kernel, "writes");
  EXPECT_EQ(hazards()[0].second.kernel, "reads");
}

TEST_F(StreamHazards, AWriteInAnotherStreamMustWaitForTheRead) {
  launch(reads_, first_, buffer_);
  launch(writes_, second_, buffer_);
  expectRace(kLoad, kStore, "did not synchronize the first stream");
}

TEST_F(StreamHazards, TheDefaultStreamIsAStreamLikeOthers) {
  launch(writes_, 0, buffer_);
  launch(reads_, second_, buffer_);
  expectRace(kStore, kLoad, "writes is in stream 0x0");
}

TEST_F(StreamHazards, SynchronizingTheFirstStreamOrdersThem) {
  launch(writes_, first_, buffer_);
  ASSERT_TRUE(device_.synchronize(first_).ok());
  launch(reads_, second_, buffer_);
  expectNone();
}

TEST_F(StreamHazards, SynchronizingAnotherStreamDoesNot) {
  launch(writes_, first_, buffer_);
  ASSERT_TRUE(device_.synchronize(second_).ok());
  launch(reads_, second_, buffer_);
  expectRace(kStore, kLoad, "did not synchronize the first stream");
}

TEST_F(StreamHazards, CopyToHostWaitsForItsStream) {
  const Address other = allocate();
  ASSERT_TRUE(device_.fill(other, 2, kWords * 4, first_).ok());
  launch(writes_, first_, buffer_);
  uint32_t word = 0;
  ASSERT_TRUE(device_.copyToHost(&word, other, sizeof word, first_).ok());
  launch(reads_, second_, buffer_);
  expectNone();
}

TEST_F(StreamHazards, CopyToHostMustBeInTheStreamOfTheWrite) {
  launch(writes_, first_, buffer_);
  std::vector<uint32_t> words(kWords);
  ASSERT_TRUE(device_.copyToHost(words.data(), buffer_, kWords * 4, second_).ok());
  expectRace(kStore, "copyToHost in stream 0x2", "writes is in stream 0x1 and copyToHost in stream 0x2");
}

TEST_F(StreamHazards, CopyToDeviceMustWaitForReads) {
  launch(reads_, first_, buffer_);
  const uint32_t word = 7;
  ASSERT_TRUE(device_.copyToDevice(buffer_, &word, sizeof word, second_).ok());
  expectRace(kLoad, "copyToDevice in stream 0x2", "did not synchronize the first stream");
}

TEST_F(StreamHazards, AFillBelongsToItsStream) {
  ASSERT_TRUE(device_.fill(buffer_, 3, kWords * 4, first_).ok());
  launch(reads_, first_, buffer_);
  expectNone();
  launch(reads_, second_, buffer_);
  expectRace("fill in stream 0x1", kLoad, "fill is in stream 0x1 and reads in stream 0x2");
}

TEST_F(StreamHazards, DifferentBuffersDoNotMeet) {
  const Address other = allocate();
  launch(writes_, first_, buffer_);
  launch(writes_, second_, other);
  expectNone();
}

TEST_F(StreamHazards, MemoryInUseMustNotBeReleased) {
  launch(writes_, first_, buffer_);
  ASSERT_TRUE(device_.release(buffer_).ok());
  expectRace(kStore, "release", "writes in stream 0x1 may be under way still: synchronize the stream before the release");
}

TEST_F(StreamHazards, MemoryIsReleasedBehindASynchronization) {
  launch(writes_, first_, buffer_);
  ASSERT_TRUE(device_.synchronize(first_).ok());
  ASSERT_TRUE(device_.release(buffer_).ok());
  expectNone();
}

TEST_F(StreamHazards, AnAccessToReleasedMemoryNamesTheAllocation) {
  ASSERT_TRUE(device_.release(buffer_).ok());
  LaunchConfig config;
  config.block.x = kWords;
  const std::array<const void*, 1> arguments{&buffer_};
  const Status status = device_.launch(*reads_, config, arguments, first_);
  EXPECT_EQ(status.code(), StatusCode::DeviceError);
  EXPECT_NE(status.message().find("byte 0 of the 1024-byte allocation"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("has been released"), std::string::npos) << status.message();
}

TEST_F(StreamHazards, NewMemoryIsNotWritten) {
  launch(reads_, first_, allocate());
  const std::vector<Hazard> all = hazards();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, HazardKind::UndefinedData);
  EXPECT_EQ(all[0].second.where.substr(0, kLoad.size()), kLoad);
}

TEST_F(StreamHazards, WhatAnUnwatchedLaunchWroteCountsAsWritten) {
  const Address other = allocate();
  ASSERT_TRUE(device_.setOption("hazards", "off").ok());
  launch(writes_, first_, other);
  ASSERT_TRUE(device_.setOption("hazards", "warn").ok());
  launch(reads_, first_, other);
  expectNone();
}

TEST_F(StreamHazards, ModeErrorRefusesTheLaterOne) {
  ASSERT_TRUE(device_.setOption("hazards", "error").ok());
  launch(writes_, first_, buffer_);
  LaunchConfig config;
  config.block.x = kWords;
  const std::array<const void*, 1> arguments{&buffer_};
  const Status status = device_.launch(*reads_, config, arguments, second_);
  EXPECT_EQ(status.code(), StatusCode::DeviceError);
  EXPECT_NE(status.message().find("writes is in stream 0x1 and reads in stream 0x2"), std::string::npos) << status.message();
}

TEST_F(StreamHazards, ADependentLaunchThatWaitsIsOrdered) {
  launch(writes_, first_, buffer_);
  launchDependent(awaits_, first_, buffer_);
  launch(writes_, first_, buffer_);
  expectNone();
}

TEST_F(StreamHazards, ADependentLaunchMustWaitBeforeItReads) {
  launch(writes_, first_, buffer_);
  launchDependent(reads_, first_, buffer_);
  expectRace(kStore, kLoad, "writes may still run when reads starts (programmatic dependent launch): griddepcontrol.wait");
}

TEST_F(StreamHazards, ADependentLaunchMustWaitBeforeItWrites) {
  launch(reads_, first_, buffer_);
  launchDependent(writes_, first_, buffer_);
  expectRace(kLoad, kStore, "reads may still run when writes starts");
}

/// What one thread has waited for holds for those that synchronise with it, and for no others.
TEST_F(StreamHazards, WarpsThatMeetOneThatHasWaitedAreOrdered) {
  launch(writes_, first_, buffer_);
  launchDependent(oneWarpAwaits_, first_, buffer_, 1);
  expectNone();
  launchDependent(oneWarpAwaits_, first_, buffer_, 0);
  EXPECT_FALSE(hazards().empty());
}

/// A launch that lets the next one start need not have waited itself: the kernel ahead of it may still run, too.
TEST_F(StreamHazards, DependentLaunchesOverlapBackToTheLastThatIsNone) {
  launch(writes_, first_, buffer_);
  launchDependent(awaits_, first_, allocate());
  launchDependent(reads_, first_, buffer_);
  const std::vector<Hazard> all = hazards();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().first.kernel, "writes");
}

TEST_F(StreamHazards, ACopyOrTheHostBetweenThemOrdersDependentLaunches) {
  const Address other = allocate();
  launch(writes_, first_, buffer_);
  ASSERT_TRUE(device_.fill(other, 2, kWords * 4, first_).ok());
  launchDependent(reads_, first_, buffer_);
  ASSERT_TRUE(device_.synchronize(first_).ok());
  launchDependent(writes_, first_, buffer_);
  expectNone();
}

}  // namespace
}  // namespace shiftconv::device
