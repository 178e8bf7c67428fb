// Block-scaled MMAs against the oracle: scale-factor layouts, sf ids, vector sizes, NaN factors (PTX ISA 9.7.16.10.7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/mma.hpp"
#include "tests/emulator/tensor/operand_placement.hpp"
#include "tests/support/oracle.hpp"

namespace shiftconv::tests::block_scale_test {
namespace {

using namespace emulator;
using namespace emulator::tensor;
using testing::HasSubstr;

constexpr uint32_t kDColumn = 128, kScaleAColumn = 40, kScaleBColumn = 48, kBStart = 64 * 1024;

struct ScaledCase {
  MmaKind kind = MmaKind::MXF8F6F4;
  uint32_t typeA = 0, typeB = 0;  ///< codes of the instruction descriptor
  const oracle::Format* formatA = &oracle::kE4m3;
  const oracle::Format* formatB = &oracle::kE4m3;
  uint32_t blocks = 1, idA = 0, idB = 0;
  bool isUe8m0 = true, negateA = false, negateB = false;
  uint32_t m = 128, n = 64, ctaGroup = 1;
};

class Scaled {
 public:
  Scaled(const ScaledCase& test, uint32_t seed) : test_(test), random_(seed) {
    depth_ = test.kind == MmaKind::MXF8F6F4 ? 32 : 64;
    rows_ = test.m / test.ctaGroup;
    const uint32_t word = test.idB << 4 | test.typeA << 7 | test.typeB << 10 | static_cast<uint32_t>(test.negateA) << 13 |
                          static_cast<uint32_t>(test.negateB) << 14 | (test.n / 8) << 17 |
                          static_cast<uint32_t>(test.isUe8m0) << 23 | (test.m / 128) << 27 | test.idA << 29;
    operation.kind = test.kind;
    operation.ctaGroup = test.ctaGroup;
    operation.descriptor = decodeInstructionDescriptor(word, test.kind, test.ctaGroup);
    operation.d = kDColumn;
    operation.scaleA = kScaleAColumn;
    operation.scaleB = kScaleBColumn;
    operation.scaleVector = test.blocks;
    fill(a, *test.formatA, test.m * depth_);
    fill(b, *test.formatB, test.n * depth_);
    for (uint32_t i = 0; i < test.m * test.blocks; ++i) scalesA.push_back(scaleBits());
    for (uint32_t i = 0; i < test.n * test.blocks; ++i) scalesB.push_back(scaleBits());
    for (uint32_t cta = 0; cta < test.ctaGroup; ++cta) {
      memory[cta].allocate(512);
      for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
        for (uint32_t column = 0; column < test.n; ++column)
          memory[cta].store(lane, kDColumn + column, (random_() & 0x87ffffff) | 0x38000000);
      }
      operation.a = place(cta, 0, a, *test.formatA, rows_, cta * rows_);
      operation.b = place(cta, kBStart, b, *test.formatB, test.n / test.ctaGroup, cta * test.n / test.ctaGroup);
      placeScales(cta);
    }
  }

  void run() {
    std::vector<CtaMemories> ctas;
    for (uint32_t cta = 0; cta < test_.ctaGroup; ++cta) ctas.push_back({memory[cta], shared[cta]});
    const MmaContext context{ctas, options, counters, collectors};
    checkMma(operation, context);
    performMma(operation, context);
  }

  void runAndCompare() {
    std::vector<uint32_t> old;
    for (uint32_t m = 0; m < test_.m; ++m) {
      for (uint32_t n = 0; n < test_.n; ++n) old.push_back(d(m, n));
    }
    run();
    for (uint32_t m = 0; m < test_.m; ++m) {
      for (uint32_t n = 0; n < test_.n; ++n)
        ASSERT_EQ(d(m, n), result(m, n, old[m * test_.n + n])) << "row " << m << " column " << n;
    }
  }

  uint32_t& d(uint32_t m, uint32_t n) {
    if (test_.ctaGroup == 2 && test_.m == 128) {
      return memory[m / 64].cells(m % 64 + 64 * (n / (test_.n / 2)))[kDColumn + n % (test_.n / 2)];
    }
    return memory[m / rows_].cells(m % rows_)[kDColumn + n];
  }

