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

#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"

namespace shiftconv::tests {
namespace {

using numerics::NumberType;

constexpr int32_t kTileRows = 128, kTileColumns = 64;
constexpr uint32_t kStagingBytes = kTileRows * kTileColumns * 4;

int32_t roundedUp(int32_t value, int32_t multiple) { return (value + multiple - 1) / multiple * multiple; }

void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

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
    std::ifstream file(fmt::format("{}/epilogue_kernels_{}.ptx", EPILOGUE_PTX_FOLDER, arch));
    opened->ptx.assign(std::istreambuf_iterator<char>(file), {});
    // The device runs what is labelled with its own name, whatever the text was compiled for.
    const device::PtxImage image{"sm_100a", opened->ptx};
    check(opened->device.loadModule({"epilogue_kernels", std::span(&image, 1), {}}, opened->module));
    check(opened->device.setOption("hazards", "error"));
  }
  return *opened;
}

/// Device memory that goes away with the run.
class Memory {
 public:
  explicit Memory(device::Device& device) : device_(device) {}
  ~Memory() {
    for (const device::Address address : addresses_) static_cast<void>(device_.release(address));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class Pointer, class Element>
  Pointer upload(const std::vector<Element>& values) {
    if (values.empty()) return nullptr;
    const device::Address address = reserve(values.size() * sizeof(Element));
    check(device_.copyToDevice(address, values.data(), values.size() * sizeof(Element), 0));
    return std::bit_cast<Pointer>(address);
  }
  template <class Pointer>
  Pointer poisoned(size_t bytes) {
    if (bytes == 0) return nullptr;
    const device::Address address = reserve(bytes);
    check(device_.fill(address, std::to_integer<uint8_t>(kPoison), bytes, 0));
    return std::bit_cast<Pointer>(address);
  }
  std::vector<std::byte> download(const void* address, size_t bytes) {
    std::vector<std::byte> values(bytes);
    if (bytes != 0) check(device_.copyToHost(values.data(), std::bit_cast<device::Address>(address), bytes, 0));
    return values;
  }

 private:
  device::Address reserve(size_t bytes) {
    device::Address address = 0;
    check(device_.allocate(bytes, address));
    addresses_.push_back(address);
    return address;
  }
  device::Device& device_;
  std::vector<device::Address> addresses_;
};

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

std::string wrongElement(const EpilogueProblem& problem, const EpilogueOutput& output, int64_t row) {
  const gemm::EpilogueParams& p = problem.params;
  for (int64_t column = 0; column < p.columns; ++column) {
    const uint32_t code = numerics::loadPacked(p.outputType, output.elements.data() + row * p.outputPitch, column);
    const gemm::Bounded value = gemm::epilogueReference(p, row, column, problem.accumulator(row, column)).scaled;
    if (!gemm::reachable(p.outputType, value, code))
      return fmt::format("({}, {}): {:#x} ({}) for {} +- {}", row, column, code, numerics::decode(p.outputType, code), value.value,
                         value.error);
  }
  return {};
}

std::string wrongBlock(const EpilogueProblem& problem, const EpilogueOutput& output, int64_t row) {
  const gemm::EpilogueParams& p = problem.params;
  const numerics::BlockFormat format = *blockFormat(p);
  for (int32_t block = 0; block < p.outputBlocksPerRow(); ++block) {
    std::vector<gemm::Bounded> values;
    std::vector<uint32_t> codes;
    for (int64_t column = block * p.outputBlock; column < std::min(p.columns, (block + 1) * p.outputBlock); ++column) {
      values.push_back(gemm::epilogueReference(p, row, column, problem.accumulator(row, column)).scaled);
      codes.push_back(numerics::loadPacked(p.outputType, output.elements.data() + row * p.outputPitch, column));
    }
    const auto offset = static_cast<size_t>(layout::scaleFactorOffset(p.outputScaleLayout, row, block, p.outputBlocksPerRow()));
    const std::string difference = gemm::blockDifference(format, values, std::to_integer<uint32_t>(output.scales[offset]), codes);
    if (!difference.empty()) return fmt::format("row {}, block {}: {}", row, block, difference);
  }
  return {};
}

std::string wrongPadding(const EpilogueProblem& problem, const EpilogueOutput& output) {
  const gemm::EpilogueParams& p = problem.params;
  auto used = static_cast<size_t>(numerics::packedBytes(p.outputType, p.columns));
  if (output.byTensorMap) used = (used + 15) / 16 * 16;
  for (size_t row = 0; row < static_cast<size_t>(p.rows); ++row)
    for (size_t byte = used; byte < static_cast<size_t>(p.outputPitch); ++byte)
      if (output.elements[row * static_cast<size_t>(p.outputPitch) + byte] != kPoison)
        return fmt::format("row {}: byte {} beside the matrix was written", row, byte);
  if (p.outputBlock == 0 || p.outputScaleLayout != layout::ScaleFactorLayout::Interleaved128x4) return {};
  const int32_t blocks = p.outputBlocksPerRow();
  for (int32_t row = 0; row < roundedUp(p.rows, 128); ++row)
    for (int32_t block = row < p.rows ? blocks : 0; block < roundedUp(blocks, 4); ++block) {
      const std::byte padding =
          output.scales[static_cast<size_t>(layout::scaleFactorOffset(p.outputScaleLayout, row, block, blocks))];
      if (padding != std::byte{0}) return fmt::format("padding factor of row {}, block {} is not 0", row, block);
    }
  return {};
}

std::string wrongLargest(const EpilogueProblem& problem, const EpilogueOutput& output) {
  const gemm::EpilogueParams& p = problem.params;
  double low = double{*p.largest}, high = low;
  bool nan = false;
  for (int64_t row = 0; row < p.rows; ++row)
    for (int64_t column = 0; column < p.columns; ++column) {
      const auto [value, error] = gemm::epilogueReference(p, row, column, problem.accumulator(row, column)).activated;
      nan = nan || std::isnan(value);
      low = std::max(low, std::fabs(value) - error);
      high = std::max(high, std::fabs(value) + error);
    }
  if (nan) return std::isnan(output.largest) ? "" : fmt::format("largest: {}, but there are NaN", output.largest);
  if (double{output.largest} >= low && double{output.largest} <= high) return {};
  return fmt::format("largest: {}, not from {} to {}", output.largest, low, high);
}

}  // namespace

