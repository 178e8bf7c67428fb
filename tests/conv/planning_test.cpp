// What plans are made of: option texts, the cost model and its rates, the choice among candidates, parameters.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "common/device/registry.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/plan/rates.hpp"
#include "conv/plan/segment_stores.hpp"
#include "conv/plan/traffic.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/property_rows.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::array<OptionDescription, 3> kKnown{
    {{"size", "even numbers", "a number"}, {"kind", "red, blue", "a choice"}, {"on", "yes, no", "a flag"}}};

TEST(Options, AreReadByName) {
  OptionValues values;
  ASSERT_TRUE(OptionValues::parse(" size=4 ,kind = blue,on=yes", kKnown, values).ok());
  std::optional<uint32_t> size;
  std::optional<size_t> kind;
  std::optional<bool> on;
  constexpr std::array<std::string_view, 2> kKinds{"red", "blue"};
  ASSERT_TRUE(values.number("size", 2, 8, 2, size).ok());
  ASSERT_TRUE(values.choice("kind", kKinds, kind).ok());
  ASSERT_TRUE(values.flag("on", on).ok());
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(kind, 1u);
  EXPECT_EQ(on, true);
  ASSERT_TRUE(OptionValues::parse("", kKnown, values).ok());
  EXPECT_FALSE(values.find("size"));
  size.reset();
  ASSERT_TRUE(values.number("size", 2, 8, 2, size).ok());
  EXPECT_FALSE(size) << "set by a text that does not name it";
}

TEST(Options, NumbersKeepTheirRange) {
  for (const auto& [text, good] : {std::pair{"size=2", true},
                                   {"size=8", true},
                                   {"size=0", false},
                                   {"size=10", false},
                                   {"size=3", false},
                                   {"size=-2", false},
                                   {"size=4.0", false},
                                   {"size=99999999999", false}}) {
    OptionValues values;
    ASSERT_TRUE(OptionValues::parse(text, kKnown, values).ok());
    std::optional<uint32_t> size;
    EXPECT_EQ(values.number("size", 2, 8, 2, size).ok(), good) << text;
  }
}

TEST(Options, ListEveryOne) {
  EXPECT_EQ(describe(kKnown),
            "size  even numbers  a number\n"
            "kind  red, blue     a choice\n"
            "on    yes, no       a flag\n");
}

Candidate candidate(double seconds, double clocks, size_t unproven) {
  Candidate result;
  result.estimate.seconds = seconds;
  result.estimate.clocks = clocks;
  result.unproven.assign(unproven, "U1");
  return result;
}

size_t choice(std::vector<Candidate> candidates) { return choose(candidates); }

TEST(Choice, TheShortestTimeWins) { EXPECT_EQ(choice({candidate(3, 1, 0), candidate(2, 9, 5), candidate(4, 1, 0)}), 1u); }

TEST(Choice, TiesGoToProvenSemantics) {
  EXPECT_EQ(choice({candidate(1, 1, 2), candidate(1.009, 1, 1), candidate(1.02, 1, 0)}), 1u);
  EXPECT_EQ(choice({candidate(1, 1, 1), candidate(1.02, 1, 0)}), 0u) << "no tie";
}

TEST(Choice, EqualsAreTakenByTimeThenClocksThenOrder) {
  EXPECT_EQ(choice({candidate(1.005, 1, 1), candidate(1, 2, 1)}), 1u);
  EXPECT_EQ(choice({candidate(1, 2, 1), candidate(1, 1, 1)}), 1u);
  EXPECT_EQ(choice({candidate(1, 1, 1), candidate(1, 1, 1)}), 0u);
}

TEST(Choice, EstimatesThatNoRecordedTimeJudgesComeLast) {
  const auto untimed = [](double seconds) {
    Candidate made = candidate(seconds, 1, 0);
    made.isUntimed = true;
    return made;
  };
  EXPECT_EQ(choice({untimed(1), candidate(3, 1, 2), candidate(3.01, 1, 1)}), 2u) << "ties are among those that are judged";
  EXPECT_EQ(choice({untimed(2), untimed(1)}), 1u);
}

