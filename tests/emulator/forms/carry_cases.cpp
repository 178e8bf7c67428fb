// Integer arithmetic over several words, whose carries go through the condition code, against plain 128-bit formulas.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/emulator/forms/scalar_run.hpp"

namespace shiftconv::tests {
namespace {

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 Unsigned128;

const struct {
  std::string type;
  unsigned bits;
} kWordTypes[] = {{"u32", 32}, {"s32", 32}, {"u64", 64}, {"s64", 64}};

/// A number of two words: runs the low-word and the high-word instruction after each other and compares both words.
void checkCarry(FormRun& run, const std::string& low, const std::string& high, unsigned bits,
                const std::function<Unsigned128(Unsigned128, Unsigned128)>& formula) {
  // a and b are the words of the first number, c and its complement those of the second.
  for (const unsigned distance : {0u, 3u}) {
    const Lanes a = integerOperands(run, bits);
    const Lanes b = rotated(integerOperands(run, bits), distance);
    const Lanes c = rotated(integerOperands(run, bits), 2 * distance + 1);
    const std::string suffix = bits == 32 ? "32" : "";
    const auto body = [&](bool wantHigh) {
      return fmt::format("  .reg .b{0} %x, %y, %n;\n  not.b{0} %n, %c{1};\n  {2} %x, %a{1}, %c{1};\n  {3} %y, %b{1}, %n;\n  {4}\n",
                         bits, suffix, low, high,
                         bits == 32 ? fmt::format("mov.b64 %d, {{{}, 0}};", wantHigh ? "%y" : "%x")
                                    : fmt::format("mov.b64 %d, {};", wantHigh ? "%y" : "%x"));
    };
    const Lanes lowWord = run.lanes(body(false), a, b, c);
    const Lanes highWord = run.lanes(body(true), a, b, c);
    for (size_t lane = 0; lane < 32; ++lane) {
      const auto number = [&](uint64_t lowPart, uint64_t highPart) {
        return static_cast<Unsigned128>(lowBits(highPart, bits)) << bits | lowBits(lowPart, bits);
      };
      const Unsigned128 expected = formula(number(a[lane], b[lane]), number(c[lane], ~c[lane]));
      EXPECT_EQ(lowWord[lane], lowBits(static_cast<uint64_t>(expected), bits)) << low << " lane " << lane;
      EXPECT_EQ(highWord[lane], lowBits(static_cast<uint64_t>(expected >> bits), bits)) << high << " lane " << lane;
    }
  }
}

void carriedSums(FormRun& run) {
  for (const auto& [type, bits] : kWordTypes)
    for (const char* last : {"addc", "addc.cc"})
      checkCarry(run, "add.cc." + type, fmt::format("{}.{}", last, type), bits, [](auto x, auto y) { return x + y; });
}

void carriedDifferences(FormRun& run) {
  for (const auto& [type, bits] : kWordTypes)
    for (const char* last : {"subc", "subc.cc"})
      checkCarry(run, "sub.cc." + type, fmt::format("{}.{}", last, type), bits, [](auto x, auto y) { return x - y; });
}

/// 3 * 32 bits: carries go through the middle word, where addc.cc both reads and writes the flag.
void carryChain(FormRun& run) {
  const Lanes a = integerOperands(run, 64);
  const Lanes b = rotated(integerOperands(run, 64), 4);
  const Lanes result = run.lanes(R"(
  .reg .b32 %ah, %bh, %x, %y, %z;
  mov.b64 {_, %ah}, %a;
  mov.b64 {_, %bh}, %b;
  add.cc.u32 %x, %a32, %b32;
  addc.cc.u32 %y, %ah, %bh;
  addc.u32 %z, 0, 0;
  mov.b64 %d, {%y, %z};
)",
                                 a, b);
  for (size_t lane = 0; lane < 32; ++lane) {
    const auto sum = static_cast<Unsigned128>(a[lane]) + b[lane];
    EXPECT_EQ(result[lane], static_cast<uint64_t>(sum >> 32)) << lane;
  }
}

/// A product of two words by mad.lo.cc and madc.hi: a * b + c of 64 bits each into 128.
void carriedProducts(FormRun& run) {
  for (const bool is64 : {true, false})
    for (const bool isSigned : {false, true}) {
      const unsigned bits = is64 ? 64 : 32;
      const std::string type = fmt::format("{}{}", isSigned ? "s" : "u", bits);
      const std::string s = is64 ? "" : "32";
      for (const bool wantHigh : {false, true}) {
        const Lanes a = integerOperands(run, bits);
        const Lanes b = rotated(integerOperands(run, bits), 3);
        const Lanes c = rotated(integerOperands(run, bits), 7);
        const Lanes result = run.lanes(
            fmt::format(
                "  .reg .b{0} %x, %y;\n  mad.lo.cc.{1} %x, %a{2}, %b{2}, %c{2};\n  madc.hi.{1} %y, %a{2}, %b{2}, 5;\n  {3}\n", bits,
                type, s,
                is64 ? fmt::format("mov.b64 %d, {};", wantHigh ? "%y" : "%x")
                     : fmt::format("mov.b64 %d, {{{}, 0}};", wantHigh ? "%y" : "%x")),
            a, b, c);
        for (size_t lane = 0; lane < 32; ++lane) {
          const auto value = [&](uint64_t raw) { return isSigned ? Wide{asSigned(raw, bits)} : Wide{lowBits(raw, bits)}; };
          const auto product = static_cast<Unsigned128>(value(a[lane])) * static_cast<Unsigned128>(value(b[lane]));
          const auto low = static_cast<Unsigned128>(lowBits(static_cast<uint64_t>(product), bits)) + lowBits(c[lane], bits);
          const auto high = (product >> bits) + 5 + (low >> bits);
          EXPECT_EQ(result[lane], lowBits(static_cast<uint64_t>(wantHigh ? high : low), bits)) << type << " lane " << lane;
        }
      }
    }
}

/// The flag also goes into mad.hi.cc and out of madc.lo.cc.
void carriedProductsOtherHalves(FormRun& run) {
  const Lanes a = integerOperands(run, 32);
  const Lanes b = rotated(integerOperands(run, 32), 5);
  const Lanes c = rotated(integerOperands(run, 32), 9);
  const Lanes result = run.lanes(R"(
  .reg .b32 %x, %y, %z;
  mad.hi.cc.u32 %x, %a32, %b32, %c32;
  madc.lo.cc.u32 %y, %a32, %b32, %c32;
  addc.u32 %z, 0, 0;
  mov.b64 %d, {%y, %z};
)",
                                 a, b, c);
  for (size_t lane = 0; lane < 32; ++lane) {
    const uint64_t product = lowBits(a[lane], 32) * lowBits(b[lane], 32);
    const uint64_t carry = ((product >> 32) + lowBits(c[lane], 32)) >> 32;
    EXPECT_EQ(result[lane], lowBits(product, 32) + lowBits(c[lane], 32) + carry) << lane;
  }
}

}  // namespace

FormCases carryCases() {
  return {
      {"add.cc.(u32|s32|u64|s64)", "two_words", carriedSums},
      {"addc{.cc}.(u32|s32|u64|s64)", "two_words", carriedSums},
      {"addc{.cc}.(u32|s32|u64|s64)", "three_words", carryChain},
      {"sub.cc.(u32|s32|u64|s64)", "two_words", carriedDifferences},
      {"subc{.cc}.(u32|s32|u64|s64)", "two_words", carriedDifferences},
      {"mad.(lo|hi).cc.(u32|s32|u64|s64)", "two_words", carriedProducts},
      {"madc.(lo|hi){.cc}.(u32|s32|u64|s64)", "two_words", carriedProducts},
      {"madc.(lo|hi){.cc}.(u32|s32|u64|s64)", "other_halves", carriedProductsOtherHalves},
  };
}

}  // namespace shiftconv::tests
