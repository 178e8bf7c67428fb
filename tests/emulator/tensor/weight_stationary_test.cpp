// tcgen05.mma.ws: accumulator layouts, the zero-column mask and the column shift, and the collector buffers of operand B.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "common/emulator/error.hpp"
#include "tests/emulator/tensor/mma_machine.hpp"

namespace shiftconv::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The fields of a zero-column mask descriptor as PTX ISA 9.7.16.4.3, table 45, lists them; spans less one.
struct MaskFields {
  std::array<uint64_t, 4> startCount{};
  uint64_t firstSpans = 0;  ///< bit i: fs_i
  uint64_t nonZero = 1, skip = 0, use = 0, shift = 0;
  uint64_t word() const {
    return startCount[0] | startCount[1] << 8 | startCount[2] << 16 | startCount[3] << 24 | firstSpans << 32 | nonZero << 39 |
           skip << 40 | use << 48 | shift << 56;
  }
};

std::string maskOf(const MaskFields& fields, uint32_t m, uint32_t n) {
  const auto zero = zeroColumns(decodeColumnMask(fields.word(), m), m, n);
  std::string text;
  for (uint32_t column = 0; column < n; ++column) text += zero[column] ? '1' : '0';
  return text;
}

// The four examples of PTX ISA 9.7.16.4.3; it prints masks with the first column at the right, here it stands at the left.
TEST(ColumnMask, ExamplesOfThePtxIsa) {
  const auto begins = [](const std::string& mask, size_t from, std::string_view expected) {
    EXPECT_EQ(mask.substr(from, expected.size()), expected);
  };
  EXPECT_EQ(maskOf({.nonZero = 0, .skip = 4, .use = 3}, 128, 64), std::string(64, '0'));
  begins(maskOf({.skip = 2, .use = 3}, 128, 256), 0, "00001110000111");
  const std::string halves = maskOf({.firstSpans = 1, .skip = 2, .use = 3}, 64, 128);
  begins(halves, 0, "11100001110000111");
  begins(halves, 64, "000011100001110000");
  const std::string quarters = maskOf({.startCount = {0, 1, 2, 1}, .firstSpans = 3, .skip = 2, .use = 3, .shift = 2}, 32, 128);
  begins(quarters, 0, "11100001110000");
  begins(quarters, 32, "1100001110000");
  begins(quarters, 64, "001110000111");
  begins(quarters, 96, "0001110000111");
}

/// Neither infinities nor NaNs nor zeros: a product with zero is zero, and with anything else is not.
void makeFinite(Machine& machine) {
  for (std::vector<uint32_t>* matrix : {&machine.a, &machine.b})
    for (uint32_t& bits : *matrix) bits = (bits & 0x83ffu) | 0x3c00u;
}

