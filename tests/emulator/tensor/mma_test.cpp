// Whole tcgen05.mma operations against the oracle: operand placements, accumulator layouts, masks, shifts, alternatives.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "common/emulator/error.hpp"
#include "tests/emulator/tensor/mma_machine.hpp"

namespace shiftconv::tests {
namespace {

using testing::HasSubstr;

std::string_view modeName(Mode mode) { return toString(static_cast<Swizzle>(mode)); }

TEST(Mma, KMajorOperandsInEverySwizzle) {
  for (const KindCase& kind : {kF16Case, kF16HalfCase, kBf16Case, kTf32Case, kE4m3Case}) {
    for (const Mode mode : {Mode::None, Mode::Bytes32, Mode::Bytes64, Mode::Bytes128}) {
      Machine machine(kind, {.n = 24}, 11);
      machine.placeA(mode);
      machine.placeB(mode == Mode::None ? Mode::Bytes128 : Mode::None);
      machine.runAndCompare(fmt::format("{} {}", kind.format->name, modeName(mode)));
    }
  }
}

TEST(Mma, MnMajorOperandsInEverySwizzle) {
  for (const KindCase& kind : {kF16Case, kBf16Case, kE4m3Case}) {
    for (const Mode mode : {Mode::None, Mode::Bytes32, Mode::Bytes64, Mode::Bytes128}) {
      Machine machine(kind, {.n = 128, .transposeA = true, .transposeB = true}, 12);
      machine.placeA(mode);
      machine.placeB(mode);
      machine.runAndCompare(fmt::format("{} {}", kind.format->name, modeName(mode)));
    }
  }
  Machine tf32(kTf32Case, {.n = 32, .transposeA = true, .transposeB = true}, 13);
  tf32.placeA(Mode::Base32);
  tf32.placeB(Mode::Base32);
  tf32.runAndCompare("tf32 with 32-byte atoms");
}

TEST(Mma, OperandAInTensorMemory) {
  for (const KindCase& kind : {kF16Case, kF16HalfCase, kBf16Case, kTf32Case, kE4m3Case}) {
    for (const uint32_t m : {64u, 128u}) {
      Machine machine(kind, {.m = m, .n = 40}, 14);
      machine.placeAInTensorMemory(m == 64 ? 16 : 0);
      machine.placeB(Mode::Bytes128);
      machine.runAndCompare(fmt::format("{} m{}", kind.format->name, m));
    }
  }
}

TEST(Mma, RowsOfM64StandInTheirLanes) {
  Machine machine(kF16Case, {.m = 64, .n = 256}, 15);
  machine.placeA(Mode::Bytes64);
  machine.placeB(Mode::Bytes32);
  machine.runAndCompare("m64");
  machine.operation.d = packAddress({16, kDColumn});
  machine.runAndCompare("m64 at lane 16");
}

TEST(Mma, NegationScaleAndReplacement) {
  for (const bool negateA : {false, true}) {
    Machine machine(kF16Case, {.n = 16, .negateA = negateA, .negateB = true}, 16);
    machine.placeA(Mode::Bytes128);
    machine.placeB(Mode::Bytes128);
    machine.runAndCompare("negated");
    machine.operation.scaleD = 7;
    machine.runAndCompare("scale-input-d 7");
    EXPECT_EQ(machine.uses(Unproven::U15), 1u);
    machine.operation.enableInputD = false;
    machine.runAndCompare("enable-input-d false");
  }
}

TEST(Mma, LaneMasksKeepAccumulators) {
  for (const uint32_t m : {64u, 128u}) {
    for (const bool enable : {true, false}) {
      Machine machine(kBf16Case, {.m = m, .n = 16}, 17);
      machine.placeAInTensorMemory();
      machine.placeB(Mode::None);
      machine.operation.masked = true;
      machine.operation.disabled = {0x80000001u, 0xaaaaaaaau, 0xffffffffu, 0x0000fff0u};
      machine.operation.enableInputD = enable;
      machine.runAndCompare(fmt::format("m{} enable {}", m, enable));
      EXPECT_EQ(machine.uses(Unproven::U26), enable ? 0u : 1u);
    }
  }
}

using Cells = std::set<std::pair<uint32_t, uint32_t>>;  ///< lane and column of D

Cells lane(uint32_t m, uint32_t columns) {
  Cells cells;
  for (uint32_t n = 0; n < columns; ++n) cells.insert({m, n});
  return cells;
}

Cells undefinedCells(Machine& machine, uint32_t columns) {
  Cells cells;
  for (uint32_t m = 0; m < 128; ++m)
    for (uint32_t n = 0; n < columns; ++n)
      if (!machine.memory.isDefined(m, kDColumn + n, 1, kWholeCell)) cells.insert({m, n});
  return cells;
}

TEST(Mma, UndefinedDataOfEnabledLanesMakesTheirAccumulatorsUndefined) {
  Machine machine(kF16Case, {.n = 16}, 18);
  machine.placeAInTensorMemory();
  machine.placeB(Mode::Bytes128);
  machine.memory.written(45)[kAColumn + 3] = kNothing;
  machine.memory.written(45)[kDColumn + 9] = kNothing;
  machine.operation.disabled[1] = 1u << 13;
  machine.runAndCompare("masked lane 45");
  EXPECT_TRUE(machine.memory.isDefined(45, kDColumn, 9, kWholeCell)) << "not touched";
  machine.operation.disabled[1] = 0;
  machine.memory.written(45)[kAColumn + 3] = kWholeCell;
  machine.run();
  EXPECT_EQ(undefinedCells(machine, 16), (Cells{{45, 9}})) << "the one accumulator that was undefined before";
  machine.operation.enableInputD = false;
  machine.runAndCompare("accumulator not read");
  EXPECT_EQ(undefinedCells(machine, 16), Cells());
  machine.memory.written(45)[kAColumn + 3] = kNothing;
  machine.run();
  EXPECT_EQ(undefinedCells(machine, 16), lane(45, 16)) << "a row of A";
  machine.memory.written(45)[kAColumn + 3] = kWholeCell | kStale;
  machine.memory.written(45)[kDColumn] = kWholeCell;
  machine.run();
  EXPECT_EQ(undefinedCells(machine, 16), lane(45, 16)) << "a row that a shift left behind";
}

TEST(Mma, UndefinedSharedMemoryMakesWhatIsMultipliedWithItUndefined) {
  for (const bool transposed : {false, true}) {
    Machine machine(kF16Case, {.n = 64, .transposeA = transposed, .transposeB = transposed}, 19);
    machine.placeA(Mode::Bytes128);
    machine.placeB(Mode::Bytes128);
    const Placement placement{Mode::Bytes128, transposed, 0, 128, 16, 2};
    machine.shared.poison(placement.address(77, 5), 2);
    machine.operation.enableInputD = false;
    machine.run();
    EXPECT_EQ(undefinedCells(machine, 64), lane(77, 64));
    machine.operation.disabled[2] = 1u << 13;
    machine.runAndCompare("row 77 disabled");
    const Placement other{Mode::Bytes128, transposed, 96 * 1024, 64, 16, 2};
    machine.shared.poison(other.address(3, 9), 2);
    machine.run();
    Cells column;
    for (uint32_t m = 0; m < 128; ++m)
      for (uint32_t n = 0; n < 64; ++n)
        if (m == 77 || n == 3) column.insert({m, n});
    EXPECT_EQ(undefinedCells(machine, 64), column) << "row 77 was disabled and stays undefined";
  }
}

TEST(Mma, ShiftOfAComesAfterTheMma) {
  Machine machine(kF16Case, {.n = 16}, 20);
  machine.placeAInTensorMemory();
  machine.placeB(Mode::Bytes128);
  machine.operation.shiftA = true;
  machine.operation.disabled = {0xffff0000u, 0, 0, 0xffffffffu};
  for (uint32_t step = 0; step < 3; ++step) {
    machine.runAndCompare(fmt::format("step {}", step));
    // What the next MMA must see: rows moved down inside each window, the mask notwithstanding.
    std::vector<uint32_t> shifted = machine.a;
    for (uint32_t m = 0; m < 128; ++m) {
      const uint32_t from = m % 32 == 31 ? m : m + 1;
      std::copy_n(machine.a.begin() + from * 16, 16, shifted.begin() + m * 16);
    }
    machine.a = shifted;
  }
  EXPECT_EQ(machine.uses(Unproven::U3), 3u);
  EXPECT_EQ(machine.uses(Unproven::U25), 3u);
  EXPECT_EQ(machine.counters.mma.at("kind::f16 m128n16k16 a:tmem ashift"), 3u);
}

TEST(Mma, ShiftAlternatives) {
  const auto prepared = [](uint32_t m) {
    auto machine = std::make_unique<Machine>(kF16Case, IdescFields{.m = m, .n = 16}, 21);
    machine->placeAInTensorMemory();
    machine->placeB(Mode::Bytes128);
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
      for (uint32_t column = 0; column < 32; ++column) machine->memory.store(lane, kAColumn + column, 0x10000 * lane + column);
    }
    machine->operation.shiftA = true;
    return machine;
  };
  auto machine = prepared(128);
  machine->options.semantics.choose(Unproven::U3, 1);
  machine->run();
  EXPECT_EQ(machine->memory.cells(4)[kAColumn + 31], 0x10000u * 5 + 31);
  machine = prepared(128);
  machine->operation.disabled[0] = 1u << 4;
  machine->options.semantics.choose(Unproven::U25, 1);
  machine->run();
  EXPECT_EQ(machine->memory.cells(4)[kAColumn], 0x10000u * 4);
  EXPECT_EQ(machine->memory.cells(3)[kAColumn], 0x10000u * 4);
  EXPECT_EQ(machine->memory.cells(5)[kAColumn], 0x10000u * 6);
  EXPECT_EQ(machine->memory.cells(5)[kAColumn + 8], 0x10000u * 5 + 8);
  machine = prepared(64);
  EXPECT_THROW(machine->run(), EmulatorError);
  machine->options.semantics.choose(Unproven::U24, 1);
  machine->run();
  EXPECT_EQ(machine->memory.cells(32 + 14)[kAColumn], 0x10000u * (32 + 15));
  EXPECT_EQ(machine->memory.cells(32 + 15)[kAColumn], 0x10000u * (32 + 15));
  machine = prepared(64);
  machine->options.semantics.choose(Unproven::U24, 2);
  machine->run();
  EXPECT_EQ(machine->memory.cells(3)[kAColumn], 0x10000u * 3);
}

TEST(Mma, HighHalvesOfF16Accumulators) {
  for (const uint8_t rule : {0, 1, 2}) {
    Machine machine(kF16HalfCase, {.n = 8}, 22);
    machine.placeA(Mode::Bytes128);
    machine.placeB(Mode::Bytes128);
    for (uint32_t n = 0; n < 8; ++n) machine.memory.store(7, kDColumn + n, 0xabcd3c00u);
    machine.options.semantics.choose(Unproven::U9, rule);
    machine.run();
    EXPECT_EQ(machine.memory.cells(7)[kDColumn] >> 16, rule == 0 ? 0u : 0xabcdu);
    EXPECT_EQ(machine.memory.cells(7)[kDColumn] & 0xffff, machine.result(7, 0, 0x3c00));
    EXPECT_EQ(machine.memory.written(7)[kDColumn], rule == 2 ? kLowHalf : kWholeCell);
    machine.run();  // reads low halves only, so it is legal under every rule
  }
}

TEST(Mma, MaskedLanesMayBeZeroedInTheOtherReading) {
  Machine machine(kF16Case, {.n = 8}, 23);
  machine.placeA(Mode::Bytes128);
  machine.placeB(Mode::Bytes128);
  machine.operation.disabled[0] = 2;
  machine.operation.enableInputD = false;
  machine.options.semantics.choose(Unproven::U26, 1);
  machine.run();
  EXPECT_EQ(machine.memory.cells(1)[kDColumn + 5], 0u);
}

TEST(Mma, CollectorMayKeepWhatFillRead) {
  for (const uint8_t rule : {0, 1}) {
    Machine machine(kF16Case, {.n = 8}, 24);
    for (std::vector<uint32_t>* matrix : {&machine.a, &machine.b}) {
      for (uint32_t& bits : *matrix) bits = (bits & 0x83ffu) | 0x3c00u;  // finite and not zero
    }
    machine.placeA(Mode::Bytes128);
    machine.placeB(Mode::Bytes128);
    machine.options.semantics.choose(Unproven::U20, rule);
    machine.operation.enableInputD = false;
    machine.operation.collector = Collector::Fill;
    machine.run();
    const uint32_t filled = machine.memory.cells(0)[kDColumn];
    std::memset(machine.shared.write(0, 32, 1), 0, 32);  // row 0
    machine.operation.collector = Collector::LastUse;
    machine.run();
    EXPECT_EQ(machine.memory.cells(0)[kDColumn], rule == 1 ? filled : 0u);
  }
}

uint64_t bytesOf(const Counters& counters, Engine engine, Traffic traffic) {
  return counters.bytes[static_cast<size_t>(engine)][static_cast<size_t>(traffic)];
}

// A is read by the fill; `use` and `lastuse` read B alone. Without a modifier (discard) it is read every time.
TEST(Mma, WhatTheCollectorHoldsIsNotReadAgain) {
  Machine machine(kF16Case, {.n = 24}, 62);
  machine.placeA(Mode::Bytes128);
  machine.placeB(Mode::Bytes128);
  const auto readWith = [&](Collector collector) {
    machine.operation.collector = collector;
    machine.counters = {};
    machine.run();
    return bytesOf(machine.counters, Engine::TensorCore, Traffic::SharedRead);
  };
  EXPECT_EQ(readWith(Collector::Fill), (128u + 24u) * 32u);
  EXPECT_EQ(readWith(Collector::Use), 24u * 32u);
  EXPECT_EQ(readWith(Collector::Use), 24u * 32u);
  EXPECT_EQ(readWith(Collector::LastUse), 24u * 32u);
  EXPECT_EQ(readWith(Collector::Discard), (128u + 24u) * 32u);
}

TEST(Mma, UsesOfTheCollectorNeedAValidFillOfTheSameOperand) {
  const auto refusal = [](const std::vector<Collector>& before, Collector collector, uint32_t moved) {
    Machine machine(kF16Case, {.n = 24}, 63);
    machine.placeA(Mode::Bytes128);
    machine.placeB(Mode::Bytes128);
    for (const Collector earlier : before) {
      machine.operation.collector = earlier;
      machine.run();
    }
    machine.operation.a.start += moved;
    machine.operation.collector = collector;
    try {
      machine.run();
    } catch (const EmulatorError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::IllegalInstruction);
      return std::string(error.what());
    }
    return std::string();
  };
  for (const Collector uses : {Collector::Use, Collector::LastUse}) {
    EXPECT_NE(refusal({}, uses, 0).find("holds nothing"), std::string::npos);
    EXPECT_EQ(refusal({Collector::Fill}, uses, 0), "");
    EXPECT_EQ(refusal({Collector::Fill, Collector::Use}, uses, 0), "");
    EXPECT_NE(refusal({Collector::Fill, Collector::LastUse}, uses, 0).find("holds nothing"), std::string::npos);
    EXPECT_NE(refusal({Collector::Fill, Collector::Discard}, uses, 0).find("holds nothing"), std::string::npos);
    EXPECT_NE(refusal({Collector::Fill}, uses, 1024).find("another operand"), std::string::npos);
  }
}