TEST(RatesTable, EveryRateSaysHowItIsKnown) {
  ASSERT_EQ(allRates().size(), 4u);
  for (const Rates& rates : allRates()) {
    for (size_t i = 0; i < kResources; ++i) {
      EXPECT_FALSE(rates.rates[i].source.empty()) << rates.architecture << " " << nameOf(static_cast<Resource>(i));
      const bool absent = rates.architecture == "sm_90a" && i == static_cast<size_t>(Resource::TensorCopy);
      EXPECT_EQ(rates.rates[i].perClock > 0, !absent) << rates.architecture << " " << nameOf(static_cast<Resource>(i));
    }
    EXPECT_GT(rates.clockHertz.perClock, 1e9);
    EXPECT_LT(rates.clockHertz.perClock, 3e9);
    EXPECT_NE(describe(rates).find("assumed"), std::string::npos);
  }
}

/// A line for each rate, with its unit.
TEST(RatesTable, IsPrintedWithItsUnits) {
  const Rates& rates = allRates()[0];
  std::istringstream lines(describe(rates));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "sm_100a: clock 1.85 GHz (published: sustained on a cloud B200; 1.965 GHz at most)");
  for (const auto& [name, value, unit] : {std::tuple{"tensor core", "4096.00", "products a clock"},
                                          {"L2 to shared memory", "70.00", "bytes a clock"},
                                          {"TMA writes to shared memory", "120.00", "bytes a clock"},
                                          {"shared memory to Tensor Memory", "64.00", "bytes a clock"},
                                          {"shared memory reads", "128.00", "bytes a clock"},
                                          {"TMA stores", "31.80", "bytes a clock"},
                                          {"CUDA cores", "128.00", "products a clock"},
                                          {"device memory", "3892.00", "bytes a clock"},
                                          {"products of mma.sync", "1024.00", "products a clock"},
                                          {"rows gathered by TMA", "1.50", "rows a clock"},
                                          {"  of one multiprocessor, from L2", "122.00", "bytes a clock"},
                                          {"  at multiples of 64 bytes", "0.53", "rows a clock"},
                                          {"  of 32 bytes", "0.53", "rows a clock"},
                                          {"  of 16 bytes", "0.35", "rows a clock"},
                                          {"an empty kernel", "2405.00", "clocks"},
                                          {"start and end of a kernel", "1900.00", "clocks"},
                                          {"a warp's store with gaps", "28.00", "clocks"}}) {
    ASSERT_TRUE(std::getline(lines, line)) << name;
    const std::string begin = fmt::format("  {:<31} {:>7} {} (", name, value, unit);
    EXPECT_EQ(line.substr(0, begin.size()), begin);
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST(RatesTable, IsChosenByComputeCapability) {
  device::Properties properties;
  for (const auto& [major, minor, name] :
       {std::tuple{10, 0, "sm_100a"}, {10, 3, "sm_103a"}, {11, 0, "sm_110a"}, {9, 0, "sm_90a"}, {12, 0, "sm_100a"}}) {
    properties.computeMajor = major, properties.computeMinor = minor;
    EXPECT_EQ(ratesOf(properties).architecture, name);
  }
}

TEST(CostModel, TheSlowestResourceDecides) {
  const Rates& rates = allRates()[0];
  const std::array<Demand, 3> demands{
      {{Resource::TensorCore, 4096 * 10}, {Resource::L2ToShared, 70 * 25}, {Resource::SharedReads, 128 * 25}}};
  const Bound bound = slowest(rates, demands);
  EXPECT_EQ(bound.clocks, 25);
  EXPECT_EQ(bound.resource, Resource::L2ToShared) << "the first of equals";
}

TEST(CostModel, DeviceMemoryBoundsEveryEstimate) {
  Problem p;
  p.n = 1, p.h = 100, p.w = 100, p.c = 64, p.k = 64, p.r = p.s = 1;
  const Rates& rates = allRates()[0];
  const double bytes = 2.0 * (100 * 100 * 64 + 64 * 64 + 100 * 100 * 64);
  const double memoryClocks = bytes / rates.of(Resource::DeviceMemory);
  const Estimate slow = estimate(p, rates, 2 * memoryClocks, Resource::TensorCore);
  EXPECT_EQ(slow.bound, Resource::TensorCore);
  EXPECT_DOUBLE_EQ(slow.seconds, 2 * memoryClocks / 1.85e9);
  EXPECT_EQ(slow.bytes, bytes);
  EXPECT_EQ(slow.flops, 2.0 * 100 * 100 * 64 * 64);
  const Estimate fast = estimate(p, rates, memoryClocks / 2, Resource::TensorCore);
  EXPECT_EQ(fast.bound, Resource::DeviceMemory);
  EXPECT_DOUBLE_EQ(fast.seconds, memoryClocks / 1.85e9);
  EXPECT_EQ(fast.clocks, memoryClocks / 2);
  // Device memory waits for a launch, too.
  const Estimate around = estimate(p, rates, memoryClocks / 2, Resource::TensorCore, 5000);
  EXPECT_EQ(around.bound, Resource::DeviceMemory);
  EXPECT_DOUBLE_EQ(around.seconds, (5000 + memoryClocks) / 1.85e9);
  EXPECT_DOUBLE_EQ(around.clocks, 5000 + memoryClocks / 2);
}

TEST(CostModel, FewMultiprocessorsGetMoreOfL2) {
  const Rates& rates = allRates()[0];
  device::Properties properties;
  properties.multiprocessors = 148;
  EXPECT_DOUBLE_EQ(crowdOf(rates, properties, 148), 1);
  EXPECT_DOUBLE_EQ(crowdOf(rates, properties, 1000), 1);
  EXPECT_DOUBLE_EQ(crowdOf(rates, properties, 111), 0.75);  // 70*148/111 bytes a clock
  EXPECT_DOUBLE_EQ(crowdOf(rates, properties, 1), 70.0 / 122);
  EXPECT_DOUBLE_EQ(crowdOf(rates, properties, 0), 70.0 / 122);
}

TEST(CostModel, RowsAreGatheredByWhereTheyStart) {
  const Rates& blackwell = allRates()[0];
  EXPECT_DOUBLE_EQ(sectorsOf(16), 2);
  EXPECT_DOUBLE_EQ(sectorsOf(112), 128.0 / 112);
  EXPECT_DOUBLE_EQ(sectorsOf(192), 1);
  EXPECT_EQ(blackwell.rowsPerClock(512), 1.5);
  EXPECT_EQ(blackwell.rowsPerClock(192), 0.53);
  EXPECT_EQ(blackwell.rowsPerClock(32), 0.53);
  EXPECT_EQ(blackwell.rowsPerClock(144), 0.35);
  device::Properties hopper;
  hopper.computeMajor = 9, hopper.computeMinor = 0;
  EXPECT_EQ(ratesOf(hopper).rowsPerClock(192), 0.4);
  EXPECT_EQ(ratesOf(hopper).rowsPerClock(32), 0.35);
}

// 256 outputs are one segment of 8 channels for each lane of a warp: 28 clocks for each store of it, as by hand.
TEST(CostModel, SegmentsThatRowsCutTakeAStoreForEachPiece) {
  const auto clocks = [](DataType type, int64_t k, int64_t pitch) {
    Problem p;
    p.n = 1, p.h = 16, p.w = 2, p.c = 64, p.k = k, p.r = p.s = 1;
    p.outputType = type;
    p.outputPixelPitch = pitch;
    return segmentStoreClocks(p, allRates()[0], 256);
  };
  EXPECT_EQ(clocks(DataType::F16, 16, 16), 0);
  EXPECT_EQ(clocks(DataType::F16, 7, 7), 8 * 28);
  EXPECT_EQ(clocks(DataType::F16, 8, 9), 8 * 28);
  EXPECT_EQ(clocks(DataType::BF16, 6, 6), 4 * 28);
  EXPECT_EQ(clocks(DataType::BF16, 12, 12), 4 * 28) << "4 bytes at a time";
  EXPECT_EQ(clocks(DataType::S8, 24, 24), 0);
  EXPECT_EQ(clocks(DataType::S8, 12, 12), 2 * 28);
  EXPECT_EQ(clocks(DataType::E4M3, 6, 6), 4 * 28);
  EXPECT_EQ(clocks(DataType::U8, 5, 5), 8 * 28);
  EXPECT_EQ(clocks(DataType::F32, 5, 5), 0) << "of the whole epilogue, which has rates of its own";
}

// im2col, 96 channels, a tap of 128 pixels and 128 filters: two stages of 256 rows at 0.53 a clock are 966 clocks, the products
// 512. 148 tiles, 128 x 128 bf16 outputs each.
TEST(CostModel, Im2colWaitsForRowsThatStartInTheMiddleOfALine) {
  Problem p;
  p.n = 1, p.h = 148, p.w = 128, p.c = 96, p.k = 128, p.r = 3, p.s = 1, p.padTop = p.padBottom = 1;
  const auto estimateOf = [&](int64_t channels) {
    p.c = channels;
    Candidates candidates;
    const PlanOptions options{"im2col", "group=single,tile_n=128,resident_weights=no"};
    EXPECT_TRUE(findCandidates(p, device::presets()[0].properties, options, candidates).ok());
    return candidates.all.at(candidates.best).estimate;
  };
  ASSERT_EQ(device::presets()[0].name, std::string_view("B200"));
  const double around = 2405 + 1900 + 128 * 128 * 2 / 31.8;
  EXPECT_EQ(estimateOf(96).bound, Resource::GatheredRows);
  EXPECT_NEAR(estimateOf(96).clocks, around + 3 * 2 * 256 / 0.53, 1e-6);
  EXPECT_NEAR(estimateOf(72).clocks, around + 3 * 2 * 256 / 0.35, 1e-6);
  // 128 channels start at multiples of 128 bytes. L2: 442 of the 444 rows of pixels, and 128 filters for every tap.
  EXPECT_EQ(estimateOf(128).bound, Resource::L2ToShared);
  EXPECT_NEAR(estimateOf(128).clocks, around + (442.0 / 148 + 3) * 128 * 256 / 70, 1e-6);
}

// Filters that stay away from shared memory come with every row, and the row's pixels come besides: all that is written. Pixels
// beside the image are taken for loaded ones.
TEST(CostModel, ShiftStreamLoadsPixelsAndFilters) {
  device::Properties one = device::presets()[0].properties;
  one.multiprocessors = 1;
  Problem p;
  ASSERT_TRUE(parse("1x30x30x512 f16 * 128x3x3x512 pad 1,1,1,1 -> f16", p).ok());
  Candidates candidates;
  ASSERT_TRUE(findCandidates(p, one, {"shift_stream", "map=strips,group=single,tile_n=128,resident_weights=no"}, candidates).ok());
  const Candidate& best = candidates.all.at(candidates.best);
  std::shared_ptr<const Plan> plan;
  ASSERT_TRUE(makePlan(p, one, best, "", plan).ok());
  EXPECT_EQ(best.estimate.bound, Resource::L2ToShared);
  EXPECT_LT(plan->traffic.filterBytes, plan->traffic.writtenBytes);
  EXPECT_NEAR(best.estimate.clocks, 2405 + 1900 + 128 * 128 * 2 / 31.8 + static_cast<double>(plan->traffic.writtenBytes) / 70,
              1e-6 * best.estimate.clocks);
}

/// A B200 makes 4096 products of 16-bit operands a clock on each of 148 multiprocessors, at 1.85 GHz, and its memory moves 7.2
/// TB/s. Narrower operands are multiplied as much faster as they are narrower, but six bits as eight.
TEST(CostModel, TheRooflineIsWorkedOutByHand) {
  const double ofHalves = 1000.0 * 768 * 512 / (4096 * 148 * 1.85e9);
  for (const auto& [text, share, bytes] :
       {std::tuple{"1x1x1000x512 f16 * 768x1x1x512 -> f16", 1.0, 2.0 * (1000 * 512 + 768 * 512 + 1000 * 768)},
        {"1x1x1000x512 f32 * 768x1x1x512 compute tf32 -> f16", 2.0, 4.0 * (1000 * 512 + 768 * 512) + 2.0 * 1000 * 768},
        {"1x1x1000x512 e4m3 * 768x1x1x512 -> f16", 0.5, 1000.0 * 512 + 768 * 512 + 2.0 * 1000 * 768},
        {"1x1x1000x512 e4m3 * 768x1x1x512 e2m1 -> f16", 0.5, 1000.0 * 512 + 0.5 * 768 * 512 + 2.0 * 1000 * 768},
        {"1x1x1000x512 e3m2 * 768x1x1x512 -> f16", 0.5, 0.75 * (1000 * 512 + 768 * 512) + 2.0 * 1000 * 768},
        {"1x1x1000x512 e2m1 * 768x1x1x512 -> f16", 0.25, 0.5 * (1000 * 512 + 768 * 512) + 2.0 * 1000 * 768}}) {
    Problem p;
    ASSERT_TRUE(parse(text, p).ok()) << text;
    const Roofline roofline = rooflineOf(p, device::presets()[0].properties);
    EXPECT_NEAR(roofline.products, share * ofHalves, 1e-9 * ofHalves) << text;
    EXPECT_NEAR(roofline.memory, bytes / 7.2e12, 0.01 * bytes / 7.2e12) << text;
  }
}

/// Two multiprocessors halve the work of one, and eight that of four: problems of many tiles, that no memory bounds, for every
/// algorithm. Pairs of CTAs need two of them.
TEST(CostModel, WorkIsDividedAmongMultiprocessorsFromTheFirstOn) {
  for (const tests::PropertyRow& row : tests::propertyRows("divided work")) {
    ASSERT_EQ(row.fields.size(), 2u) << row.algorithm;
    const std::string &name = row.algorithm, &options = row.fields[0], &text = row.fields[1], &device = row.where;
    SCOPED_TRACE(fmt::format("{} {} on {}", name, text, device));
    Problem p;
    ASSERT_TRUE(parse(text, p).ok());
    const Algorithm* algorithm = nullptr;
    ASSERT_TRUE(findAlgorithm(name, algorithm).ok());
    for (const device::Preset& preset : device::presets()) {
      if (preset.name != device) continue;
      const auto clocks = [&](uint32_t multiprocessors) {
        device::Properties properties = preset.properties;
        properties.multiprocessors = multiprocessors;
        std::vector<Candidate> all;
        const Status status = algorithm->candidates(p, properties, options, all);
        EXPECT_TRUE(status.ok()) << status.message();
        double least = std::numeric_limits<double>::infinity();
        for (const Candidate& one : all) least = std::min(least, one.estimate.clocks);
        return least;
      };
      for (const auto& [few, many] : {std::pair{1, 2}, {4, 8}}) {
        const double ratio = clocks(few) / clocks(many);
        EXPECT_GT(ratio, 1.45) << few;
        EXPECT_LT(ratio, 2.4) << few;
      }
    }
  }
}

TEST(CostModel, NoEngineOfBlackwellIsFasterThanALaunchAndTheRoofline) {
  const device::Properties& properties = device::presets()[0].properties;
  const double launch = 2405 / 1.85e9, start = 1900 / 1.85e9;
  for (const std::string_view text : {"1x7x7x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "64x56x56x64 f16 * 256x1x1x64 -> f16",
                                      "1x4x128x120x128 bf16 * 128x3x3x3x128 pad 1,1,1,1,1,1 -> bf16"}) {
    Problem p;
    ASSERT_TRUE(parse(std::string(text), p).ok()) << text;
    Candidates candidates;
    ASSERT_TRUE(findCandidates(p, properties, {}, candidates).ok());
    const Roofline least = rooflineOf(p, properties);
    std::set<std::string_view> seen;
    for (const Candidate& one : candidates.all) {
      const std::string_view name = one.algorithm->name();
      if (name != "im2col" && name != "halo_sm100" && name != "shift_stream" && name != "shift_window" && name != "gemm") continue;
      seen.insert(name);
      EXPECT_GE(one.estimate.seconds, launch + start + std::max(least.products, least.memory)) << text << " " << name;
      EXPECT_LT(one.estimate.seconds, 1e-3) << text << " " << name;
    }
    EXPECT_GE(seen.size(), 2u) << text;
  }
}

}  // namespace
}  // namespace shiftconv::plan
