#include "common/emulator/cuda_runtime/machine_binding.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "common/device/emulated_device.hpp"
#include "common/device/emulated_options.hpp"
#include "common/emulator/cuda_runtime/core/device_choice.hpp"
#include "common/emulator/cuda_runtime/core/settings.hpp"
#include "common/emulator/emulator.hpp"
#include "common/emulator/hazards/host_work.hpp"
#include "common/emulator/kernel_title.hpp"
#include "common/emulator/machine/device_heap.hpp"
#include "common/emulator/program/target.hpp"
#include "common/emulator/tma/tensor_map.hpp"

namespace shiftconv::runtime {
namespace {

using emulator::EmulatorError;
using emulator::ErrorKind;
using emulator::Hazard;
using emulator::HazardMode;
namespace machine = emulator::machine;

cudaError_t codeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::OutOfBounds:
    case ErrorKind::Uninitialised:
      return cudaErrorIllegalAddress;
    case ErrorKind::Misaligned:
      return cudaErrorMisalignedAddress;
    case ErrorKind::IllegalInstruction:
    case ErrorKind::Descriptor:
      return cudaErrorIllegalInstruction;
    case ErrorKind::Deadlock:
    case ErrorKind::Limit:
      return cudaErrorLaunchTimeout;
    case ErrorKind::OutOfMemory:
      return cudaErrorMemoryAllocation;
    default:
      return cudaErrorLaunchFailure;
  }
}

[[noreturn]] void failLaunch(std::string_view kernel, const EmulatorError& error) {
  if (error.kind() == ErrorKind::Launch) throw Failure(cudaErrorInvalidConfiguration, error.what());
  const std::string text =
      fmt::format("kernel {} failed ({}): {}", emulator::kernelTitle(std::string(kernel)), toString(error.kind()), error.what());
  const bool assertion = error.kind() == ErrorKind::Trap && text.find(": assertion '") != std::string::npos;
  throw Failure(assertion ? cudaErrorAssert : codeOf(error.kind()), text, true);
}

/// Applies one variable of the environment; a wrong value ends the program, as nothing it prints would be what was asked for.
void applySetting(emulator::Options& options, const char* variable, std::string_view option) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return;
  const Status status = device::setEmulatedOption(options, option, value);
  if (status.ok()) return;
  say(fmt::format("{}: {}", variable, status.message()));
  std::_Exit(1);
}

emulator::Options optionsOfEnvironment() {
  emulator::Options options;
  applySetting(options, "EMURUN_SCHEDULE", "schedule");
  applySetting(options, "EMURUN_SEED", "seed");
  applySetting(options, "EMURUN_HAZARDS", "hazards");
  applySetting(options, "EMURUN_SEVERITY", "hazards.severity");
  applySetting(options, "EMURUN_NUMERICS", "numerics");
  applySetting(options, "EMURUN_SEMANTICS_FILE", "semantics.file");
  applySetting(options, "EMURUN_HOST_THREADS", "host_threads");
  applySetting(options, "EMURUN_INSTRUCTION_LIMIT", "instruction_limit");
  const char* list = std::getenv("EMURUN_SEMANTICS");
  std::string_view choices = list == nullptr ? "" : list;
  while (!choices.empty()) {
    const std::string_view choice = choices.substr(0, choices.find(','));
    choices.remove_prefix(std::min(choices.size(), choice.size() + 1));
    const size_t equals = std::min(choice.find('='), choice.size());
    const Status status = device::setEmulatedOption(options, "semantics." + std::string(choice.substr(0, equals)),
                                                    choice.substr(std::min(equals + 1, choice.size())));
    if (status.ok()) continue;
    say(fmt::format("EMURUN_SEMANTICS: {}", status.message()));
    std::_Exit(1);
  }
  return options;
}

unsigned multiprocessorsOfEnvironment(unsigned usual) {
  const char* text = std::getenv("EMURUN_SMS");
  if (text == nullptr || *text == '\0') return usual;
  char* end = nullptr;
  const unsigned long count = std::strtoul(text, &end, 10);
  if (*end == '\0' && count >= 1 && count <= 1024) return static_cast<unsigned>(count);
  say(fmt::format("EMURUN_SMS is \"{}\", but must be a number in 1..1024", text));
  std::_Exit(1);
}

