#include "common/device/emulated_device.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "common/device/counters_json.hpp"
#include "common/device/embedded_ptx.hpp"
#include "common/device/emulated_options.hpp"
#include "common/emulator/hazards/host_work.hpp"
#include "common/emulator/program/target.hpp"
#include "common/emulator/ptx/one_kernel.hpp"
#include "common/emulator/tma/tensor_map.hpp"

namespace shiftconv::device {
namespace {

StatusCode statusOf(emulator::ErrorKind kind) {
  switch (kind) {
    case emulator::ErrorKind::OutOfMemory:
      return StatusCode::OutOfMemory;
    case emulator::ErrorKind::Unsupported:
      return StatusCode::Unsupported;
    default:
      return StatusCode::DeviceError;
  }
}

/// Runs `body`, which may throw what the emulator throws.
template <class Body>
Status guarded(Body&& body) {
  try {
    body();
    return {};
  } catch (const emulator::EmulatorError& error) {
    return {statusOf(error.kind()), fmt::format("emulated device: {}: {}", toString(error.kind()), error.what())};
  } catch (const std::bad_alloc&) {
    return {StatusCode::OutOfMemory, "emulated device: the host has no memory left"};
  }
}

/// Whether kernels of the module share nothing: no variables of the module. Such kernels may be decoded apart.
bool standAlone(std::string_view ptx) { return ptx.find(".global .") == ptx.npos; }

Status encoded(const std::string& rule) {
  if (rule.empty()) return {};
  return {StatusCode::InvalidArgument, "tensor map: " + rule};
}

}  // namespace

struct EmulatedDevice::ModuleHolder : Module {
  std::string name;
  std::string text;
  /// All of it; nullptr when its kernels are decoded one by one, as they are asked for.
  std::shared_ptr<const emulator::LoadedModule> whole;
  std::optional<emulator::ptx::KernelTexts> texts;  ///< of `text`, where `whole` is nullptr
  mutable std::map<std::string, std::shared_ptr<const emulator::LoadedModule>, std::less<>> kernels;
};

struct EmulatedDevice::LoadedKernel : Kernel {
  std::string name;
  std::shared_ptr<const emulator::LoadedModule> module;
  std::vector<std::string> warpRoles;
};

EmulatedDevice::EmulatedDevice(std::string_view target) : properties_(emulatedProperties(target)) {
  streams_.emplace(0, std::make_shared<std::mutex>());
  // Portable PTX does not say which device runs it.
  options_.multiprocessors = emulator::program::findTarget(target)->device->multiprocessors;
}
EmulatedDevice::~EmulatedDevice() = default;

Status EmulatedDevice::allocate(size_t bytes, Address& address) {
  // A host that overcommits would grant anything and then be killed for touching it.
  const uint64_t used = emulator_.memory().allocatedBytes();
  if (used > properties_.globalBytes || bytes > properties_.globalBytes - used)
    return {StatusCode::OutOfMemory, fmt::format("{} bytes were asked for, but the emulated device has {} bytes, {} of them in use",
                                                 bytes, properties_.globalBytes, used)};
  return guarded([&] { address = emulator_.memory().allocate(bytes); });
}

Status EmulatedDevice::release(Address address) {
  return guarded([&] {
    try {
      if (const uint64_t bytes = emulator_.memory().allocationBytes(address); bytes != 0)
        checkHazards("release", emulator::hazards::kHostStream, address, bytes, true);
    } catch (...) {
      emulator_.memory().release(address);
      throw;
    }
    emulator_.memory().release(address);
  });
}

emulator::hazards::StreamPlace EmulatedDevice::enqueue(Stream stream, StreamWork work) {
  const std::lock_guard guard(mutex_);
  return order_.enqueue(stream, work);
}

void EmulatedDevice::synchronized(Stream stream) {
  const std::lock_guard guard(mutex_);
  order_.synchronized(stream);
}

std::byte* EmulatedDevice::hostAccess(const char* name, Stream stream, Address address, size_t bytes, bool writes) {
  if (options().hazards == emulator::HazardMode::Off) return emulator_.memory().access(address, bytes, 1, writes);
  // As work of a stream, not as an act of the host that comes before everything.
  std::byte* const pointer = emulator_.memory().deviceAccess(address, bytes, 1, writes);
  checkHazards(name, stream, address, bytes, writes);
  return pointer;
}

void EmulatedDevice::checkHazards(const char* name, Stream stream, Address address, size_t bytes, bool writes) {
  const emulator::HazardMode mode = options().hazards;
  if (mode == emulator::HazardMode::Off) return;
  const emulator::hazards::StreamPlace place = enqueue(stream);
  emulator::hazards::Reporter reporter(mode, options().severities);
  emulator::hazards::checkHostWork(emulator_.shadow(), reporter, name, place, address, bytes, writes);
  const std::lock_guard guard(mutex_);
  for (emulator::Hazard& hazard : reporter.take()) {
    KernelCounters& kernel = counters_[hazard.first.kernel];
    kernel.kernel = hazard.first.kernel;
    ++kernel.counters.hazards[static_cast<size_t>(hazard.severity)];
    kernel.hazards.push_back(std::move(hazard));
  }
}

Status EmulatedDevice::streamLock(Stream stream, std::shared_ptr<std::mutex>& lock) {
  const std::lock_guard guard(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end())
    return {StatusCode::InvalidArgument, fmt::format("stream {:#x} is not a stream of this emulated device", stream)};
  lock = found->second;
  return {};
}

Status EmulatedDevice::copyToDevice(Address destination, const void* source, size_t bytes, Stream stream) {
  std::shared_ptr<std::mutex> lock;
  if (Status status = streamLock(stream, lock); !status.ok() || bytes == 0) return status;
  const std::lock_guard guard(*lock);
  return guarded([&] { std::memcpy(hostAccess("copyToDevice", stream, destination, bytes, true), source, bytes); });
}

Status EmulatedDevice::copyToHost(void* destination, Address source, size_t bytes, Stream stream) {
  std::shared_ptr<std::mutex> lock;
  if (Status status = streamLock(stream, lock); !status.ok() || bytes == 0) return status;
  const std::lock_guard guard(*lock);
  return guarded([&] {
    std::memcpy(destination, hostAccess("copyToHost", stream, source, bytes, false), bytes);
    synchronized(stream);
  });
}

Status EmulatedDevice::fill(Address destination, uint8_t value, size_t bytes, Stream stream) {
  std::shared_ptr<std::mutex> lock;
  if (Status status = streamLock(stream, lock); !status.ok() || bytes == 0) return status;
  const std::lock_guard guard(*lock);
  return guarded([&] { std::memset(hostAccess("fill", stream, destination, bytes, true), value, bytes); });
}

Status EmulatedDevice::createStream(Stream& stream) {
  const std::lock_guard guard(mutex_);
  stream = nextStream_++;
  streams_.emplace(stream, std::make_shared<std::mutex>());
  return {};
}

Status EmulatedDevice::destroyStream(Stream stream) {
  const std::lock_guard guard(mutex_);
  if (stream == 0) return {StatusCode::InvalidArgument, "the default stream cannot be destroyed"};
  if (streams_.erase(stream) == 0)
    return {StatusCode::InvalidArgument, fmt::format("stream {:#x} is not a stream of this emulated device", stream)};
  return {};
}

Status EmulatedDevice::synchronize(Stream stream) {
  std::shared_ptr<std::mutex> lock;
  if (Status status = streamLock(stream, lock); !status.ok()) return status;
  const std::lock_guard guard(*lock);  // a launch of another host thread may be running in this stream
  synchronized(stream);
  return {};
}

Status EmulatedDevice::time(Stream stream, const std::function<Status()>& enqueue, double& seconds) {
  if (Status status = synchronize(stream); !status.ok()) return status;
  const auto start = std::chrono::steady_clock::now();
  if (Status status = enqueue(); !status.ok()) return status;
  if (Status status = synchronize(stream); !status.ok()) return status;
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

Status EmulatedDevice::loadModule(const ModuleImage& image, const Module*& module) {
  const std::string target = fmt::format("sm_{}{}a", properties_.computeMajor, properties_.computeMinor);
  const std::string_view text = ptxFor(image, target);
  if (text.empty()) {
    std::string present;
    for (const std::string_view other : ptxTargets(image)) present += fmt::format("{}{}", present.empty() ? "" : ", ", other);
    return {StatusCode::Unsupported, fmt::format("module {} has no PTX for {}, which the emulated device needs{}{}", image.name,
                                                 target, present.empty() ? "" : "; it has ", present)};
  }
  return guarded([&] {
    {
      const std::lock_guard guard(mutex_);
      for (const std::unique_ptr<ModuleHolder>& present : modules_)
        if (present->name == image.name && present->text == text) {
          module = present.get();
          return;
        }
    }
    auto holder = std::make_unique<ModuleHolder>();
    holder->name = image.name;
    holder->text = text;
    if (!image.ptx.empty() || !standAlone(text))
      holder->whole = emulator_.load(text, holder->name);
    else
      holder->texts.emplace(holder->text);
    const std::lock_guard guard(mutex_);
    module = modules_.emplace_back(std::move(holder)).get();
  });
}

std::shared_ptr<const emulator::LoadedModule> EmulatedDevice::decoded(const ModuleHolder& module, std::string_view kernel) {
  if (module.whole) return module.whole->program().kernel(kernel) ? module.whole : nullptr;
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = module.kernels.find(kernel); found != module.kernels.end()) return found->second;
  }
  if (!module.texts->has(kernel)) return nullptr;
  std::shared_ptr<const emulator::LoadedModule> loaded = emulator_.load(module.texts->with(kernel), module.name);
  const std::lock_guard guard(mutex_);
  return module.kernels.emplace(kernel, std::move(loaded)).first->second;
}

