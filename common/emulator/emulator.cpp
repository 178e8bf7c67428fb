#include "common/emulator/emulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "common/emulator/float_environment.hpp"
#include "common/emulator/hazards/global_checker.hpp"
#include "common/emulator/hazards/reporter.hpp"
#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/layout.hpp"
#include "common/emulator/machine/launcher.hpp"

namespace shiftconv::emulator {
namespace {

/// Kernel parameters may hold tensor maps, which need 64-byte alignment.
constexpr size_t kParameterAlignment = 256;

/// The parameter block of one launch, visible to the kernel as read-only memory.
class ParameterBlock {
 public:
  ParameterBlock(machine::GlobalMemory& memory, const isa::CompiledFunction& kernel, std::span<const void* const> arguments)
      : memory_(memory), storage_(kernel.parameterBytes + kParameterAlignment) {
    const auto raw = reinterpret_cast<uintptr_t>(storage_.data());
    base_ = storage_.data() + (kParameterAlignment - raw % kParameterAlignment) % kParameterAlignment;
    for (size_t i = 0; i < arguments.size(); ++i)
      std::memcpy(base_ + kernel.parameterOffsets[i], arguments[i], kernel.source->parameters[i].bytes);
    memory_.registerRange(base_, kernel.parameterBytes, false);
  }
  ~ParameterBlock() { memory_.unregisterRange(base_); }
  ParameterBlock(const ParameterBlock&) = delete;
  ParameterBlock& operator=(const ParameterBlock&) = delete;
  uint64_t address() const { return reinterpret_cast<uint64_t>(base_); }

