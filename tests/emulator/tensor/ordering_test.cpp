// The order of tcgen05 operations (PTX ISA 9.7.16.6.2): what is ordered gives one result under every schedule; what is not
// shows under the schedule that completes the youngest operation first.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include "tests/emulator/tensor/operand_placement.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;

// Shared memory: four 128 x 16 f16 tiles without swizzle, then the 16 x 16 identity as operand B.
constexpr uint32_t kTileBytes = 4096, kTiles = 4, kLeading = 128, kStride = 256;
constexpr uint32_t kIdentityStart = kTiles * kTileBytes;
// Tensor Memory columns.
constexpr uint32_t kA = 0, kD = 32, kOtherD = 64;

/// Element (m, k) of tile t: integers that f16 holds exactly and that tell tiles, rows and columns apart.
uint32_t element(uint32_t tile, uint32_t m, uint32_t k) { return 1 + 500 * tile + (m * 3 + k * 7) % 499; }

uint16_t halfBits(uint32_t integer) {
  if (integer == 0) return 0;
  const int exponent = std::bit_width(integer) - 1;
  return static_cast<uint16_t>((exponent + 15) << 10 | ((integer << (10 - exponent)) & 0x3ff));
}

std::vector<std::byte> sharedImage() {
  std::vector<std::byte> image(kIdentityStart + 512);
  const auto put = [&](uint32_t start, uint32_t row, uint32_t k, uint32_t value) {
    const uint16_t bits = halfBits(value);
    std::memcpy(image.data() + start + row / 8 * kStride + k / 8 * kLeading + row % 8 * 16 + k % 8 * 2, &bits, 2);
  };
  for (uint32_t tile = 0; tile < kTiles; ++tile) {
    for (uint32_t m = 0; m < 128; ++m) {
      for (uint32_t k = 0; k < 16; ++k) put(tile * kTileBytes, m, k, element(tile, m, k));
    }
  }
  for (uint32_t n = 0; n < 16; ++n) {
    for (uint32_t k = 0; k < 16; ++k) put(kIdentityStart, n, k, n == k);
  }
  return image;
}

// --- instructions, issued by the thread whose predicate is `who` ---------------------------------------------------

std::string tileDescriptor(uint32_t tile) {
  return fmt::format("  add.u64 %rd1, %desc, {:#x};\n", descriptorBits(tile * kTileBytes, kLeading, kStride));
}
std::string copy(const char* shape, uint32_t tile, uint32_t lane = 0, const char* who = "%issuer") {
  return tileDescriptor(tile) + fmt::format("  add.u32 %r10, %tmem, {:#x};\n  @{} tcgen05.cp.cta_group::1.{} [%r10], %rd1;\n",
                                            lane << 16 | kA, who, shape);
}
std::string shift(const char* who = "%issuer") {
  return fmt::format("  add.u32 %r10, %tmem, {};\n  @{} tcgen05.shift.cta_group::1.down [%r10];\n", kA, who);
}
struct Mma {
  uint32_t d = kD;
  int tile = -1;  ///< operand A from this shared tile, or from Tensor Memory
  bool accumulate = false;
  bool shiftA = false;
  uint32_t n = 8;
  const char* who = "%issuer";
  std::string text() const {
    const std::string a = tile < 0 ? fmt::format("[%tmem+{}]", kA) : "%rd1";
    return (tile < 0 ? std::string() : tileDescriptor(static_cast<uint32_t>(tile))) +
           fmt::format(
               "  add.u64 %rd2, %desc, {:#x};\n  setp.ne.u32 %p1, 0, {};\n"
               "  @{} tcgen05.mma.cta_group::1.kind::f16{} [%tmem+{}], {}, %rd2, {:#x}, %p1;\n",
               descriptorBits(kIdentityStart, kLeading, kStride), accumulate ? 1 : 0, who, shiftA ? ".ashift" : "", d, a,
               IdescFields{.n = n}.word());
  }
};
/// All threads store tile `tile`'s rows into columns kA..kA+7 (cells of two elements), without waiting.
std::string storeTile(uint32_t tile) {
  // Row `tid` of the tile: chunk c at row/8*256 + c*128 + row%8*16.
  std::string text = fmt::format(
      "  shr.u32 %r11, %thread, 3;\n  and.b32 %r12, %thread, 7;\n  mul.lo.u32 %r11, %r11, {};\n  mad.lo.u32 %r11, %r12, 16, %r11;\n"
      "  add.u32 %r11, %r11, %tile;\n  ld.shared.v4.u32 {{%r20, %r21, %r22, %r23}}, [%r11+{}];\n"
      "  ld.shared.v4.u32 {{%r24, %r25, %r26, %r27}}, [%r11+{}];\n",
      kStride, tile * kTileBytes, tile * kTileBytes + kLeading);
  return text +
         fmt::format("  tcgen05.st.sync.aligned.32x32b.x8.b32 [%tmem+{}], {{%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}};\n",
                     kA);
}
/// Every thread loads one column of its lane into %r30, without waiting.
std::string load(uint32_t column) { return fmt::format("  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r30}}, [%tmem+{}];\n", column); }
const std::string kWaitLoad = "  tcgen05.wait::ld.sync.aligned;\n", kWaitStore = "  tcgen05.wait::st.sync.aligned;\n";
/// out[tid] = %r30
const std::string kDumpRegister = "  mul.wide.u32 %rd9, %thread, 4;\n  add.u64 %rd9, %rd9, %out;\n  st.global.u32 [%rd9], %r30;\n";

