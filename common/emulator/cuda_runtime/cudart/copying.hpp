// Copies and fills from the arguments of the runtime API.
#pragma once

#include "common/emulator/cuda_runtime/core/work.hpp"

namespace shiftconv::runtime {

CopyWork linearCopy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
/// Throws Failure when an array does not have what is to be copied.
CopyWork copyOf(const cudaMemcpy3DParms& parameters);
FillWork linearFill(void* to, int value, size_t bytes);

/// cudaMemcpy and its like: in the legacy default stream, and waited for unless it stays on the device.
void copyNow(const CopyWork& copy);
/// cudaMemcpyAsync: waited for when it ends in pageable memory of the host.
void copyIn(Stream& stream, const CopyWork& copy);

}  // namespace shiftconv::runtime
