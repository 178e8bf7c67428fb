// One tcgen05.mma or tcgen05.mma.ws of a single CTA on random operands, and what the oracle says of it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/emulator/tensor/collector.hpp"
#include "common/emulator/tensor/mma.hpp"
#include "tests/emulator/tensor/operand_placement.hpp"
#include "tests/support/oracle.hpp"

namespace shiftconv::tests {

using namespace emulator;
using namespace emulator::tensor;

struct KindCase {
  MmaKind kind;
  uint32_t typeCode, accumulator;
  const oracle::Format* format;
  uint32_t bytes, depth;
};
inline const KindCase kF16Case{MmaKind::F16, 0, 1, &oracle::kF16, 2, 16};
inline const KindCase kF16HalfCase{MmaKind::F16, 0, 0, &oracle::kF16, 2, 16};
inline const KindCase kBf16Case{MmaKind::F16, 1, 1, &oracle::kBf16, 2, 16};
inline const KindCase kTf32Case{MmaKind::TF32, 2, 1, &oracle::kTf32, 4, 8};
inline const KindCase kE4m3Case{MmaKind::F8F6F4, 0, 1, &oracle::kE4m3, 1, 32};

inline constexpr uint32_t kDColumn = 128, kAColumn = 64;

/// One CTA with 512 columns, operands of random bits, and the result that the oracle expects.
class Machine {
 public:
  Machine(KindCase kind, IdescFields fields, uint32_t seed, bool weightStationary = false) : kind_(kind), random_(seed) {
    fields.d = kind.accumulator;
    fields.a = fields.b = kind.typeCode;
    idesc = fields;
    memory.allocate(512);
    operation.kind = kind.kind;
    operation.descriptor = decodeInstructionDescriptor(fields.word(), kind.kind, 1, {weightStationary, false});
    operation.weightStationary = weightStationary;
    operation.d = kDColumn;
    for (uint32_t i = 0; i < fields.m * kind.depth; ++i) a.push_back(element());
    for (uint32_t i = 0; i < rowsOfB() * kind.depth; ++i) b.push_back(element());
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
      for (uint32_t n = 0; n < fields.n; ++n) memory.store(lane, kDColumn + n, accumulator());
    }
  }

  void placeA(Mode mode) {
    const Placement placement{mode, idesc.transposeA, 0, idesc.m, kind_.depth, kind_.bytes};
    put(placement, a);
    operation.a = decodeMatrixDescriptor(placement.descriptor(), "A");
  }
  void placeB(Mode mode) {
    const Placement placement{mode, idesc.transposeB, 96 * 1024, rowsOfB(), kind_.depth, kind_.bytes};
    put(placement, b);
    operation.b = decodeMatrixDescriptor(placement.descriptor(), "B");
  }
  /// Row m of A at the lanes of row m of D, elements in order from the low bits up, 32 bytes a row.
  void placeAInTensorMemory(uint32_t baseLane = 0) {
    operation.aInTensorMemory = true;
    operation.aAddress = packAddress({baseLane, kAColumn});
    operation.d = packAddress({baseLane, kDColumn});
    for (uint32_t m = 0; m < idesc.m; ++m) {
      std::array<uint8_t, 32> row{};
      for (uint32_t k = 0; k < kind_.depth; ++k) std::memcpy(row.data() + k * kind_.bytes, &a[m * kind_.depth + k], kind_.bytes);
      for (uint32_t column = 0; column < 8; ++column) {
        uint32_t word;
        std::memcpy(&word, row.data() + 4 * column, 4);
        for (uint32_t n = 0; n < idesc.n; n += columns()) memory.store(cellOf(m, n, baseLane).first, kAColumn + column, word);
      }
    }
  }
  /// Lane and column of element (m, n) of D: layouts D, F, E and G of PTX ISA 9.7.16.10.5.
  std::pair<uint32_t, uint32_t> cellOf(uint32_t m, uint32_t n, uint32_t baseLane = 0) const {
    if (operation.weightStationary) return {m + idesc.m * (n / columns()), n % columns()};
    return {baseLane + (idesc.m == 64 ? m / 16 * 32 + m % 16 : m), n};
  }
  /// Tensor Memory columns of D: with .ws the lanes that M leaves free take a half or three quarters of them.
  uint32_t columns() const { return operation.weightStationary ? idesc.n * idesc.m / 128 : idesc.n; }