/// Tile 0 into A and zeros into both accumulators, all of it complete and known to every thread.
std::string prepare() {
  std::string text = copy("128x256b", 0) + commitAndWait(0) + "  mov.u32 %r31, 0;\n";
  for (uint32_t n = 0; n < 16; ++n) {
    text += fmt::format("  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+{}], {{%r31}};\n", kD + n);
    text += fmt::format("  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+{}], {{%r31}};\n", kOtherD + n);
  }
  return text + kWaitStore + fencedBarrier();
}
std::string finish(uint32_t column, uint32_t count = 8) { return commitAndWait(1) + dumpColumns(column, count); }

// --- expectations ---------------------------------------------------------------------------------------------------

uint32_t floatBits(uint32_t integer) { return std::bit_cast<uint32_t>(static_cast<float>(integer)); }
uint32_t cellBits(uint32_t tile, uint32_t m, uint32_t column) {
  return halfBits(element(tile, m, 2 * column)) | static_cast<uint32_t>(halfBits(element(tile, m, 2 * column + 1))) << 16;
}
uint32_t below(uint32_t m) { return m % 32 == 31 ? m : m + 1; }
/// out[m * 8 + i] = value(m, i)
template <class Value>
std::vector<uint32_t> table(Value value, uint32_t count = 8) {
  std::vector<uint32_t> result;
  for (uint32_t m = 0; m < 128; ++m) {
    for (uint32_t i = 0; i < count; ++i) result.push_back(value(m, i));
  }
  return result;
}
std::vector<uint32_t> product(uint32_t tile) {
  return table([=](uint32_t m, uint32_t n) { return floatBits(element(tile, m, n)); });
}
std::vector<uint32_t> shiftedProduct(uint32_t tile) {
  return table([=](uint32_t m, uint32_t n) { return floatBits(element(tile, below(m), n)); });
}
std::vector<uint32_t> rows(uint32_t tile) {
  return table([=](uint32_t m, uint32_t c) { return cellBits(tile, m, c); });
}

struct Scenario {
  std::string name;
  std::string body;  ///< after prepare()
  std::vector<uint32_t> inOrder;
};

void PrintTo(const Scenario& scenario, std::ostream* stream) { *stream << scenario.name; }

