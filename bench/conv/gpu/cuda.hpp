// The CUDA driver for programs that measure or check on a GPU: opened at run time, errors end the program with a message.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"

#define SHIFTCONV_GPU_FUNCTIONS(X) \
  X(cuInit)                        \
  X(cuGetErrorString)              \
  X(cuDriverGetVersion)            \
  X(cuDeviceGet)                   \
  X(cuDeviceGetName)               \
  X(cuDeviceGetAttribute)          \
  X(cuDevicePrimaryCtxRetain)      \
  X(cuCtxSetCurrent)               \
  X(cuMemAlloc)                    \
  X(cuMemFree)                     \
  X(cuMemcpyDtoH)                  \
  X(cuMemcpyDtoDAsync)             \
  X(cuMemsetD8Async)               \
  X(cuStreamCreate)                \
  X(cuStreamSynchronize)           \
  X(cuStreamBeginCapture)          \
  X(cuStreamEndCapture)            \
  X(cuGraphInstantiate)            \
  X(cuGraphGetNodes)               \
  X(cuGraphKernelNodeGetParams)    \
  X(cuGraphKernelNodeGetAttribute) \
  X(cuGraphNodeGetType)            \
  X(cuGraphLaunch)                 \
  X(cuGraphExecDestroy)            \
  X(cuGraphDestroy)                \
  X(cuEventCreate)                 \
  X(cuEventRecord)                 \
  X(cuEventSynchronize)            \
  X(cuEventElapsedTime)            \
  X(cuModuleLoadData)              \
  X(cuModuleGetFunction)           \
  X(cuFuncSetAttribute)            \
  X(cuLaunchKernelEx)              \
  X(cuTensorMapEncodeTiled)

namespace shiftconv::gpu {

struct Driver {
#define SHIFTCONV_GPU_MEMBER(name) decltype(&::name) name = nullptr;
  SHIFTCONV_GPU_FUNCTIONS(SHIFTCONV_GPU_MEMBER)
#undef SHIFTCONV_GPU_MEMBER
};
/// Opened once, with the primary context of device 0 current.
const Driver& driver();

/// Ends the program with "<what> failed: <reason>" unless `result` is success.
void check(CUresult result, const char* what);
#define SHIFTCONV_GPU(call) ::shiftconv::gpu::check(::shiftconv::gpu::driver().call, #call)

int attribute(CUdevice_attribute which);
std::string deviceName();

class Buffer {
 public:
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  CUdeviceptr address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  CUdeviceptr address_ = 0;
  size_t bytes_ = 0;
};

/// A module of SASS or a fatbin.
class Module {
 public:
  explicit Module(std::span<const std::byte> image);
  CUfunction kernel(const std::string& name) const;

 private:
  CUmodule module_ = nullptr;
};

CUtensorMap encode(layout::TiledMap map, CUdeviceptr base);

/// `arguments[i]` points at the value of parameter i.
void launch(CUfunction kernel, const LaunchConfig& config, std::span<const void* const> arguments, CUstream stream);

/// Whether `enqueue`, which says whether it succeeded, can become part of a graph.
bool capturable(CUstream stream, const std::function<bool(CUstream)>& enqueue);

/// A graph of `repeats` calls of `enqueue`, replayed and timed.
class Replay {
 public:
  template <class Enqueue>
  Replay(CUstream stream, int repeats, Enqueue&& enqueue) : stream_(stream), repeats_(repeats) {
    begin();
    for (int i = 0; i < repeats; ++i) enqueue(stream);
    end();
  }
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Microseconds of one call, after `idleMilliseconds` without work.
  double time(double idleMilliseconds);
  /// The same, after whatever the stream still does, without waiting for it first.
  double timeBehind();
  /// Of `replays` replays after as many others.
  double timeSustained(int replays);
  int repeats() const { return repeats_; }
  CUgraph graph() const { return graph_; }

 private:
  void begin();
  void end();
  void launch() const;
  double elapsed(int replays) const;

  CUstream stream_;
  int repeats_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUevent start_ = nullptr, stop_ = nullptr;
};

}  // namespace shiftconv::gpu