DeviceModel modelOf(std::string_view name) {
  const emulator::program::Target& target = *emulator::program::findTarget(name);
  const emulator::program::DeviceLimits& limits = *target.device;
  return {.target = std::string(target.name),
          .product = std::string(limits.name),
          .computeMajor = static_cast<int>(target.computeMajor),
          .computeMinor = static_cast<int>(target.computeMinor),
          .multiprocessors = limits.multiprocessors,
          .sharedPerBlockOptIn = limits.sharedBytesPerCta,
          .sharedPerMultiprocessor = limits.sharedBytesPerMultiprocessor,
          .threadsPerMultiprocessor = limits.threadsPerMultiprocessor,
          .blocksPerMultiprocessor = limits.ctasPerMultiprocessor,
          .registersPerMultiprocessor = limits.registersPerMultiprocessor,
          .l2Bytes = limits.l2Bytes};
}

bool countersWanted() {
  const char* text = std::getenv("EMURUN_COUNTERS");
  return text != nullptr && std::string_view(text) == "1";
}

emulator::hazards::StreamPlace toStreamPlace(const Place& place) {
  return {place.stream, place.number, place.finished, place.overlapping, place.waited};
}
Dim3 toDim3(const Extent& extent) { return {extent.x, extent.y, extent.z}; }

Extent toExtent(const std::optional<std::vector<uint32_t>>& values, uint32_t missing) {
  Extent extent{missing, missing, missing};
  if (!values) return extent;
  extent = {1, 1, 1};
  if (values->size() > 0) extent.x = (*values)[0];
  if (values->size() > 1) extent.y = (*values)[1];
  if (values->size() > 2) extent.z = (*values)[2];
  return extent;
}

KernelFacts factsOf(const emulator::isa::Program& program, const emulator::isa::CompiledFunction& kernel,
                    const EmulatorError* refusal) {
  KernelFacts facts;
  if (refusal != nullptr) facts.refusal = refusal->what();
  for (size_t i = 0; i < kernel.source->parameters.size(); ++i)
    facts.parameters.push_back({kernel.parameterOffsets[i], static_cast<uint32_t>(kernel.source->parameters[i].bytes)});
  const emulator::ptx::PerformanceDirectives& directives = kernel.source->directives;
  facts.staticSharedBytes = program.dynamicSharedOffset(kernel) - machine::kReservedSharedBytes;
  facts.localBytes = kernel.localBytes;
  const auto& threads = directives.requiredThreads ? directives.requiredThreads : directives.maximumThreads;
  if (threads) facts.maximumThreads = static_cast<uint32_t>(std::min<uint64_t>(toExtent(threads, 1).count(), 1024));
  facts.maximumRegisters = directives.maximumRegisters.value_or(0);
  facts.requiredCluster = toExtent(directives.requiredCluster, 0);
  return facts;
}

void requireEncoded(const std::string& refusal) {
  if (!refusal.empty()) throw Failure(cudaErrorInvalidValue, "tensor map: " + refusal);
}

/// Runs `body`, which may throw what the emulator throws about memory.
template <class Body>
auto translated(Body&& body) {
  try {
    return body();
  } catch (const EmulatorError& error) {
    const cudaError_t code = error.kind() == ErrorKind::OutOfMemory ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    throw Failure(code, error.what());
  }
}

class EmulatedMachine final : public Machine {
 public:
  explicit EmulatedMachine(std::string_view device)
      : options_(optionsOfEnvironment()),
        model_(modelOf(device)),
        multiprocessors_(multiprocessorsOfEnvironment(model_.multiprocessors)),
        counted_(countersWanted()) {}