std::optional<numerics::BlockFormat> blockFormat(const gemm::EpilogueParams& params) {
  for (const numerics::BlockFormat& format : numerics::kBlockFormats)
    if (format.blockSize == params.outputBlock && format.element == params.outputType) return format;
  return std::nullopt;
}

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

  Memory memory(device);
  const auto elementBytes = static_cast<size_t>(p.rows) * static_cast<size_t>(p.outputPitch);
  const auto scaleBytes = p.outputBlock == 0
                              ? size_t{0}
                              : static_cast<size_t>(layout::scaleFactorBytes(p.outputScaleLayout, p.rows, p.outputBlocksPerRow()));
  p.columnCorrection = memory.upload<const int32_t*>(problem.correction);
  p.rowScale = memory.upload<const float*>(problem.rowScale);
  p.columnScale = memory.upload<const float*>(problem.columnScale);
  p.bias = memory.upload<const float*>(problem.bias);
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
  for (int64_t row = 0; row < problem.params.rows; ++row) {
    const std::string difference =
        problem.params.outputBlock == 0 ? wrongElement(problem, output, row) : wrongBlock(problem, output, row);
    if (!difference.empty()) return difference;
  }
  if (const std::string padding = wrongPadding(problem, output); !padding.empty()) return padding;
  return problem.params.largest != nullptr ? wrongLargest(problem, output) : "";
}

}  // namespace shiftconv::tests
