// What plans are made of: option texts, the cost model and its rates, the choice among candidates, parameters.
#include <gtest/gtest.h>

#include <array>

#include "conv/plan/algorithm.hpp"
#include "conv/plan/rates.hpp"
#include "conv/planner/candidates.hpp"

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
      const bool absent = rates.architecture == "sm_90a" &&
                          (i == static_cast<size_t>(Resource::TensorCopy) || i == static_cast<size_t>(Resource::Staging));
      EXPECT_EQ(rates.rates[i].perClock > 0, !absent) << rates.architecture << " " << nameOf(static_cast<Resource>(i));
    }
    EXPECT_GT(rates.clockHertz.perClock, 1e9);
    EXPECT_LT(rates.clockHertz.perClock, 3e9);
    EXPECT_NE(describe(rates).find("assumed"), std::string::npos);
  }
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
}

}  // namespace
}  // namespace shiftconv::plan
