// Runs one scalar instruction on 32 lanes of operands, whatever the widths of its registers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulator/forms/form_case.hpp"

namespace shiftconv::tests {

/// An instruction with up to three sources, such as {"mad.wide.u16", 32, {16, 16, 32}}. Width 1 is a predicate: as a
/// source it is bit 0 of the lane's operand, as a result it is 0 or 1.
struct ScalarInstruction {
  std::string text;  ///< opcode with modifiers
  unsigned resultBits = 32;
  std::vector<unsigned> sourceBits;
  std::string_view trailing = {};  ///< further operands as text, such as ", 0x80"
};

/// Results, zero-extended. The instruction runs three times: by all lanes, by a random half of them (the others must
/// keep what the destination held), and with the destination in the register of the first source when widths agree.
Lanes runScalar(FormRun& form, const ScalarInstruction& instruction, const Lanes& a, const Lanes& b = {}, const Lanes& c = {});

/// 32 operands of the given width: all of `edges` that fit, then random bits.
Lanes operands(FormRun& form, unsigned bits, const std::vector<uint64_t>& edges);
/// Zero, one, minus one, the ends of the signed and unsigned ranges, small numbers and shift amounts around the width.
Lanes integerOperands(FormRun& form, unsigned bits);
/// Zeros, infinities, NaN, subnormals, the ends of the range, one, halves, and random bits.
Lanes floatOperands(FormRun& form, int exponentBits, int fractionBits);
/// Rotates lanes so that edge cases of different operands meet.
Lanes rotated(const Lanes& lanes, unsigned distance);

/// Compares lane by lane with `expected(a, b, c)`.
void expectLanes(const ScalarInstruction& instruction, const Lanes& result, const Lanes& a, const Lanes& b, const Lanes& c,
                 const std::function<uint64_t(uint64_t, uint64_t, uint64_t)>& expected);

/// Runs on several rotations of integer operands and compares.
void checkInteger(FormRun& form, const ScalarInstruction& instruction,
                  const std::function<uint64_t(uint64_t, uint64_t, uint64_t)>& expected);

/// Low `bits` bits, and their signed value.
uint64_t lowBits(uint64_t value, unsigned bits);
int64_t asSigned(uint64_t value, unsigned bits);

}  // namespace shiftconv::tests