  void run() {
    const CtaMemories cta{memory, shared};
    const MmaContext context{{&cta, 1}, options, counters, collectors};
    checkMma(operation, context);
    enterCollector(operation, collector, context);
    performMma(operation, context);
  }

  /// Runs and compares every cell of the accumulator's columns with the oracle; other lanes must not change.
  void runAndCompare(const std::string& what) {
    const uint32_t width = columns(), base = operation.d >> 16;
    std::vector<uint32_t> expected;
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane)
      expected.insert(expected.end(), memory.cells(lane) + kDColumn, memory.cells(lane) + kDColumn + width);
    run();
    for (uint32_t m = 0; m < idesc.m; ++m) {
      for (uint32_t n = 0; n < idesc.n; ++n) {
        const auto [lane, column] = cellOf(m, n, base);
        if (operation.disabled[lane / 32] >> lane % 32 & 1) continue;
        uint32_t& cell = expected[lane * width + column];
        cell = result(m, n, cell);
      }
    }
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
      for (uint32_t n = 0; n < width; ++n)
        ASSERT_EQ(memory.cells(lane)[kDColumn + n], expected[lane * width + n]) << what << " lane " << lane << " column " << n;
    }
  }

  uint32_t result(uint32_t m, uint32_t n, uint32_t old) const {
    const auto row = [&](const std::vector<uint32_t>& matrix, uint32_t index) {
      std::vector<uint32_t> values(matrix.begin() + index * kind_.depth, matrix.begin() + (index + 1) * kind_.depth);
      if (kind_.kind == MmaKind::TF32) {
        for (uint32_t& value : values) value >>= 13;
      }
      return values;
    };
    std::vector<uint32_t> columnOfB = row(b, n + operation.columnMask.shift);
    if (!zero.empty() && zero[n]) columnOfB.assign(kind_.depth, 0);
    oracle::Accumulator accumulator;
    accumulator.half = idesc.d == 0;
    accumulator.enabled = operation.enableInputD;
    accumulator.scale = static_cast<int>(operation.scaleD);
    return oracle::multiplyAccumulate(*kind_.format, row(a, m), idesc.negateA, *kind_.format, columnOfB, idesc.negateB,
                                      accumulator.half ? old & 0xffff : old, accumulator);
  }

  uint64_t uses(Unproven id) const { return counters.unprovenUses[static_cast<size_t>(id)]; }

  IdescFields idesc;
  MmaOperation operation;
  TensorMemory memory{false};
  machine::SharedMemory shared{228 * 1024};
  Options options;
  Counters counters;
  CollectorState collector;
  CollectorBuffers collectors;
  std::vector<uint32_t> a, b;  ///< [row][k], words of tf32 operands with all 32 bits
  std::vector<bool> zero;      ///< .ws: the columns of D whose column of B counts as zero; empty: none

 private:
  /// .ws: as many more as any shift reaches, in whole swizzle atoms.
  uint32_t rowsOfB() const { return idesc.n + (operation.weightStationary ? 128 : 0); }
  uint32_t element() {
    const uint32_t bits = random_();
    if (kind_.bytes == 4) return random_() % 40 == 0 ? bits : (bits & 0x87ffffffu) | 0x38000000u;
    if (kind_.bytes == 1) return bits & 0xff;
    return bits & 0xffff;
  }
  uint32_t accumulator() {
    const uint32_t bits = random_();
    if (kind_.accumulator == 0) return bits;
    return random_() % 40 == 0 ? bits : (bits & 0x80ffffffu) | 0x3f000000u;
  }
  void put(const Placement& placement, const std::vector<uint32_t>& matrix) {
    for (uint32_t row = 0; row < placement.rows; ++row) {
      for (uint32_t k = 0; k < placement.depth; ++k) {
        std::memcpy(shared.write(placement.address(row, k), placement.bytes, 1), &matrix[row * placement.depth + k],
                    placement.bytes);
      }
    }
  }
  KindCase kind_;
  std::mt19937 random_;
};

}  // namespace shiftconv::tests
