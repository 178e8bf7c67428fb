// cuGetErrorName and cuGetErrorString: CUDA Driver API, "Error Handling".
#include "common/emulator/cuda_runtime/core/error_names.hpp"

using namespace shiftconv::runtime;

CUresult cuGetErrorName(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pStr = driverErrorName(error);
  return *pStr == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool known = driverErrorName(error) != nullptr;
  *pStr = known ? errorText(static_cast<cudaError_t>(error)) : nullptr;
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
