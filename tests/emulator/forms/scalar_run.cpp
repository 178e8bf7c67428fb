#include "tests/emulator/forms/scalar_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace shiftconv::tests {
namespace {

constexpr uint64_t kUntouched = 0xdeadbeefcafef00dull;

/// PTX that brings the operand %a, %b or %c into register "%s<index>".
std::string loadSource(size_t index, unsigned bits) {
  const char name = "abc"[index];
  switch (bits) {
    case 1:
      return fmt::format("  .reg .pred %s{0};\n  and.b32 %s32, %{1}32, 1;\n  setp.ne.b32 %s{0}, %s32, 0;\n", index, name);
    case 8:
      return fmt::format("  .reg .b8 %s{0};\n  cvt.u8.u32 %s{0}, %{1}32;\n", index, name);
    case 16:
      return fmt::format("  .reg .b16 %s{0};\n  mov.b32 {{%s{0}, _}}, %{1}32;\n", index, name);
    case 32:
      return fmt::format("  .reg .b32 %s{0};\n  mov.b32 %s{0}, %{1}32;\n", index, name);
    default:
      return fmt::format("  .reg .b64 %s{0};\n  mov.b64 %s{0}, %{1};\n", index, name);
  }
}

/// PTX that fills the result register with a pattern, and that brings it to %d afterwards.
std::string declareResult(unsigned bits) {
  switch (bits) {
    case 1:
      return "  .reg .pred %result;\n  setp.ne.b32 %result, %lane, %lane;\n";
    case 8:
      return "  .reg .b8 %result;\n  cvt.u8.u32 %result, 0x0d;\n";
    case 16:
      return "  .reg .b16 %result;\n  mov.b16 %result, 0xf00d;\n";
    case 32:
      return "  .reg .b32 %result;\n  mov.b32 %result, 0xcafef00d;\n";
    default:
      return "  .reg .b64 %result;\n  mov.b64 %result, 0xdeadbeefcafef00d;\n";
  }
}

std::string storeResult(std::string_view name, unsigned bits) {
  switch (bits) {
    case 1:
      return fmt::format("  selp.b32 %s32, 1, 0, {};\n  mov.b64 %d, {{%s32, 0}};\n", name);
    case 8:
      return fmt::format("  cvt.u64.u8 %d, {};\n", name);
    case 16:
      return fmt::format("  mov.b64 %d, {{{}, 0, 0, 0}};\n", name);
    case 32:
      return fmt::format("  mov.b64 %d, {{{}, 0}};\n", name);
    default:
      return fmt::format("  mov.b64 %d, {};\n", name);
  }
}

uint64_t untouched(unsigned bits) { return bits == 1 ? 0 : lowBits(kUntouched, bits); }

}  // namespace

uint64_t lowBits(uint64_t value, unsigned bits) { return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1); }
int64_t asSigned(uint64_t value, unsigned bits) { return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits); }

Lanes runScalar(FormRun& form, const ScalarInstruction& instruction, const Lanes& a, const Lanes& b, const Lanes& c) {
  std::string setup = "  .reg .b32 %s32;\n  .reg .pred %half;\n" + declareResult(instruction.resultBits);
  std::string sources;
  for (size_t i = 0; i < instruction.sourceBits.size(); ++i) {
    setup += loadSource(i, instruction.sourceBits[i]);
    sources += fmt::format(", %s{}", i);
  }
  sources += instruction.trailing;
  const std::string store = storeResult("%result", instruction.resultBits);
  const Lanes result = form.lanes(fmt::format("{}  {} %result{};\n{}", setup, instruction.text, sources, store), a, b, c);

  const auto half = static_cast<uint32_t>(form.random());
  const Lanes masked =
      form.lanes(fmt::format("{}  shr.u32 %s32, {}, %lane;\n  and.b32 %s32, %s32, 1;\n  setp.ne.b32 %half, %s32, 0;\n"
                             "  @%half {} %result{};\n{}",
                             setup, half, instruction.text, sources, store),
                 a, b, c);
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(masked[lane], (half >> lane & 1) != 0 ? result[lane] : untouched(instruction.resultBits))
        << instruction.text << " under mask 0x" << std::hex << half << ", lane " << std::dec << lane;

  if (!instruction.sourceBits.empty() && instruction.sourceBits[0] == instruction.resultBits) {
    const Lanes inPlace = form.lanes(
        fmt::format("{}  {} %s0{};\n{}", setup, instruction.text, sources, storeResult("%s0", instruction.resultBits)), a, b, c);
    EXPECT_EQ(inPlace, result) << instruction.text << " with its destination in its first source";
  }
  return result;
}

