// The emulator as a device sees it: load PTX, launch kernels, read counters.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/counters.hpp"
#include "common/emulator/decoded_modules.hpp"
#include "common/emulator/error.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/options.hpp"

namespace shiftconv::emulator::hazards {
class GlobalShadow;
}

namespace shiftconv::emulator {

struct LaunchReport {
  Counters counters;
  std::vector<Hazard> hazards;  ///< in the order of the clusters that saw them; each pair of instructions once
  double hostSeconds = 0;
};

/// A launch that failed after hazards were seen, which often are the reason: what() names the first of them.
class LaunchFailure : public EmulatorError {
 public:
  LaunchFailure(const EmulatorError& error, std::vector<Hazard> hazards);
  const std::string& reason() const { return reason_; }  ///< without the hazards
  const std::vector<Hazard>& hazards() const { return hazards_; }

 private:
  std::string reason_;
  std::vector<Hazard> hazards_;
};

/// A loaded module. Keeps its global variables alive.
class LoadedModule {
 public:
  const isa::Program& program() const { return *decoded_->program; }
  /// Why the kernel cannot be launched: instructions that it may reach and the machine lacks; nullptr: it can.
  const EmulatorError* refusal(std::string_view kernel) const {
    const auto& refused = decoded_->refusals.kernels;
    const auto found = refused.find(kernel);
    return found == refused.end() ? nullptr : &found->second;
  }
  ~LoadedModule();

 private:
  friend class Emulator;
  std::shared_ptr<const DecodedModule> decoded_;
  machine::GlobalMemory* memory_ = nullptr;
  uint64_t globalBase_ = 0;
};

/// Thread safe: several host threads may launch on one emulator at once. The floating-point environment of the caller has no effect
/// on results and is left alone.
class Emulator {
 public:
  Emulator();
  ~Emulator();

  machine::GlobalMemory& memory();
  /// What has happened to global memory, for the hazard checker; kept from the first call on.
  hazards::GlobalShadow& shadow();
  /// Parses, decodes and lays out the module; without global variables once in a process, as long as it is among the last ones.
  /// Kernels that may reach an instruction that the machine lacks are refused when they are launched. Throws EmulatorError, also
  /// when that leaves no kernel.
  std::shared_ptr<const LoadedModule> load(std::string_view ptx, std::string name);
  /// Runs a kernel to completion. `arguments[i]` points at the value of parameter i. `observe` makes whoever watches each cluster;
  /// the hazard checker must be off then. Throws EmulatorError, or LaunchFailure.
  LaunchReport launch(const LoadedModule& module, std::string_view kernel, const machine::LaunchConfig& config,
                      std::span<const void* const> arguments, const Options& options, const machine::ObserverFactory& observe = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shiftconv::emulator
