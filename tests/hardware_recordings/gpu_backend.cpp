// Cases on a GPU, through the CUDA driver API.
#include <fmt/format.h>

#include <fstream>
#include <utility>

#include "common/device/cuda_driver.hpp"
#include "tests/hardware_recordings/backend.hpp"

namespace shiftconv::recordings {
namespace {

using device::CudaDriver;

/// Releases the memory and the module of one case.
class Resources {
 public:
  explicit Resources(const CudaDriver& driver) : driver_(driver) {}
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;
  ~Resources() {
    for (const CUdeviceptr address : memory) driver_.cuMemFree(address);
    if (module) driver_.cuModuleUnload(module);
  }
  std::vector<CUdeviceptr> memory;
  CUmodule module = nullptr;

 private:
  const CudaDriver& driver_;
};

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(const CudaDriver& driver) : driver_(driver) {}
  ~GpuBackend() override {
    if (context_ && !broken_) driver_.cuDevicePrimaryCtxRelease(device_);
  }

  std::string open() {
    char name[256] = "";
    for (const Status& status : {driver_.check(driver_.cuDeviceGet(&device_, 0), "cuDeviceGet"),
                                 driver_.check(driver_.cuDeviceGetName(name, sizeof name, device_), "cuDeviceGetName"),
                                 driver_.check(driver_.cuDriverGetVersion(&version_), "cuDriverGetVersion"),
                                 driver_.check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain"),
                                 driver_.check(driver_.cuCtxPushCurrent(context_), "cuCtxPushCurrent")})
      if (!status.ok()) return status.message();
    name_ = name;
    return {};
  }

  std::string device() const override { return name_; }
  std::string driver() const override {
    // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..."
    std::ifstream file("/proc/driver/nvidia/version");
    std::string word;
    while (file >> word && word.find('.') == std::string::npos) {
    }
    return fmt::format("CUDA {}.{}, kernel driver {}", version_ / 1000, version_ % 1000 / 10, word);
  }
  bool broken() const override { return broken_; }