  uint64_t allocate(uint64_t bytes) override {
    const uint64_t used = memory().allocatedBytes();
    if (bytes > memoryBytes() || used > memoryBytes() - bytes)
      throw Failure(cudaErrorMemoryAllocation,
                    fmt::format("{} bytes were asked for, but the device has {}, {} of them in use", bytes, memoryBytes(), used));
    return translated([&] { return memory().allocate(bytes); });
  }
  void release(uint64_t address) override {
    translated([&] { memory().release(address); });
  }
  void registerHost(void* base, uint64_t bytes) override {
    translated([&] { memory().registerRange(base, bytes, true); });
  }
  void unregisterHost(void* base) override {
    translated([&] { memory().unregisterRange(base); });
  }
  void shareWithHost(uint64_t address, uint64_t bytes) override { memory().markWritten(address, bytes); }
  bool contains(uint64_t address, uint64_t bytes) const override { return emulator_.memory().contains(address, bytes); }

  std::byte* access(const char* name, const Place& place, uint64_t address, uint64_t bytes, bool writes) override {
    if (options_.hazards == HazardMode::Off) return translated([&] { return memory().access(address, bytes, 1, writes); });
    // As work of a stream, not as an act of the host that comes before everything.
    std::byte* const pointer = translated([&] { return memory().deviceAccess(address, bytes, 1, writes); });
    checkHazards(name, place, address, bytes, writes);
    return pointer;
  }
  void checkRelease(const char* name, const Place& place, uint64_t address, uint64_t bytes) override {
    if (options_.hazards != HazardMode::Off) checkHazards(name, place, address, bytes, true);
  }

  std::shared_ptr<const LoadedPtx> load(std::string_view ptx, std::string name) override;

  void encode(const layout::TiledMap& map, layout::TensorMapImage& image) const override {
    requireEncoded(emulator::tma::encodeTiled(map, image));
  }
  void encode(const layout::Im2colMap& map, layout::TensorMapImage& image) const override {
    requireEncoded(emulator::tma::encodeIm2col(map.tensor, map.pixels, image));
  }
  bool decode(const layout::TensorMapImage& image, layout::Im2colMap& map, bool& isIm2col) const override {
    const auto decoded = emulator::tma::decode(image);
    if (!decoded) return false;
    isIm2col = decoded->pixels.has_value();
    map = {decoded->tensor, decoded->pixels.value_or(layout::PixelBox{})};
    return true;
  }

  const DeviceModel& model() const override { return model_; }
  unsigned multiprocessors() const override { return multiprocessors_; }
  uint64_t memoryBytes() const override { return memoryBytes_; }
  uint64_t allocatedBytes() const override { return emulator_.memory().allocatedBytes(); }
  void limitHeap(uint64_t bytes) override { memory().heap().setLimit(bytes); }
  std::string counters() const override {
    std::vector<device::KernelCounters> kernels;
    for (const auto& [name, kernel] : counters_) kernels.push_back(kernel);
    return counted_ ? device::formatKernelCounters(kernels) : std::string();
  }

  void launch(const emulator::LoadedModule& module, std::string_view kernel, const LaunchShape& shape,
              std::span<const void* const> arguments, const Place& place) {
    emulator::Options options = options_;
    options.seed += launches_++;
    options.place = toStreamPlace(place);
    options.multiprocessors = multiprocessors_;
    if (RunResult* result = runResult()) ++result->launches;
    try {
      emulator::LaunchReport report = emulator_.launch(module, kernel,
                                                       {.grid = toDim3(shape.grid),
                                                        .block = toDim3(shape.block),
                                                        .cluster = toDim3(shape.cluster),
                                                        .dynamicSharedBytes = shape.dynamicSharedBytes},
                                                       arguments, options);
      this->report(report.hazards);
      if (!counted_) return;
      device::KernelCounters& sum = counters_[std::string(kernel)];
      sum.kernel = kernel;
      sum.launches += 1;
      sum.hostSeconds += report.hostSeconds;
      sum.counters += report.counters;
    } catch (const emulator::LaunchFailure& failure) {
      report(failure.hazards());
      failLaunch(kernel, EmulatorError(failure.kind(), failure.reason()));
    } catch (const EmulatorError& error) {
      failLaunch(kernel, error);
    }
  }

 private:
  machine::GlobalMemory& memory() { return emulator_.memory(); }

