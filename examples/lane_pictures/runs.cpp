#include "examples/lane_pictures/runs.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "common/device/emulated_device.hpp"
#include "common/numerics/float16.hpp"
#include "conv/planner/binding.hpp"
#include "conv/planner/candidates.hpp"

namespace lane_pictures {
namespace {

using namespace shiftconv;

constexpr int kFilter = 3, kTaps = kFilter * kFilter, kSliceBytes = 32, kSlices = 4;

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

/// A device of the emulator, its memory, and what it recorded.
class Bench {
 public:
  explicit Bench(Coding coding) { device_.observe(recorder(coding, recording_)); }
  ~Bench() {
    for (const device::Address address : allocations_) (void)device_.release(address);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  device::EmulatedDevice& device() { return device_; }
  device::Address reserve(size_t bytes) {
    device::Address address = 0;
    require(device_.allocate(bytes, address));
    allocations_.push_back(address);
    return address;
  }
  template <class T>
  device::Address upload(const std::vector<T>& values) {
    const device::Address address = reserve(values.size() * sizeof(T));
    require(device_.copyToDevice(address, values.data(), values.size() * sizeof(T), 0));
    return address;
  }
  Recording takeRecording() { return std::move(recording_); }

 private:
  Recording recording_;
  device::EmulatedDevice device_;
  std::vector<device::Address> allocations_;
};

/// Marks for the pixels of [images][height][width], `slices` slices each; see recording.hpp.
template <class T, class Encode>
std::vector<T> markedPixels(int images, int height, int width, Encode encode) {
  constexpr size_t kElements = kSliceBytes / sizeof(T);
  std::vector<T> pixels;
  for (int image = 0; image < images; ++image)
    for (int row = 0; row < height; ++row)
      for (int column = 0; column < width; ++column)
        for (int slice = 0; slice < kSlices; ++slice) {
          const std::array<int, 4> marks{image + 1, row + 1, column + 1, slice + 1};
          for (const int mark : marks) pixels.push_back(encode(mark));
          pixels.resize(pixels.size() + kElements - marks.size());
        }
  return pixels;
}

template <class T, class Encode>
std::vector<T> markedFilter(int outputs, Encode encode) {
  std::vector<T> filter;
  for (int k = 0; k < outputs; ++k)
    for (int tap = 0; tap < kTaps; ++tap) filter.insert(filter.end(), kSlices * kSliceBytes / sizeof(T), encode(tap + 1));
  return filter;
}

uint8_t asByte(int mark) { return static_cast<uint8_t>(mark); }
uint16_t asF16(int mark) { return numerics::encodeF16(static_cast<float>(mark)); }

/// All tiles in one CTA.
void runShiftStream(Bench& bench, const Problem& problem, const std::string& options, plan::TensorAddresses tensors) {
  std::shared_ptr<const plan::Plan> plan;
  require(plan::makePlan(problem, bench.device().properties(), {"shift_stream", "group=single,clusters=1," + options}, plan));
  tensors[TensorName::Output] = bench.reserve(tensorBytes(problem)[TensorName::Output]);
  plan::KernelCache kernels(bench.device());
  std::unique_ptr<plan::Binding> binding;
  require(plan::Binding::make(plan, kernels, tensors, binding));
  require(binding->run(0));
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Recording runWorkedExample(const std::string& ptxPath) {
  using Example = WorkedExample;
  constexpr int kOutputs = 16;
  constexpr uint32_t kThreads = 128, kSharedBytes = 112640;
  Bench bench(Coding::F16);
  const std::string text = contents(ptxPath);
  const std::array<device::PtxImage, 1> ptx{{{"sm_100a", text}}};
  const device::Module* module = nullptr;
  const device::Kernel* kernel = nullptr;
  require(bench.device().loadModule({"4_shift", ptx, {}}, module));
  require(bench.device().findKernel(*module, "shift", kernel));
  const device::Address x = bench.upload(markedPixels<uint16_t>(Example::kImages, Example::kSide, Example::kSide, asF16));
  const device::Address w = bench.upload(markedFilter<uint16_t>(kOutputs, asF16));
  const device::Address y = bench.reserve(size_t{Example::kImages} * Example::kSide * Example::kSide * kOutputs * sizeof(float));
  const std::array<const void*, 3> arguments{&x, &w, &y};
  LaunchConfig config;
  config.block.x = kThreads;
  config.dynamicSharedBytes = kSharedBytes;
  require(bench.device().launch(*kernel, config, arguments, 0));
  return bench.takeRecording();
}

Recording runScaledStrip(bool shiftedScales) {
  using Strip = ScaledStrip;
  Problem problem;
  problem.n = 1, problem.h = Strip::kHeight, problem.w = Strip::kWidth, problem.c = kSlices * kSliceBytes;
  problem.k = 16, problem.r = problem.s = kFilter;
  problem.padTop = problem.padBottom = problem.padLeft = problem.padRight = 1;
  problem.inputType = problem.filterType = DataType::E4M3;
  problem.outputType = DataType::F32;
  problem.inputScale = problem.filterScale = {.blockSize = kSliceBytes, .type = DataType::UE8M0};

  Bench bench(Coding::Byte);
  // Scale factors that are no marks stand for 1.
  constexpr uint8_t kOne = 127;
  std::vector<uint8_t> scales;
  for (int row = 0; row < Strip::kHeight; ++row)
    for (int column = 0; column < Strip::kWidth; ++column)
      scales.insert(scales.end(), {asByte(1), asByte(row + 1), asByte(column + 1), kOne});
  plan::TensorAddresses tensors;
  tensors[TensorName::Input] = bench.upload(markedPixels<uint8_t>(1, Strip::kHeight, Strip::kWidth, asByte));
  tensors[TensorName::InputScale] = bench.upload(scales);
  tensors[TensorName::Filter] = bench.upload(markedFilter<uint8_t>(static_cast<int>(problem.k), asByte));
  tensors[TensorName::FilterScale] = bench.upload(std::vector<uint8_t>(static_cast<size_t>(problem.k) * kTaps * kSlices, kOne));
  runShiftStream(bench, problem, std::string("block_rows=3,scales=") + (shiftedScales ? "shifted" : "copies"), tensors);
  return bench.takeRecording();
}

Recording runMaskedRows() {
  using Rows = MaskedRows;
  Problem problem;
  problem.n = Rows::kImages, problem.h = Rows::kHeight, problem.w = Rows::kWidth;
  problem.c = kSlices * kSliceBytes / static_cast<int64_t>(sizeof(uint16_t));
  problem.k = 16, problem.r = problem.s = kFilter;
  problem.padTop = problem.padBottom = problem.padLeft = problem.padRight = 1;
  problem.outputType = DataType::F32;
  Bench bench(Coding::F16);
  plan::TensorAddresses tensors;
  tensors[TensorName::Input] = bench.upload(markedPixels<uint16_t>(Rows::kImages, Rows::kHeight, Rows::kWidth, asF16));
  tensors[TensorName::Filter] = bench.upload(markedFilter<uint16_t>(static_cast<int>(problem.k), asF16));
  runShiftStream(bench, problem, "map=flat_masked,block_rows=3", tensors);
  return bench.takeRecording();
}

}  // namespace lane_pictures
