// Copies to and from global memory, which several host threads may use at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shiftconv::emulator::machine {

/// Like memcpy, by relaxed atomic accesses: a race of the program that is executed is none of the host program's.
inline void racingCopy(std::byte* to, const std::byte* from, size_t bytes) {
  constexpr size_t kWord = sizeof(uint64_t);
  if (((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % kWord) == 0) {
    for (; bytes >= kWord; bytes -= kWord, to += kWord, from += kWord)
      __atomic_store_n(reinterpret_cast<uint64_t*>(to), __atomic_load_n(reinterpret_cast<const uint64_t*>(from), __ATOMIC_RELAXED),
                       __ATOMIC_RELAXED);
  }
  for (size_t i = 0; i < bytes; ++i) __atomic_store_n(to + i, __atomic_load_n(from + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

}  // namespace shiftconv::emulator::machine
