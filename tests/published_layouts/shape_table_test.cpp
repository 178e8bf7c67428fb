// The matrix-shape table, PTX ISA 9.0, 9.7.16.2.1, table 39 (dense forms without .ws): every legal M and N of every kind runs and
// fills exactly its accumulator; every other M and N that the instruction descriptor can express is refused by name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/emulator/error.hpp"
#include "tests/published_layouts/single_mma.hpp"

namespace shiftconv::tests::layouts {
namespace {

using emulator::Emulator;
using emulator::EmulatorError;
using emulator::ErrorKind;

struct Row {
  const Kind* kind;
  uint32_t ctaGroup;
  std::vector<uint32_t> m;
  std::vector<uint32_t> n;
};

std::vector<uint32_t> steps(uint32_t first, uint32_t step) {
  std::vector<uint32_t> values;
  for (uint32_t n = first; n <= 256; n += step) values.push_back(n);
  return values;
}

std::vector<Row> table() {
  std::vector<Row> rows;
  for (const Kind* kind : {&kF16, &kTf32, &kF8f6f4}) {
    rows.push_back({kind, 1, {64, 128}, steps(8, 8)});
    rows.push_back({kind, 2, {128, 256}, steps(16, 16)});
  }
  std::vector<uint32_t> integers{8, 16, 24, 32};
  for (const uint32_t n : steps(48, 16)) integers.push_back(n);
  rows.push_back({&kI8, 1, {64, 128}, integers});
  rows.push_back({&kI8, 2, {128, 256}, steps(32, 32)});
  for (const Kind* kind : {&kMxf8f6f4, &kMxf4, &kMxf4nvf4}) {
    rows.push_back({kind, 1, {128}, steps(8, 8)});
    rows.push_back({kind, 2, {128, 256}, steps(16, 16)});
  }
  return rows;
}

bool contains(const std::vector<uint32_t>& values, uint32_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

class ShapeTable : public testing::TestWithParam<Row> {
 protected:
  /// With these numbers of columns.
  void expectShapesRun(const std::vector<uint32_t>& columns);
};

void ShapeTable::expectShapesRun(const std::vector<uint32_t>& columns) {
  const Row& row = GetParam();
  std::vector<int> products(256 * 256);
  for (uint32_t m = 0; m < 256; ++m) {
    for (uint32_t n = 0; n < 256; ++n) products[m * 256 + n] = product(m, n, row.kind->depth);
  }
  Emulator machine;
  uint32_t turn = 0;  // goes through element and accumulator types
  for (const uint32_t m : row.m) {
    for (const uint32_t n : columns) {
      const auto types = static_cast<uint32_t>(row.kind->types.size());
      SingleMma mma{.kind = row.kind, .ctaGroup = row.ctaGroup, .m = m, .n = n};
      mma.typeA = turn % types;
      mma.typeB = row.kind == &kF16 ? mma.typeA : turn / types % types;
      mma.accumulator = row.kind->accumulators[turn / 2 % row.kind->accumulators.size()];
      // bf16 goes with an f32 accumulator only.
      if (mma.a().name == "bf16") mma.accumulator = 1;
      ++turn;
      expectAccumulators(mma, mma.run(machine), [&](uint32_t i, uint32_t j) { return static_cast<float>(products[i * 256 + j]); });
      if (HasFatalFailure()) return;
    }
  }
}

/// The fewest and the most columns, and every fifth number between them, odd and even multiples of the step.
TEST_P(ShapeTable, LegalShapesRun) {
  const std::vector<uint32_t>& legal = GetParam().n;
  std::vector<uint32_t> columns;
  for (size_t i = 0; i < legal.size(); i += 5) columns.push_back(legal[i]);
  if (columns.back() != legal.back()) columns.push_back(legal.back());
  expectShapesRun(columns);
}

class WholeShapeTable : public ShapeTable {};
TEST_P(WholeShapeTable, EveryLegalShapeRuns) { expectShapesRun(GetParam().n); }

/// The refusal of an MMA, which must name the kind.
std::string refusal(Emulator& machine, SingleMma mma) {
  mma.accumulator = mma.kind->accumulators.front();
  try {
    mma.run(machine);
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Descriptor) << error.what();
    EXPECT_NE(std::string(error.what()).find(fmt::format("kind::{}", mma.kind->name)), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << mma.name() << " ran";
  return {};
}

TEST_P(ShapeTable, OtherColumnCountsAreRefused) {
  const Row& row = GetParam();
  Emulator machine;
  uint32_t refused = 0;
  for (uint32_t field = 0; field < 64; ++field) {  // bits 22:17
    const uint32_t n = field * 8;
    if (contains(row.n, n)) continue;
    // Descriptor bits alone; the operands stay those of a legal shape.
    const uint32_t legal = row.n.back();
    const std::string text = refusal(
        machine,
        {.kind = row.kind, .ctaGroup = row.ctaGroup, .m = row.m.back(), .n = legal, .flippedBits = (field ^ legal / 8) << 17});
    EXPECT_NE(text.find(fmt::format("N = {} is not legal", n)), std::string::npos) << text;
    EXPECT_NE(text.find("in steps of"), std::string::npos) << "the rule is missing: " << text;
    ++refused;
  }
  EXPECT_EQ(refused, 64 - row.n.size());
}

TEST_P(ShapeTable, OtherRowCountsAreRefused) {
  const Row& row = GetParam();
  Emulator machine;
  const bool scaled = row.kind->blockScaled;
  // Bits 28:24 hold M / 16; block-scaled kinds have M / 128 in bits 28:27 and zeros in 26:24.
  for (uint32_t field = 0; field < 32; ++field) {
    const uint32_t m = field * 16, legal = row.m.back();
    if (contains(row.m, m)) continue;
    const std::string text = refusal(
        machine, {.kind = row.kind, .ctaGroup = row.ctaGroup, .m = legal, .n = 64, .flippedBits = (field ^ legal / 16) << 24});
    const std::string expected = scaled && m % 128 != 0 ? "bits 26:24" : fmt::format("M = {} is not legal", m);
    EXPECT_NE(text.find(expected), std::string::npos) << "no '" << expected << "' in: " << text;
  }
}

/// K is fixed by the kind; the one descriptor bit that would change it asks for K = 96, which only sm_103a has.
TEST_P(ShapeTable, OtherDepthsAreRefused) {
  const Row& row = GetParam();
  Emulator machine;
  const std::string text =
      refusal(machine, {.kind = row.kind, .ctaGroup = row.ctaGroup, .m = row.m.back(), .n = 64, .flippedBits = 1u << 31});
  EXPECT_NE(text.find(row.kind->depth == 64 ? "K = 96" : "31"), std::string::npos) << text;
}

/// Sparse operands double K: bit 2 without .sp.
TEST_P(ShapeTable, SparseBitIsRefused) {
  const Row& row = GetParam();
  Emulator machine;
  try {
    const SingleMma mma{.kind = row.kind,
                        .ctaGroup = row.ctaGroup,
                        .m = row.m.back(),
                        .n = 64,
                        .accumulator = row.kind->accumulators.front(),
                        .flippedBits = 4};
    mma.run(machine);
    ADD_FAILURE() << mma.name() << " ran";
  } catch (const EmulatorError& error) {
    EXPECT_NE(std::string(error.what()).find("bit 2 says sparse"), std::string::npos) << error.what();
  }
}

std::string nameOf(const testing::TestParamInfo<Row>& info) {
  return fmt::format("{}_group{}", info.param.kind->name, info.param.ctaGroup);
}
INSTANTIATE_TEST_SUITE_P(Table39, ShapeTable, testing::ValuesIn(table()), nameOf);
INSTANTIATE_TEST_SUITE_P(Nightly, WholeShapeTable, testing::ValuesIn(table()), nameOf);

}  // namespace
}  // namespace shiftconv::tests::layouts