  Observation run(const Case& made) override {
    Resources resources(driver_);
    for (const Buffer& buffer : made.buffers) {
      CUdeviceptr address = 0;
      if (const Status status = driver_.check(driver_.cuMemAlloc(&address, buffer.bytes.size()), "cuMemAlloc"); !status.ok())
        return failed(Outcome::LaunchFailed, status);
      resources.memory.push_back(address);
      if (const Status status =
              driver_.check(driver_.cuMemcpyHtoDAsync(address, buffer.bytes.data(), buffer.bytes.size(), nullptr), "upload");
          !status.ok())
        return failed(Outcome::LaunchFailed, status);
    }
    std::vector<CUtensorMap> maps(made.maps.size());
    for (size_t i = 0; i < maps.size(); ++i)
      if (const Status status = encode(made.maps[i], resources.memory, maps[i]); !status.ok())
        return failed(Outcome::MapRefused, status);
    std::string log(4096, '\0');
    CUjit_option options[]{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[]{log.data(), reinterpret_cast<void*>(log.size())};
    if (Status status = driver_.check(driver_.cuModuleLoadDataEx(&resources.module, made.ptx.c_str(), 2, options, values),
                                      "cuModuleLoadDataEx");
        !status.ok()) {
      resources.module = nullptr;
      return failed(Outcome::ModuleRefused, {status.code(), status.message() + "\n" + log.c_str()});
    }
    if (const Status status = launch(made, resources, maps); !status.ok()) return failed(Outcome::LaunchFailed, status);
    Observation seen;
    for (size_t i = 0; i < made.buffers.size(); ++i) {
      if (!made.buffers[i].observed) continue;
      const size_t old = seen.bytes.size(), size = made.buffers[i].bytes.size();
      seen.bytes.resize(old + size);
      const Status status =
          driver_.check(driver_.cuMemcpyDtoHAsync(seen.bytes.data() + old, resources.memory[i], size, nullptr), "download");
      if (!status.ok()) return failed(Outcome::LaunchFailed, status);
    }
    if (const Status status = driver_.check(driver_.cuStreamSynchronize(nullptr), "cuStreamSynchronize"); !status.ok())
      return failed(Outcome::LaunchFailed, status);
    return seen;
  }

 private:
  Observation failed(Outcome outcome, const Status& status) {
    // Whatever fails while a kernel runs leaves the context unusable; a refused configuration does not.
    if (outcome == Outcome::LaunchFailed) broken_ = driver_.cuStreamSynchronize(nullptr) != CUDA_SUCCESS;
    return {outcome, status.message(), {}};
  }

  Status encode(const TensorMap& map, const std::vector<CUdeviceptr>& memory, CUtensorMap& out) const {
    void* const base = reinterpret_cast<void*>(memory[map.buffer] + map.byteOffset);
    const auto type = static_cast<CUtensorMapDataType>(map.type);
    const auto interleave = static_cast<CUtensorMapInterleave>(map.interleave);
    const auto swizzle = static_cast<CUtensorMapSwizzle>(map.swizzle);
    const auto fill = static_cast<CUtensorMapFloatOOBfill>(map.fill);
    if (!map.pixels)
      return driver_.check(
          driver_.cuTensorMapEncodeTiled(&out, type, map.rank, base, map.dims.data(), map.strides.data(), map.box.data(),
                                         map.elementStrides.data(), interleave, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill),
          "cuTensorMapEncodeTiled");
    return driver_.check(
        driver_.cuTensorMapEncodeIm2col(&out, type, map.rank, base, map.dims.data(), map.strides.data(), map.pixels->lower.data(),
                                        map.pixels->upper.data(), map.pixels->channels, map.pixels->pixels,
                                        map.elementStrides.data(), interleave, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill),
        "cuTensorMapEncodeIm2col");
  }

  Status launch(const Case& made, const Resources& resources, std::vector<CUtensorMap>& maps) const {
    CUfunction function = nullptr;
    if (Status status =
            driver_.check(driver_.cuModuleGetFunction(&function, resources.module, made.kernel.c_str()), "cuModuleGetFunction");
        !status.ok())
      return status;
    if (made.launch.dynamicShared > 48 * 1024) {
      const auto bytes = static_cast<int>(made.launch.dynamicShared);
      if (Status status = driver_.check(
              driver_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes), "cuFuncSetAttribute");
          !status.ok())
        return status;
    }
    std::vector<uint64_t> addresses(resources.memory.begin(), resources.memory.end());
    std::vector<uint32_t> values;
    values.reserve(made.arguments.size());
    std::vector<void*> parameters;
    for (const Argument& argument : made.arguments) {
      if (argument.kind == Argument::Kind::Buffer) parameters.push_back(&addresses[argument.index]);
      if (argument.kind == Argument::Kind::Map) parameters.push_back(&maps[argument.index]);
      if (argument.kind == Argument::Kind::Value) parameters.push_back(&values.emplace_back(argument.index));
    }
    const Extent &grid = made.launch.grid, &block = made.launch.block, &cluster = made.launch.cluster;
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {cluster.x, cluster.y, cluster.z};
    CUlaunchConfig config{};
    config.gridDimX = grid.x, config.gridDimY = grid.y, config.gridDimZ = grid.z;
    config.blockDimX = block.x, config.blockDimY = block.y, config.blockDimZ = block.z;
    config.sharedMemBytes = made.launch.dynamicShared;
    config.attrs = &attribute;
    config.numAttrs = cluster.x * cluster.y * cluster.z > 1 ? 1 : 0;
    return driver_.check(driver_.cuLaunchKernelEx(&config, function, parameters.data(), nullptr), "cuLaunchKernelEx");
  }

  const CudaDriver& driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  int version_ = 0;
  std::string name_;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Backend> makeGpuBackend(std::string& why) {
  const CudaDriver* driver = nullptr;
  if (const Status status = CudaDriver::get(driver); !status.ok()) {
    why = status.message();
    return nullptr;
  }
  auto backend = std::make_unique<GpuBackend>(*driver);
  why = backend->open();
  if (!why.empty()) return nullptr;
  return backend;
}

}  // namespace shiftconv::recordings