std::vector<uint32_t> runScenario(const Scenario& scenario, const Options& options, LaunchReport* report = nullptr) {
  Emulator emulator;
  const TensorKernel kernel{prepare() + scenario.body, sharedImage(), static_cast<uint32_t>(scenario.inOrder.size())};
  return kernel.run(emulator, options, report);
}

Options latest() {
  Options options;
  options.policy = SchedulePolicy::Latest;
  return options;
}

/// The alternatives that keep to what the PTX ISA lists.
Options listedPairsOnly(Options options = {}) {
  for (const Unproven id : {Unproven::U6, Unproven::U30, Unproven::U31, Unproven::U32, Unproven::U35})
    options.semantics.choose(id, 1);
  return options;
}

class Ordered : public testing::TestWithParam<Scenario> {};
class Unordered : public testing::TestWithParam<Scenario> {};

TEST_P(Ordered, UnderEverySchedule) {
  const Scenario& scenario = GetParam();
  Options options = listedPairsOnly();
  EXPECT_EQ(runScenario(scenario, options), scenario.inOrder) << "earliest";
  EXPECT_EQ(runScenario(scenario, listedPairsOnly(latest())), scenario.inOrder) << "latest";
  options.policy = SchedulePolicy::Random;
  for (options.seed = 1; options.seed <= 20; ++options.seed) {
    EXPECT_EQ(runScenario(scenario, options), scenario.inOrder) << "seed " << options.seed;
  }
}

TEST_P(Unordered, ShowsUnderTheLatestSchedule) {
  const Scenario& scenario = GetParam();
  EXPECT_EQ(runScenario(scenario, listedPairsOnly()), scenario.inOrder) << "the earliest schedule keeps issue order";
  EXPECT_NE(runScenario(scenario, listedPairsOnly(latest())), scenario.inOrder);
}

const std::string kFenced = fencedBarrier();
const std::string kUnfenced = "  bar.sync 0;\n";

std::vector<Scenario> orderedScenarios() {
  const auto sum = table([](uint32_t m, uint32_t n) { return floatBits(element(1, m, n) + element(2, m, n)); });
  const auto refilled = table([](uint32_t m, uint32_t c) { return m % 32 == 31 ? cellBits(1, m / 32, c) : cellBits(0, m + 1, c); });
  const auto refilledProduct = table([](uint32_t m, uint32_t n) {
    return floatBits(element(0, m, n) + (m % 32 == 31 ? element(1, m / 32, n) : element(0, m + 1, n)));
  });
  const auto chained = table([](uint32_t m, uint32_t n) {
    return floatBits(element(0, m, n) + element(0, below(m), n) + element(0, below(below(m)), n));
  });
  return {
      {"MmaThenMmaOnOneAccumulator", Mma{.tile = 1}.text() + Mma{.tile = 2, .accumulate = true}.text() + finish(kD), sum},
      {"CopyThenMma", copy("128x256b", 1) + Mma{}.text() + finish(kD), product(1)},
      {"ShiftThenMma", shift() + Mma{}.text() + finish(kD), shiftedProduct(0)},
      {"MmaThenShift", Mma{}.text() + shift() + finish(kD), product(0)},
      {"ShiftThenCopy4x256b", shift() + copy("4x256b", 1, 31) + finish(kA), refilled},
      {"RefillLoop", Mma{}.text() + shift() + copy("4x256b", 1, 31) + Mma{.accumulate = true}.text() + finish(kD), refilledProduct},
      {"ShiftingMmasOnOneAccumulator",
       Mma{.shiftA = true}.text() + Mma{.accumulate = true, .shiftA = true}.text() + Mma{.accumulate = true}.text() + finish(kD),
       chained},
      {"StoreWaitThenMma", storeTile(2) + kWaitStore + kFenced + Mma{}.text() + finish(kD), product(2)},
      {"CopyThenMmaOfAnotherThread",
       copy("128x256b", 1) + kFenced + Mma{.who = "%second"}.text() +
           "  @%second tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar+8];\n" + waitForCommit(1) +
           dumpColumns(kD, 8),
       product(1)},
      {"CommitActsAsFenceBefore",
       copy("128x256b", 1) + "  @%issuer tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar+16];\n" +
           "  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n" + Mma{.who = "%second"}.text() +
           "  @%second tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar+8];\n" + waitForCommit(1) +
           dumpColumns(kD, 8),
       product(1)},
      {"MmaCommitThenCopy", Mma{}.text() + commitAndWait(2) + copy("128x256b", 1) + finish(kD), product(0)},
      {"CopyCommitThenShift", copy("128x256b", 1) + commitAndWait(2) + shift() + finish(kA),
       table([](uint32_t m, uint32_t c) { return cellBits(1, below(m), c); })},
      {"LoadWaitThenStore", load(kA) + kWaitLoad + storeTile(1) + kWaitStore + kDumpRegister,
       table([](uint32_t m, uint32_t) { return cellBits(0, m, 0); }, 1)},
  };
}

