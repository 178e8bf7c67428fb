// Reading 16-byte chunks of an operand from shared memory, with the checks that hardware does not make.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "common/emulator/counters.hpp"
#include "common/emulator/error.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/options.hpp"

namespace shiftconv::emulator::tensor {

inline constexpr uint32_t kChunkBytes = 16;
/// Start addresses in descriptors have 18 bits.
inline constexpr uint32_t kDescriptorAddressMask = 0x3ffff;

/// The bytes [offset, offset + 16), of which the first `read` are data (packed sub-byte elements are followed by padding). Some of
/// them may be undefined. `describe()` names the reader in errors.
/// Question U28: an address beyond 18 bits faults (0) or wraps (1).
template <class Describe>
const std::byte* readChunk(const machine::SharedMemory& shared, uint32_t offset, uint32_t read, const Semantics& semantics,
                           Counters& counters, Describe&& describe) {
  if (offset > kDescriptorAddressMask) [[unlikely]] {
    counters.use(Unproven::U28);
    if (semantics[Unproven::U28] == 1) offset &= kDescriptorAddressMask;
  }
  if (offset + kChunkBytes > shared.size()) [[unlikely]] {
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("{} reads shared memory bytes {:#x}..{:#x}, but the CTA has {:#x} bytes.", describe(), offset,
                                    offset + kChunkBytes - 1, shared.size()));
  }
  shared.observe(offset, read, false);
  return shared.data() + offset;
}

}  // namespace shiftconv::emulator::tensor
