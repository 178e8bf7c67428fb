#include "common/device/cuda_device.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>

#include "common/device/cuda_driver.hpp"
#include "common/device/joined.hpp"

namespace shiftconv::device {
namespace {

// Calls a driver function by its table entry and names it in the status.
#define SHIFTCONV_CUDA(driver, function, ...) (driver).check((driver).function(__VA_ARGS__), #function)
#define SHIFTCONV_CUDA_TRY(driver, function, ...) \
  if (Status status_ = SHIFTCONV_CUDA(driver, function, __VA_ARGS__); !status_.ok()) return status_

CUdeviceptr pointer(Address address) { return static_cast<CUdeviceptr>(address); }
CUstream streamOf(Stream stream) { return reinterpret_cast<CUstream>(stream); }

/// Makes the device's context current for one call and leaves the caller's context as it was.
class ContextScope {
 public:
  ContextScope(const CudaDriver& driver, CUcontext context)
      : driver_(driver), status_(SHIFTCONV_CUDA(driver, cuCtxPushCurrent, context)) {}
  ~ContextScope() {
    CUcontext popped = nullptr;
    if (status_.ok()) driver_.cuCtxPopCurrent(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  const Status& status() const { return status_; }

 private:
  const CudaDriver& driver_;
  Status status_;
};

/// Of the context that is current.
class Event {
 public:
  explicit Event(const CudaDriver& driver)
      : driver_(driver), status_(SHIFTCONV_CUDA(driver, cuEventCreate, &event_, CU_EVENT_DEFAULT)) {}
  ~Event() {
    if (status_.ok()) driver_.cuEventDestroy(event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent get() const { return event_; }
  const Status& status() const { return status_; }

 private:
  const CudaDriver& driver_;
  CUevent event_ = nullptr;
  Status status_;
};

Status attribute(const CudaDriver& driver, CUdevice device, CUdevice_attribute which, int& value) {
  return SHIFTCONV_CUDA(driver, cuDeviceGetAttribute, &value, which, device);
}

class CudaDevice final : public Device {
 public:
  CudaDevice(const CudaDriver& driver, CUdevice device, CUcontext context, Properties properties)
      : driver_(driver), device_(device), context_(context), properties_(std::move(properties)) {}

  ~CudaDevice() override {
    {
      const ContextScope scope(driver_, context_);
      for (const auto& module : modules_) driver_.cuModuleUnload(module->handle);
    }
    driver_.cuDevicePrimaryCtxRelease(device_);
  }

  const Properties& properties() const override { return properties_; }
  std::string driverVersion() const override;

  Status allocate(size_t bytes, Address& address) override {
    return inContext([&] {
      CUdeviceptr memory = 0;
      SHIFTCONV_CUDA_TRY(driver_, cuMemAlloc, &memory, bytes);
      address = memory;
      return Status();
    });
  }
  Status release(Address address) override {
    return inContext([&] { return SHIFTCONV_CUDA(driver_, cuMemFree, pointer(address)); });
  }
  Status copyToDevice(Address destination, const void* source, size_t bytes, Stream stream) override {
    if (bytes == 0) return {};
    return inContext(
        [&] { return SHIFTCONV_CUDA(driver_, cuMemcpyHtoDAsync, pointer(destination), source, bytes, streamOf(stream)); });
  }
  Status copyToHost(void* destination, Address source, size_t bytes, Stream stream) override {
    if (bytes == 0) return {};
    return inContext(
        [&] { return SHIFTCONV_CUDA(driver_, cuMemcpyDtoHAsync, destination, pointer(source), bytes, streamOf(stream)); });
  }
  Status fill(Address destination, uint8_t value, size_t bytes, Stream stream) override {
    if (bytes == 0) return {};
    return inContext(
        [&] { return SHIFTCONV_CUDA(driver_, cuMemsetD8Async, pointer(destination), value, bytes, streamOf(stream)); });
  }

  Status createStream(Stream& stream) override {
    return inContext([&] {
      CUstream made = nullptr;
      SHIFTCONV_CUDA_TRY(driver_, cuStreamCreate, &made, CU_STREAM_NON_BLOCKING);
      stream = reinterpret_cast<Stream>(made);
      return Status();
    });
  }
  Status destroyStream(Stream stream) override {
    return inContext([&] { return SHIFTCONV_CUDA(driver_, cuStreamDestroy, streamOf(stream)); });
  }
  Status synchronize(Stream stream) override {
    return inContext([&] { return SHIFTCONV_CUDA(driver_, cuStreamSynchronize, streamOf(stream)); });
  }

  Status time(Stream stream, const std::function<Status()>& enqueue, double& seconds) override;

  Status loadModule(const ModuleImage& image, const Module*& module) override;
  Status findKernel(const Module& module, std::string_view name, const Kernel*& kernel) override;
  Status launch(const Kernel& kernel, const LaunchConfig& config, std::span<const void* const> arguments, Stream stream) override;
  Status encodeTiled(const TiledMap& description, TensorMap& map) override;
  Status encodeIm2col(const Im2colMap& description, TensorMap& map) override;

 private:
  struct LoadedModule : Module {
    std::string name;
    CUmodule handle = nullptr;
  };
  struct LoadedKernel : Kernel {
    std::string name;
    CUfunction handle = nullptr;
  };

  template <class Body>
  Status inContext(Body&& body) {
    const ContextScope scope(driver_, context_);
    if (!scope.status().ok()) return scope.status();
    return body();
  }
  Status loadData(const void* data, CUmodule& module);
  Status encoded(CUresult result, const char* call, const TiledMap& map, std::string rule) const;

  const CudaDriver& driver_;
  const CUdevice device_;
  const CUcontext context_;
  const Properties properties_;
  std::mutex mutex_;  ///< guards the two lists
  std::vector<std::unique_ptr<LoadedModule>> modules_;
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
};

std::string CudaDevice::driverVersion() const {
  int version = 0;
  driver_.cuDriverGetVersion(&version);
  std::string text = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  std::ifstream module("/sys/module/nvidia/version");  // one line; not on every system
  if (std::string name; std::getline(module, name)) text += ", " + name;
  return text;
}

Status CudaDevice::time(Stream stream, const std::function<Status()>& enqueue, double& seconds) {
  return inContext([&]() -> Status {
    const Event start(driver_), stop(driver_);
    for (const Event* event : {&start, &stop})
      if (!event->status().ok()) return event->status();
    SHIFTCONV_CUDA_TRY(driver_, cuEventRecord, start.get(), streamOf(stream));
    if (Status status = enqueue(); !status.ok()) return status;
    SHIFTCONV_CUDA_TRY(driver_, cuEventRecord, stop.get(), streamOf(stream));
    SHIFTCONV_CUDA_TRY(driver_, cuEventSynchronize, stop.get());
    float milliseconds = 0;
    SHIFTCONV_CUDA_TRY(driver_, cuEventElapsedTime, &milliseconds, start.get(), stop.get());
    seconds = static_cast<double>(milliseconds) * 1e-3;
    return {};
  });
}

Status CudaDevice::loadData(const void* data, CUmodule& module) {
  std::array<char, 4096> log{};
  std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
  const CUresult result = driver_.cuModuleLoadDataEx(&module, data, options.size(), options.data(), values.data());
  Status status = driver_.check(result, "cuModuleLoadDataEx");
  if (status.ok() || log[0] == '\0') return status;
  return {status.code(), fmt::format("{}: {}", status.message(), log.data())};
}

Status CudaDevice::loadModule(const ModuleImage& image, const Module*& module) {
  return inContext([&]() -> Status {
    auto loaded = std::make_unique<LoadedModule>();
    loaded->name = image.name;
    Status binary(StatusCode::Unsupported, "no binary");
    if (!image.fatbin.empty()) binary = loadData(image.fatbin.data(), loaded->handle);
    Status text(StatusCode::Unsupported, "none that this device takes");
    for (const PtxImage& ptx : image.ptx) {
      if (binary.ok() || text.ok()) break;
      text = loadData(std::string(ptx.text).c_str(), loaded->handle);
      if (!text.ok()) text = {text.code(), fmt::format("for {}: {}", ptx.target, text.message())};
    }
    if (!binary.ok() && !text.ok()) {
      const StatusCode code = binary.code() == StatusCode::OutOfMemory ? binary.code() : StatusCode::Unsupported;
      return {code, fmt::format("{} (compute capability {}.{}) cannot load module {}: binary: {}; PTX: {}", properties_.name,
                                properties_.computeMajor, properties_.computeMinor, image.name, binary.message(), text.message())};
    }
    const std::lock_guard guard(mutex_);
    module = modules_.emplace_back(std::move(loaded)).get();
    return {};
  });
}

Status CudaDevice::findKernel(const Module& module, std::string_view name, const Kernel*& kernel) {
  const auto* loaded = dynamic_cast<const LoadedModule*>(&module);
  if (!loaded) return {StatusCode::InvalidArgument, "the module was not loaded by a CUDA device"};
  return inContext([&]() -> Status {
    auto found = std::make_unique<LoadedKernel>();
    found->name = name;
    const CUresult result = driver_.cuModuleGetFunction(&found->handle, loaded->handle, found->name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND)
      return {StatusCode::NotFound, fmt::format("module {} has no kernel \"{}\"", loaded->name, name)};
    if (Status status = driver_.check(result, "cuModuleGetFunction"); !status.ok()) return status;
    // Opting in to everything once keeps attribute calls off the launch path.
    int staticBytes = 0;
    SHIFTCONV_CUDA_TRY(driver_, cuFuncGetAttribute, &staticBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, found->handle);
    SHIFTCONV_CUDA_TRY(driver_, cuFuncSetAttribute, found->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                       static_cast<int>(properties_.sharedBytesPerBlock) - staticBytes);
    if (properties_.computeMajor >= 9)
      SHIFTCONV_CUDA_TRY(driver_, cuFuncSetAttribute, found->handle, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    const std::lock_guard guard(mutex_);
    kernel = kernels_.emplace_back(std::move(found)).get();
    return {};
  });
}

Status CudaDevice::launch(const Kernel& kernel, const LaunchConfig& config, std::span<const void* const> arguments, Stream stream) {
  const auto* loaded = dynamic_cast<const LoadedKernel*>(&kernel);
  if (!loaded) return {StatusCode::InvalidArgument, "the kernel was not loaded by a CUDA device"};
  return inContext([&]() -> Status {
    std::array<CUlaunchAttribute, 2> attributes{};
    unsigned attributeCount = 0;
    if (config.cluster.count() > 1) {
      CUlaunchAttribute& cluster = attributes[attributeCount++];
      cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      cluster.value.clusterDim.x = config.cluster.x;
      cluster.value.clusterDim.y = config.cluster.y;
      cluster.value.clusterDim.z = config.cluster.z;
    }
    if (config.programmaticDependent) {
      CUlaunchAttribute& overlap = attributes[attributeCount++];
      overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      overlap.value.programmaticStreamSerializationAllowed = 1;
    }
    CUlaunchConfig launch{};
    launch.gridDimX = config.grid.x;
    launch.gridDimY = config.grid.y;
    launch.gridDimZ = config.grid.z;
    launch.blockDimX = config.block.x;
    launch.blockDimY = config.block.y;
    launch.blockDimZ = config.block.z;
    launch.sharedMemBytes = config.dynamicSharedBytes;
    launch.hStream = streamOf(stream);
    launch.attrs = attributes.data();
    launch.numAttrs = attributeCount;
    // The driver only reads through these pointers; its prototype lacks the const.
    Status status =
        SHIFTCONV_CUDA(driver_, cuLaunchKernelEx, &launch, loaded->handle, const_cast<void**>(arguments.data()), nullptr);
    if (status.ok()) return {};
    return {status.code(),
            fmt::format("launch of {} with grid {}x{}x{}, block {}x{}x{}, cluster {}x{}x{}, {} bytes of dynamic shared memory: {}",
                        loaded->name, config.grid.x, config.grid.y, config.grid.z, config.block.x, config.block.y, config.block.z,
                        config.cluster.x, config.cluster.y, config.cluster.z, config.dynamicSharedBytes, status.message())};
  });
}

Status CudaDevice::encoded(CUresult result, const char* call, const TiledMap& map, std::string rule) const {
  if (result == CUDA_SUCCESS) return {};
  // The driver says only "invalid value"; the documented rules say which argument it was.
  if (rule.empty())
    rule = fmt::format("rank {}, address {:#x}, dims {}, strides {}, box {}", map.rank, map.globalAddress, joined(map.dims, ","),
                       joined(map.strides, ","), joined(map.box, ","));
  const Status status = driver_.check(result, call);
  return {status.code() == StatusCode::DeviceError ? StatusCode::InvalidArgument : status.code(),
          fmt::format("{}: {}", status.message(), rule)};
}

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= alignof(CUtensorMap));

Status CudaDevice::encodeTiled(const TiledMap& map, TensorMap& image) {
  const ContextScope scope(driver_, context_);  // the driver refuses without one (observed: CUDA_ERROR_INVALID_CONTEXT, 580.159)
  if (!scope.status().ok()) return scope.status();
  const CUresult result = driver_.cuTensorMapEncodeTiled(
      reinterpret_cast<CUtensorMap*>(&image), static_cast<CUtensorMapDataType>(map.type), map.rank,
      reinterpret_cast<void*>(map.globalAddress), map.dims.data(), map.strides.data(), map.box.data(), map.elementStrides.data(),
      static_cast<CUtensorMapInterleave>(map.interleave), static_cast<CUtensorMapSwizzle>(map.swizzle),
      static_cast<CUtensorMapL2promotion>(map.l2Promotion), static_cast<CUtensorMapFloatOOBfill>(map.fill));
  return encoded(result, "cuTensorMapEncodeTiled", map, result == CUDA_SUCCESS ? "" : layout::refusal(map));
}

Status CudaDevice::encodeIm2col(const Im2colMap& description, TensorMap& image) {
  const ContextScope scope(driver_, context_);
  if (!scope.status().ok()) return scope.status();
  const TiledMap& map = description.tensor;
  const CUresult result = driver_.cuTensorMapEncodeIm2col(
      reinterpret_cast<CUtensorMap*>(&image), static_cast<CUtensorMapDataType>(map.type), map.rank,
      reinterpret_cast<void*>(map.globalAddress), map.dims.data(), map.strides.data(), description.pixels.lowerCorner.data(),
      description.pixels.upperCorner.data(), description.pixels.channelsPerPixel, description.pixels.pixelsPerColumn,
      map.elementStrides.data(), static_cast<CUtensorMapInterleave>(map.interleave), static_cast<CUtensorMapSwizzle>(map.swizzle),
      static_cast<CUtensorMapL2promotion>(map.l2Promotion), static_cast<CUtensorMapFloatOOBfill>(map.fill));
  return encoded(result, "cuTensorMapEncodeIm2col", map, result == CUDA_SUCCESS ? "" : layout::refusal(description));
}

Status deviceHandle(const CudaDriver& driver, int index, CUdevice& device) {
  int count = 0;
  SHIFTCONV_CUDA_TRY(driver, cuDeviceGetCount, &count);
  if (index < 0 || index >= count)
    return {StatusCode::NotFound, fmt::format("there is no CUDA device {}; the driver shows {}", index, count)};
  return SHIFTCONV_CUDA(driver, cuDeviceGet, &device, index);
}

}  // namespace

Status cudaDeviceCount(int& count) {
  const CudaDriver* driver = nullptr;
  if (Status status = CudaDriver::get(driver); !status.ok()) return status;
  return SHIFTCONV_CUDA(*driver, cuDeviceGetCount, &count);
}

Status cudaDeviceProperties(int index, Properties& properties) {
  const CudaDriver* driver = nullptr;
  if (Status status = CudaDriver::get(driver); !status.ok()) return status;
  CUdevice device = 0;
  if (Status status = deviceHandle(*driver, index, device); !status.ok()) return status;

  struct Wanted {
    CUdevice_attribute which;
    int value;
  };
  std::array<Wanted, 5> wanted{{{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0},
                                {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
                                {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0},
                                {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0},
                                {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0}}};
  for (Wanted& item : wanted)
    if (Status status = attribute(*driver, device, item.which, item.value); !status.ok()) return status;
  std::array<char, 128> name{};
  SHIFTCONV_CUDA_TRY(*driver, cuDeviceGetName, name.data(), static_cast<int>(name.size()) - 1, device);
  size_t bytes = 0;
  SHIFTCONV_CUDA_TRY(*driver, cuDeviceTotalMem, &bytes, device);

  properties.kind = Kind::Cuda;
  properties.name = name.data();
  properties.computeMajor = wanted[0].value;
  properties.computeMinor = wanted[1].value;
  properties.multiprocessors = static_cast<uint32_t>(wanted[2].value);
  properties.sharedBytesPerBlock = static_cast<uint32_t>(wanted[3].value);
  properties.l2Bytes = static_cast<uint64_t>(wanted[4].value);
  properties.globalBytes = bytes;
  return {};
}

Status openCudaDevice(int index, std::unique_ptr<Device>& device) {
  Properties properties;
  if (Status status = cudaDeviceProperties(index, properties); !status.ok()) return status;
  const CudaDriver* driver = nullptr;
  if (Status status = CudaDriver::get(driver); !status.ok()) return status;
  CUdevice handle = 0;
  if (Status status = deviceHandle(*driver, index, handle); !status.ok()) return status;
  CUcontext context = nullptr;
  SHIFTCONV_CUDA_TRY(*driver, cuDevicePrimaryCtxRetain, &context, handle);
  device = std::make_unique<CudaDevice>(*driver, handle, context, std::move(properties));
  return {};
}

}  // namespace shiftconv::device
