// ptxrun: loads a PTX file and launches a kernel on the emulated device.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <vector>

#include "common/emulator/emulator.hpp"
#include "examples/ptxrun/arguments.hpp"
#include "examples/ptxrun/buffers.hpp"
#include "examples/ptxrun/listing.hpp"
#include "examples/ptxrun/options.hpp"
#include "examples/ptxrun/user_error.hpp"

namespace {

using namespace ptxrun;
using shiftconv::emulator::Emulator;
using shiftconv::emulator::EmulatorError;
using shiftconv::emulator::LaunchReport;
using shiftconv::emulator::LoadedModule;
using shiftconv::emulator::machine::Dim3;
using shiftconv::emulator::machine::LaunchConfig;
using shiftconv::emulator::ptx::Function;

/// The kernel of that name, or the only one.
const Function& chooseKernel(const shiftconv::emulator::isa::Program& program, const std::string& name) {
  std::vector<std::string> names;
  const Function* chosen = nullptr;
  for (const auto& function : program.functions) {
    if (!function.source->isKernel || function.source->isDeclaration) continue;
    names.push_back(function.source->name);
    if (name.empty() || name == names.back()) chosen = function.source;
  }
  if (names.empty()) throw UserError(fmt::format("{} holds no kernel", program.module.name));
  if (chosen == nullptr)
    throw UserError(fmt::format("{} has no kernel '{}'; it has: {}", program.module.name, name, fmt::join(names, ", ")));
  if (name.empty() && names.size() > 1)
    throw UserError(
        fmt::format("{} has several kernels; choose one with --kernel: {}", program.module.name, fmt::join(names, ", ")));
  return *chosen;
}

/// The first of the two that is given, filled up with ones.
Dim3 shape(const std::vector<uint32_t>& given, const std::optional<std::vector<uint32_t>>& directive) {
  const std::vector<uint32_t> numbers = !given.empty() ? given : directive.value_or(std::vector<uint32_t>{});
  const auto at = [&](size_t i) { return i < numbers.size() ? numbers[i] : 1; };
  return {at(0), at(1), at(2)};
}

std::string describe(const LaunchConfig& config) {
  const auto text = [](const Dim3& dim) { return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z); };
  return fmt::format("grid {}, block {}, cluster {}, {} bytes of dynamic shared memory", text(config.grid), text(config.block),
                     text(config.cluster), config.dynamicSharedBytes);
}

int run(const ptxrun::Options& options) {
  const std::vector<std::byte> file = readBytes(options.ptxPath);
  Emulator emulator;
  std::shared_ptr<const LoadedModule> module;
  try {
    module = emulator.load({reinterpret_cast<const char*>(file.data()), file.size()}, options.ptxPath);
  } catch (const EmulatorError& error) {
    fmt::print(stderr, "ptxrun: {} cannot be loaded ({})\n{}\n", options.ptxPath, toString(error.kind()), error.what());
    return exit_code::kModule;
  }
  if (options.list) {
    fmt::print("{}", listKernels(module->program()));
    return exit_code::kSuccess;
  }

  const Function& kernel = chooseKernel(module->program(), options.kernel);
  const LaunchConfig config{.grid = shape(options.grid, std::nullopt),
                            .block = shape(options.block, kernel.directives.requiredThreads),
                            .cluster = shape(options.cluster, kernel.directives.requiredCluster),
                            .dynamicSharedBytes = options.dynamicSharedBytes};
  Buffers buffers(emulator.memory());
  for (const std::string& text : options.buffers) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw UserError(fmt::format("--buffer {}: write NAME=SPEC", text));
    buffers.add(text.substr(0, equals), parseBuffer(std::string_view(text).substr(equals + 1)));
  }
  const Arguments arguments(options.arguments, kernel, buffers);
  const std::vector<const void*> pointers = arguments.pointers();

  fmt::print("kernel {}: {}\n", kernel.name, describe(config));
  shiftconv::emulator::Options machine = options.machine;
  machine.warpRoles = options.roles;
  std::map<std::string, size_t> hazards;
  LaunchReport report;
  std::vector<std::byte> firstOutputs;
  bool different = false;
  for (uint32_t repetition = 0; repetition < options.repeat; ++repetition, ++machine.seed) {
    buffers.reset();
    try {
      report = emulator.launch(*module, kernel.name, config, pointers, machine);
    } catch (const EmulatorError& error) {
      fmt::print(stderr, "ptxrun: launch {} of {} failed (seed {}, {})\n{}\n", repetition + 1, options.repeat, machine.seed,
                 toString(error.kind()), error.what());
      return exit_code::kLaunch;
    }
    fmt::print("launch {} of {}: {:.3f} ms on the host (seed {})\n", repetition + 1, options.repeat, report.hostSeconds * 1e3,
               machine.seed);
    // Every launch may show others; the same one is printed once.
    for (const shiftconv::emulator::Hazard& hazard : report.hazards) {
      const std::string key = fmt::format("{}|{}|{}", toString(hazard.kind), hazard.first.where, hazard.second.where);
      if (hazards[key]++ == 0) fmt::print(stderr, "{}\n", describe(hazard));
    }
    if (repetition == 0) {
      firstOutputs = buffers.outputs();
    } else if (!different && buffers.outputs() != firstOutputs) {
      fmt::print(stderr, "ptxrun: the outputs of launch {} (seed {}) differ from those of launch 1 (seed {})\n", repetition + 1,
                 machine.seed, options.machine.seed);
      different = true;
    }
  }
  for (const std::string& line : buffers.save()) fmt::print("{}\n", line);
  if (options.counters) fmt::print("\n{}", formatCounters(report.counters, options.roles));
  if (!hazards.empty()) fmt::print(stderr, "ptxrun: {} different hazards\n", hazards.size());
  return different ? exit_code::kDifferent : hazards.empty() ? exit_code::kSuccess : exit_code::kHazards;
}

}  // namespace

int main(int argc, char** argv) {
  ptxrun::Options options;
  int exitCode = exit_code::kSuccess;
  if (!parseCommandLine(argc, argv, options, exitCode)) return exitCode;
  try {
    return run(options);
  } catch (const UserError& error) {
    fmt::print(stderr, "ptxrun: {}\n", error.what());
  } catch (const EmulatorError& error) {  // buffers that the host has no memory for
    fmt::print(stderr, "ptxrun: {}\n", error.what());
  }
  return exit_code::kUsage;
}