std::vector<Scenario> unorderedScenarios() {
  const auto lastRowOfTile = [](uint32_t tile) {
    return table([=](uint32_t m, uint32_t n) { return floatBits(element(tile, m, n)); });
  };
  return {
      {"MmaThenCopy", Mma{}.text() + copy("128x256b", 1) + finish(kD), product(0)},
      {"MmaThenCopy4x256b", Mma{}.text() + copy("4x256b", 1, 31) + finish(kD), lastRowOfTile(0)},
      {"ShiftingMmaThenCopy4x256b", Mma{.shiftA = true}.text() + copy("4x256b", 1, 31) + finish(kD), lastRowOfTile(0)},
      {"CopyThenCopy", copy("128x256b", 1) + copy("128x256b", 2) + finish(kA), rows(2)},
      {"CopyThenCopy4x256b", copy("128x256b", 1) + copy("4x256b", 2, 31) + finish(kA),
       table([](uint32_t m, uint32_t c) { return m % 32 == 31 ? cellBits(2, m / 32, c) : cellBits(1, m, c); })},
      {"CopyThenShift", copy("128x256b", 1) + shift() + finish(kA),
       table([](uint32_t m, uint32_t c) { return cellBits(1, below(m), c); })},
      {"ShiftThenOtherCopy", shift() + copy("128x256b", 1) + finish(kA), rows(1)},
      {"MmaThenMmaOnOverlappingAccumulators",
       Mma{.tile = 1}.text() + Mma{.tile = 2, .accumulate = true, .n = 16}.text() + finish(kD),
       table([](uint32_t m, uint32_t n) { return floatBits(element(1, m, n) + element(2, m, n)); })},
      // As in attention kernels: O += P V with P in Tensor Memory, then S = Q K over the columns of P.
      {"MmaThenMmaOverItsOperand", Mma{}.text() + Mma{.d = kA, .tile = 1}.text() + finish(kD), product(0)},
      {"ShiftingMmaThenMmaOnAnotherAccumulator", Mma{.shiftA = true}.text() + Mma{.d = kOtherD}.text() + finish(kOtherD),
       shiftedProduct(0)},
      {"MmaThenShiftingMmaOnAnotherAccumulator", Mma{}.text() + Mma{.d = kOtherD, .shiftA = true}.text() + finish(kD), product(0)},
      {"MmaThenLoad", Mma{}.text() + kUnfenced + load(kD) + kWaitLoad + kDumpRegister + commitAndWait(1),
       table([](uint32_t m, uint32_t) { return floatBits(element(0, m, 0)); }, 1)},
      {"CopyThenLoad", copy("128x256b", 1) + kUnfenced + load(kA) + kWaitLoad + kDumpRegister + commitAndWait(1),
       table([](uint32_t m, uint32_t) { return cellBits(1, m, 0); }, 1)},
      {"ShiftThenLoad", shift() + kUnfenced + load(kA) + kWaitLoad + kDumpRegister + commitAndWait(1),
       table([](uint32_t m, uint32_t) { return cellBits(0, below(m), 0); }, 1)},
      {"MmaThenStore", Mma{}.text() + kUnfenced + storeTile(1) + kWaitStore + finish(kD), product(0)},
      {"CopyThenStore", copy("128x256b", 1) + kUnfenced + storeTile(2) + kWaitStore + finish(kA), rows(2)},
      {"ShiftThenStore", shift() + kUnfenced + storeTile(1) + kWaitStore + finish(kA), rows(1)},
      {"StoreThenMma", storeTile(1) + kFenced + Mma{}.text() + finish(kD) + kWaitStore, product(1)},
      {"StoreThenCopy", storeTile(1) + kFenced + copy("128x256b", 2) + commitAndWait(1) + kWaitStore + kFenced + dumpColumns(kA, 8),
       rows(2)},
      {"StoreThenShift", storeTile(1) + kFenced + shift() + commitAndWait(1) + kWaitStore + kFenced + dumpColumns(kA, 8),
       table([](uint32_t m, uint32_t c) { return cellBits(1, below(m), c); })},
      {"StoreThenLoad", storeTile(1) + load(kA) + kWaitLoad + kWaitStore + kDumpRegister,
       table([](uint32_t m, uint32_t) { return cellBits(1, m, 0); }, 1)},
      {"LoadThenMma", load(kD) + kFenced + Mma{}.text() + commitAndWait(1) + kWaitLoad + kDumpRegister,
       table([](uint32_t, uint32_t) { return 0u; }, 1)},
      {"LoadThenCopy", load(kA) + kFenced + copy("128x256b", 1) + commitAndWait(1) + kWaitLoad + kDumpRegister,
       table([](uint32_t m, uint32_t) { return cellBits(0, m, 0); }, 1)},
      {"LoadThenShift", load(kA) + kFenced + shift() + commitAndWait(1) + kWaitLoad + kDumpRegister,
       table([](uint32_t m, uint32_t) { return cellBits(0, m, 0); }, 1)},
      {"LoadThenStore", load(kA) + storeTile(1) + kWaitStore + kWaitLoad + kDumpRegister,
       table([](uint32_t m, uint32_t) { return cellBits(0, m, 0); }, 1)},
      {"LoadWithoutWait", load(kA) + kDumpRegister + kWaitLoad, table([](uint32_t m, uint32_t) { return cellBits(0, m, 0); }, 1)},
      {"CopyThenMmaOfAnotherThreadWithoutFences",
       copy("128x256b", 1) + kUnfenced + Mma{.who = "%second"}.text() +
           "  @%second tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar+8];\n" + waitForCommit(1) +
           dumpColumns(kD, 8) + commitAndWait(2),
       product(1)},
      {"CommitTracksOnlyItsOwnThread",
       copy("128x256b", 1) + kFenced +
           "  @%second tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar+8];\n" + waitForCommit(1) +
           dumpColumns(kA, 8) + commitAndWait(2),
       rows(1)},
  };
}

