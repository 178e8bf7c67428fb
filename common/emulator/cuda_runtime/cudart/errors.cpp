// cudaGetLastError and its like: CUDA Runtime API, "Error Handling".
#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/error_names.hpp"

using namespace shiftconv::runtime;

cudaError_t cudaGetLastError() { return lastError(true); }

cudaError_t cudaPeekAtLastError() { return lastError(false); }

const char* cudaGetErrorName(cudaError_t error) { return errorName(error); }

const char* cudaGetErrorString(cudaError_t error) { return errorText(error); }
