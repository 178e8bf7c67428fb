// Names and texts of error codes.
#pragma once

#include "common/emulator/cuda_runtime/cuda_headers.hpp"

namespace shiftconv::runtime {

/// "cudaErrorInvalidValue"; "unrecognized error code" for numbers that name none.
const char* errorName(cudaError_t code);
/// One phrase; "unrecognized error code" for numbers that name none.
const char* errorText(cudaError_t code);
/// "CUDA_ERROR_INVALID_VALUE"; nullptr for numbers that name none.
const char* driverErrorName(CUresult code);

}  // namespace shiftconv::runtime