std::string scenarioName(const testing::TestParamInfo<Scenario>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Tcgen05, Ordered, testing::ValuesIn(orderedScenarios()), scenarioName);
INSTANTIATE_TEST_SUITE_P(Tcgen05, Unordered, testing::ValuesIn(unorderedScenarios()), scenarioName);

// --- open questions ---------------------------------------------------------------------------------------------------

uint64_t uses(const std::string& body, Unproven id, SchedulePolicy policy = SchedulePolicy::Earliest) {
  Options options;
  options.policy = policy;
  LaunchReport report;
  Emulator emulator;
  TensorKernel{prepare() + body, sharedImage(), 128 * 8}.run(emulator, options, &report);
  return report.counters.unprovenUses[static_cast<size_t>(id)];
}

/// The question that the order of an unordered scenario is, if it is one.
std::optional<Unproven> questionOf(const std::string& name) {
  static const std::map<std::string, Unproven> questions = {
      {"MmaThenCopy", Unproven::U6},
      {"CopyThenCopy", Unproven::U6},
      {"CopyThenShift", Unproven::U6},
      {"ShiftThenOtherCopy", Unproven::U6},
      {"MmaThenCopy4x256b", Unproven::U6},
      {"CopyThenCopy4x256b", Unproven::U6},
      {"ShiftingMmaThenCopy4x256b", Unproven::U6},
      {"ShiftingMmaThenMmaOnAnotherAccumulator", Unproven::U17},
      {"MmaThenShiftingMmaOnAnotherAccumulator", Unproven::U17},
      {"StoreThenLoad", Unproven::U30},
      {"LoadThenStore", Unproven::U30},
      {"LoadWithoutWait", Unproven::U30},
      {"MmaThenMmaOnOverlappingAccumulators", Unproven::U31},
      {"MmaThenMmaOverItsOperand", Unproven::U31},
      {"CopyThenMmaOfAnotherThreadWithoutFences", Unproven::U32},
      {"StoreThenMma", Unproven::U35},
      {"StoreThenCopy", Unproven::U35},
      {"StoreThenShift", Unproven::U35},
  };
  const auto found = questions.find(name);
  return found == questions.end() ? std::nullopt : std::optional(found->second);
}

