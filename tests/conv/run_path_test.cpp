// Binding and running: what is encoded when, a run that allocates nothing and calls nothing but launch, and the kernel's
// parameters as planned.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "conv/algorithms/shift_window/params.hpp"
#include "conv/planner/binding.hpp"
#include "conv/planner/candidates.hpp"

namespace {
std::atomic<uint64_t> allocations = 0;
}

// A compiler that inlines only some of the three sees memory of new go to free, and warns.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort asks for its buffer so; left out, an address sanitizer sees its own memory come to free.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace shiftconv::plan {
namespace {

/// Takes launches and remembers them; everything else fails.
class RecordingDevice final : public device::Device {
 public:
  struct FakeModule : device::Module {};
  struct FakeKernel : device::Kernel {};

  explicit RecordingDevice(const device::Properties& properties) : properties_(properties) {}

  const device::Properties& properties() const override { return properties_; }
  std::string driverVersion() const override { return {}; }
  Status allocate(size_t, device::Address&) override { return refused(); }
  Status release(device::Address) override { return refused(); }
  Status copyToDevice(device::Address, const void*, size_t, device::Stream) override { return refused(); }
  Status copyToHost(void*, device::Address, size_t, device::Stream) override { return refused(); }
  Status fill(device::Address, uint8_t, size_t, device::Stream) override { return refused(); }
  Status createStream(device::Stream&) override { return refused(); }
  Status destroyStream(device::Stream) override { return refused(); }
  Status synchronize(device::Stream) override { return refused(); }
  Status time(device::Stream, const std::function<Status()>&, double&) override { return refused(); }
  Status loadModule(const device::ModuleImage&, const device::Module*& module) override {
    ++loads;
    module = &module_;
    return ofLoad;
  }
  Status findKernel(const device::Module&, std::string_view, const device::Kernel*& kernel) override {
    ++finds;
    kernel = &kernel_;
    return ofFind;
  }
  Status launch(const device::Kernel&, const LaunchConfig& config, std::span<const void* const> arguments,
                device::Stream stream) override {
    Launch& made = launched.at(launches++);
    made.config = config;
    made.stream = stream;
    made.count = arguments.size();
    std::copy_n(arguments.begin(), std::min(arguments.size(), made.arguments.size()), made.arguments.begin());
    if (inspect) inspect(arguments);
    return ofLaunch;
  }
  /// An encoded map holds its address and says how it was encoded.
  Status encodeTiled(const device::TiledMap& description, device::TensorMap& map) override {
    ++encodes;
    map.words[0] = description.globalAddress;
    map.words[1] = kTiled;
    return ofEncode;
  }
  Status encodeIm2col(const device::Im2colMap& description, device::TensorMap& map) override {
    ++encodes;
    map.words[0] = description.tensor.globalAddress;
    map.words[1] = kIm2col;
    return ofEncode;
  }

  static constexpr uint64_t kTiled = 0x71, kIm2col = 0x72;
  struct Launch {
    LaunchConfig config;
    device::Stream stream = 0;
    size_t count = 0;
    std::array<const void*, 4> arguments{};  ///< in the binding's memory
    template <class Value>
    const Value& argument(size_t i) const {
      return *static_cast<const Value*>(arguments.at(i));
    }
  };
  int loads = 0, finds = 0, encodes = 0;
  Status ofLoad, ofFind, ofEncode, ofLaunch;  ///< what these say
  size_t launches = 0;
  std::array<Launch, 4> launched;
  std::function<void(std::span<const void* const>)> inspect;  ///< sees what lies on the caller's stack

