// A kernel around wgmma instructions, for the cases of that family and for the hazard checker.
//
// One warpgroup (more when asked for) fills dynamic shared memory from its input, followed by fence.proxy.async and a barrier.
// Registers: %thread, %tile (shared address), %desc (start field of a descriptor that points at %tile, .b64), %d0-127 (D, loaded
// from the accumulators of the thread), %a0-3 (loaded from the registers of A of the thread), %r0-9, %rd0-9, %p0-3. The body
// follows, then every thread stores %d0 up to the number of D registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/emulator.hpp"

namespace shiftconv::tests {

struct WgmmaKernel {
  std::string body;
  uint32_t registers = 4;             ///< of D in each thread
  std::vector<std::byte> image = {};  ///< shared memory, a multiple of 16 bytes
  std::vector<uint32_t> d = {};       ///< [thread][register] before the body; zeros when empty
  std::vector<uint32_t> a = {};       ///< [thread][4]; zeros when empty
  uint32_t threads = 128;
  uint32_t sharedBytes = 0;  ///< more than the image fills; 0: no more

  std::string text() const;
  /// D of every thread: [thread][register].
  std::vector<uint32_t> run(emulator::Emulator& machine, const emulator::Options& options,
                            emulator::LaunchReport* report = nullptr) const;
  /// Under all policies and some seeds, which must agree.
  std::vector<uint32_t> runEverySchedule() const;
};

/// Fields of a descriptor but the start address: offsets in bytes; swizzle 0 none, 1 128B, 2 64B, 3 32B. Add it to %desc.
uint64_t wgmmaDescriptor(uint32_t start, uint32_t leading, uint32_t stride, uint32_t swizzle = 0, uint32_t base = 0);

/// "{%d0, %d1, ...}"
std::string registerList(const char* name, uint32_t count);

/// fence; %rd0 and %rd1 become the descriptors; the instruction with its operands after D; commit; wait_group 0.
std::string wgmmaProduct(const std::string& shape, uint32_t registers, uint64_t a, uint64_t b, const std::string& tail,
                         bool aInRegisters = false);

}  // namespace shiftconv::tests