// M = 128, N = 24: 128 rows of A and 24 of B, 32 bytes each; the accumulator is read only with enable-input-d.
TEST(Mma, CountsItsBytes) {
  Machine machine(kF16Case, {.n = 24}, 61);
  machine.placeA(Mode::Bytes128);
  machine.placeB(Mode::Bytes128);
  machine.run();
  EXPECT_EQ(bytesOf(machine.counters, Engine::TensorCore, Traffic::SharedRead), (128u + 24u) * 32u);
  EXPECT_EQ(bytesOf(machine.counters, Engine::TensorCore, Traffic::TmemRead), 128u * 24u * 4u);
  EXPECT_EQ(bytesOf(machine.counters, Engine::TensorCore, Traffic::TmemWrite), 128u * 24u * 4u);
  machine.placeAInTensorMemory();
  machine.operation.enableInputD = false;
  machine.counters = {};
  machine.run();
  EXPECT_EQ(bytesOf(machine.counters, Engine::TensorCore, Traffic::SharedRead), 24u * 32u);
  EXPECT_EQ(bytesOf(machine.counters, Engine::TensorCore, Traffic::TmemRead), 128u * 32u);
  EXPECT_EQ(bytesOf(machine.counters, Engine::TensorCore, Traffic::TmemWrite), 128u * 24u * 4u);
  // Rows of masked lanes are not read.
  machine.operation.masked = true;
  machine.operation.disabled = {0, 0xffffffffu, 0, 0};
  machine.counters = {};
  machine.run();
  EXPECT_EQ(bytesOf(machine.counters, Engine::TensorCore, Traffic::TmemRead), 96u * 32u);
  EXPECT_EQ(bytesOf(machine.counters, Engine::TensorCore, Traffic::TmemWrite), 96u * 24u * 4u);
}

