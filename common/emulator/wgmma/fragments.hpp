// Which element of a matrix stands where in the registers of a warp (PTX ISA 9.0, 9.7.15.5.1 and 9.7.14.5): the fragments of
// wgmma are, for the 16 rows of each warp, those of mma.sync. g = lane / 4, t = lane % 4.
#pragma once

#include <cstdint>

namespace shiftconv::emulator::wgmma {

struct Element {
  uint32_t row = 0, column = 0;
};

/// Accumulators, element i of a thread: row of 16, column of N. Two f16 share a register, the even one in its low half.
constexpr Element accumulatorElement(uint32_t lane, uint32_t i) {
  return {lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2};
}

/// Operand A, element i of a thread when elements have `bits` bits: they fill four registers from the low end. Column: k.
constexpr Element operandElement(uint32_t lane, uint32_t i, uint32_t bits) {
  const uint32_t perRegister = 32 / bits, reg = i / perRegister, within = i % perRegister;
  return {lane / 4 + 8 * (reg % 2), perRegister * (lane % 4) + within + 4 * perRegister * (reg / 2)};
}

}  // namespace shiftconv::emulator::wgmma
