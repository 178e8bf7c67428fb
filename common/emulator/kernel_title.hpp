// Names of kernels, and of others who use memory, for people.
#pragma once

#include <string>

namespace shiftconv::emulator {

/// What reports call the thread of work of the host.
inline constexpr const char* kHostThread = "the host";

/// "gemm<128, 64>" for the name of a kernel in PTX: as in the source, without its arguments and what it returns. Template arguments
/// that would make it long become "<...>".
std::string kernelTitle(const std::string& name);

}  // namespace shiftconv::emulator
