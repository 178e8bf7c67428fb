// Host memory of device allocations, poisoned when made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace shiftconv::emulator::machine {

inline constexpr int kPoison = 0xCB;

struct StorageRelease {
  size_t mappedBytes = 0;  ///< 0: of operator new
  void operator()(std::byte* storage) const;
};
using PoisonedStorage = std::unique_ptr<std::byte, StorageRelease>;

/// So many bytes of poison. Of large ones the host has only the pages that somebody writes: the others are copies of one file of
/// poison, which lies in memory once. Throws std::bad_alloc.
PoisonedStorage makePoisonedStorage(uint64_t bytes);

}  // namespace shiftconv::emulator::machine