 private:
  machine::GlobalMemory& memory_;
  std::vector<std::byte> storage_;
  std::byte* base_;
};

void checkArguments(const isa::CompiledFunction& kernel, std::span<const void* const> arguments) {
  const auto& parameters = kernel.source->parameters;
  if (arguments.size() != parameters.size())
    throw EmulatorError(ErrorKind::Launch, fmt::format("cannot launch kernel {}: it has {} parameters, {} arguments were given",
                                                       kernel.source->name, parameters.size(), arguments.size()));
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == nullptr)
      throw EmulatorError(
          ErrorKind::Launch,
          fmt::format("cannot launch kernel {}: argument {} is a null pointer (each argument points at the value of the parameter)",
                      kernel.source->name, i));
}

std::string withHazards(const EmulatorError& error, const std::vector<Hazard>& hazards) {
  constexpr size_t kShown = 8;
  std::vector<HazardGroup> groups = groupHazards(hazards);
  // The error may be one of them.
  std::erase_if(groups, [&](const HazardGroup& group) { return describe(group.hazard) == error.what(); });
  if (groups.empty()) return error.what();
  std::array<uint64_t, static_cast<size_t>(HazardSeverity::Count)> counts{};
  for (const HazardGroup& group : groups) ++counts[static_cast<size_t>(group.hazard.severity)];
  std::string text = fmt::format("{}\nBefore that, {}:", error.what(), summariseHazards(counts));
  for (size_t i = 0; i < std::min(groups.size(), kShown); ++i) text += "\n" + describe(groups[i]);
  return text;
}

hazards::Extent extent(const machine::Dim3& size) { return {size.x, size.y, size.z}; }

uint32_t warpsOf(const machine::Dim3& block) {
  return static_cast<uint32_t>((block.count() + machine::kWarpLanes - 1) / machine::kWarpLanes);
}

/// The launch among those that use the memory, while it runs.
class Watched {
 public:
  Watched(Emulator& emulator, hazards::Reporter& reporter, const Options& options, hazards::LaunchFacts facts) {
    if (options.hazards == HazardMode::Off) {
      emulator.memory().runUnwatched();
      return;
    }
    hazards::GlobalShadow& shadow = emulator.shadow();
    record_ = shadow.launches().begin(std::move(facts));
    watch_.emplace(hazards::LaunchWatch{reporter, shadow, *record_});
  }
  ~Watched() {
    if (watch_) watch_->shadow.launches().end(*record_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  machine::ObserverFactory observers() const {
    if (!watch_) return {};
    return [this](machine::Cluster& cluster, uint64_t index) { return hazards::watch(cluster, *watch_, index); };
  }

 private:
  std::shared_ptr<hazards::LaunchRecord> record_;
  std::optional<hazards::LaunchWatch> watch_;
};

}  // namespace

LaunchFailure::LaunchFailure(const EmulatorError& error, std::vector<Hazard> hazards)
    : EmulatorError(error.kind(), withHazards(error, hazards)), reason_(error.what()), hazards_(std::move(hazards)) {}

struct Emulator::Impl {
  machine::GlobalMemory memory;
  std::once_flag watching;
  std::unique_ptr<hazards::GlobalShadow> shadow;  ///< ends before the memory that it watches
};

Emulator::Emulator() : impl_(std::make_unique<Impl>()) {}
Emulator::~Emulator() = default;

machine::GlobalMemory& Emulator::memory() { return impl_->memory; }

hazards::GlobalShadow& Emulator::shadow() {
  std::call_once(impl_->watching, [this] {
    impl_->shadow = std::make_unique<hazards::GlobalShadow>(impl_->memory);
    impl_->memory.watch(impl_->shadow.get());
  });
  return *impl_->shadow;
}

LoadedModule::~LoadedModule() {
  if (memory_ != nullptr && globalBase_ != 0) memory_->release(globalBase_);
}

std::shared_ptr<const LoadedModule> Emulator::load(std::string_view ptx, std::string name) {
  auto module = std::shared_ptr<LoadedModule>(new LoadedModule);
  module->memory_ = &impl_->memory;
  if (module->decoded_ = decodedModules().find(ptx, name); module->decoded_) return module;
  const DefaultFloatEnvironment environment;  // literals are rounded
  ptx::Module parsed = ptx::parseModule(ptx, name);
  isa::addGridWorkspace(parsed);
  const uint64_t bytes = isa::globalImageBytes(parsed);
  if (bytes != 0) module->globalBase_ = impl_->memory.allocate(bytes);
  auto decoded = std::make_shared<DecodedModule>();
  decoded->program = isa::compileUsable(std::move(parsed), module->globalBase_, instructionSet(), decoded->refusals);
  module->decoded_ = decoded;
  if (bytes != 0) {
    const std::vector<std::byte>& image = decoded->program->globalImage;
    std::memcpy(impl_->memory.access(module->globalBase_, image.size(), 1, true), image.data(), image.size());
  } else {
    decodedModules().keep(ptx, name, std::move(decoded));
  }
  return module;
}

LaunchReport Emulator::launch(const LoadedModule& module, std::string_view kernelName, const machine::LaunchConfig& config,
                              std::span<const void* const> arguments, const Options& options,
                              const machine::ObserverFactory& observe) {
  const DefaultFloatEnvironment environment;
  if (observe && options.hazards != HazardMode::Off)
    throw EmulatorError(ErrorKind::Launch, "a launch that has an observer of its own cannot be watched by the hazard checker, too");
  const auto start = std::chrono::steady_clock::now();
  const isa::Program& program = module.program();
  const isa::CompiledFunction* kernel = program.kernel(kernelName);
  if (kernel == nullptr)
    throw EmulatorError(ErrorKind::Launch, fmt::format("module {} has no kernel {}", program.module.name, kernelName));
  if (const EmulatorError* refusal = module.refusal(kernelName)) throw *refusal;
  const machine::LaunchConfig checked = machine::checkLaunch(program, *kernel, config);
  checkArguments(*kernel, arguments);
  const ParameterBlock parameters(impl_->memory, *kernel, arguments);
  LaunchReport report;
  hazards::Reporter reporter(options.hazards, options.severities);
  const Watched watched(*this, reporter, options,
                        {.name = kernel->source->name,
                         .program = module.decoded_->program,
                         .grid = extent(checked.grid),
                         .cluster = extent(checked.cluster),
                         .warpsPerCta = warpsOf(checked.block),
                         .warpRoles = options.warpRoles,
                         .place = options.place});
  try {
    report.counters = machine::runGrid(program, *kernel, checked, impl_->memory, parameters.address(), options,
                                       observe ? observe : watched.observers());
  } catch (const EmulatorError& error) {
    std::vector<Hazard> hazards = reporter.take();
    if (hazards.empty()) throw;
    throw LaunchFailure(error, std::move(hazards));
  }
  reporter.finish();
  report.hazards = reporter.take();
  for (const Hazard& hazard : report.hazards) ++report.counters.hazards[static_cast<size_t>(hazard.severity)];
  report.hostSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace shiftconv::emulator