TEST(Mma, AddressesBeyond18BitsAreCounted) {
  Machine machine(kF16Case, {.n = 16}, 62);
  machine.placeA(Mode::Bytes128);
  machine.placeB(Mode::Bytes128);
  machine.operation.b.start = 0;
  machine.operation.b.strideOffset = 0x40000;  // rows 8..15 are beyond, or wrap to the first eight
  EXPECT_THROW(machine.run(), EmulatorError);
  EXPECT_EQ(machine.uses(Unproven::U28), 1u);
  machine.options.semantics.choose(Unproven::U28, 1);
  machine.counters = {};
  machine.run();
  EXPECT_EQ(machine.uses(Unproven::U28), 16u) << "two chunks of each of rows 8..15";
}

// Fast numerics with scale-input-d: the old accumulator is multiplied by 2^-scale, whatever the products are.
TEST(Mma, FastNumericsScaleTheirInput) {
  Machine machine(kF16Case, {.n = 16}, 63);
  std::fill(machine.a.begin(), machine.a.end(), 0u);
  std::fill(machine.b.begin(), machine.b.end(), 0u);
  machine.placeA(Mode::Bytes128);
  machine.placeB(Mode::Bytes128);
  machine.options.numerics = Numerics::Fast;
  machine.operation.scaleD = 5;
  for (uint32_t lane = 0; lane < 128; ++lane)
    machine.memory.store(lane, kDColumn + lane % 16, std::bit_cast<uint32_t>(96.0f + static_cast<float>(lane)));
  machine.run();
  for (uint32_t lane = 0; lane < 128; ++lane)
    EXPECT_EQ(std::bit_cast<float>(machine.memory.cells(lane)[kDColumn + lane % 16]), (96.0f + static_cast<float>(lane)) / 32.0f)
        << lane;
}

