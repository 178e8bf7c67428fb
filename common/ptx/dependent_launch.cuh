// Programmatic dependent launch (PTX ISA 9.7.13.13). Both do nothing in a kernel that was launched without it.
#pragma once

namespace shiftconv::ptx {

/// Lets the next kernel of the stream start once all CTAs have said so or left.
__device__ __forceinline__ void launchDependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
/// Until the kernels before this one have completed and their stores are visible.
__device__ __forceinline__ void awaitPrerequisites() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/// The same, after `address` has been worked out, which is not null: ptxas would put the wait first, and what leads to the address
/// would come after the run ahead has ended instead of before.
__device__ __forceinline__ void awaitPrerequisitesWith(const void* address) {
  asm volatile(
      "{\n\t"
      ".reg .pred known;\n\t"
      "setp.ne.u64 known, %0, 0;\n\t"
      "@known griddepcontrol.wait;\n\t}" ::"l"(address)
      : "memory");
}

}  // namespace shiftconv::ptx
