// What a bulk reduction does with a range of bytes: combines element by element, each as one relaxed atomic operation
// (PTX ISA 9.0, 9.7.9.25.4.2 and 9.7.9.25.5.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/emulator/machine/atomic_operations.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::tma {

/// Combines `bytes` bytes of elements at `from` into those at `to`, in global or in shared memory.
using Reduction = void (*)(std::byte* to, const std::byte* from, uint32_t bytes, machine::AtomicPlace place);

template <class T, machine::Combine<T> kCombine>
void reduceElements(std::byte* to, const std::byte* from, uint32_t bytes, machine::AtomicPlace place) {
  for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
    T operand;
    std::memcpy(&operand, from + i, sizeof operand);
    machine::exchange<T>(to + i, [&](T value) { return kCombine(value, operand, place); });
  }
}

/// `operation` is "add", "min", "max", "inc", "dec", "and", "or" or "xor"; the caller has checked that it exists for `type`.
inline Reduction reductionFor(std::string_view operation, ptx::ScalarType type) {
  return machine::withCombine(operation, type,
                              []<class T, machine::Combine<T> kCombine>() -> Reduction { return reduceElements<T, kCombine>; });
}

}  // namespace shiftconv::emulator::tma