  uint32_t result(uint32_t m, uint32_t n, uint32_t old) const {
    const std::vector<uint32_t> x(a.begin() + m * depth_, a.begin() + (m + 1) * depth_),
        y(b.begin() + n * depth_, b.begin() + (n + 1) * depth_);
    std::vector<oracle::Number> sa, sb;
    for (uint32_t j = 0; j < test_.blocks; ++j) {
      sa.push_back(oracle::decodeScale(scalesA[m * test_.blocks + j], test_.isUe8m0));
      sb.push_back(oracle::decodeScale(scalesB[n * test_.blocks + j], test_.isUe8m0));
    }
    if (depth_ == 64)
      return oracle::multiplyAccumulateFourBit(x, y, test_.negateA != test_.negateB, sa, sb, old, operation.enableInputD);
    oracle::Accumulator accumulator;
    accumulator.enabled = operation.enableInputD;
    accumulator.productExponent = sa[0].exponent + sb[0].exponent;
    accumulator.nanScale = sa[0].nan || sb[0].nan;
    return oracle::multiplyAccumulate(*test_.formatA, x, test_.negateA, *test_.formatB, y, test_.negateB, old, accumulator);
  }

  MmaOperation operation;
  std::array<TensorMemory, 2> memory{TensorMemory(false), TensorMemory(false)};
  std::array<machine::SharedMemory, 2> shared{machine::SharedMemory(96 * 1024), machine::SharedMemory(96 * 1024)};
  Options options;
  Counters counters;
  CollectorBuffers collectors;
  std::vector<uint32_t> a, b, scalesA, scalesB;

 private:
  void fill(std::vector<uint32_t>& matrix, const oracle::Format& format, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) matrix.push_back(random_() & ((1u << oracle::width(format)) - 1));
  }
  uint32_t scaleBits() {
    if (random_() % 50 == 0) return test_.isUe8m0 ? 0xff : 0x7f;
    if (random_() % 10 == 0) return random_() & 0xff;
    return test_.isUe8m0 ? 120 + random_() % 14 : random_() & 0xff;
  }
  /// Rows of 32 bytes: 4-bit kinds two elements a byte; otherwise 16 elements in each 16-byte chunk, packed at its start.
  MatrixDescriptor place(uint32_t cta, uint32_t start, const std::vector<uint32_t>& matrix, const oracle::Format& format,
                         uint32_t rows, uint32_t firstRow) {
    const Placement placement{Mode::Bytes128, false, start, rows, 32, 1};
    const uint32_t bits = static_cast<uint32_t>(oracle::width(format)), perChunk = depth_ / 2;
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t chunk = 0; chunk < 2; ++chunk) {
        std::array<uint8_t, 16> bytes{};
        for (uint32_t i = 0; i < perChunk * bits; ++i) {
          const uint32_t element = matrix[(firstRow + row) * depth_ + chunk * perChunk + i / bits];
          bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] | (element >> i % bits & 1) << i % 8);
        }
        for (uint32_t i = 0; i < perChunk * bits / 8; ++i) {
          *shared[cta].write(placement.address(row, 16 * chunk + i), 1, 1) = static_cast<std::byte>(bytes[i]);
        }
      }
    }
    return decodeMatrixDescriptor(placement.descriptor(), "operand");
  }
  void setByte(uint32_t cta, uint32_t lane, uint32_t column, uint32_t byte, uint32_t value) {
    uint32_t& cell = memory[cta].cells(lane)[column];
    cell = (cell & ~(0xffu << 8 * byte)) | value << 8 * byte;
    memory[cta].written(lane)[column] = kWholeCell;
  }
  void placeScales(uint32_t cta) {
    const bool split = test_.ctaGroup == 2 && test_.m == 128;
    for (uint32_t j = 0; j < test_.blocks; ++j) {
      for (uint32_t window = 0; window < 4; ++window) {
        for (uint32_t row = 0; row < rows_; ++row) {
          setByte(cta, 32 * window + row % 32, kScaleAColumn + row / 32, test_.idA + j,
                  scalesA[(cta * rows_ + row) * test_.blocks + j]);
        }
        for (uint32_t n = 0; n < test_.n; ++n) {
          if (split && window / 2 != n / (test_.n / 2)) continue;
          const uint32_t local = split ? n % (test_.n / 2) : n;
          setByte(cta, 32 * window + local % 32, kScaleBColumn + local / 32, test_.idB + j, scalesB[n * test_.blocks + j]);
        }
      }
    }
  }
  ScaledCase test_;
  std::mt19937 random_;
  uint32_t depth_ = 0, rows_ = 0;
};

TEST(BlockScale, EightAndSixBitKinds) {
  for (uint32_t id = 0; id < 4; ++id) {
    Scaled(ScaledCase{.idA = id, .idB = 3 - id, .negateA = id == 2, .negateB = id == 1}, 31 + id).runAndCompare();
  }
  Scaled(ScaledCase{.typeA = 1, .formatA = &oracle::kE5m2, .n = 40}, 35).runAndCompare();
  Scaled(ScaledCase{.typeA = 3, .typeB = 4, .formatA = &oracle::kE2m3, .formatB = &oracle::kE3m2}, 36).runAndCompare();
  Scaled(ScaledCase{.typeA = 5, .typeB = 5, .formatA = &oracle::kE2m1, .formatB = &oracle::kE2m1, .n = 256}, 37).runAndCompare();
}