  void checkHazards(const char* name, const Place& place, uint64_t address, uint64_t bytes, bool writes) {
    emulator::hazards::Reporter reporter(options_.hazards);
    try {
      emulator::hazards::checkHostWork(emulator_.shadow(), reporter, name, toStreamPlace(place), address, bytes, writes);
    } catch (const EmulatorError& error) {
      report(reporter.take());
      throw Failure(cudaErrorLaunchFailure, fmt::format("{}: {}", name, toString(error.kind())), true);
    }
    report(reporter.take());
  }

  /// Each cause once in the whole run.
  void report(const std::vector<Hazard>& hazards) {
    for (const emulator::HazardGroup& group : emulator::groupHazards(hazards)) {
      if (!reported_.insert(group.key).second) continue;
      if (RunResult* result = runResult()) ++result->hazards.at(static_cast<size_t>(group.hazard.severity));
      say(describe(group));
    }
  }

  mutable emulator::Emulator emulator_;
  const emulator::Options options_;
  const DeviceModel model_;
  const unsigned multiprocessors_;
  const bool counted_;
  const uint64_t memoryBytes_ = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t launches_ = 0;
  std::map<std::string, device::KernelCounters, std::less<>> counters_;
  std::set<std::string> reported_;  ///< HazardGroup::key
};

class EmulatedPtx final : public LoadedPtx {
 public:
  EmulatedPtx(EmulatedMachine& machine, std::shared_ptr<const emulator::LoadedModule> module)
      : machine_(machine), module_(std::move(module)) {
    const emulator::isa::Program& program = module_->program();
    for (const emulator::isa::CompiledFunction& function : program.functions)
      if (function.source->isKernel && !function.source->isDeclaration)
        kernels_.emplace(function.source->name, factsOf(program, function, module_->refusal(function.source->name)));
  }
  std::vector<std::string> kernels() const override {
    std::vector<std::string> names;
    for (const auto& [name, facts] : kernels_) names.push_back(name);
    return names;
  }
  const KernelFacts* kernel(std::string_view name) const override {
    const auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : &found->second;
  }
  bool variable(std::string_view name, VariablePlace& place) const override {
    const emulator::isa::Program& program = module_->program();
    const auto found = program.globalOffsets.find(std::string(name));
    if (found == program.globalOffsets.end()) return false;
    for (const emulator::ptx::Variable& variable : program.module.variables)
      if (variable.name == name) place = {program.globalBase + found->second, variable.bytes};
    return true;
  }
  void launch(std::string_view kernel, const LaunchShape& shape, std::span<const void* const> arguments,
              const Place& place) const override {
    machine_.launch(*module_, kernel, shape, arguments, place);
  }

 private:
  EmulatedMachine& machine_;
  std::shared_ptr<const emulator::LoadedModule> module_;
  std::map<std::string, KernelFacts, std::less<>> kernels_;
};

std::shared_ptr<const LoadedPtx> EmulatedMachine::load(std::string_view ptx, std::string name) {
  try {
    return std::make_shared<EmulatedPtx>(*this, emulator_.load(ptx, std::move(name)));
  } catch (const EmulatorError& error) {
    const cudaError_t code = error.kind() == ErrorKind::Parse         ? cudaErrorInvalidPtx
                             : error.kind() == ErrorKind::OutOfMemory ? cudaErrorMemoryAllocation
                                                                      : cudaErrorNoKernelImageForDevice;
    throw Failure(code, error.what());
  }
}

}  // namespace

namespace {

EmulatedMachine* theMachine = nullptr;

/// When the process ends, after everything that the program does then.
__attribute__((destructor)) void printCounters() {
  const std::string text = theMachine == nullptr ? std::string() : theMachine->counters();
  if (!text.empty()) say("counters\n" + text);
}

}  // namespace

std::span<const std::string_view> deviceTargets() { return emulator::program::deviceNames(); }

bool runsOn(std::string_view target, std::string_view device) {
  const emulator::program::Target* made = emulator::program::findTarget(target);
  return made != nullptr && emulator::program::runsOn(*made, *emulator::program::findTarget(device));
}

Machine& Machine::instance() {
  static EmulatedMachine* const machine = theMachine = new EmulatedMachine(chooseDevice());
  return *machine;
}

}  // namespace shiftconv::runtime
