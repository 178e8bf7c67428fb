// What each alternative of a question leaves in Tensor Memory. Written from the wording of PTX ISA 9.0, 9.7.16, and of the
// alternatives; nothing here is shared with the emulator.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tests/probe/question.hpp"
#include "tests/probe/state.hpp"

namespace shiftconv::probe {
namespace {

using emulator::Unproven;

// ---------------------------------------------------------------------------------------------------------------------
// States before the operation.

/// Distinct in every cell. Columns from kAccumulatorColumn on are finite f32 values between 2 and 3.
uint32_t distinctCells(uint32_t lane, uint32_t column) {
  return column < kAccumulatorColumn ? lane * 512 + column : 0x40000000u | lane << 12 | column;
}
uint32_t onesInHalfPrecision(uint32_t lane, uint32_t column) {
  return column < kAccumulatorColumn ? 0x3C003C00u : distinctCells(lane, column);
}
uint32_t onesOverAllBitsSet(uint32_t lane, uint32_t column) {
  return column < kAccumulatorColumn ? onesInHalfPrecision(lane, column) : 0xFFFFFFFFu;
}
constexpr uint32_t kSmallestNormal = 0x00800000u;  // 2^-126
uint32_t zerosOverSmallestNormals(uint32_t, uint32_t column) { return column < kAccumulatorColumn ? 0 : kSmallestNormal; }

/// Rows of A: row r of a window holds 16 times r + 1 in f16.
uint32_t halfOf(uint32_t value) {
  const uint32_t exponent = static_cast<uint32_t>(std::bit_width(value)) - 1;
  return (exponent + 15) << 10 | (value << 10 >> exponent & 0x3FF);
}
uint32_t numberedRows(uint32_t lane, uint32_t column) {
  return column < 8 ? halfOf(lane % 32 + 1) * 0x10001u : distinctCells(lane, column);
}
/// Rows 0 to 63 of A, and other data where a second copy of them would lie.
uint32_t onesThenTwosInHalfPrecision(uint32_t lane, uint32_t column) {
  return column < kAccumulatorColumn && lane >= 64 ? 0x40004000u : onesInHalfPrecision(lane, column);
}
uint32_t integersBelowTheLimit(uint32_t, uint32_t column) { return column < kAccumulatorColumn ? 0x01010101u : 0x7FFFFFF0u; }
uint32_t integersOfEight(uint32_t, uint32_t column) { return column < kAccumulatorColumn ? 0x01010101u : 8u; }

constexpr uint32_t kOneE4m3 = 0x38383838u;
constexpr uint32_t scaleFactor(int exponent) { return static_cast<uint32_t>(127 + exponent); }
/// Factors 1, 2, 4, 8 in the four bytes of A's scale factors, 1 everywhere in those of B.
uint32_t onesWithFourFactors(uint32_t lane, uint32_t column) {
  if (column < 8) return kOneE4m3;
  if (column >= kScaleAColumn && column < kScaleAColumn + 4)
    return scaleFactor(0) | scaleFactor(1) << 8 | scaleFactor(2) << 16 | scaleFactor(3) << 24;
  if (column >= kScaleBColumn && column < kScaleBColumn + 8) return scaleFactor(0) * 0x01010101u;
  return distinctCells(lane, column);
}
/// Factor of column n of B: 32 columns in a Tensor Memory column, repeated in every window.
int exponentOfColumn(uint32_t n) { return static_cast<int>(n * 5 % 7) - 3; }
uint32_t onesWithColumnFactors(uint32_t lane, uint32_t column) {
  if (column >= kScaleBColumn && column < kScaleBColumn + 8)
    return scaleFactor(exponentOfColumn((column - kScaleBColumn) * 32 + lane % 32)) * 0x01010101u;
  return onesWithFourFactors(lane, column);
}

uint32_t halfPrecisionOnes(uint32_t) { return 0x3C003C00u; }
uint32_t halfPrecisionOnesThenTwos(uint32_t word) { return word * 4 < kSecondSourceBytes ? 0x3C003C00u : 0x40004000u; }
uint32_t bytesOfOne(uint32_t) { return 0x01010101u; }
uint32_t onesE4m3(uint32_t) { return kOneE4m3; }
/// Small integers in f16, without a pattern along rows.
int smallInteger(uint32_t address) { return static_cast<int>(address / 2 * 2654435761u >> 7 & 31) - 15; }
uint32_t smallIntegers(uint32_t word) {
  uint32_t bits = 0;
  for (uint32_t half = 0; half < 2; ++half) {
    const int value = smallInteger(word * 4 + half * 2);
    if (value != 0) bits |= ((value < 0 ? 0x8000u : 0u) | halfOf(static_cast<uint32_t>(std::abs(value)))) << 16 * half;
  }
  return bits;
}
/// Rows of 128 bytes: row r holds r + 1.
uint32_t numberedRowsOfB(uint32_t word) { return halfOf(word / 32 + 1) * 0x10001u; }
/// Distinct words; the multiplier spreads the bits, so that packed elements differ too.
uint32_t distinctWords(uint32_t word) { return (word + 1) * 2654435761u; }
uint8_t sharedByte(uint32_t address) { return static_cast<uint8_t>(distinctWords(address / 4) >> address % 4 * 8); }

constexpr uint32_t kSixteen = 0x41800000u;  // 16.0f: a row of sixteen ones times a column of sixteen ones

bool masked(uint32_t lane) { return kMaskWord >> lane % 32 & 1; }

// ---------------------------------------------------------------------------------------------------------------------
// Shifts: lane i takes lane i + 1, but for the last lane of the window.

template <uint32_t kFirstWindow, uint32_t kLastWindow, uint32_t kWidth>
uint32_t shifted(uint32_t lane, uint32_t column) {
  const bool moves = lane / 32 >= kFirstWindow && lane / 32 <= kLastWindow && lane % 32 != 31 && column < kWidth;
  return distinctCells(lane + (moves ? 1 : 0), column);
}
constexpr CellFunction kAllWindows = shifted<0, 3, 8>;

uint32_t shiftedWhereNotMasked(uint32_t lane, uint32_t column) {
  return masked(lane) ? distinctCells(lane, column) : kAllWindows(lane, column);
}
/// M = 64: rows are in the first 16 lanes of each window.
uint32_t shiftedHalfWindows(uint32_t lane, uint32_t column) {
  return distinctCells(lane + (lane % 32 < 15 && column < 8 ? 1 : 0), column);
}

// ---------------------------------------------------------------------------------------------------------------------
// Accumulators.

uint32_t highHalvesZero(uint32_t, uint32_t) { return 0; }
uint32_t highHalvesKept(uint32_t, uint32_t) { return 0xFFFF0000u; }
uint32_t sixteenOrOld(uint32_t lane, uint32_t column) { return masked(lane) ? distinctCells(lane, column) : kSixteen; }
uint32_t sixteenOrZero(uint32_t lane, uint32_t) { return masked(lane) ? 0 : kSixteen; }
template <uint32_t kOffset>
uint32_t sixteenBehind(uint32_t lane, uint32_t column) {
  const uint32_t first = kAccumulatorColumn + kOffset;
  return column >= first && column < first + kAccumulatorColumns ? kSixteen : distinctCells(lane, column);
}
uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

bool maskedInPair(uint32_t lane, bool bitIsRow) {
  // A row of the pair is lane % 64 of the first or second CTA: with M = 128 both halves of the lanes hold the CTA's 64 rows.
  const uint32_t bit = bitIsRow ? lane / 128 * 64 + lane % 64 : lane;
  return bit < 128 && (kPairMask[bit / 32] >> bit % 32 & 1);
}
template <uint32_t kMaskedCta>
uint32_t sixteenButInOneCta(uint32_t lane, uint32_t column) {
  return lane / kLanes == kMaskedCta && masked(lane) ? distinctCells(lane, column) : kSixteen;
}
template <bool kBitIsRow>
uint32_t sixteenByPairMask(uint32_t lane, uint32_t column) {
  return maskedInPair(lane, kBitIsRow) ? distinctCells(lane, column) : kSixteen;
}

/// Sixteen times the number in a row, before or after a shift.
template <uint32_t kShift>
uint32_t productOfNumberedRows(uint32_t lane, uint32_t) {
  return bitsOf(16.0f * static_cast<float>(std::min(lane % 32 + kShift, 31u) + 1));
}
template <uint32_t kValue>
uint32_t everywhere(uint32_t, uint32_t) {
  return kValue;
}
constexpr uint32_t kThirtyTwo = 0x42000000u, kSixtyFour = 0x42800000u;
uint32_t productOfQueuedMmas(uint32_t, uint32_t) { return bitsOf(16.0f * kQueuedMmas); }
/// Core matrices of 8 rows of 16 bytes; A is ones.
uint32_t sumsOfCoreMatrices(uint32_t, uint32_t column) {
  const uint32_t n = column - kAccumulatorColumn;
  int sum = 0;
  for (uint32_t k = 0; k < 16; ++k)
    sum += smallInteger(n % 8 * 16 + n / 8 * kRowGroupBytes + k / 8 * kLeadingOffsetBytes + k % 8 * 2);
  return bitsOf(static_cast<float>(sum));
}
uint32_t sixteenThenTwiceThat(uint32_t lane, uint32_t) { return lane < 64 ? kSixteen : kThirtyTwo; }
uint32_t productOfColumn(uint32_t column) { return bitsOf(16.0f * static_cast<float>(column + 1)); }
/// Columns of D from B's column kShift on; those whose number in D, or in B, ends a period are zero.
template <uint32_t kShift, bool kByColumnOfB>
uint32_t maskedColumns(uint32_t, uint32_t column) {
  const uint32_t n = column - kAccumulatorColumn, bit = kByColumnOfB ? n + kShift : n;
  const bool isZero = bit < kStationaryN && bit % kStationaryPeriod == kStationaryPeriod - 1;
  return isZero ? 0 : productOfColumn(n + kShift);
}
/// The same without a mask, where the second half of the lanes has the second half of the columns.
template <uint32_t kShift>
uint32_t halvesOfColumns(uint32_t lane, uint32_t column) {
  return productOfColumn(column - kAccumulatorColumn + lane / 64 * (kStationaryN / 2) + kShift);
}
template <uint32_t kN>
uint32_t scaledByColumnFactors(uint32_t lane, uint32_t column) {
  if (column >= kAccumulatorColumn + kN) return distinctCells(lane, column);
  return bitsOf(std::ldexp(32.0f, exponentOfColumn(column - kAccumulatorColumn)));
}

uint32_t halfOfSmallestNormal(uint32_t, uint32_t) { return kSmallestNormal / 2; }
uint32_t zero(uint32_t, uint32_t) { return 0; }

// ---------------------------------------------------------------------------------------------------------------------
// Copies. Each cell is four bytes of the source.

template <class ByteAt>
uint32_t cellOf(ByteAt byteAt, uint32_t column) {
  uint32_t cell = 0;
  for (uint32_t i = 0; i < 4; ++i) cell |= uint32_t{byteAt(column * 4 + i)} << 8 * i;
  return cell;
}

enum class Phase { Minus, Plus, Ignored, NoSwizzle };

/// 128-byte rows from row kBaseOffset of the tile on; 16-byte chunks exchanged by the 128-byte swizzle.
template <Phase kPhase, uint32_t kBaseOffset>
uint32_t swizzledRow(uint32_t lane, uint32_t column) {
  if (column >= 8) return distinctCells(lane, column);
  return cellOf(
      [lane](uint32_t byte) {
        const uint32_t address = (kBaseOffset + lane) * 128 + byte;
        const uint32_t row = address >> 7;
        uint32_t phase = 0;
        if (kPhase == Phase::Minus) phase = row - kBaseOffset;
        if (kPhase == Phase::Plus) phase = row + kBaseOffset;
        if (kPhase == Phase::Ignored) phase = row;
        return sharedByte(address ^ (phase & 7) << 4);
      },
      column);
}

/// Row i of four goes to lane kLane of window i.
template <uint32_t kLane, uint32_t kChunkStride>
uint32_t fourRows(uint32_t lane, uint32_t column) {
  if (lane % 32 != kLane || column >= 8) return distinctCells(lane, column);
  return cellOf([lane](uint32_t byte) { return sharedByte(lane / 32 * 16 + byte / 16 * kChunkStride + byte % 16); }, column);
}

uint32_t fourRowsOf4Bits(uint32_t lane, uint32_t column) {
  if (lane % 32 != 0 || column >= 8) return distinctCells(lane, column);
  return cellOf(
      [lane](uint32_t byte) {
        const uint32_t pair = sharedByte(lane / 32 * 16 + byte / 16 * kLeadingOffsetBytes + byte % 16 / 2);
        return static_cast<uint8_t>((pair >> byte % 2 * 4 & 15) << 2);
      },
      column);
}

template <uint32_t kPosition>
uint32_t rowOf6Bits(uint32_t lane, uint32_t column) {
  if (column >= 4) return distinctCells(lane, column);
  return cellOf(
      [lane](uint32_t element) {
        uint32_t code = 0;
        for (uint32_t bit = 0; bit < 6; ++bit) {
          const uint32_t position = element * 6 + bit;
          code |= (uint32_t{sharedByte(lane * 16 + position / 8)} >> position % 8 & 1) << bit;
        }
        return static_cast<uint8_t>(code << kPosition);
      },
      column);
}

uint32_t rowsForwards(uint32_t lane, uint32_t column) {
  if (column >= 4) return distinctCells(lane, column);
  return cellOf([lane](uint32_t byte) { return sharedByte(lane * 16 + byte); }, column);
}
/// Groups of 8 rows in front of each other.
uint32_t rowsBackwards(uint32_t lane, uint32_t column) {
  if (column >= 4) return distinctCells(lane, column);
  return cellOf(
      [lane](uint32_t byte) { return sharedByte(kWrappingStartBytes - lane / 8 * kWrappingGroupBytes + lane % 8 * 16 + byte); },
      column);
}

constexpr std::nullopt_t kNone = std::nullopt, kNextStep = std::nullopt;
constexpr Compared kOperand{0, 64}, kAccumulator{kAccumulatorColumn, kAccumulatorColumns},
    kSecondAccumulator{kSecondAccumulatorColumn, kAccumulatorColumns};

// A fault counts as an answer only after a step in which the same kernel ran with a harmless variant. U4 and U18 have none: each
// variant may be the one that faults.

std::vector<Experiment> movementExperiments() {
  return {
      {Unproven::U1,
       "shift_at_lane",
       distinctCells,
       distinctWords,
       kOperand,
       {{0, kNone, {{kAllWindows, 0}, {shifted<0, 0, 8>, 1}}}}},
      {Unproven::U2,
       "shift_at_lane",
       distinctCells,
       distinctWords,
       kOperand,
       {{0, kNone, {{kAllWindows, kNextStep}, {shifted<0, 0, 8>, kNextStep}}}, {32, 1, {{kAllWindows, 0}, {shifted<1, 3, 8>, 2}}}}},
      {Unproven::U3,
       "shift_after_mma",
       distinctCells,
       halfPrecisionOnes,
       kOperand,
       {{128, kNone, {{kAllWindows, kNextStep}, {shifted<0, 3, 32>, 1}}},
        {256, kNone, {{shifted<0, 7, 8>, 0}}, kNone, "shift_after_mma_of_pair"}}},
      {Unproven::U4,
       "copy_four_rows",
       distinctCells,
       distinctWords,
       kOperand,
       {{31, 1, {{fourRows<31, kLeadingOffsetBytes>, kNextStep}, {fourRows<31, 16>, kNextStep}}},
        {1, 2, {{fourRows<1, kLeadingOffsetBytes>, 0}, {fourRows<1, 16>, 3}}}}},
      {Unproven::U5,
       "copy_four_rows_of_4_bits",
       distinctCells,
       distinctWords,
       kOperand,
       {{0, kNone, {{fourRows<0, kLeadingOffsetBytes>, kNextStep}, {fourRows<0, 16>, kNextStep}}}, {1, 1, {{fourRowsOf4Bits, 0}}}}},
      {.id = Unproven::U6,
       .kernel = "copy_behind_mma",
       .tensor = onesInHalfPrecision,
       .shared = halfPrecisionOnesThenTwos,
       .compared = kAccumulator,
       .steps = {{0, kNone, {{productOfQueuedMmas, 0}}, 1}},
       .unprovable = 0},
      {Unproven::U8,
       "copy_rows_of_6_bits",
       distinctCells,
       distinctWords,
       kOperand,
       {{0, kNone, {{rowOf6Bits<1>, 0}, {rowOf6Bits<0>, 1}}}}},
      {Unproven::U10,
       "load_at_lane",
       distinctCells,
       distinctWords,
       kOperand,
       {{32, kNone, {{distinctCells, kNextStep}}}, {0, 2, {{distinctCells, kNextStep}}}, {64, 1, {{distinctCells, 0}}}}},
      {Unproven::U11,
       "copy_swizzled_rows",
       distinctCells,
       distinctWords,
       kOperand,
       {{3, kNone, {{swizzledRow<Phase::Minus, 3>, 0}, {swizzledRow<Phase::Plus, 3>, 1}, {swizzledRow<Phase::Ignored, 3>, 2}}}}},
      {.id = Unproven::U16,
       .kernel = "load_after_allocation",
       .tensor = distinctCells,
       .shared = distinctWords,
       .compared = kOperand,
       .steps = {{0, kNone, {{zero, 1}}, 0}},
       .onUndefinedRead = 0},
      {Unproven::U24,
       "shift_after_mma",
       distinctCells,
       halfPrecisionOnes,
       kOperand,
       {{128, kNone, {{kAllWindows, kNextStep}, {shifted<0, 3, 32>, kNextStep}}},
        {64, 0, {{shiftedHalfWindows, 1}, {distinctCells, 2}}}}},
      {Unproven::U25,
       "shift_after_masked_mma",
       distinctCells,
       halfPrecisionOnes,
       kOperand,
       {{0, kNone, {{kAllWindows, 0}, {shiftedWhereNotMasked, 1}}}}},
      {Unproven::U28,
       "copy_beyond_18_bits",
       distinctCells,
       distinctWords,
       kOperand,
       {{0, kNone, {{rowsForwards, kNextStep}}}, {1, 0, {{rowsBackwards, 1}}}}},
      {Unproven::U29,
       "copy_swizzled_rows",
       distinctCells,
       distinctWords,
       kOperand,
       {{0, kNone, {{swizzledRow<Phase::Ignored, 0>, 0}, {swizzledRow<Phase::NoSwizzle, 0>, 1}}}}},
  };
}

std::vector<Experiment> multiplicationExperiments() {
  return {
      {.id = Unproven::U7,
       .kernel = "masked_mma_of_pair",
       .tensor = onesInHalfPrecision,
       .shared = halfPrecisionOnes,
       .compared = {kAccumulatorColumn, kAccumulatorColumns / 2},  // with M = 128 the rest is in other lanes
       .steps = {{0, kNone, {{sixteenButInOneCta<1>, kNextStep}, {sixteenButInOneCta<0>, 1}}, kNone, "masked_mma_of_pair"},
                 {1, kNone, {{sixteenByPairMask<false>, 0}, {sixteenByPairMask<true>, 2}}, kNone, "masked_mma_of_pair"}}},
      {.id = Unproven::U9,
       .kernel = "mma_to_half_precision",
       .tensor = onesOverAllBitsSet,
       .shared = halfPrecisionOnes,
       .compared = {kAccumulatorColumn, kAccumulatorColumns, 0xFFFF0000u},
       .steps = {{0, kNone, {{highHalvesZero, 0}, {highHalvesKept, 1}}, 2}},
       .onUndefinedRead = 2},
      {Unproven::U12,
       "stationary_mma",
       onesThenTwosInHalfPrecision,
       halfPrecisionOnes,
       {kAccumulatorColumn, kStationaryN / 2},
       {{0, kNone, {{sixteenThenTwiceThat, 0}, {everywhere<kSixteen>, 1}}}}},
      {.id = Unproven::U13,
       .kernel = "mma_of_integers",
       .tensor = integersBelowTheLimit,
       .shared = bytesOfOne,
       .compared = kAccumulator,
       .steps = {{0, kNone, {{everywhere<0x80000010u>, kNextStep}}},
                 {1, kNone, {{everywhere<0x7FFFFFFFu>, 0}, {everywhere<0x80000010u>, 1}}}},
       .absentOn = {103}},  // kind::i8
      {.id = Unproven::U15,
       .kernel = "mma_with_halved_input",
       .tensor = zerosOverSmallestNormals,
       .shared = halfPrecisionOnes,
       .compared = kAccumulator,
       .steps = {{0, kNone, {{halfOfSmallestNormal, 0}, {zero, 1}}}},
       .absentOn = {110}},  // scale-input-d
      {.id = Unproven::U17,
       .kernel = "mma_behind_shift",
       .tensor = numberedRows,
       .shared = halfPrecisionOnes,
       .compared = kSecondAccumulator,
       .steps = {{0, kNone, {{productOfNumberedRows<1>, 1}}, 0}},
       .unprovable = 1},
      {Unproven::U18,
       "mma_without_swizzle",
       onesInHalfPrecision,
       smallIntegers,
       kAccumulator,
       {{0, 1, {{sumsOfCoreMatrices, 0}}, 1}}},
      {Unproven::U19,
       "stationary_mma_with_mask",
       onesInHalfPrecision,
       numberedRowsOfB,
       {kAccumulatorColumn, kStationaryN},
       {{0, kNone, {{maskedColumns<0, false>, kNextStep}}},
        {kStationaryShift, kNone, {{maskedColumns<kStationaryShift, false>, 0}, {maskedColumns<kStationaryShift, true>, 1}}}}},
      {.id = Unproven::U20,
       .kernel = "mma_with_kept_operand",
       .tensor = onesInHalfPrecision,
       .shared = halfPrecisionOnesThenTwos,
       .compared = kSecondAccumulator,
       .steps = {{0, kNone, {{everywhere<kThirtyTwo>, 0}, {everywhere<kSixteen>, 1}}}},
       .unprovable = 0},
      {Unproven::U21,
       "mma_with_scale_address_bits",
       onesWithFourFactors,
       onesE4m3,
       kAccumulator,
       {{0, kNone, {{everywhere<kThirtyTwo>, kNextStep}}}, {1, 1, {{everywhere<kThirtyTwo>, 0}, {everywhere<kSixtyFour>, 2}}}}},
      {.id = Unproven::U22,
       .kernel = "mma_of_integers_with_halved_input",
       .tensor = integersOfEight,
       .shared = bytesOfOne,
       .compared = kAccumulator,
       .steps = {{0, kNone, {{everywhere<40>, kNextStep}}}, {1, 0, {{everywhere<40>, 1}, {everywhere<36>, 2}}}},
       .absentOn = {103, 110}},
      {Unproven::U23,
       "mma_at_column",
       onesInHalfPrecision,
       halfPrecisionOnes,
       {kAccumulatorColumn, 64},
       {{0, kNone, {{sixteenBehind<0>, kNextStep}}},
        {4, 2, {{sixteenBehind<4>, kNextStep}}},
        {2, 1, {{sixteenBehind<2>, kNextStep}}},
        {1, 1, {{sixteenBehind<1>, 0}}}}},
      {Unproven::U26,
       "masked_mma_without_input",
       onesInHalfPrecision,
       halfPrecisionOnes,
       kAccumulator,
       {{0, kNone, {{sixteenOrOld, 0}, {sixteenOrZero, 1}}}}},
      {Unproven::U27,
       "mma_with_odd_scales",
       onesWithColumnFactors,
       onesE4m3,
       {kAccumulatorColumn, kWideColumns},
       {{32, kNone, {{scaledByColumnFactors<32>, kNextStep}}}, {kWideColumns, 1, {{scaledByColumnFactors<kWideColumns>, 0}}}}},
      {Unproven::U36,
       "stationary_mma_with_kept_operand",
       onesInHalfPrecision,
       numberedRowsOfB,
       {kAccumulatorColumn, kStationaryN / 2},
       {{0, kNone, {{halvesOfColumns<0>, kNextStep}}}, {kStationaryShift, 1, {{halvesOfColumns<kStationaryShift>, 0}}}}},
  };
}

}  // namespace

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> all = [] {
    std::vector<Experiment> list = movementExperiments();
    for (Experiment& one : multiplicationExperiments()) list.push_back(std::move(one));
    std::sort(list.begin(), list.end(), [](const Experiment& a, const Experiment& b) { return a.id < b.id; });
    return list;
  }();
  return all;
}

const Experiment* experimentFor(Unproven id) {
  for (const Experiment& one : experiments())
    if (one.id == id) return &one;
  return nullptr;
}

std::span<const NonDiscriminating> nonDiscriminating() {
  static constexpr std::array kQuestions{
      NonDiscriminating{Unproven::U14, "one alternative only, so nothing to tell apart"},
      NonDiscriminating{Unproven::U30, "an order that every run may keep by chance, so that none can prove it"},
      NonDiscriminating{Unproven::U31, "an order that every run may keep by chance, so that none can prove it"},
      NonDiscriminating{Unproven::U32, "an order that every run may keep by chance, so that none can prove it"},
      NonDiscriminating{Unproven::U33, "about wgmma, which the GPUs of this kit do not have"},
      NonDiscriminating{Unproven::U34, "about mma.sync, for which this kit has no kernel yet"},
      NonDiscriminating{Unproven::U35, "an order that every run may keep by chance, so that none can prove it"},
  };
  return kQuestions;
}

const emulator::UnprovenQuestion& wording(Unproven id) { return emulator::unprovenQuestions()[static_cast<size_t>(id)]; }

}  // namespace shiftconv::probe