TEST(BlockScale, FourBitKinds) {
  ScaledCase test{.kind = MmaKind::MXF4, .typeA = 1, .typeB = 1, .formatA = &oracle::kE2m1, .formatB = &oracle::kE2m1, .blocks = 2};
  for (const uint32_t id : {0u, 2u}) {
    test.idA = id;
    test.idB = 2 - id;
    Scaled(test, 41 + id).runAndCompare();
  }
  test = {.kind = MmaKind::MXF4NVF4, .typeA = 1, .typeB = 1, .formatA = &oracle::kE2m1, .formatB = &oracle::kE2m1, .blocks = 4};
  for (const bool isUe8m0 : {false, true}) {
    test.isUe8m0 = isUe8m0;
    test.negateA = isUe8m0;
    for (const bool negateB : {false, true}) {
      test.negateB = negateB;
      Scaled(test, 45).runAndCompare();
    }
  }
}

TEST(BlockScale, PairsOfCtas) {
  for (const uint32_t m : {128u, 256u}) {
    Scaled(ScaledCase{.m = m, .n = 96, .ctaGroup = 2}, 51).runAndCompare();
    Scaled(ScaledCase{.kind = MmaKind::MXF4NVF4,
                      .typeA = 1,
                      .typeB = 1,
                      .formatA = &oracle::kE2m1,
                      .formatB = &oracle::kE2m1,
                      .blocks = 4,
                      .isUe8m0 = false,
                      .m = m,
                      .n = 64,
                      .ctaGroup = 2},
           52)
        .runAndCompare();
  }
}

TEST(BlockScale, WithoutTheOldAccumulator) {
  Scaled machine(ScaledCase{}, 53);
  machine.operation.enableInputD = false;
  machine.runAndCompare();
  EXPECT_EQ(machine.counters.mma.at("kind::mxf8f6f4 m128n64k32 a:smem scale_vec::1X"), 1u);
}

TEST(BlockScale, UndefinedOrStaleFactorsMakeTheirRowOrColumnUndefined) {
  for (const uint8_t state : {uint8_t{kNothing}, uint8_t{kWholeCell | kStale}}) {
    Scaled machine({}, 56);
    machine.memory[0].written(70)[kScaleAColumn + 2] = state;  // row 70 of A, as its own window finds it
    machine.memory[0].written(3)[kScaleAColumn + 2] = state;   // row 67, in a window that does not use it
    machine.memory[0].written(96)[kScaleBColumn + 1] = state;  // column 32, for the lanes of the last window
    machine.run();
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane)
      for (uint32_t n = 0; n < 64; ++n)
        EXPECT_EQ(machine.memory[0].isDefined(lane, kDColumn + n, 1, kWholeCell), lane != 70 && (lane < 96 || n != 32))
            << "lane " << lane << ", column " << n;
  }
}

TEST(BlockScale, RefusesBadFactors) {
  const auto refused = [](const char* part, ScaledCase test, auto change) {
    Scaled machine(test, 54);
    change(machine);
    try {
      machine.run();
      ADD_FAILURE() << "no error; expected " << part;
    } catch (const EmulatorError& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  };
  const ScaledCase four{
      .kind = MmaKind::MXF4, .typeA = 1, .typeB = 1, .formatA = &oracle::kE2m1, .formatB = &oracle::kE2m1, .blocks = 2};
  refused("id 1 of A must be 0 or 2", four, [](Scaled& s) { s.operation.descriptor.scaleIdA = 1; });
  refused("id 3 of B with 2 factors", four, [](Scaled& s) { s.operation.descriptor.scaleIdB = 3; });
  refused("lane must be 0", {}, [](Scaled& s) { s.operation.scaleA = packAddress({32, kScaleAColumn}); });
  refused("scale factors of B reaches columns 511..512", {}, [](Scaled& s) { s.operation.scaleB = 511; });
  refused("question U21", {}, [](Scaled& s) {
    s.operation.scaleA |= 0x40000000;
    s.options.semantics.choose(Unproven::U21, 1);
  });
  refused("question U27", {.n = 48}, [](Scaled& s) { s.options.semantics.choose(Unproven::U27, 1); });
  Scaled high(ScaledCase{.n = 48}, 55);
  high.operation.scaleA |= 0x40000000;
  high.runAndCompare();
  EXPECT_EQ(high.counters.unprovenUses[static_cast<size_t>(Unproven::U21)], 1u);
  EXPECT_EQ(high.counters.unprovenUses[static_cast<size_t>(Unproven::U27)], 1u);
}

}  // namespace
}  // namespace shiftconv::tests::block_scale_test
