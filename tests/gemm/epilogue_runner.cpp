#include "tests/gemm/epilogue_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>

#include "common/device/emulated_device.hpp"
#include "common/numerics/codec.hpp"
#include "tests/gemm/device_memory.hpp"

namespace shiftconv::tests {
namespace {

using numerics::NumberType;

constexpr int32_t kTileRows = 128, kTileColumns = 64;
constexpr uint32_t kStagingBytes = kTileRows * kTileColumns * 4;

int32_t roundedUp(int32_t value, int32_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// One device for every arch and all tests: modules are parsed once.
struct OpenDevice {
  device::EmulatedDevice device;
  std::string ptx;
  const device::Module* module = nullptr;
};

OpenDevice& openDevice(const std::string& arch) {
  static std::map<std::string, std::unique_ptr<OpenDevice>> devices;
  std::unique_ptr<OpenDevice>& opened = devices[arch];
  if (opened == nullptr) {
    opened = std::make_unique<OpenDevice>();
    std::ifstream file(fmt::format("{}/epilogue_{}.ptx", EPILOGUE_PTX_FOLDER, arch));
    opened->ptx.assign(std::istreambuf_iterator<char>(file), {});
    // The device runs what is labelled with its own name, whatever the text was compiled for.
    const device::PtxImage image{"sm_100a", opened->ptx};
    check(opened->device.loadModule({"epilogue_kernels", std::span(&image, 1), {}}, opened->module));
    check(opened->device.setOption("hazards", "error"));
  }
  return *opened;
}

device::TensorMap outputMap(device::Device& device, const gemm::EpilogueParams& p) {
  using layout::MapSwizzle;
  using layout::MapType;
  device::TiledMap description;
  const int bits = numerics::storageBits(p.outputType);
  description.type = bits == 32                         ? MapType::F32
                     : p.outputType == NumberType::F16  ? MapType::F16
                     : p.outputType == NumberType::BF16 ? MapType::BF16
                                                        : MapType::U8;
  const int64_t elementBytes = bits < 8 ? 1 : bits / 8;
  description.rank = 2;
  description.globalAddress = std::bit_cast<uint64_t>(p.output);
  description.dims = {static_cast<uint64_t>(numerics::packedBytes(p.outputType, p.columns) / elementBytes),
                      static_cast<uint64_t>(p.rows)};
  description.strides = {static_cast<uint64_t>(p.outputPitch)};
  const int32_t boxBytes = gemm::stagingBoxBytes(p.outputType, kTileColumns);
  description.box = {static_cast<uint32_t>(boxBytes / elementBytes), kTileRows};
  description.swizzle = boxBytes == 128 ? MapSwizzle::B128 : boxBytes == 64 ? MapSwizzle::B64 : MapSwizzle::B32;
  device::TensorMap map;
  check(device.encodeTiled(description, map));
  return map;
}

}  // namespace

gemm::Bounded EpilogueProblem::accumulator(int64_t row, int64_t column) const {
  const uint32_t bits = accumulators[static_cast<size_t>(row * params.columns + column)];
  return {numerics::decode(params.accumulatorType, bits), 0};
}

EpilogueOutput runEpilogue(const EpilogueProblem& problem, const EpilogueRun& run) {
  OpenDevice& opened = openDevice(run.arch);
  device::Device& device = opened.device;
  check(opened.device.setOption("schedule", run.schedule));
  gemm::EpilogueParams p = problem.params;
  const int32_t pitch = roundedUp(p.columns, kTileColumns), tileRows = roundedUp(p.rows, kTileRows);

  // Accumulators of whole tiles; those outside of the matrix are large, so that a result that uses them is seen.
  std::vector<uint32_t> accumulators(static_cast<size_t>(tileRows) * static_cast<size_t>(pitch),
                                     p.accumulatorType == NumberType::S32 ? 0x7000'0000u : 0x7b00'7b00u);
  for (int32_t row = 0; row < p.rows; ++row)
    for (int32_t column = 0; column < p.columns; ++column)
      accumulators[static_cast<size_t>(row * pitch + column)] = problem.accumulators[static_cast<size_t>(row * p.columns + column)];

  DeviceMemory memory(device);
  const auto elementBytes = static_cast<size_t>(p.rows) * static_cast<size_t>(p.outputPitch);
  const auto scaleBytes = p.outputBlock == 0
                              ? size_t{0}
                              : static_cast<size_t>(layout::scaleFactorBytes(p.outputScaleLayout, p.rows, p.outputBlocksPerRow()));
  p.columnCorrection = memory.upload<const int32_t*>(problem.correction);
  p.rowClass = memory.upload<const int32_t*>(problem.rowClass);
  p.rowCorrection = memory.upload<const int32_t*>(problem.rowCorrection);
  p.rowScale = memory.upload<const float*>(problem.rowScale);
  p.columnScale = memory.upload<const float*>(problem.columnScale);
  p.bias = memory.upload<const void*>(problem.bias);
  p.residual = memory.upload<const void*>(problem.residual);
  p.largest = memory.upload<float*>(problem.largest);
  p.output = memory.poisoned<void*>(elementBytes);
  p.outputScales = memory.poisoned<uint8_t*>(scaleBytes);
  const auto* const accumulatorAddress = memory.upload<const uint32_t*>(accumulators);

  const bool staged = run.kernel.find("staged") != std::string::npos;
  device::TensorMap map;
  if (staged) map = outputMap(device, p);
  std::vector<const void*> arguments{&p};
  if (staged) arguments.push_back(&map);
  arguments.insert(arguments.end(), {&accumulatorAddress, &pitch});
  LaunchConfig config;
  config.grid = {staged ? 1u : static_cast<uint32_t>(pitch / kTileColumns), static_cast<uint32_t>(tileRows / kTileRows), 1};
  config.block.x = kTileRows;
  config.dynamicSharedBytes = staged ? kStagingBytes : 0;
  const device::Kernel* kernel = nullptr;
  check(device.findKernel(*opened.module, run.kernel, kernel));
  check(device.launch(*kernel, config, arguments, 0));

  EpilogueOutput output;
  output.byTensorMap = staged;
  output.elements = memory.download(p.output, elementBytes);
  output.scales = memory.download(p.outputScales, scaleBytes);
  if (p.largest != nullptr) std::memcpy(&output.largest, memory.download(p.largest, sizeof(float)).data(), sizeof(float));
  check(device.synchronize(0));
  return output;
}

std::string firstDifference(const EpilogueProblem& problem, const EpilogueOutput& output) {
  std::vector<gemm::Bounded> accumulators;
  for (int64_t row = 0; row < problem.params.rows; ++row)
    for (int64_t column = 0; column < problem.params.columns; ++column) accumulators.push_back(problem.accumulator(row, column));
  return firstDifference(problem.params, accumulators, output);
}

}  // namespace shiftconv::tests
