// Binding and running: what is encoded when, a run that allocates nothing and calls nothing but launch, and the kernel's
// parameters as planned.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "conv/kernels/sm100/shift_window_params.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/plan/binding.hpp"

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
  Status allocate(size_t, device::Address&) override { return refused(); }
  Status release(device::Address) override { return refused(); }
  Status copyToDevice(device::Address, const void*, size_t, device::Stream) override { return refused(); }
  Status copyToHost(void*, device::Address, size_t, device::Stream) override { return refused(); }
  Status fill(device::Address, uint8_t, size_t, device::Stream) override { return refused(); }
  Status createStream(device::Stream&) override { return refused(); }
  Status destroyStream(device::Stream) override { return refused(); }
  Status synchronize(device::Stream) override { return refused(); }
  Status loadModule(const device::ModuleImage&, const device::Module*& module) override {
    ++loads;
    module = &module_;
    return {};
  }
  Status findKernel(const device::Module&, std::string_view, const device::Kernel*& kernel) override {
    kernel = &kernel_;
    return {};
  }
  Status launch(const device::Kernel&, const LaunchConfig& config, std::span<const void* const> arguments,
                device::Stream stream) override {
    ++launches;
    launched = config;
    usedStream = stream;
    argumentCount = arguments.size();
    params = *static_cast<const kernels::ShiftWindowParams*>(arguments[2]);
    return {};
  }
  Status encodeTiled(const device::TiledMap& description, device::TensorMap&) override {
    addresses[encodes++ % 2] = description.globalAddress;
    return {};
  }
  Status encodeIm2col(const device::Im2colMap&, device::TensorMap&) override { return refused(); }

  int loads = 0, encodes = 0, launches = 0;
  LaunchConfig launched;
  device::Stream usedStream = 0;
  size_t argumentCount = 0;
  kernels::ShiftWindowParams params;
  device::Address addresses[2] = {};

 private:
  static Status refused() { return {StatusCode::InternalError, "not on the path of a run"}; }
  device::Properties properties_;
  FakeModule module_;
  FakeKernel kernel_;
};

TEST(RunPath, OfABindingOnlyLaunches) {
  Problem problem;
  problem.n = 2, problem.h = 9, problem.w = 11, problem.c = 24, problem.k = 16, problem.r = problem.s = 3;
  problem.hasBias = true;
  device::Properties properties;
  properties.name = "test";
  properties.computeMajor = 10;
  properties.multiprocessors = 4;
  properties.sharedBytesPerBlock = 232448;
  std::shared_ptr<const Plan> plan;
  const Status planned = makePlan(problem, properties, {}, plan);
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
  EXPECT_EQ(recorder.encodes, 2);
  EXPECT_EQ(recorder.launches, 0);

  const uint64_t before = allocations;
  const Status ran = binding->run(7);
  const uint64_t after = allocations;
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(after, before);

  EXPECT_EQ(recorder.loads, 1);
  EXPECT_EQ(recorder.encodes, 2) << "encoded again by a run";
  EXPECT_EQ(recorder.launches, 1);
  EXPECT_EQ(recorder.addresses[0], tensors[TensorName::Input]);
  EXPECT_EQ(recorder.addresses[1], tensors[TensorName::Filter]);
  EXPECT_EQ(recorder.argumentCount, 3u);
  EXPECT_EQ(reinterpret_cast<device::Address>(recorder.params.output), tensors[TensorName::Output]);
  EXPECT_EQ(reinterpret_cast<device::Address>(recorder.params.bias), tensors[TensorName::Bias]);
  EXPECT_EQ(recorder.params.outputChannels, 16);
  EXPECT_EQ(recorder.usedStream, 7u);
  EXPECT_GE(recorder.launched.grid.x, 1u);
}

TEST(RunPath, TheCounterOfAllocationsCounts) {
  const uint64_t before = allocations;
  std::vector<int> vector(1000, 1);
  EXPECT_GT(allocations, before) << vector[3];
}

}  // namespace
}  // namespace shiftconv::plan
