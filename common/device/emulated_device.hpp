// The PTX emulator as a device. Work is done when it is enqueued; a stream only keeps its launches apart from each other.
//
// The hazard checker (option "hazards") still holds callers to what streams promise on a GPU: launches, copyToDevice and fill
// are ordered within their stream only; synchronize() and copyToHost() let the host wait for their stream, and so order its work
// before whatever is enqueued later, anywhere; an allocation is released only when no work that uses it can be under way.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/emulated_targets.hpp"
#include "common/emulator/counters.hpp"
#include "common/emulator/emulator.hpp"
#include "common/emulator/options.hpp"

namespace shiftconv::device {

/// What all launches of one kernel did since the last reset.
struct KernelCounters {
  std::string kernel;
  uint64_t launches = 0;
  double hostSeconds = 0;
  std::vector<std::string> warpRoles;
  emulator::Counters counters;
  std::vector<emulator::Hazard> hazards;  ///< of all launches, when option "hazards" is "warn"
};

class EmulatedDevice final : public Device, public Emulation {
 public:
  /// `target`: one of emulatedTargets().
  explicit EmulatedDevice(std::string_view target = emulatedTargets().front());
  ~EmulatedDevice() override;

  const Properties& properties() const override { return properties_; }
  Emulation* emulation() override { return this; }
  std::string driverVersion() const override { return "emulator"; }
  Status allocate(size_t bytes, Address& address) override;
  Status release(Address address) override;
  Status copyToDevice(Address destination, const void* source, size_t bytes, Stream stream) override;
  Status copyToHost(void* destination, Address source, size_t bytes, Stream stream) override;
  Status fill(Address destination, uint8_t value, size_t bytes, Stream stream) override;
  Status createStream(Stream& stream) override;
  Status destroyStream(Stream stream) override;
  Status synchronize(Stream stream) override;
  Status time(Stream stream, const std::function<Status()>& enqueue, double& seconds) override;
  Status loadModule(const ModuleImage& image, const Module*& module) override;
  Status findKernel(const Module& module, std::string_view name, const Kernel*& kernel) override;
  void nameWarps(const Kernel& kernel, const std::vector<std::string>& roles) override;
  Status launch(const Kernel& kernel, const LaunchConfig& config, std::span<const void* const> arguments, Stream stream) override;
  Status encodeTiled(const TiledMap& description, TensorMap& map) override;
  Status encodeIm2col(const Im2colMap& description, TensorMap& map) override;

  Status setOption(std::string_view name, std::string_view value) override;
  emulator::Options options() const;
  /// Later launches run only these clusters of their grids (emulator::Options::clusters); none: all.
  void runOnly(std::vector<uint64_t> clusters);
  /// Whoever watches the clusters of later launches, for which hazards must be off; empty: nobody.
  void observe(emulator::machine::ObserverFactory observe);

  /// By kernel, in the order of their names.
  std::vector<KernelCounters> counters() const;
  std::string countersTable() const override;
  std::string countersJson() const override;
  void resetCounters() override;

 private:
  struct LoadedKernel;
  struct ModuleHolder;

  /// The bytes, for the host to read or write them in a stream. With hazards looked for: asks whether work of other streams is
  /// in the way, and remembers what is done here. Throws what the emulator throws.
  std::byte* hostAccess(const char* name, Stream stream, Address address, size_t bytes, bool writes);
  void checkHazards(const char* name, Stream stream, Address address, size_t bytes, bool writes);
  emulator::hazards::StreamPlace enqueue(Stream stream, StreamWork work = StreamWork::Other);
  void synchronized(Stream stream);
  /// The lock that orders work of one stream.
  Status streamLock(Stream stream, std::shared_ptr<std::mutex>& lock);

  /// What the kernel is launched from; nullptr when the module has none of that name.
  std::shared_ptr<const emulator::LoadedModule> decoded(const ModuleHolder& module, std::string_view kernel);

  Properties properties_;
  emulator::Emulator emulator_;
  mutable std::mutex mutex_;  ///< guards everything below
  emulator::Options options_;
  emulator::machine::ObserverFactory observe_;
  std::vector<std::unique_ptr<ModuleHolder>> modules_;
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
  std::map<Stream, std::shared_ptr<std::mutex>> streams_;
  Stream nextStream_ = 1;
  emulator::hazards::StreamOrder order_;
  std::map<std::string, KernelCounters, std::less<>> counters_;
};

/// A table per kernel, or a line that says nothing ran.
std::string formatKernelCounters(const std::vector<KernelCounters>& kernels);

}  // namespace shiftconv::device
