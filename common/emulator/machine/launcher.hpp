// Runs the clusters of one launch on host threads.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {

/// Checks the launch configuration against the kernel's directives and the limits of the hardware (CUDA C++
/// Programming Guide, technical specifications of compute capability 10.0). Returns the configuration with the
/// cluster shape filled in from .reqnctapercluster. Throws EmulatorError Launch.
LaunchConfig checkLaunch(const program::Program& program, const program::CompiledFunction& kernel, const LaunchConfig& config);

/// Runs every cluster of the grid to completion. Throws the error of the cluster with the lowest index among those
/// that failed. Each host thread keeps few clusters resident at a time: further ones only when the resident ones spin
/// on global memory without getting anywhere, which may mean that they wait for a cluster that has not started.
/// `observe` makes the observer of each cluster; empty: nobody watches.
Counters runGrid(const program::Program& program, const program::CompiledFunction& kernel, const LaunchConfig& config,
                 GlobalMemory& global, uint64_t parameterAddress, const Options& options, const ObserverFactory& observe);

}  // namespace shiftconv::emulator::machine
