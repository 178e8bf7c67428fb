// The emulated machine as the CUDA runtime uses it. machine_binding.cpp is the only file of this folder that knows the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/cuda_runtime/core/failure.hpp"
#include "common/layout/tensor_map.hpp"

namespace shiftconv::runtime {

/// By stream: all work up to that number has finished.
using Clock = std::map<uint64_t, uint64_t>;

/// The place of one piece of work among the work of all streams, for the hazard checker.
struct Place {
  uint64_t stream = 0;
  uint64_t number = 0;
  Clock finished;
  Clock waited = {};         ///< of what has finished: what the host knows of
  uint64_t overlapping = 0;  ///< of a dependent kernel: work of its stream from this number on may still run; 0: none
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct LaunchShape {
  Extent grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
};

struct ParameterShape {
  uint32_t offset = 0, bytes = 0;
};

/// What the PTX says about a kernel.
struct KernelFacts {
  std::vector<ParameterShape> parameters;
  uint32_t staticSharedBytes = 0;
  uint32_t localBytes = 0;
  uint32_t maximumThreads = 1024;   ///< of a block: .maxntid or .reqntid
  uint32_t maximumRegisters = 0;    ///< .maxnreg; 0: not given
  std::string refusal;              ///< why it cannot be executed; empty: it can
  Extent requiredCluster{0, 0, 0};  ///< .reqnctapercluster; zeros: not given
};

/// A variable of a loaded module.
struct VariablePlace {
  uint64_t address = 0, bytes = 0;
};

/// PTX that has been loaded. Its variables live as long as it.
class LoadedPtx {
 public:
  virtual ~LoadedPtx() = default;
  virtual std::vector<std::string> kernels() const = 0;
  /// Nothing when there is no such kernel.
  virtual const KernelFacts* kernel(std::string_view name) const = 0;
  /// False when there is no such variable.
  virtual bool variable(std::string_view name, VariablePlace& place) const = 0;
  /// Runs a kernel to completion; `arguments[i]` points at the value of parameter i. Throws Failure, which is sticky when the
  /// kernel had begun.
  virtual void launch(std::string_view kernel, const LaunchShape& shape, std::span<const void* const> arguments,
                      const Place& place) const = 0;
};

/// The GPU that the device stands for.
struct DeviceModel {
  std::string target;   ///< "sm_90a"
  std::string product;  ///< "H200"
  int computeMajor = 0, computeMinor = 0;
  uint32_t multiprocessors = 0;
  uint32_t sharedPerBlockOptIn = 0, sharedPerMultiprocessor = 0;  ///< bytes
  uint32_t threadsPerMultiprocessor = 0, blocksPerMultiprocessor = 0, registersPerMultiprocessor = 0;
  uint64_t l2Bytes = 0;
};

/// The GPUs that the device can stand for, by their targets, the usual one first.
std::span<const std::string_view> deviceTargets();
/// Whether PTX for `target` runs on the GPU of target `device`.
bool runsOn(std::string_view target, std::string_view device);

/// The device, with what its user chose in the variables EMURUN_* of the environment (see settings.hpp).
class Machine {
 public:
  /// The one device. Made at first use and never destroyed, as programs call the API until the very end.
  static Machine& instance();
  virtual ~Machine() = default;

  /// 256-byte aligned, poisoned. Throws Failure cudaErrorMemoryAllocation.
  virtual uint64_t allocate(uint64_t bytes) = 0;
  virtual void release(uint64_t address) = 0;
  virtual void registerHost(void* base, uint64_t bytes) = 0;
  virtual void unregisterHost(void* base) = 0;
  /// The host writes the range whenever it likes: none of it ever counts as never written.
  virtual void shareWithHost(uint64_t address, uint64_t bytes) = 0;
  /// True when the range lies in one allocation, variable or registered range.
  virtual bool contains(uint64_t address, uint64_t bytes) const = 0;
  /// Host pointer to device memory for work called `name` at `place`. With hazards looked for, asks whether work that is not
  /// ordered before it uses the bytes. Throws Failure.
  virtual std::byte* access(const char* name, const Place& place, uint64_t address, uint64_t bytes, bool writes) = 0;
  /// The same question without an access, for releases.
  virtual void checkRelease(const char* name, const Place& place, uint64_t address, uint64_t bytes) = 0;

  /// Throws Failure naming the image when the PTX cannot be executed.
  virtual std::shared_ptr<const LoadedPtx> load(std::string_view ptx, std::string name) = 0;

  /// Throws Failure cudaErrorInvalidValue naming the argument and the limit it breaks.
  virtual void encode(const layout::TiledMap& map, layout::TensorMapImage& image) const = 0;
  virtual void encode(const layout::Im2colMap& map, layout::TensorMapImage& image) const = 0;
  /// False when the image is no tensor map.
  virtual bool decode(const layout::TensorMapImage& image, layout::Im2colMap& map, bool& isIm2col) const = 0;

  virtual const DeviceModel& model() const = 0;
  /// Those of the model, or as many as the user asked for.
  virtual unsigned multiprocessors() const = 0;
  virtual uint64_t memoryBytes() const = 0;
  virtual uint64_t allocatedBytes() const = 0;
  /// Of the heap that kernels allocate from.
  virtual void limitHeap(uint64_t bytes) = 0;
  /// Tables of what every kernel did, as `emurun --counters` prints them; empty when they are not asked for.
  virtual std::string counters() const = 0;
};

}  // namespace shiftconv::runtime