template <class Action>
std::string refusalOf(ErrorKind kind, Action&& action) {
  try {
    action();
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(ColumnMask, RulesAreChecked) {
  const auto refusal = [](uint64_t word, uint32_t m) {
    return refusalOf(ErrorKind::Descriptor, [&] { decodeColumnMask(word, m); });
  };
  EXPECT_THAT(refusal(uint64_t{1} << 36, 128), HasSubstr("38:36"));
  EXPECT_THAT(refusal(uint64_t{1} << 62, 128), HasSubstr("63:62"));
  EXPECT_THAT(refusal(MaskFields{.shift = 33}.word(), 64), AllOf(HasSubstr("column shift 33"), HasSubstr("32 that M = 64")));
  EXPECT_THAT(refusal(MaskFields{.shift = 17}.word(), 32), AllOf(HasSubstr("column shift 17"), HasSubstr("16 that M = 32")));
  EXPECT_EQ(decodeColumnMask(MaskFields{.shift = 16}.word(), 32).shift, 16u);
  EXPECT_EQ(decodeColumnMask(MaskFields{.shift = 32}.word(), 64).shift, 32u);
}

TEST(WeightStationary, ShapesAndBitsOfTheInstructionDescriptor) {
  const auto check = [](const IdescFields& fields, MmaKind kind, const char* part) {
    EXPECT_THAT(
        refusalOf(ErrorKind::Descriptor, [&] { decodeInstructionDescriptor(fields.word(), kind, 1, {.weightStationary = true}); }),
        HasSubstr(part));
  };
  check({.m = 16}, MmaKind::F16, "M = 16 is not legal for kind::f16 with .ws (legal: 32, 64, 128)");
  check({.m = 256}, MmaKind::F16, "M = 256");
  for (const uint32_t n : {0u, 32u, 96u, 192u, 248u}) check({.n = n}, MmaKind::F16, "(legal: 64, 128, 256)");
  check({.d = 2, .n = 96}, MmaKind::I8, "N = 96 is not legal for kind::i8 with .ws");
  const uint32_t shifts[] = {0, 8, 16, 32};
  for (uint32_t code = 0; code < 4; ++code)
    EXPECT_EQ(decodeInstructionDescriptor(IdescFields{.maximumShift = code}.word(), MmaKind::F16, 1, {.weightStationary = true})
                  .maximumShift,
              shifts[code]);
}

TEST(WeightStationary, AccumulatorsOfEveryShape) {
  for (const uint32_t m : {32u, 64u, 128u}) {
    for (const uint32_t n : {64u, 128u, 256u}) {
      Machine machine(kF16Case, {.m = m, .n = n}, 71, true);
      machine.placeA(Mode::Bytes128);
      machine.placeB(Mode::None);
      machine.runAndCompare(fmt::format("m{} n{}", m, n));
      EXPECT_EQ(machine.uses(Unproven::U14), 1u);
      EXPECT_EQ(machine.uses(Unproven::U12), 0u);
      EXPECT_EQ(machine.counters.mma.at(fmt::format("kind::f16 m{}n{}k16 a:smem ws", m, n)), 1u);
    }
  }
}

TEST(WeightStationary, KindsFromSharedAndTensorMemory) {
  for (const KindCase& kind : {kF16HalfCase, kBf16Case, kTf32Case, kE4m3Case}) {
    for (const uint32_t m : {32u, 64u, 128u}) {
      Machine machine(kind, {.m = m, .n = 64, .negateA = m == 64}, 72, true);
      machine.placeA(Mode::Bytes32);
      machine.placeB(Mode::Bytes128);
      machine.runAndCompare(fmt::format("{} m{}", kind.format->name, m));
      machine.placeAInTensorMemory();
      machine.operation.enableInputD = false;
      machine.runAndCompare(fmt::format("{} m{}, A in Tensor Memory", kind.format->name, m));
      EXPECT_EQ(machine.uses(Unproven::U12), m == 128 ? 0u : 1u);
    }
  }
}

// The other copies hold something else.
TEST(WeightStationary, CopiesOfAInTensorMemory) {
  for (const uint8_t rule : {0, 1}) {
    Machine machine(kF16Case, {.m = 64, .n = 64}, 73, true);
    makeFinite(machine);
    machine.placeAInTensorMemory();
    machine.placeB(Mode::Bytes64);
    for (uint32_t lane = 64; lane < 128; ++lane)
      for (uint32_t column = 0; column < 8; ++column) machine.memory.store(lane, kAColumn + column, 0);
    machine.operation.enableInputD = false;
    machine.options.semantics.choose(Unproven::U12, rule);
    if (rule == 1) {
      machine.runAndCompare("the first copy alone");
      continue;
    }
    machine.run();
    EXPECT_EQ(machine.memory.cells(5)[kDColumn + 3], machine.result(5, 3, 0));
    EXPECT_EQ(machine.memory.cells(64 + 5)[kDColumn + 3], 0u) << "a row of zeros";
  }
}

TEST(WeightStationary, ColumnsOfBAreShifted) {
  for (const bool transposed : {false, true}) {
    for (const uint32_t shift : {1u, 2u, 8u, 11u, 16u}) {
      for (const uint32_t m : {32u, 64u}) {
        Machine machine(kBf16Case, {.m = m, .n = 64, .transposeA = transposed && m == 64, .transposeB = transposed}, 74 + shift,
                        true);
        machine.placeA(transposed ? Mode::Bytes128 : Mode::None);
        machine.placeB(Mode::Bytes128);
        machine.operation.columnMask = decodeColumnMask(MaskFields{.nonZero = 0, .shift = shift}.word(), m);
        machine.runAndCompare(fmt::format("shift {} m{} transposed {}", shift, m, transposed));
        EXPECT_EQ(machine.uses(Unproven::U19), 0u) << "the ISA says which columns of B a shift alone gives";
      }
    }
  }
}

// Two rows of five pixels in each half of D, of which the last is outside of the image at the third tap (skip 1, use 4): its column
// counts as zero, whatever lies there.
TEST(WeightStationary, MaskedColumnsAreZeroAndNotRead) {
  const MaskFields fields{.startCount = {0, 2}, .skip = 0, .use = 3, .shift = 2};
  std::string byD;
  for (uint32_t n = 0; n < 64; ++n) byD += n % 5 == 4 ? '1' : '0';
  for (uint32_t n = 0; n < 64; ++n) byD += (n + 2) % 5 == 4 ? '1' : '0';
  for (const uint8_t rule : {0, 1}) {
    Machine machine(kF16Case, {.m = 64, .n = 128}, 75, true);
    machine.placeA(Mode::Bytes128);
    machine.placeB(Mode::Bytes128);
    machine.operation.columnMask = decodeColumnMask(fields.word(), 64);
    machine.options.semantics.choose(Unproven::U19, rule);
    machine.zero.resize(128);
    for (uint32_t n = 0; n < 128; ++n) machine.zero[n] = rule == 0 ? byD[n] == '1' : n + 2 < 128 && byD[n + 2] == '1';
    const Placement placement{Mode::Bytes128, false, 96 * 1024, 256, 16, 2};
    for (uint32_t n = 0; n < 128; ++n)
      if (machine.zero[n]) machine.shared.poison(placement.address(n + 2, 0), 16);
    machine.runAndCompare("masked and shifted");
    EXPECT_EQ(machine.uses(Unproven::U19), 1u);
    for (uint32_t lane = 0; lane < 128; ++lane) EXPECT_TRUE(machine.memory.isDefined(lane, kDColumn, 64, kWholeCell)) << lane;
    machine.operation.columnMask.masks = false;
    machine.run();
    EXPECT_FALSE(machine.memory.isDefined(0, kDColumn, 64, kWholeCell)) << "without the mask the undefined columns are read";
  }
}

TEST(WeightStationary, MaskedColumnsOfAnMnMajorB) {
  Machine machine(kE4m3Case, {.m = 128, .n = 256, .transposeB = true}, 76, true);
  machine.placeA(Mode::Bytes32);
  machine.placeB(Mode::Bytes128);
  machine.operation.columnMask = decodeColumnMask(MaskFields{.startCount = {3}, .firstSpans = 1, .skip = 4, .use = 8}.word(), 128);
  for (uint32_t n = 0; n < 256; ++n) machine.zero.push_back((n + 3) % 14 < 5);
  machine.runAndCompare("mn-major");
}

class Collected : public testing::Test {
 protected:
  Collected() : machine_(kF16Case, {.m = 64, .n = 64, .maximumShift = 1}, 77, true) {
    makeFinite(machine_);
    machine_.placeA(Mode::Bytes128);
    machine_.placeB(Mode::Bytes128);
  }
  /// Runs with this use of a buffer; the bytes of shared memory that it read.
  uint64_t run(uint32_t buffer, Collector collector, uint32_t shift = 0) {
    machine_.operation.collectorBuffer = buffer;
    machine_.operation.collector = collector;
    machine_.operation.columnMask.shift = shift;
    machine_.counters = {};
    machine_.run();
    return machine_.counters.bytes[static_cast<size_t>(Engine::TensorCore)][static_cast<size_t>(Traffic::SharedRead)];
  }
  std::string refusal(uint32_t buffer, Collector collector, uint32_t shift = 0) {
    return refusalOf(ErrorKind::IllegalInstruction, [&] { run(buffer, collector, shift); });
  }
  Machine machine_;
};

// A of 64 rows is read every time, B of 64 rows where the collector does not hold it.
TEST_F(Collected, WhatTheBuffersHoldIsNotReadAgain) {
  EXPECT_EQ(run(0, Collector::Fill), 128u * 32u);
  EXPECT_EQ(run(3, Collector::Fill), 128u * 32u);
  EXPECT_EQ(run(0, Collector::Use), 64u * 32u);
  EXPECT_EQ(run(3, Collector::LastUse), 64u * 32u);
  EXPECT_EQ(run(0, Collector::LastUse), 64u * 32u);
  EXPECT_EQ(run(0, Collector::Discard), 128u * 32u);
}

TEST_F(Collected, EachBufferNeedsItsOwnFillOfTheSameB) {
  EXPECT_THAT(refusal(2, Collector::Use),
              AllOf(HasSubstr(".collector::b2::use needs"), HasSubstr("operand B"), HasSubstr("nothing")));
  run(2, Collector::Fill);
  EXPECT_THAT(refusal(1, Collector::Use), HasSubstr("holds nothing"));
  EXPECT_EQ(refusal(2, Collector::Use), "no error");
  run(1, Collector::Discard);
  EXPECT_EQ(refusal(2, Collector::Use), "no error") << "b1 was discarded, not b2";
  machine_.operation.a.start += 4096;
  EXPECT_EQ(refusal(2, Collector::Use), "no error") << "another A is the point";
  machine_.operation.b.start += 1024;
  EXPECT_THAT(refusal(2, Collector::Use), HasSubstr("another operand"));
  machine_.operation.b.start -= 1024;
  run(2, Collector::LastUse);
  EXPECT_THAT(refusal(2, Collector::LastUse), AllOf(HasSubstr("b2::lastuse"), HasSubstr("holds nothing")));
}

TEST_F(Collected, MayShiftUpToTheDeclaredMaximum) {
  const auto tooFar = [&](Collector collector) { return refusalOf(ErrorKind::Descriptor, [&] { run(0, collector, 9); }); };
  EXPECT_THAT(tooFar(Collector::Fill), AllOf(HasSubstr("Column shift 9"), HasSubstr("maximum of 8 in bits 31:30")));
  EXPECT_EQ(tooFar(Collector::Discard), "no error") << "the maximum is one of reuse";
  run(0, Collector::Fill);
  EXPECT_EQ(machine_.uses(Unproven::U36), 0u);
  machine_.operation.columnMask.shift = 8;
  machine_.operation.collector = Collector::Use;
  machine_.runAndCompare("the filled B, 8 columns further");
  EXPECT_EQ(machine_.uses(Unproven::U36), 1u);
  machine_.options.semantics.choose(Unproven::U36, 1);
  EXPECT_THAT(refusal(0, Collector::Use, 8), HasSubstr("question U36"));
}

// B changes after the fill, which is not allowed: what is multiplied then is question U20.
TEST_F(Collected, MayKeepWhatFillRead) {
  for (const uint8_t rule : {0, 1}) {
    machine_.options.semantics.choose(Unproven::U20, rule);
    machine_.placeB(Mode::Bytes128);
    machine_.operation.enableInputD = false;
    run(1, Collector::Fill, 2);
    const uint32_t kept = machine_.result(3, 7, 0);
    EXPECT_EQ(machine_.memory.cells(3)[kDColumn + 7], kept);
    const Placement placement{Mode::Bytes128, false, 96 * 1024, 192, 16, 2};
    for (uint32_t row = 0; row < 128; ++row) std::memset(machine_.shared.write(placement.address(row, 0), 16, 1), 0, 16);
    for (uint32_t row = 0; row < 128; ++row) std::memset(machine_.shared.write(placement.address(row, 8), 16, 1), 0, 16);
    // Column 4 shifted by 5 is column 7 shifted by 2.
    run(1, Collector::LastUse, 5);
    EXPECT_EQ(machine_.memory.cells(3)[kDColumn + 4], rule == 1 ? kept : 0u);
    EXPECT_EQ(machine_.memory.cells(64 + 3)[kDColumn + 31], 0u) << "column 68 of B was not filled";
  }
}

}  // namespace
}  // namespace shiftconv::tests