// U17 has issue order as its alternative; the others have it as their default.
TEST(OrderingQuestions, KeepIssueOrderAndAreCounted) {
  size_t asked = 0;
  for (const Scenario& scenario : unorderedScenarios()) {
    const std::optional<Unproven> question = questionOf(scenario.name);
    Options options = latest();
    options.semantics.choose(Unproven::U17, question == Unproven::U17 ? 1 : 0);
    LaunchReport report;
    const std::vector<uint32_t> result = runScenario(scenario, options, &report);
    if (!question) {
      EXPECT_NE(result, scenario.inOrder) << scenario.name;
      continue;
    }
    ++asked;
    EXPECT_EQ(result, scenario.inOrder) << scenario.name;
    for (const Unproven id : {Unproven::U6, Unproven::U17, Unproven::U30, Unproven::U31, Unproven::U32, Unproven::U35})
      EXPECT_EQ(report.counters.unprovenUses[static_cast<size_t>(id)] != 0, id == *question)
          << scenario.name << ", U" << static_cast<int>(id) + 1;
    options.policy = SchedulePolicy::Random;
    for (options.seed = 1; options.seed <= 10; ++options.seed)
      EXPECT_EQ(runScenario(scenario, options), scenario.inOrder) << scenario.name << ", seed " << options.seed;
  }
  EXPECT_EQ(asked, 18u);
}

TEST(OrderingQuestions, UsesDoNotDependOnTheSchedule) {
  for (const SchedulePolicy policy : {SchedulePolicy::Earliest, SchedulePolicy::Latest}) {
    const std::string race = Mma{}.text() + copy("128x256b", 1) + finish(kD);
    EXPECT_EQ(uses(race, Unproven::U6, policy), 1u);
    const std::string waited = Mma{}.text() + commitAndWait(2) + copy("128x256b", 1) + finish(kD);
    EXPECT_EQ(uses(waited, Unproven::U6, policy), 0u);
    const std::string refill =
        Mma{}.text() + shift() + copy("4x256b", 1, 31) + Mma{.accumulate = true}.text() + shift() + finish(kD);
    EXPECT_EQ(uses(refill, Unproven::U6, policy), 0u) << "every conflict is ordered through listed pairs";
    const std::string chain = Mma{.shiftA = true}.text() + Mma{.accumulate = true, .shiftA = true}.text() + finish(kD);
    EXPECT_EQ(uses(chain, Unproven::U17, policy), 0u);
    const std::string other = Mma{.shiftA = true}.text() + Mma{.d = kOtherD}.text() + finish(kD);
    EXPECT_EQ(uses(other, Unproven::U17, policy), 1u);
  }
}

}  // namespace
}  // namespace shiftconv::tests
