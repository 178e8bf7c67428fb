// ptxrun: loads a PTX file and launches a kernel on the emulated device.
#include <fmt/format.h>
#include <shiftconv/emulator.hpp>

#include <exception>
#include <map>
#include <string>
#include <vector>

#include "common/emulator/tools/ptxrun/arguments.hpp"
#include "common/emulator/tools/ptxrun/buffers.hpp"
#include "common/emulator/tools/ptxrun/kernel_name.hpp"
#include "common/emulator/tools/ptxrun/listing.hpp"
#include "common/emulator/tools/ptxrun/options.hpp"
#include "common/emulator/tools/ptxrun/patience.hpp"
#include "common/emulator/tools/ptxrun/user_error.hpp"

namespace {

using namespace ptxrun;
using shiftconv::emu::Dim3;
using shiftconv::emu::Kernel;
using shiftconv::emu::Launch;
using shiftconv::emu::Machine;
using shiftconv::emu::Module;
using shiftconv::emu::Report;
using shiftconv::emu::Result;

/// The first of the two that is given, filled up with ones.
Dim3 shape(const std::vector<uint32_t>& given, const std::optional<Dim3>& directive) {
  if (given.empty()) return directive.value_or(Dim3{});
  const auto at = [&](size_t i) { return i < given.size() ? given[i] : 1; };
  return {at(0), at(1), at(2)};
}

std::string describe(const Launch& launch) {
  const auto text = [](const Dim3& dim) { return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z); };
  return fmt::format("grid {}, block {}, cluster {}, {} bytes of dynamic shared memory", text(launch.grid), text(launch.block),
                     text(launch.cluster), launch.dynamicSharedBytes);
}

int run(const ptxrun::Options& options) {
  const std::vector<std::byte> file = readBytes(options.ptxPath);
  Machine machine;
  const Result<Module> module = machine.load({reinterpret_cast<const char*>(file.data()), file.size()}, options.ptxPath);
  if (!module) {
    fmt::print(stderr, "ptxrun: {} cannot be loaded ({})\n{}\n", options.ptxPath, toString(module.error().kind),
               module.error().message);
    return exit_code::kModule;
  }
  if (options.list) {
    fmt::print("{}", listKernels(*module));
    return exit_code::kSuccess;
  }

  const Kernel& kernel = chooseKernel(*module, options.kernel);
  if (!kernel.refusal.empty()) {
    fmt::print(stderr, "ptxrun: kernel {} cannot be launched\n{}\n", kernel.name, kernel.refusal);
    return exit_code::kModule;
  }
  Buffers buffers(machine);
  for (const std::string& text : options.buffers) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw UserError(fmt::format("--buffer {}: write NAME=SPEC", text));
    buffers.add(text.substr(0, equals), parseBuffer(std::string_view(text).substr(equals + 1)));
  }
  const Arguments arguments(options.arguments, kernel, buffers);
  Launch launch;
  launch.kernel = kernel.name;
  launch.grid = shape(options.grid, std::nullopt);
  launch.block = shape(options.block, kernel.requiredBlock);
  launch.cluster = shape(options.cluster, kernel.requiredCluster);
  launch.dynamicSharedBytes = options.dynamicSharedBytes;
  launch.arguments = arguments.pointers();
  launch.options = options.machine;
  launch.options.warpRoles = options.roles;

  fmt::print("kernel {}: {}\n", kernel.name, describe(launch));
  std::map<std::string, size_t> hazards;
  shiftconv::emu::Counters counters;
  std::vector<std::byte> firstOutputs;
  bool different = false;
  uint64_t& seed = launch.options.seed;
  for (uint32_t repetition = 0; repetition < options.repeat; ++repetition, ++seed) {
    buffers.reset();
    const Result<Report> report = [&] {
      const Patience patience(fmt::format("launch {} of {}", repetition + 1, options.repeat));
      return machine.launch(*module, launch);
    }();
    if (!report) {
      fmt::print(stderr, "ptxrun: launch {} of {} failed (seed {}, {})\n{}\n", repetition + 1, options.repeat, seed,
                 toString(report.error().kind), report.error().message);
      return exit_code::kLaunch;
    }
    fmt::print("launch {} of {}: {:.3f} ms on the host (seed {})\n", repetition + 1, options.repeat, report->hostSeconds * 1e3,
               seed);
    // Every launch may show others; the same one is printed once.
    for (const shiftconv::emu::Hazard& hazard : report->hazards) {
      const std::string key = fmt::format("{}|{}|{}", hazard.kind, hazard.first.where, hazard.second.where);
      if (hazards[key]++ == 0) fmt::print(stderr, "{}\n", hazard.text);
    }
    if (repetition == 0) {
      firstOutputs = buffers.outputs();
    } else if (!different && buffers.outputs() != firstOutputs) {
      fmt::print(stderr, "ptxrun: the outputs of launch {} (seed {}) differ from those of launch 1 (seed {})\n", repetition + 1,
                 seed, options.machine.seed);
      different = true;
    }
    counters = report->counters;
  }
  for (const std::string& line : buffers.save()) fmt::print("{}\n", line);
  if (options.counters) fmt::print("\n{}", counters.text);
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
  } catch (const std::exception& error) {
    fmt::print(stderr, "ptxrun: {}\n", error.what());
  }
  return exit_code::kUsage;
}
