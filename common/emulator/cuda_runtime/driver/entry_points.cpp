// cuGetProcAddress: CUDA Driver API, "Driver Entry Point Access".
#include "common/emulator/cuda_runtime/core/entry_points.hpp"

#include "common/emulator/cuda_runtime/core/call.hpp"

using namespace shiftconv::runtime;

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int, cuuint64_t flags, CUdriverProcAddressQueryResult* symbolStatus) {
  return driverCall(
      "cuGetProcAddress",
      [&] {
        require(symbol != nullptr && pfn != nullptr, "an argument is null");
        *pfn = driverEntryPoint(symbol, flags);
        if (symbolStatus != nullptr)
          *symbolStatus = *pfn == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
        require(*pfn != nullptr || symbolStatus != nullptr, "there is no such entry point", cudaErrorSymbolNotFound);
      },
      Api::DriverQuery);
}