Lanes operands(FormRun& form, unsigned bits, const std::vector<uint64_t>& edges) {
  Lanes result{};
  for (size_t lane = 0; lane < result.size(); ++lane) result[lane] = lane < edges.size() ? edges[lane] : form.random();
  // Bits above the width must not matter.
  for (uint64_t& lane : result)
    if (bits < 64) lane = lowBits(lane, bits) | (form.random() & ~lowBits(~uint64_t{0}, bits));
  return result;
}

Lanes integerOperands(FormRun& form, unsigned bits) {
  const uint64_t top = uint64_t{1} << (bits - 1);
  return operands(form, bits,
                  {0, 1, ~uint64_t{0}, top, top - 1, top + 1, 2, 3, 7, bits - 1, bits, bits + 1, 32, 33, 255, 256, uint64_t{0} - 2,
                   uint64_t{0} - 7, 0x5555555555555555ull});
}

Lanes floatOperands(FormRun& form, int exponentBits, int fractionBits) {
  const uint64_t one = ((uint64_t{1} << (exponentBits - 1)) - 1) << fractionBits;
  const uint64_t sign = uint64_t{1} << (exponentBits + fractionBits);
  const uint64_t infinity = ((uint64_t{1} << exponentBits) - 1) << fractionBits;
  const uint64_t quantum = uint64_t{1} << fractionBits;
  Lanes result = operands(form, static_cast<unsigned>(1 + exponentBits + fractionBits),
                          {0,
                           sign,
                           one,
                           one | sign,
                           infinity,
                           infinity | sign,
                           infinity + 1,
                           infinity + quantum / 2,
                           infinity - 1,
                           (infinity - 1) | sign,
                           1,
                           1 | sign,
                           quantum - 1,
                           (quantum - 1) | sign,
                           quantum,
                           quantum + 1,
                           one + 1,
                           one - 1,
                           one + quantum / 2,
                           one + quantum,
                           one - quantum});
  // Half of the random numbers lie near one, so that sums round and cancel.
  for (size_t lane = 21; lane < result.size(); lane += 2) {
    const uint64_t field = one + (form.random() % 9) * quantum - 4 * quantum;
    result[lane] = (field & infinity) | (form.random() & (quantum - 1)) | (form.random() & sign);
  }
  return result;
}

Lanes rotated(const Lanes& lanes, unsigned distance) {
  Lanes result{};
  for (size_t lane = 0; lane < lanes.size(); ++lane) result[lane] = lanes[(lane + distance) % lanes.size()];
  return result;
}

void expectLanes(const ScalarInstruction& instruction, const Lanes& result, const Lanes& a, const Lanes& b, const Lanes& c,
                 const std::function<uint64_t(uint64_t, uint64_t, uint64_t)>& expected) {
  const auto source = [&](const Lanes& lanes, size_t index, size_t lane) {
    return index < instruction.sourceBits.size() ? lowBits(lanes[lane], instruction.sourceBits[index]) : 0;
  };
  for (size_t lane = 0; lane < result.size(); ++lane) {
    const uint64_t x = source(a, 0, lane);
    const uint64_t y = source(b, 1, lane);
    const uint64_t z = source(c, 2, lane);
    const uint64_t want = lowBits(expected(x, y, z), instruction.resultBits);
    EXPECT_EQ(result[lane], want) << fmt::format("{} of 0x{:x}, 0x{:x}, 0x{:x} gave 0x{:x} instead of 0x{:x}", instruction.text, x,
                                                 y, z, result[lane], want);
  }
}

void checkInteger(FormRun& form, const ScalarInstruction& instruction,
                  const std::function<uint64_t(uint64_t, uint64_t, uint64_t)>& expected) {
  const auto bitsOf = [&](size_t index) {
    return index < instruction.sourceBits.size() ? std::max(instruction.sourceBits[index], 2u) : 64u;
  };
  for (const unsigned distance : {0u, 1u, 5u}) {
    const Lanes a = integerOperands(form, bitsOf(0));
    const Lanes b = rotated(integerOperands(form, bitsOf(1)), distance);
    const Lanes c = rotated(integerOperands(form, bitsOf(2)), 3 * distance + 2);
    expectLanes(instruction, runScalar(form, instruction, a, b, c), a, b, c, expected);
  }
}

}  // namespace shiftconv::tests