Status EmulatedDevice::findKernel(const Module& module, std::string_view name, const Kernel*& kernel) {
  const auto* holder = dynamic_cast<const ModuleHolder*>(&module);
  if (!holder) return {StatusCode::InvalidArgument, "the module was not loaded by an emulated device"};
  auto loaded = std::make_unique<LoadedKernel>();
  loaded->name = name;
  if (Status status = guarded([&] { loaded->module = decoded(*holder, name); }); !status.ok()) return status;
  if (!loaded->module) return {StatusCode::NotFound, fmt::format("module {} has no kernel \"{}\"", holder->name, name)};
  const std::lock_guard guard(mutex_);
  kernel = kernels_.emplace_back(std::move(loaded)).get();
  return {};
}

void EmulatedDevice::nameWarps(const Kernel& kernel, const std::vector<std::string>& roles) {
  const std::lock_guard guard(mutex_);
  for (const std::unique_ptr<LoadedKernel>& loaded : kernels_)
    if (loaded.get() == &kernel) loaded->warpRoles = roles;
}

Status EmulatedDevice::launch(const Kernel& kernel, const LaunchConfig& config, std::span<const void* const> arguments,
                              Stream stream) {
  const auto* loaded = dynamic_cast<const LoadedKernel*>(&kernel);
  if (!loaded) return {StatusCode::InvalidArgument, "the kernel was not loaded by an emulated device"};
  std::shared_ptr<std::mutex> lock;
  if (Status status = streamLock(stream, lock); !status.ok()) return status;
  const std::lock_guard streamGuard(*lock);
  emulator::Options options = this->options();
  options.warpRoles = loaded->warpRoles;
  options.place = enqueue(stream, config.programmaticDependent ? StreamWork::DependentKernel : StreamWork::Kernel);
  const emulator::machine::ObserverFactory observe = [&] {
    const std::lock_guard guard(mutex_);
    return observe_;
  }();
  return guarded([&] {
    emulator::LaunchReport report = emulator_.launch(*loaded->module, loaded->name, config, arguments, options, observe);
    const std::lock_guard guard(mutex_);
    KernelCounters& sum = counters_[loaded->name];
    sum.kernel = loaded->name;
    sum.launches += 1;
    sum.hostSeconds += report.hostSeconds;
    sum.warpRoles = loaded->warpRoles;
    sum.counters += report.counters;
    sum.hazards.insert(sum.hazards.end(), report.hazards.begin(), report.hazards.end());
  });
}

