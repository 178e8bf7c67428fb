// shift_stream below the public API: every kind, one CTA and pairs, every schedule, resident and streamed filters, all geometry.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>

#include "common/device/embedded_ptx.hpp"
#include "conv/algorithms/shift_stream/plan.hpp"
#include "shift_stream_image.hpp"
#include "tests/conv/kernel/groups.hpp"
#include "tests/conv/kernel/judged_run.hpp"
#include "tests/support/one_kernel.hpp"

namespace shiftconv::tests {
namespace {

using plan::kStreamMapNames;
using plan::ShiftStreamChoices;
using plan::ShiftStreamPlan;
using plan::StreamMap;

struct StreamProblem {
  std::string name;
  Problem problem;
  ShiftStreamChoices choices;
};

/// One shape for each property.
std::vector<StreamProblem> makeStreamProblems() {
  std::vector<StreamProblem> all;
  const auto add = [&](std::string name, Problem p, ShiftStreamChoices choices = {}) {
    all.push_back({std::move(name), p, choices});
  };
  add("images", plain(2, 9, 9, 64, 64, 3, 3, 1));
  add("ragged", plain(2, 17, 40, 64, 32, 3, 3, 1));
  add("blocks_of_rows", plain(1, 13, 35, 64, 16, 3, 3, 1), {.blockRows = 4});
  add("chunks_and_tail", plain(1, 6, 31, 200, 48, 3, 3, 1));
  add("streamed_filter", plain(1, 7, 33, 136, 64, 3, 3, 1), {.residentWeights = false});
  add("passes", plain(1, 5, 30, 40, 104, 3, 3, 1), {.tileN = 48});
  add("no_padding", plain(1, 8, 37, 16, 24, 3, 3, 0));
  add("one_column", plain(3, 6, 5, 32, 16, 3, 1, 0));
  add("one_row_of_taps", plain(1, 4, 64, 32, 16, 1, 7, 3));
  add("seven_by_seven", plain(1, 9, 27, 16, 16, 7, 7, 3));
  add("even_filter", plain(1, 6, 20, 24, 16, 2, 4, 1));
  Problem p = plain(1, 5, 6, 16, 16, 3, 3, 0);
  p.padTop = 4, p.padBottom = 3, p.padLeft = 5, p.padRight = 2;  // output rows and columns without any input
  add("padding_wider_than_the_filter", p);
  p = plain(1, 1, 1, 8, 8, 3, 3, 1);
  add("one_pixel", p);
  p = plain(1, 14, 33, 32, 16, 3, 3, 2);
  p.dilationH = 2, p.padLeft = p.padRight = 1;
  add("dilated_rows", p, {.blockRows = 3});
  p = plain(1, 3, 33, 16, 16, 3, 3, 1);
  p.dilationH = 4;
  p.padTop = p.padBottom = 4;
  add("dilation_beyond_the_image", p);
  p = plain(1, 12, 31, 32, 16, 3, 3, 1);
  p.strideH = 2;
  add("every_second_row", p, {.blockRows = 2});
  p = plain(1, 13, 20, 16, 16, 2, 3, 1);
  p.strideH = 3;
  add("rows_left_out", p);
  p = scaled(plain(3, 2, 9, 128, 12, 2, 1, 1), DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0);
  p.dilationH = 3, p.padLeft = 1, p.padRight = 0;
  add("fewer_rows_than_phases", p);
  p = plain(2, 5, 18, 32, 16, 3, 3, 1);
  p.d = 4, p.t = 3, p.padFront = p.padBack = 1;
  add("three_dimensions", p);
  p.strideD = 2, p.dilationD = 2, p.t = 2;
  add("three_dimensions_with_stride", p, {.residentWeights = false});
  p = plain(2, 6, 33, 24, 24, 3, 3, 1);
  p.inputPixelPitch = 40, p.outputPixelPitch = 32, p.hasBias = true, p.activation = Activation::Relu, p.outputType = DataType::F16;
  add("pitches_bias_relu", p);
  const Problem small = plain(1, 5, 33, 96, 32, 3, 3, 1);
  for (const auto& [name, problem] : operandCases(small)) add(name, problem);
  add("e5m2_e5m2", typed(small, DataType::E5M2, DataType::E5M2, DataType::F16));
  p = typed(small, DataType::U8, DataType::U8, DataType::U8);
  p.inputZeroPoint = 130, p.filterZeroPoint = 3, p.outputZeroPoint = 128, p.outScale = 0.0009765625f, p.hasBias = true;
  p.padTop = 3, p.padRight = 2;
  p.dilationH = 2;
  add("u8_zero_points_everywhere", p);
  const DataType e4m3 = DataType::E4M3, e5m2 = DataType::E5M2, e2m1 = DataType::E2M1, ue8m0 = DataType::UE8M0;
  add("mxfp8", scaled(plain(2, 7, 33, 128, 64, 3, 3, 1), e4m3, e4m3, 32, ue8m0));
  add("mxfp8_channel_tail", scaled(plain(1, 5, 32, 96, 48, 3, 3, 1), e4m3, e5m2, 32, ue8m0));
  add("mxfp8_shifted_scales", scaled(plain(1, 6, 40, 384, 32, 3, 3, 1), e5m2, e4m3, 32, ue8m0), {.shiftedScales = true});
  add("mxfp8_passes_streamed", scaled(plain(1, 4, 31, 160, 200, 3, 3, 1), e4m3, e4m3, 32, ue8m0),
      {.tileN = 96, .residentWeights = false});
  add("mxfp6", scaled(plain(1, 5, 33, 128, 32, 3, 3, 1), DataType::E3M2, DataType::E2M3, 32, ue8m0));
  add("mxfp8_mxfp4", scaled(plain(1, 4, 33, 256, 32, 3, 3, 1), e4m3, e2m1, 32, ue8m0));
  add("mxfp4", scaled(plain(1, 5, 33, 320, 64, 3, 3, 1), e2m1, e2m1, 32, ue8m0));
  add("mxfp4_shifted_scales", scaled(plain(1, 4, 20, 64, 16, 3, 5, 2), e2m1, e2m1, 32, ue8m0), {.shiftedScales = true});
  add("nvfp4", scaled(plain(2, 5, 33, 288, 64, 3, 3, 1), e2m1, e2m1, 16, DataType::UE4M3));
  add("nvfp4_shifted_scales", scaled(plain(1, 6, 31, 64, 64, 3, 3, 1), e2m1, e2m1, 16, DataType::UE4M3), {.shiftedScales = true});
  const ScaleOrder rows = ScaleOrder::Plain, tiles = ScaleOrder::Interleaved;
  add("f16_to_mxfp8", quantised(plain(2, 5, 33, 32, 72, 3, 3, 1), e4m3, 32, rows));
  add("mxfp8_to_mxfp8", quantised(scaled(plain(2, 7, 33, 128, 96, 3, 3, 1), e4m3, e4m3, 32, ue8m0), e5m2, 32, tiles),
      {.tileN = 32});
  add("mxfp4_to_mxfp4", quantised(scaled(plain(1, 4, 33, 64, 64, 3, 3, 1), e2m1, e2m1, 32, ue8m0), e2m1, 32, tiles));
  p = quantised(scaled(plain(1, 5, 31, 64, 40, 3, 3, 1), e2m1, e2m1, 16, DataType::UE4M3), e2m1, 16, rows);
  p.hasBias = true, p.activation = Activation::Relu, p.outScale = 0.25f, p.outputPixelPitch = 64;
  add("nvfp4_to_nvfp4", p);
  p = scaled(plain(1, 5, 33, 160, 136, 2, 3, 1), e4m3, e4m3, 32, ue8m0);
  p.inputScale.order = p.filterScale.order = tiles;
  add("mxfp8_interleaved_scales", p);
  p = scaled(plain(1, 4, 18, 96, 32, 3, 3, 1), e4m3, e4m3, 32, ue8m0);
  p.d = 3, p.t = 3, p.padFront = p.padBack = 1;
  add("mxfp8_three_dimensions", p);
  const auto addMaps = [&](const std::string& name, const Problem& problem, std::initializer_list<StreamMap> maps,
                           ShiftStreamChoices choices = {}) {
    for (const StreamMap map : maps) {
      choices.map = map;
      add(name + "_" + std::string(kStreamMapNames[static_cast<size_t>(map)]), problem, choices);
    }
  };
  const std::initializer_list<StreamMap> packed{StreamMap::Packed}, refilled{StreamMap::StripsRefill, StreamMap::FlatRefill},
      all4{StreamMap::Strips, StreamMap::Packed, StreamMap::StripsRefill, StreamMap::FlatRefill};
  addMaps("width_7", plain(11, 7, 7, 96, 32, 3, 3, 1), all4);
  addMaps("width_14", plain(5, 14, 14, 32, 48, 3, 3, 1), all4, {.blockRows = 5});
  addMaps("width_31", plain(2, 5, 31, 16, 16, 3, 3, 1), packed);
  addMaps("width_40", plain(2, 6, 40, 32, 16, 3, 3, 1), all4);
  addMaps("width_64", plain(1, 5, 64, 200, 32, 3, 3, 1), refilled, {.residentWeights = false});
  addMaps("width_150", plain(1, 3, 150, 16, 16, 3, 7, 3), refilled);
  addMaps("width_2", plain(50, 3, 2, 16, 16, 2, 2, 1), {StreamMap::Packed, StreamMap::FlatRefill});
  p = plain(7, 6, 8, 32, 16, 3, 5, 1);
  p.padLeft = 1, p.padRight = 3;
  addMaps("more_padding_right", p, all4);
  p.padLeft = 4, p.padRight = 0;
  addMaps("padding_left_only", p, all4);
  p.padLeft = 7, p.padRight = 6;
  addMaps("padding_wider_than_the_filter", p, {StreamMap::Packed, StreamMap::FlatRefill});
  p = plain(3, 12, 9, 32, 16, 3, 3, 0);
  p.dilationH = 2;
  addMaps("dilated_without_padding", p, all4, {.blockRows = 3});
  p = plain(3, 4, 10, 32, 16, 3, 3, 1);
  p.strideH = 2, p.d = 3, p.t = 2, p.padFront = 1;
  addMaps("every_second_row_in_3d", p, all4);
  addMaps("tf32", typed(plain(3, 4, 14, 24, 16, 3, 3, 1), DataType::F32, DataType::F32, DataType::F32), packed);
  addMaps("u8_s8", typed(plain(3, 4, 35, 80, 32, 3, 3, 1), DataType::U8, DataType::S8, DataType::F32), refilled);
  addMaps("mxfp8_width_7", scaled(plain(9, 7, 7, 160, 32, 3, 3, 1), e4m3, e4m3, 32, ue8m0), all4);
  addMaps("mxfp8_width_40", scaled(plain(1, 4, 40, 128, 32, 3, 5, 2), e4m3, e5m2, 32, ue8m0), all4);
  addMaps("mxfp8_shifted_scales", scaled(plain(5, 6, 14, 384, 32, 3, 3, 1), e5m2, e4m3, 32, ue8m0), packed,
          {.shiftedScales = true});
  addMaps("mxfp6_width_14", scaled(plain(5, 3, 14, 128, 32, 3, 3, 1), DataType::E3M2, DataType::E2M3, 32, ue8m0), packed);
  addMaps("nvfp4_width_14", scaled(plain(5, 5, 14, 288, 64, 3, 3, 1), e2m1, e2m1, 16, DataType::UE4M3), all4);
  // Rows end to end. Two and more tiles, the last of them with lanes that no row is left for.
  const std::initializer_list<StreamMap> masked{StreamMap::FlatMasked};
  addMaps("width_7", plain(21, 5, 7, 96, 32, 3, 3, 1), masked);
  addMaps("width_13", plain(1, 23, 13, 40, 48, 3, 5, 2), masked, {.blockRows = 4});
  addMaps("width_27", plain(3, 5, 27, 32, 16, 3, 5, 2), masked);  // rows that go on after the lanes of a CTA
  addMaps("width_28", plain(3, 5, 28, 32, 16, 3, 3, 1), masked);
  addMaps("width_40", plain(2, 6, 40, 32, 16, 3, 3, 1), masked);
  addMaps("width_150", plain(1, 5, 150, 16, 16, 3, 7, 3), masked, {.residentWeights = false});
  addMaps("width_2", plain(70, 3, 2, 16, 16, 2, 2, 1), masked);
  addMaps("passes", plain(4, 5, 14, 136, 104, 3, 3, 1), masked, {.tileN = 48});
  addMaps("chunks_streamed", plain(1, 9, 24, 136, 32, 2, 3, 1), masked, {.residentWeights = false});
  addMaps("two_slots", plain(3, 9, 13, 72, 64, 7, 5, 2), masked, {.tileN = 64});
  p = plain(7, 6, 13, 32, 16, 3, 5, 1);
  p.padLeft = 1, p.padRight = 3;
  addMaps("more_padding_right", p, masked);
  p.padLeft = 3, p.padRight = 1;
  addMaps("more_padding_left", p, masked, {.residentWeights = false});
  p.padLeft = 4, p.padRight = 0;
  addMaps("padding_left_only", p, masked);
  p.padLeft = 0, p.padRight = 4;
  addMaps("padding_right_only", p, masked);
  p.padLeft = 4, p.padRight = 6;  // output columns whose first tap lies after the row
  addMaps("padding_wider_than_the_filter", p, masked);
  p.padTop = p.padBottom = 4, p.padLeft = 2, p.padRight = 1;
  addMaps("output_rows_without_input", p, masked);
  p = plain(3, 12, 9, 32, 16, 3, 3, 0);
  p.dilationH = 2;
  addMaps("dilated_without_padding", p, masked, {.blockRows = 3});
  p = plain(5, 4, 10, 32, 16, 3, 3, 1);
  p.strideH = 2, p.d = 3, p.t = 2, p.padFront = 1;
  addMaps("every_second_row_in_3d", p, masked);
  for (const auto& [name, problem] : operandCases(plain(3, 5, 13, 96, 32, 3, 3, 1))) addMaps(name + "_width_13", problem, masked);
  return all;
}

const std::vector<StreamProblem>& streamProblems() {
  static const std::vector<StreamProblem> problems = makeStreamProblems();
  return problems;
}

class ShiftStream : public testing::TestWithParam<ProblemAndGroup> {};

TEST_P(ShiftStream, EqualsTheExactResultUnderEverySchedule) {
  static emulator::Emulator machine;
  StreamProblem what = streamProblems().at(std::get<0>(GetParam()));
  what.choices.pair = std::get<1>(GetParam());
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const device::Properties properties = fewMultiprocessors();
  ASSERT_EQ(plan::shiftStreamRefusal(what.problem, properties), "");
  ShiftStreamPlan plan;
  ASSERT_EQ(plan::planShiftStream(what.problem, properties, what.choices, plan), "");
  EXPECT_EQ(plan.cut.pair, *what.choices.pair);
  EXPECT_EQ(plan.cut.map, what.choices.map.value_or(plan.cut.map));
  const auto module = loadOneKernel(machine, device::ptxFor(images::shift_stream(), "sm_100a"), plan.kernelName);
  judgeUnderEverySchedule(machine, *module, plan, StreamCase(what.problem, seed), seed);
}

INSTANTIATE_TEST_SUITE_P(Problems, ShiftStream, testing::ValuesIn(oneGroupEach(streamProblems().size())), nameOf<streamProblems>);
INSTANTIATE_TEST_SUITE_P(Nightly, ShiftStream, testing::ValuesIn(oneGroupEach(streamProblems().size(), true)),
                         nameOf<streamProblems>);

ShiftStreamPlan planOf(const Problem& problem, StreamMap map, bool pair = false) {
  ShiftStreamPlan plan;
  EXPECT_EQ(plan::planShiftStream(problem, fewMultiprocessors(), {.map = map, .pair = pair}, plan), "");
  return plan;
}

/// Of the lanes that are multiplied, in percent.
int64_t usefulLanes(const Problem& problem, StreamMap map) {
  const plan::Traffic traffic = planOf(problem, map).traffic;
  return 100 * traffic.storedRows / traffic.multipliedRows;
}

// Images enough to fill every tile. By hand, for a 3x3 filter with a padding of 1: strips have 30 columns a window; two rows of 14
// or four of 7 lie in 32 lanes, eight or sixteen in 128; 40 columns are three pieces of 14, and 64 five of 13, two in a window, or
// four of 16, seven in 128 lanes. Without padding between them, 18 rows of 7 lie in 128 lanes, or nine
// pieces of 14, halves and quarters of 28 and 56, or 16 pieces of 8, fifths of 40.
TEST(ShiftStreamMaps, HoldAsManyColumnsAsFit) {
  const struct {
    int64_t width;
    int64_t strips, packed, stripsRefill, flatRefill, flatMasked;
  } cases[] = {{7, 21, 87, 21, 87, 98},  {8, 25, 75, 25, 87, 100},  {14, 43, 87, 43, 87, 98},   {16, 50, 75, 50, 87, 100},
               {28, 87, 87, 87, 87, 98}, {31, 48, 96, 96, 96, 96},  {32, 50, 75, 100, 87, 100}, {40, 62, 83, 62, 93, 100},
               {56, 87, 87, 87, 87, 98}, {64, 66, 80, 100, 87, 100}};
  for (const auto& one : cases) {
    const Problem p = plain(64 * 105, 3, one.width, 16, 16, 3, 3, 1);
    EXPECT_EQ(usefulLanes(p, StreamMap::Strips), one.strips) << one.width;
    EXPECT_EQ(usefulLanes(p, StreamMap::Packed), one.packed) << one.width;
    EXPECT_EQ(usefulLanes(p, StreamMap::StripsRefill), one.stripsRefill) << one.width;
    EXPECT_EQ(usefulLanes(p, StreamMap::FlatRefill), one.flatRefill) << one.width;
    EXPECT_EQ(usefulLanes(p, StreamMap::FlatMasked), one.flatMasked) << one.width;
  }
  // Without lane masks the padding after the last row must lie in the window: three rows of 7, not four.
  const Problem seven = scaled(plain(64 * 105, 3, 7, 32, 16, 3, 3, 1), DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0);
  EXPECT_EQ(usefulLanes(seven, StreamMap::Packed), 65);
}

TEST(ShiftStreamMaps, SayWhatTheyCannotDo) {
  const auto refusal = [](const Problem& problem, ShiftStreamChoices choices) {
    ShiftStreamPlan plan;
    return plan::planShiftStream(problem, fewMultiprocessors(), choices, plan);
  };
  const Problem six = scaled(plain(1, 5, 33, 128, 32, 3, 3, 1), DataType::E3M2, DataType::E2M3, 32, DataType::UE8M0),
                eight = scaled(plain(1, 5, 33, 128, 32, 3, 3, 1), DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0);
  for (const StreamMap map : {StreamMap::StripsRefill, StreamMap::FlatRefill}) {
    EXPECT_NE(refusal(plain(1, 5, 33, 16, 16, 3, 1, 0), {.map = map}).find("needs S of at least 2"), std::string::npos);
    EXPECT_NE(refusal(six, {.map = map}).find("cannot refill e3m2"), std::string::npos);
    EXPECT_NE(refusal(eight, {.map = map, .shiftedScales = true}).find("needs scales=copies"), std::string::npos);
    EXPECT_EQ(refusal(eight, {.map = map}), "");
  }
  EXPECT_NE(refusal(eight, {.map = StreamMap::FlatMasked}).find("needs lane masks"), std::string::npos);
  EXPECT_NE(refusal(plain(1, 5, 33, 16, 16, 3, 1, 0), {.map = StreamMap::FlatMasked}).find("needs S of at least 2"),
            std::string::npos);
  Problem wide = plain(1, 5, 33, 16, 16, 3, 3, 2);
  EXPECT_EQ(refusal(wide, {.map = StreamMap::FlatMasked}), "");
  wide.padLeft = 3;
  EXPECT_NE(refusal(wide, {.map = StreamMap::FlatMasked}).find("needs pad_left below S"), std::string::npos);
  // A row of 1024 columns fills eight CTAs, and there are eight sets of masks.
  EXPECT_EQ(refusal(plain(1, 1, 1024, 16, 16, 1, 3, 1), {.map = StreamMap::FlatMasked}), "");
  EXPECT_NE(refusal(plain(1, 1, 1025, 16, 16, 1, 3, 1), {.map = StreamMap::FlatMasked}).find("repeat themselves"),
            std::string::npos);
}

// Windows that are shifted and not refilled hold stale rows, which the machine must see: in the results, and as what it is.
TEST(ShiftStreamMaps, AWindowThatIsNotRefilledIsNoticed) {
  std::string ptx(device::ptxFor(images::shift_stream(), "sm_100a"));
  for (size_t at = 0; (at = ptx.find("tcgen05.cp.cta_group::1.4x256b", at)) != std::string::npos; at += 3) ptx.insert(at, "//");
  emulator::Emulator machine;
  const auto module = machine.load(ptx, "shift_stream without refill");
  for (const StreamMap map : {StreamMap::StripsRefill, StreamMap::FlatRefill, StreamMap::FlatMasked})
    for (const bool isScaled : {false, true}) {
      if (isScaled && map == StreamMap::FlatMasked) continue;
      SCOPED_TRACE(testing::Message() << kStreamMapNames[static_cast<size_t>(map)] << (isScaled ? ", mxfp8" : ", f16"));
      Problem problem = plain(1, 5, 40, 128, 16, 3, 3, 1);
      if (isScaled) problem = scaled(problem, DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0);
      const plan::PlannedLaunch launch = planOf(problem, map).planned();
      DeviceRun device(machine, *module, launch.kernel);
      emulator::Options options;
      options.hazards = emulator::HazardMode::Warn;
      const Observation seen = StreamCase(problem, 1).run(device, launch, options);
      EXPECT_NE(seen.difference, "");
      EXPECT_TRUE(std::any_of(seen.hazards.begin(), seen.hazards.end(),
                              [](const emulator::Hazard& hazard) { return hazard.kind == emulator::HazardKind::UndefinedData; }));
    }
}

// 18 rows of 7 columns are 126 lanes of one CTA, for a 3x3 filter with a padding of 1 and 16 outputs.
struct HandCount {
  uint32_t blockRows;
  int64_t steps, rowTaps;  ///< input rows, and their products with filter rows
  int64_t pixels;          ///< of the image, that all rows, refills and edges load
};
void expectByHand(const Problem& problem, const HandCount& hand) {
  constexpr int64_t kLanes = 128, kRowBytes = 128, kSliceBytes = 32, kTaps = 9, kOutputs = 16, kRowEnds = 18;
  const int64_t pixelBytes = 2 * problem.c, chunks = (pixelBytes + kRowBytes - 1) / kRowBytes, slices = pixelBytes / kSliceBytes;
  ShiftStreamPlan plan;
  const ShiftStreamChoices choices{.map = StreamMap::FlatMasked, .blockRows = hand.blockRows, .pair = false};
  ASSERT_EQ(plan::planShiftStream(problem, fewMultiprocessors(), choices, plan), "");
  ASSERT_EQ(plan.tiles(), 1);
  emulator::Emulator machine;
  const auto module = loadOneKernel(machine, device::ptxFor(images::shift_stream(), "sm_100a"), plan.kernelName);
  const plan::PlannedLaunch launch = plan.planned();
  DeviceRun device(machine, *module, launch.kernel);
  const Observation seen = StreamCase(problem, 1).run(device, launch, {});
  EXPECT_EQ(seen.difference, "");
  const emulator::Counters& counters = seen.counters;
  const auto counted = [&](const std::map<std::string, uint64_t>& all, std::string_view name) {
    int64_t sum = 0;
    for (const auto& [key, count] : all)
      if (key.find(name) != std::string::npos) sum += static_cast<int64_t>(count);
    return sum;
  };
  using emulator::Engine;
  // The four slices of the first chunk: tap 1, a shift, tap 2; then tap 0 on a copy of its own. The others: taps 0, 1 and 2.
  const int64_t shifts = hand.steps * (4 + 2 * (slices - 4)), copies = hand.steps * (2 * 4 + (slices - 4));
  EXPECT_EQ(counted(counters.mma, ""), hand.rowTaps * 3 * slices);
  EXPECT_EQ(counted(counters.operations, "tcgen05.shift"), shifts);
  EXPECT_EQ(counted(counters.operations, "tcgen05.cp"), copies + shifts);  // each shift has its refill
  EXPECT_EQ(countedBytes(counters, Engine::TensorCopy, emulator::Traffic::SharedRead),
            (copies * kLanes + shifts * 4) * kSliceBytes);
  // At taps 0 and 2 one end of each row and the two lanes after the last row are disabled.
  EXPECT_EQ(countedBytes(counters, Engine::TensorCore, emulator::Traffic::TmemWrite),
            hand.rowTaps * slices * (3 * kLanes - 2 * (kRowEnds + 2)) * kOutputs * 4);
  EXPECT_EQ(countedBytes(counters, Engine::BulkCopy, emulator::Traffic::GlobalRead), (hand.pixels + kTaps * kOutputs) * pixelBytes);
  // 126 pixels of rows, eight that refill windows, one in front of the rows and one after them.
  EXPECT_EQ(countedBytes(counters, Engine::BulkCopy, emulator::Traffic::SharedWrite),
            (hand.steps * (126 + 8 + 2) + kTaps * kOutputs) * chunks * kRowBytes);
}

// Three rows of each image: the outer ones miss one of three filter rows each. What refills window 3 is padding.
TEST(ShiftStreamMasks, CountsOfManyImages) { expectByHand(plain(18, 3, 7, 64, 16, 3, 3, 1), {3, 3, 7, 3 * (126 + 6)}); }
// The 18 rows of one image, each a block of its own: row y of all of them at once, then the rows below. The first row has none
// above and the last none below.
TEST(ShiftStreamMasks, CountsOfOneImage) { expectByHand(plain(1, 18, 7, 96, 16, 3, 3, 1), {1, 3, 3, 3 * (126 + 6) - 2 * 7}); }

// A plan's masks, changed: the results must differ, or the machine must see why not.
TEST(ShiftStreamMasks, AWrongOneIsNoticed) {
  emulator::Emulator machine;
  const Problem problem = plain(5, 3, 13, 32, 16, 3, 3, 1);
  for (const bool pair : {false, true}) {
    const ShiftStreamPlan right = planOf(problem, StreamMap::FlatMasked, pair);
    ASSERT_EQ(right.params.maskPhases, 1);
    const auto module = loadOneKernel(machine, device::ptxFor(images::shift_stream(), "sm_100a"), right.kernelName);
    const auto observe = [&](const ShiftStreamPlan& plan) {
      const plan::PlannedLaunch launch = plan.planned();
      DeviceRun device(machine, *module, launch.kernel);
      emulator::Options options;
      options.hazards = emulator::HazardMode::Warn;
      return StreamCase(problem, 1).run(device, launch, options);
    };
    EXPECT_EQ(observe(right).difference, "");
    for (const int tap : {0, 2}) {
      SCOPED_TRACE(testing::Message() << (pair ? "pair" : "single") << ", tap " << tap);
      ShiftStreamPlan wrong = right;
      wrong.params.disabled[0][tap] = {};
      EXPECT_NE(observe(wrong).difference, "") << "neighbouring rows were multiplied, too";
      wrong = right;
      wrong.params.disabled[0][tap].window[1] ^= 1u << 5;
      EXPECT_NE(observe(wrong).difference, "") << "a lane in the middle of a row was left out";
    }
    ShiftStreamPlan wrong = right;
    wrong.params.disabled[0][1].window[0] = 1;
    const Observation seen = observe(wrong);
    EXPECT_TRUE(std::any_of(seen.hazards.begin(), seen.hazards.end(), [](const emulator::Hazard& hazard) {
      return hazard.kind == emulator::HazardKind::UndefinedData;
    })) << "an accumulator that nothing initialises was stored";
  }
}

}  // namespace
}  // namespace shiftconv::tests