 private:
  static Status refused() { return {StatusCode::InternalError, "not on the path of a run"}; }
  device::Properties properties_;
  FakeModule module_;
  FakeKernel kernel_;
};

Problem smallProblem() {
  Problem problem;
  problem.n = 2, problem.h = 9, problem.w = 11, problem.c = 24, problem.k = 16, problem.r = problem.s = 3;
  return problem;
}
device::Properties smallBlackwell() {
  device::Properties properties;
  properties.name = "test";
  properties.computeMajor = 10;
  properties.multiprocessors = 4;
  properties.sharedBytesPerBlock = 232448;
  return properties;
}

/// Two kernels of the first image and one of the second, asked for in turns.
TEST(KernelCache, LoadsEachImageOnceAndFindsEachKernelOnce) {
  RecordingDevice recorder({});
  KernelCache kernels(recorder);
  Plan plan;
  for (const auto& [image, kernel] :
       {std::pair{"first", "a"}, {"second", "c"}, {"first", "b"}, {"first", "a"}, {"second", "c"}, {"first", "b"}}) {
    PlannedLaunch& launch = plan.launches.emplace_back();
    launch.image.name = image, launch.kernel = kernel;
  }
  ASSERT_TRUE(kernels.prepare(plan).ok());
  EXPECT_EQ(recorder.loads, 2);
  EXPECT_EQ(recorder.finds, 3);
  for (const PlannedLaunch& launch : plan.launches) {
    const device::Kernel* kernel = nullptr;
    ASSERT_TRUE(kernels.find(launch, kernel).ok());
    EXPECT_NE(kernel, nullptr);
  }
  EXPECT_EQ(recorder.loads, 2);
  EXPECT_EQ(recorder.finds, 3);
}

/// What a device cannot load, find or encode ends a binding and a run without one, before anything is launched.
TEST(RunPath, BeginsWithWhatTheDeviceSays) {
  const Problem problem = smallProblem();
  const device::Properties properties = smallBlackwell();
  std::shared_ptr<const Plan> plan;
  ASSERT_TRUE(makePlan(problem, properties, {"shift_window", ""}, plan).ok());
  TensorAddresses tensors;
  tensors[TensorName::Input] = 0x100000, tensors[TensorName::Filter] = 0x200000, tensors[TensorName::Output] = 0x400000;
  for (Status RecordingDevice::*const one : {&RecordingDevice::ofLoad, &RecordingDevice::ofFind, &RecordingDevice::ofEncode}) {
    RecordingDevice recorder(properties);
    recorder.*one = {StatusCode::DeviceError, "not today"};
    KernelCache kernels(recorder);
    std::unique_ptr<Binding> binding;
    const Status bound = Binding::make(plan, kernels, tensors, binding);
    EXPECT_EQ(bound.code(), StatusCode::DeviceError);
    EXPECT_EQ(bound.message(), "not today");
    EXPECT_EQ(binding, nullptr);
    EXPECT_EQ(runOnce(*plan, kernels, tensors, 0).message(), "not today");
    EXPECT_EQ(recorder.launches, 0u);
  }
}

/// A launch that fails is the last one, and its reason that of the run.
TEST(RunPath, EndsWithTheLaunchThatFails) {
  const device::Properties properties = smallBlackwell();
  Problem problem = smallProblem();
  problem.inputType = problem.filterType = DataType::S8;
  problem.c = 32, problem.inputZeroPoint = 3;
  std::shared_ptr<const Plan> plan;
  const Status planned = makePlan(problem, properties, {"shift_stream", ""}, plan);
  ASSERT_TRUE(planned.ok()) << planned.message();
  ASSERT_GT(plan->launches.size(), 1u);
  TensorAddresses tensors;
  tensors[TensorName::Input] = 0x100000, tensors[TensorName::Filter] = 0x200000, tensors[TensorName::Output] = 0x400000;
  tensors[TensorName::Workspace] = 0x800000;
  RecordingDevice recorder(properties);
  KernelCache kernels(recorder);
  std::unique_ptr<Binding> binding;
  const Status bound = Binding::make(plan, kernels, tensors, binding);
  ASSERT_TRUE(bound.ok()) << bound.message();
  recorder.ofLaunch = {StatusCode::DeviceError, "no launch today"};
  for (const std::function<Status()>& run : {std::function<Status()>([&] { return binding->run(7); }),
                                             {[&] { return binding->run(tensors, 7); }},
                                             {[&] { return runOnce(*plan, kernels, tensors, 7); }}}) {
    recorder.launches = 0;
    EXPECT_EQ(run().message(), "no launch today");
    EXPECT_EQ(recorder.launches, 1u);
  }
}

TEST(RunPath, OfABindingOnlyLaunches) {
  Problem problem = smallProblem();
  problem.hasBias = true;
  problem.padLeft = problem.padRight = 1;  // outputs leave by a map, too
  const device::Properties properties = smallBlackwell();
  std::shared_ptr<const Plan> plan;
  const Status planned = makePlan(problem, properties, {"shift_window", ""}, plan);
  ASSERT_TRUE(planned.ok()) << planned.message();

  RecordingDevice recorder(properties);
  KernelCache kernels(recorder);
  TensorAddresses tensors;
  tensors[TensorName::Input] = 0x100000;
  tensors[TensorName::Filter] = 0x200000;
  tensors[TensorName::Bias] = 0x300000;
  tensors[TensorName::Output] = 0x400000;
  std::unique_ptr<Binding> binding;
  const Status bound = Binding::make(plan, kernels, tensors, binding);
  ASSERT_TRUE(bound.ok()) << bound.message();
  EXPECT_EQ(recorder.encodes, 3);
  EXPECT_EQ(recorder.launches, 0u);

  const uint64_t before = allocations;
  const Status ran = binding->run(7);
  const uint64_t after = allocations;
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(after, before);

  EXPECT_EQ(recorder.loads, 1);
  EXPECT_EQ(recorder.encodes, 3) << "encoded again by a run";
  ASSERT_EQ(recorder.launches, 1u);
  const RecordingDevice::Launch& launch = recorder.launched[0];
  ASSERT_EQ(launch.count, 4u);
  EXPECT_EQ(launch.argument<device::TensorMap>(0).words[0], tensors[TensorName::Input]);
  EXPECT_EQ(launch.argument<device::TensorMap>(1).words[0], tensors[TensorName::Filter]);
  EXPECT_EQ(launch.argument<device::TensorMap>(2).words[0], tensors[TensorName::Output]);
  const auto& params = launch.argument<kernels::ShiftWindowParams>(3);
  EXPECT_EQ(reinterpret_cast<device::Address>(params.epilogue.output), tensors[TensorName::Output]);
  EXPECT_EQ(reinterpret_cast<device::Address>(params.epilogue.bias), tensors[TensorName::Bias]);
  EXPECT_EQ(params.epilogue.columns, 16);
  EXPECT_EQ(launch.stream, 7u);
  EXPECT_GE(launch.config.grid.x, 1u);
}

TEST(RunPath, WithOtherTensorsAllocatesNothingEither) {
  Problem problem = smallProblem();
  problem.hasBias = true;
  problem.padLeft = problem.padRight = 1;
  const device::Properties properties = smallBlackwell();
  std::shared_ptr<const Plan> plan;
  ASSERT_TRUE(makePlan(problem, properties, {"shift_window", ""}, plan).ok());
  RecordingDevice recorder(properties);
  KernelCache kernels(recorder);
  TensorAddresses tensors;
  tensors[TensorName::Input] = 0x100000;
  tensors[TensorName::Filter] = 0x200000;
  tensors[TensorName::Bias] = 0x300000;
  tensors[TensorName::Output] = 0x400000;
  std::unique_ptr<Binding> binding;
  ASSERT_TRUE(Binding::make(plan, kernels, tensors, binding).ok());
  const TensorAddresses bound = tensors;
  tensors[TensorName::Input] = 0x500010;
  tensors[TensorName::Bias] = 0x700020;
  tensors[TensorName::Output] = 0x600030;

  device::TensorMap input, filter, output;
  kernels::ShiftWindowParams params;
  const auto copy = [&](std::span<const void* const> arguments) {
    input = *static_cast<const device::TensorMap*>(arguments[0]);
    filter = *static_cast<const device::TensorMap*>(arguments[1]);
    output = *static_cast<const device::TensorMap*>(arguments[2]);
    params = *static_cast<const kernels::ShiftWindowParams*>(arguments[3]);
  };
  recorder.inspect = std::cref(copy);  // needs no memory of the function
  for (const bool withBinding : {true, false}) {
    SCOPED_TRACE(withBinding ? "a binding" : "a plan");
    recorder.launches = 0, recorder.encodes = 0;
    const uint64_t before = allocations;
    const Status ran = withBinding ? binding->run(tensors, 9) : runOnce(*plan, kernels, tensors, 9);
    EXPECT_EQ(allocations, before);
    ASSERT_TRUE(ran.ok()) << ran.message();
    EXPECT_EQ(recorder.encodes, 3) << "maps of the new addresses";
    EXPECT_EQ(recorder.loads, 1);
    ASSERT_EQ(recorder.launches, 1u);
    ASSERT_EQ(recorder.launched[0].count, 4u);
    EXPECT_EQ(input.words[0], tensors[TensorName::Input]);
    EXPECT_EQ(filter.words[0], tensors[TensorName::Filter]);
    EXPECT_EQ(output.words[0], tensors[TensorName::Output]);
    EXPECT_EQ(reinterpret_cast<device::Address>(params.epilogue.output), tensors[TensorName::Output]);
    EXPECT_EQ(reinterpret_cast<device::Address>(params.epilogue.bias), tensors[TensorName::Bias]);
    EXPECT_EQ(recorder.launched[0].stream, 9u);
  }
  // The binding itself has stayed as it was.
  recorder.inspect = nullptr;
  recorder.launches = 0;
  ASSERT_TRUE(binding->run(7).ok());
  EXPECT_EQ(recorder.launched[0].argument<device::TensorMap>(0).words[0], bound[TensorName::Input]);
  EXPECT_EQ(reinterpret_cast<device::Address>(recorder.launched[0].argument<kernels::ShiftWindowParams>(3).epilogue.output),
            bound[TensorName::Output]);

  tensors[TensorName::Output] = 0;
  recorder.launches = 0;
  EXPECT_NE(binding->run(tensors, 9).message().find("output must not be NULL"), std::string::npos);
  EXPECT_NE(runOnce(*plan, kernels, tensors, 9).message().find("output must not be NULL"), std::string::npos);
  EXPECT_EQ(recorder.launches, 0u);
}

TEST(RunPath, RefusesLaunchesWithTooManyParameters) {
  Problem problem;
  problem.n = 1, problem.h = problem.w = 4, problem.c = problem.k = 8, problem.r = problem.s = 1;
  RecordingDevice recorder(device::Properties{});
  KernelCache kernels(recorder);
  TensorAddresses tensors;
  tensors[TensorName::Input] = 0x1000;
  tensors[TensorName::Filter] = 0x2000;
  tensors[TensorName::Output] = 0x3000;
  struct Large {
    std::byte bytes[kMostParameterBytes];
  };
  for (const auto& [count, large, fits] : {std::tuple{kMostParameters, false, true},
                                           {kMostParameters + 1, false, false},
                                           {size_t{0}, true, true},
                                           {size_t{1}, true, false}}) {
    Plan plan;
    plan.problem = problem;
    std::vector<Parameter> parameters(count, Parameter::value(uint32_t{1}));
    if (large) parameters.push_back(Parameter::value(Large{}));
    plan.launches.push_back({{"a", {}, {}}, "wide", {}, parameters, {}});
    std::unique_ptr<Binding> binding;
    const Status made = Binding::make(std::make_shared<const Plan>(plan), kernels, tensors, binding);
    const Status ran = runOnce(plan, kernels, tensors, 0);
    EXPECT_EQ(made.ok(), fits) << count;
    EXPECT_EQ(ran.ok(), fits) << count;
    if (!fits) {
      EXPECT_NE(made.message().find("wide takes"), std::string::npos) << made.message();
    }
  }
}

/// 1x4x4x8 -> 8, 1x1, f16, without any optional tensor, and a workspace.
Plan handMade() {
  Plan plan;
  plan.problem.n = 1, plan.problem.h = plan.problem.w = 4, plan.problem.c = plan.problem.k = 8, plan.problem.r = plan.problem.s = 1;
  plan.workspaceBytes = 512;
  return plan;
}

TensorAddresses apart() {
  TensorAddresses tensors;
  tensors[TensorName::Input] = 0x1000;
  tensors[TensorName::Filter] = 0x2000;
  tensors[TensorName::Output] = 0x3000;
  tensors[TensorName::Workspace] = 0x4000;
  return tensors;
}

/// Three maps and a pointer in one parameter, as a kernel with an array of maps takes them.
struct alignas(128) MapsAndPointer {
  device::TensorMap maps[3];
  uint64_t pointers[2] = {5, 6};
};

TEST(RunPath, BindingsFillInEveryPlaceOfEveryLaunch) {
  Plan plan = handMade();
  Parameter maps = Parameter::value(MapsAndPointer{});
  maps.map(0, layout::TiledMap{}, {TensorName::Input, 64})
      .map(128, layout::Im2colMap{}, {TensorName::Filter})
      .map(256, layout::TiledMap{}, {TensorName::Residual})
      .address(offsetof(MapsAndPointer, pointers), {TensorName::Workspace, 256})
      .address(offsetof(MapsAndPointer, pointers) + 8, {TensorName::Bias, 16});
  LaunchConfig second;
  second.programmaticDependent = true;
  plan.launches.push_back({{"a", {}, {}}, "first", {}, {Parameter::value(uint32_t{77}), maps}, {}});
  plan.launches.push_back({{"b", {}, {}}, "second", second, {Parameter::map(layout::TiledMap{}, {TensorName::Output})}, {}});

  RecordingDevice recorder(device::Properties{});
  KernelCache kernels(recorder);
  std::unique_ptr<Binding> binding;
  const Status bound = Binding::make(std::make_shared<const Plan>(plan), kernels, apart(), binding);
  ASSERT_TRUE(bound.ok()) << bound.message();
  ASSERT_TRUE(binding->run(3).ok());
  EXPECT_EQ(recorder.loads, 2) << "one module for each image";
  EXPECT_EQ(recorder.encodes, 3);
  ASSERT_EQ(recorder.launches, 2u);
  const RecordingDevice::Launch& first = recorder.launched[0];
  EXPECT_EQ(first.argument<uint32_t>(0), 77u);
  const auto& filled = first.argument<MapsAndPointer>(1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(&filled) % 128, 0u);
  EXPECT_EQ(filled.maps[0].words[0], 0x1040u);
  EXPECT_EQ(filled.maps[0].words[1], RecordingDevice::kTiled);
  EXPECT_EQ(filled.maps[1].words[0], 0x2000u);
  EXPECT_EQ(filled.maps[1].words[1], RecordingDevice::kIm2col);
  EXPECT_EQ(filled.maps[2].words[0], 0u) << "there is no residual";
  EXPECT_EQ(filled.pointers[0], 0x4100u);
  EXPECT_EQ(filled.pointers[1], 0u) << "there is no bias";
  EXPECT_FALSE(first.config.programmaticDependent);
  EXPECT_TRUE(recorder.launched[1].config.programmaticDependent);
  EXPECT_EQ(recorder.launched[1].argument<device::TensorMap>(0).words[0], 0x3000u);
}

TEST(CheckTensors, WhatIsWrittenOverlapsNothing) {
  const Plan plan = handMade();
  EXPECT_TRUE(checkTensors(plan, apart()).ok());
  const auto refused = [&](TensorName tensor, device::Address address, const char* words) {
    TensorAddresses tensors = apart();
    tensors[tensor] = address;
    const Status status = checkTensors(plan, tensors);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  };
  refused(TensorName::Workspace, 0x3000, "output must not overlap workspace");
  refused(TensorName::Workspace, 0x1000, "workspace must not overlap input");
  refused(TensorName::Workspace, 0x2000 - 256, "workspace must not overlap filter");
  refused(TensorName::Output, 0x2000 + 112, "output must not overlap filter");
  refused(TensorName::Workspace, 0x4080, "workspace must be aligned to 256");
  refused(TensorName::Workspace, 0, "workspace must not be NULL");
  refused(TensorName::Amax, 0x9000, "amax must be NULL");
  // Touching is not overlapping: the filter has 128 bytes, the workspace 512; inputs may share memory.
  TensorAddresses tensors = apart();
  tensors[TensorName::Output] = 0x2080;
  tensors[TensorName::Workspace] = 0x1000 - 512;
  tensors[TensorName::Input] = 0x1000;
  EXPECT_TRUE(checkTensors(plan, tensors).ok()) << checkTensors(plan, tensors).message();
  tensors[TensorName::Input] = tensors[TensorName::Filter];
  EXPECT_FALSE(checkTensors(plan, tensors).ok()) << "the output lies behind the filter, where the input now is";
  tensors[TensorName::Output] = 0x8000;
  EXPECT_TRUE(checkTensors(plan, tensors).ok());
}

TEST(RunPath, TheCounterOfAllocationsCounts) {
  const uint64_t before = allocations;
  std::vector<int> vector(1000, 1);
  EXPECT_GT(allocations, before) << vector[3];
}

}  // namespace
}  // namespace shiftconv::plan
