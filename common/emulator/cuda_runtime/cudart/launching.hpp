// Launches as both the generated code and the API make them.
#pragma once

#include "common/emulator/cuda_runtime/core/work.hpp"

namespace shiftconv::runtime {

/// `function`: a host stub or a handle. Throws Failure.
void launchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes, cudaStream_t stream,
                  bool cooperative);
/// The same with attributes.
KernelWork kernelWork(Function& function, dim3 grid, dim3 block, size_t sharedBytes);

}  // namespace shiftconv::runtime
