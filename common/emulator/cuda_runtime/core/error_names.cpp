#include "common/emulator/cuda_runtime/core/error_names.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>

// Made from the enumerators of driver_types.h and cuda.h when the build is configured.
#include "cuda_error_table.hpp"

namespace shiftconv::runtime {
namespace {

constexpr const char* kUnknown = "unrecognized error code";

struct Phrase {
  cudaError_t code;
  const char* text;
};

/// What calls of the emulated device give, and what programs print most. The others are spelt out of their names.
constexpr Phrase kPhrases[] = {
    {cudaSuccess, "no error"},
    {cudaErrorInvalidValue, "invalid argument"},
    {cudaErrorMemoryAllocation, "out of memory"},
    {cudaErrorInitializationError, "initialization error"},
    {cudaErrorInvalidConfiguration, "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"},
    {cudaErrorInvalidDeviceFunction, "invalid device function"},
    {cudaErrorNoDevice, "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "invalid device ordinal"},
    {cudaErrorInvalidKernelImage, "device kernel image is invalid"},
    {cudaErrorDeviceUninitialized, "invalid device context"},
    {cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"},
    {cudaErrorInvalidPtx, "a PTX JIT compilation failed"},
    {cudaErrorUnsupportedLimit, "limit is not supported on this architecture"},
    {cudaErrorInvalidResourceHandle, "invalid resource handle"},
    {cudaErrorSymbolNotFound, "named symbol not found"},
    {cudaErrorNotReady, "device not ready"},
    {cudaErrorIllegalAddress, "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "the launch timed out and was terminated"},
    {cudaErrorAssert, "device-side assert triggered"},
    {cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"},
    {cudaErrorIllegalInstruction, "an illegal instruction was encountered"},
    {cudaErrorMisalignedAddress, "misaligned address"},
    {cudaErrorLaunchFailure, "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"},
    {cudaErrorNotPermitted, "operation not permitted"},
    {cudaErrorNotSupported, "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorInvalidClusterSize, "a kernel launch error has occurred due to cluster misconfiguration"},
    {cudaErrorMissingConfiguration, "__global__ function call is not configured"},
    {cudaErrorIllegalState, "the operation cannot be performed in the present state"},
    {cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"},
    {cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"},
    {cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorGraphExecUpdateFailure,
     "the graph update was not performed because it included changes which violated constraints specific to instantiated graph "
     "update"},
    {cudaErrorUnknown, "unknown error"},
};

/// What follows "cudaError": "JitCompilationDisabled" -> "jit compilation disabled".
std::string spelt(std::string_view name) {
  std::string text;
  name.remove_prefix(std::min(name.size(), std::string_view("cudaError").size()));
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !text.empty()) text += ' ';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

}  // namespace

const char* errorName(cudaError_t code) {
  for (const auto& [number, name] : kRuntimeErrors)
    if (number == static_cast<int>(code)) return name;
  return kUnknown;
}

const char* errorText(cudaError_t code) {
  static const auto* const texts = [] {
    auto* all = new std::map<int, std::string>;
    for (const auto& [number, name] : kRuntimeErrors) all->emplace(number, spelt(name));
    for (const Phrase& phrase : kPhrases) (*all)[phrase.code] = phrase.text;
    return all;
  }();
  const auto found = texts->find(code);
  return found == texts->end() ? kUnknown : found->second.c_str();
}

const char* driverErrorName(CUresult code) {
  for (const auto& [number, name] : kDriverErrors)
    if (number == static_cast<int>(code)) return name;
  return nullptr;
}

}  // namespace shiftconv::runtime
