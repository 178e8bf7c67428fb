#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "common/emulator/facade/convert.hpp"
#include "common/emulator/facade/module.hpp"
#include "common/emulator/hazards/host_work.hpp"

namespace shiftconv::emu {

struct Machine::Impl {
  emulator::Emulator emulator;
  std::mutex mutex;  ///< guards the order of streams
  emulator::hazards::StreamOrder order;

  emulator::hazards::StreamPlace enqueue(uint64_t stream) {
    const std::lock_guard lock(mutex);
    return order.enqueue(stream);
  }

  /// Looks for work that uses the bytes and is not ordered before this.
  void check(const char* name, const HostWork& work, uint64_t stream, uint64_t address, uint64_t bytes, bool writes) {
    if (work.hazards == Hazards::Off) return;
    emulator::hazards::Reporter reporter(convert(work.hazards));
    emulator::hazards::checkHostWork(emulator.shadow(), reporter, name, enqueue(stream), address, bytes, writes);
    if (work.found == nullptr) return;
    for (Hazard& hazard : convert(reporter.take())) work.found->push_back(std::move(hazard));
  }

  std::byte* access(const char* name, const HostWork& work, uint64_t address, uint64_t bytes, bool writes) {
    if (!work.stream) return emulator.memory().access(address, bytes, 1, writes);
    std::byte* const pointer = work.hazards == Hazards::Off ? emulator.memory().access(address, bytes, 1, writes)
                                                            : emulator.memory().deviceAccess(address, bytes, 1, writes);
    check(name, work, *work.stream, address, bytes, writes);
    return pointer;
  }
};

Machine::Machine() : impl_(std::make_unique<Impl>()) {}
Machine::~Machine() = default;

Result<Module> Machine::load(std::string_view ptx, std::string name) {
  return guarded([&]() -> Result<Module> { return Module(describeModule(impl_->emulator.load(ptx, std::move(name)))); });
}

Result<uint64_t> Machine::allocate(uint64_t bytes) {
  return guarded([&]() -> Result<uint64_t> { return impl_->emulator.memory().allocate(bytes); });
}

Error Machine::release(uint64_t address, const HostWork& work) {
  return guarded([&]() -> Error {
    emulator::machine::GlobalMemory& memory = impl_->emulator.memory();
    const uint64_t bytes = memory.allocationBytes(address);
    try {
      if (bytes != 0) impl_->check("release", work, work.stream.value_or(emulator::hazards::kHostStream), address, bytes, true);
    } catch (...) {
      memory.release(address);
      throw;
    }
    memory.release(address);
    return {};
  });
}

uint64_t Machine::allocatedBytes() const { return impl_->emulator.memory().allocatedBytes(); }
uint64_t Machine::allocationBytes(uint64_t address) const { return impl_->emulator.memory().allocationBytes(address); }

Error Machine::copyToDevice(uint64_t destination, const void* source, uint64_t bytes, const HostWork& work) {
  return guarded([&]() -> Error {
    if (bytes != 0) std::memcpy(impl_->access("copyToDevice", work, destination, bytes, true), source, bytes);
    return {};
  });
}

Error Machine::copyToHost(void* destination, uint64_t source, uint64_t bytes, const HostWork& work) {
  return guarded([&]() -> Error {
    if (bytes != 0) std::memcpy(destination, impl_->access("copyToHost", work, source, bytes, false), bytes);
    return {};
  });
}

Error Machine::copyOnDevice(uint64_t destination, uint64_t source, uint64_t bytes, const HostWork& work) {
  return guarded([&]() -> Error {
    if (bytes == 0) return {};
    const std::byte* const from = impl_->access("copyOnDevice", work, source, bytes, false);
    std::memmove(impl_->access("copyOnDevice", work, destination, bytes, true), from, bytes);
    return {};
  });
}

Error Machine::fill(uint64_t destination, uint8_t value, uint64_t bytes, const HostWork& work) {
  return guarded([&]() -> Error {
    if (bytes != 0) std::memset(impl_->access("fill", work, destination, bytes, true), value, bytes);
    return {};
  });
}

Error Machine::registerHost(void* base, uint64_t bytes, bool writable) {
  return guarded([&]() -> Error {
    impl_->emulator.memory().registerRange(base, bytes, writable);
    return {};
  });
}

Error Machine::unregisterHost(void* base) {
  return guarded([&]() -> Error {
    impl_->emulator.memory().unregisterRange(base);
    return {};
  });
}

void Machine::synchronized(uint64_t stream) {
  const std::lock_guard lock(impl_->mutex);
  impl_->order.synchronized(stream);
}

namespace {

/// Takes the multiprocessors of the device that was asked for.
Error chooseDevice(const std::string& name, const emulator::program::Target& made, emulator::Options& options) {
  if (name.empty()) return {};
  const std::span<const std::string_view> known = emulator::program::deviceNames();
  if (std::find(known.begin(), known.end(), name) == known.end())
    return {ErrorKind::Argument, fmt::format("there is no device '{}', only {}", name, fmt::join(known, ", "))};
  const emulator::program::Target& device = *emulator::program::findTarget(name);
  if (!emulator::program::runsOn(made, device))
    return {ErrorKind::Argument, fmt::format("the module is made for {}, which an {} device does not run", made.name, name)};
  if (options.multiprocessors == 0) options.multiprocessors = device.device->multiprocessors;
  return {};
}

}  // namespace

Result<Report> Machine::launch(const Module& module, const Launch& launch) {
  emulator::Options options;
  if (Error error = convert(launch.options, options)) return error;
  if (Error error = chooseDevice(launch.options.device, *module.impl_->loaded->program().target, options)) return error;
  return guarded([&]() -> Result<Report> {
    if (launch.stream) options.place = impl_->enqueue(*launch.stream);
    emulator::machine::LaunchConfig config;
    config.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    config.block = {launch.block.x, launch.block.y, launch.block.z};
    config.cluster = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
    config.dynamicSharedBytes = launch.dynamicSharedBytes;
    const emulator::LaunchReport report =
        impl_->emulator.launch(*module.impl_->loaded, launch.kernel, config, launch.arguments, options);
    return Report{convert(report.counters, options.warpRoles), convert(report.hazards), report.hostSeconds};
  });
}

}  // namespace shiftconv::emu
