// The containers in which nvcc puts device code (section .nv_fatbin): PTX and machine code for several architectures, each
// plain or compressed. The layout was read off files that fatbinary of CUDA 13.0 and 12.4 wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace shiftconv::runtime {

struct FatBinaryEntry {
  bool isPtx = false;
  uint32_t architecture = 0;  ///< 100 for sm_100, sm_100a and compute_100a
  std::string text;           ///< of PTX, decompressed
};

/// The entries of the container at `data`, which may also be a bare PTX text (ended by a zero) or machine code. `bytes`: how
/// many there are, where that is known. Throws Failure cudaErrorInvalidKernelImage saying what is wrong.
std::vector<FatBinaryEntry> readFatBinary(const void* data, uint64_t bytes = std::numeric_limits<uint64_t>::max());

/// "sm_90a" of PTX; empty for machine code.
std::string_view targetOf(const FatBinaryEntry& entry);

/// The PTX to run on the device: of what runs there, that for the highest architecture. Throws Failure
/// cudaErrorNoKernelImageForDevice when there is none; `origin` names the program or file.
std::string choosePtx(const std::vector<FatBinaryEntry>& entries, std::string_view device, const std::string& origin);

}  // namespace shiftconv::runtime
