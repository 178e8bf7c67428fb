// Programmatic dependent launch (PTX ISA 9.7.13.13). Both do nothing in a kernel that was launched without it.
#pragma once

namespace shiftconv::ptx {

/// Lets the next kernel of the stream start once all CTAs have said so or left.
__device__ __forceinline__ void launchDependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
/// Until the kernels before this one have completed and their stores are visible.
__device__ __forceinline__ void awaitPrerequisites() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace shiftconv::ptx