Status EmulatedDevice::encodeTiled(const TiledMap& description, TensorMap& map) {
  return encoded(emulator::tma::encodeTiled(description, map));
}

Status EmulatedDevice::encodeIm2col(const Im2colMap& description, TensorMap& map) {
  return encoded(emulator::tma::encodeIm2col(description.tensor, description.pixels, map));
}

Status EmulatedDevice::setOption(std::string_view name, std::string_view value) {
  const std::lock_guard guard(mutex_);
  return setEmulatedOption(options_, name, value);
}

emulator::Options EmulatedDevice::options() const {
  const std::lock_guard guard(mutex_);
  return options_;
}

void EmulatedDevice::runOnly(std::vector<uint64_t> clusters) {
  const std::lock_guard lock(mutex_);
  options_.clusters = std::move(clusters);
}

void EmulatedDevice::observe(emulator::machine::ObserverFactory observe) {
  const std::lock_guard guard(mutex_);
  observe_ = std::move(observe);
}

std::vector<KernelCounters> EmulatedDevice::counters() const {
  const std::lock_guard guard(mutex_);
  std::vector<KernelCounters> result;
  for (const auto& [name, kernel] : counters_) result.push_back(kernel);
  return result;
}

std::string EmulatedDevice::countersTable() const { return formatKernelCounters(counters()); }
std::string EmulatedDevice::countersJson() const { return device::countersJson(counters()); }

void EmulatedDevice::resetCounters() {
  const std::lock_guard guard(mutex_);
  counters_.clear();
}

std::string formatKernelCounters(const std::vector<KernelCounters>& kernels) {
  if (kernels.empty()) return "no launches since the counters were reset\n";
  std::string text;
  for (const KernelCounters& kernel : kernels) {
    text += fmt::format("{}: {} launch{}, {:.3f} s on the host\n", kernel.kernel, kernel.launches, kernel.launches == 1 ? "" : "es",
                        kernel.hostSeconds);
    text += emulator::formatCounters(kernel.counters, kernel.warpRoles);
    for (const emulator::Hazard& hazard : kernel.hazards) text += emulator::describe(hazard) + "\n";
  }
  return text;
}

}  // namespace shiftconv::device
