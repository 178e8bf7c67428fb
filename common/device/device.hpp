// The device seam: one small interface over the CUDA driver and over the emulator.
//
// Everything above this line (plans, API, examples) works on either. Device addresses are plain 64-bit
// integers; a stream is an opaque handle, 0 being the default stream. Calls may be made from several host
// threads at once. launch(), encodeTiled() and encodeIm2col() neither allocate device memory nor
// synchronise.
//
// launch(), copyToDevice() and fill() are ordered within their stream only, as on a GPU with streams that do not block each
// other, the default stream included. synchronize(), and copyToHost() into pageable memory, return when the stream has done
// everything before them.
// Memory is released only when no work that uses it can be under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/emulation.hpp"
#include "common/device/module_image.hpp"
#include "common/device/status.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"

namespace shiftconv::device {

using Address = uint64_t;
using Stream = uintptr_t;
using layout::Im2colMap;
using layout::TiledMap;
using TensorMap = layout::TensorMapImage;  ///< 128 bytes, 128-byte aligned; contents belong to the device

enum class Kind : uint8_t { Cuda, Emulated };

struct Properties {
  Kind kind = Kind::Emulated;
  std::string name;  ///< "NVIDIA H200", "emulated sm_100a"
  int computeMajor = 0, computeMinor = 0;
  uint32_t multiprocessors = 0;
  uint32_t sharedBytesPerBlock = 0;  ///< opt-in maximum
  uint64_t l2Bytes = 0;
  uint64_t globalBytes = 0;
};

/// A loaded module and a kernel in it. Owned by the device that made them; both live as long as it. Each device derives
/// its own, and accepts only those it made.
struct Module {
  virtual ~Module() = default;
};
struct Kernel {
  virtual ~Kernel() = default;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const Properties& properties() const = 0;
  /// nullptr on GPUs.
  virtual Emulation* emulation() { return nullptr; }
  /// What runs kernels: versions of CUDA and of the driver's kernel module, "13.0, 580.159.03"; of emulated devices "emulator".
  virtual std::string driverVersion() const = 0;

  virtual Status allocate(size_t bytes, Address& address) = 0;
  virtual Status release(Address address) = 0;
  virtual Status copyToDevice(Address destination, const void* source, size_t bytes, Stream stream) = 0;
  virtual Status copyToHost(void* destination, Address source, size_t bytes, Stream stream) = 0;
  virtual Status fill(Address destination, uint8_t value, size_t bytes, Stream stream) = 0;

  virtual Status createStream(Stream& stream) = 0;
  virtual Status destroyStream(Stream stream) = 0;
  virtual Status synchronize(Stream stream) = 0;
  /// How long the stream works on what `enqueue` puts into it, in seconds, once it has done what was there before: on a GPU by
  /// events around it, on an emulated device of the host. Returns when the stream has done it.
  virtual Status time(Stream stream, const std::function<Status()>& enqueue, double& seconds) = 0;

  /// An image that has been loaded before may give the module that is there, with the variables that it has.
  virtual Status loadModule(const ModuleImage& image, const Module*& module) = 0;
  virtual Status findKernel(const Module& module, std::string_view name, const Kernel*& kernel) = 0;
  /// Names the warps of a CTA for counters; devices without counters ignore it.
  virtual void nameWarps(const Kernel&, const std::vector<std::string>&) {}
  /// `arguments[i]` points at the value of parameter i; values are read before the call returns.
  virtual Status launch(const Kernel& kernel, const LaunchConfig& config, std::span<const void* const> arguments,
                        Stream stream) = 0;

  virtual Status encodeTiled(const TiledMap& description, TensorMap& map) = 0;
  virtual Status encodeIm2col(const Im2colMap& description, TensorMap& map) = 0;
};

}  // namespace shiftconv::device