TEST(Mma, FastNumericsAreClose) {
  Machine machine(kBf16Case, {.n = 64}, 25);
  for (std::vector<uint32_t>* matrix : {&machine.a, &machine.b}) {
    for (uint32_t& bits : *matrix) bits = (bits & 0x807fu) | 0x3f80u;  // 1 <= |x| < 2
  }
  machine.placeAInTensorMemory();
  machine.placeB(Mode::Bytes128);
  machine.options.numerics = Numerics::Fast;
  machine.operation.enableInputD = false;
  machine.run();
  for (uint32_t m = 0; m < 128; ++m) {
    for (uint32_t n = 0; n < 64; ++n) {
      float got, want;
      const uint32_t wantBits = machine.result(m, n, 0);
      std::memcpy(&got, &machine.memory.cells(m)[kDColumn + n], 4);
      std::memcpy(&want, &wantBits, 4);
      ASSERT_NEAR(got, want, 64 * 17 * 0x1p-24) << m << " " << n;
    }
  }
}

TEST(Mma, IllegalPlacementsAreRefused) {
  const auto refused = [](ErrorKind kind, const char* part, auto change) {
    Machine machine(kF16Case, {.n = 32}, 26);
    machine.placeAInTensorMemory();
    machine.placeB(Mode::Bytes128);
    change(machine);
    try {
      machine.run();
      ADD_FAILURE() << "no error; expected " << part;
    } catch (const EmulatorError& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  };
  refused(ErrorKind::Misaligned, "accumulator of tcgen05.mma starts at lane 16", [](Machine& m) {
    m.operation.d = packAddress({16, 0});
  });
  refused(ErrorKind::Misaligned, "Operand A of tcgen05.mma starts at lane 32", [](Machine& m) {
    m.operation.aAddress = packAddress({32, 0});
  });
  refused(ErrorKind::OutOfBounds, "columns 496..527", [](Machine& m) { m.operation.d = 496; });
  refused(ErrorKind::OutOfBounds, "columns 508..515", [](Machine& m) { m.operation.aAddress = 508; });
  refused(ErrorKind::Descriptor, "always K-major", [](Machine& m) { m.operation.descriptor.transposeA = true; });
  refused(ErrorKind::Misaligned, "question U23", [](Machine& m) {
    m.options.semantics.choose(Unproven::U23, 2);
    m.operation.d = 100;
  });
  refused(ErrorKind::OutOfBounds, "the CTA has", [](Machine& m) { m.operation.b.start = 250 * 1024; });
}

}  // namespace
}  // namespace shiftconv::tests
