// What a launch may ask for, and how many CTAs fit on a multiprocessor. Limits: CUDA C++ Programming Guide, technical
// specifications of compute capabilities 9.0, 10.x and 11.0; what differs between them is in the device's model.
#pragma once

#include <cstdint>

#include "common/emulator/cuda_runtime/core/work.hpp"

namespace shiftconv::runtime {

inline constexpr uint32_t kSharedPerBlock = 48 * 1024;
inline constexpr uint32_t kReservedSharedPerBlock = 1024;
inline constexpr uint32_t kThreadsPerBlock = 1024;

/// Throws Failure with the code of the real call.
void checkLaunch(const KernelWork& kernel);

/// CTAs of the kernel that fit on one multiprocessor. The emulated device knows no register allocation: when the kernel names
/// no limit, its threads are taken to need the number that lets the largest block it allows fit once.
int occupancy(const Function& function, uint32_t threads, uint64_t dynamicShared);
/// Clusters of the launch that are resident at once on the device.
int residentClusters(const Function& function, uint32_t threads, uint64_t dynamicShared, uint32_t clusterBlocks);
/// Registers of a thread, as cudaFuncAttributes tells.
int registersOf(const Function& function);

/// The cluster that attributes or the PTX demand; zeros: none.
Extent requiredCluster(const Function& function);
/// The cluster of a launch that names none.
Extent defaultCluster(const Function& function);
/// cudaFuncSetAttribute and cuFuncSetAttribute, whose numbers are the same. Throws Failure.
void setFunctionAttribute(Function& function, int attribute, int value);

/// A launch from the attributes of cudaLaunchConfig_t or CUlaunchConfig, which have the same layout. Throws Failure for those
/// that the device does not have.
void applyAttributes(KernelWork& kernel, const cudaLaunchAttribute* attributes, unsigned count, Stream& stream);

}  // namespace shiftconv::runtime
