// Names of kernels for people.
#pragma once

#include <string>

namespace shiftconv::emulator {

/// "gemm<128, 64>" for the name of a kernel in PTX: as in the source, without its arguments and what it returns. Template arguments
/// that would make it long become "<...>".
std::string kernelTitle(const std::string& name);

}  // namespace shiftconv::emulator
