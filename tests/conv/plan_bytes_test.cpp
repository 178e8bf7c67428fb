// Plans as bytes: what comes back is the plan that was written, and nothing else does.
#include "conv/planner/plan_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/checksum.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

constexpr const char* kVersion = "0.2.0";

std::shared_ptr<const Plan> planned(const std::string& text, const std::string& device, const PlanOptions& options = {}) {
  Problem problem;
  const Status parsed = parse(text, problem);
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  const auto presets = device::presets();
  const auto preset = std::find_if(presets.begin(), presets.end(), [&](const device::Preset& one) { return one.name == device; });
  std::shared_ptr<const Plan> plan;
  const Status status = makePlan(problem, preset->properties, options, plan);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

void expectSameMap(const layout::TiledMap& a, const layout::TiledMap& b) {
  EXPECT_TRUE(a.type == b.type && a.rank == b.rank && a.dims == b.dims && a.strides == b.strides && a.box == b.box &&
              a.elementStrides == b.elementStrides && a.interleave == b.interleave && a.swizzle == b.swizzle && a.fill == b.fill &&
              a.l2Promotion == b.l2Promotion);
}
void expectSameMap(const layout::Im2colMap& a, const layout::Im2colMap& b) {
  expectSameMap(a.tensor, b.tensor);
  EXPECT_TRUE(a.pixels.lowerCorner == b.pixels.lowerCorner && a.pixels.upperCorner == b.pixels.upperCorner &&
              a.pixels.channelsPerPixel == b.pixels.channelsPerPixel && a.pixels.pixelsPerColumn == b.pixels.pixelsPerColumn);
}

void expectSamePlace(const TensorPlace& a, const TensorPlace& b) {
  EXPECT_TRUE(a.tensor == b.tensor && a.byteOffset == b.byteOffset);
}

void expectSameLaunches(const Plan& a, const Plan& b) {
  ASSERT_EQ(a.launches.size(), b.launches.size());
  for (size_t i = 0; i < a.launches.size(); ++i) {
    const PlannedLaunch &one = a.launches[i], &other = b.launches[i];
    EXPECT_EQ(one.image.name, other.image.name);
    EXPECT_EQ(one.kernel, other.kernel);
    EXPECT_EQ(one.config.programmaticDependent, other.config.programmaticDependent);
    EXPECT_EQ(one.warpRoles, other.warpRoles);
    EXPECT_EQ(one.packsFilter, other.packsFilter);
    ASSERT_EQ(one.parameters.size(), other.parameters.size());
    for (size_t j = 0; j < one.parameters.size(); ++j) {
      const Parameter &p = one.parameters[j], &q = other.parameters[j];
      EXPECT_EQ(p.bytes(), q.bytes()) << one.kernel << ", parameter " << j;
      ASSERT_EQ(p.addresses().size(), q.addresses().size());
      for (size_t k = 0; k < p.addresses().size(); ++k) {
        EXPECT_EQ(p.addresses()[k].offset, q.addresses()[k].offset);
        expectSamePlace(p.addresses()[k].place, q.addresses()[k].place);
      }
      ASSERT_EQ(p.maps().size(), q.maps().size());
      for (size_t k = 0; k < p.maps().size(); ++k) {
        EXPECT_EQ(p.maps()[k].offset, q.maps()[k].offset);
        expectSamePlace(p.maps()[k].place, q.maps()[k].place);
        ASSERT_EQ(p.maps()[k].description.index(), q.maps()[k].description.index());
        std::visit([&](const auto& map) { expectSameMap(map, std::get<std::decay_t<decltype(map)>>(q.maps()[k].description)); },
                   p.maps()[k].description);
      }
    }
  }
}

void expectSameFigures(const Plan& a, const Plan& b) {
  const device::Properties &p = a.properties, &q = b.properties;
  EXPECT_EQ(std::tie(p.kind, p.name, p.computeMajor, p.computeMinor, p.multiprocessors, p.sharedBytesPerBlock),
            std::tie(q.kind, q.name, q.computeMajor, q.computeMinor, q.multiprocessors, q.sharedBytesPerBlock));
  EXPECT_EQ(std::tie(p.l2Bytes, p.globalBytes), std::tie(q.l2Bytes, q.globalBytes));
  EXPECT_EQ(std::tie(a.estimate.clocks, a.estimate.seconds, a.estimate.flops, a.estimate.bytes, a.estimate.bound),
            std::tie(b.estimate.clocks, b.estimate.seconds, b.estimate.flops, b.estimate.bytes, b.estimate.bound));
}

struct Written {
  const char *device, *problem, *algorithm, *options;
};
const std::vector<Written> kWritten{
    {"B200", "2x9x11x24 f16 * 16x3x3x24 pad 1,1,1,1 -> f16 bias relu", "", ""},
    {"B200", "2x9x11x64 f16 * 32x3x3x64 pad 1,0,1,1 -> f32 residual 0.3 silu", "shift_window", "group=single"},
    {"B200", "1x9x13x32 u8 zero 7 * 48x3x3x32 s8 zero -2 pad 1,1,1,1 -> s8 out_scale 0.125 zero 5", "", ""},
    {"B300", "1x2x8x8x128 e2m1 scale ue4m3/16/interleaved * 64x1x3x3x128 scale ue4m3/16/interleaved pad 0,0,1,1,1,1 -> f16", "",
     ""},
    {"H200", "8x28x28x64 f16 * 96x3x3x64 pad 1,1,1,1 -> f16 bias gelu_erf", "", ""},
    {"H200", "8x28x28x64 f16 * 96x3x3x64 pad 1,1,1,1 -> f16 bias", "halo", ""},
    {"H200", "3x17x19x5 f32 * 7x2x3x5 pad 1,0,2,1 stride 2,1 -> f32 bias clamp -0.1,0.7", "", ""},
    {"Thor", "1x56x56x96 bf16 * 96x7x7x1 groups 96 pad 3,3,3,3 -> bf16", "", ""},
    {"H200", "8x28x28x64 u8 zero 3 * 96x3x3x64 s8 pad 1,1,1,1 flipped -> s32", "", ""},
    {"B200", "8x7x7x64 f16 * 96x3x3x64 pad 1,1,1,1 flipped -> f16", "reversed", "batch_invariant=yes"}};

TEST(PlanBytes, GiveTheSamePlan) {
  for (const Written& one : kWritten) {
    SCOPED_TRACE(one.problem);
    const std::shared_ptr<const Plan> plan = planned(one.problem, one.device, {one.algorithm, one.options});
    const std::string bytes = bytesOf(*plan, kVersion);
    std::shared_ptr<const Plan> again;
    const Status status = planOf(bytes, kVersion, again);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(describe(*again), describe(*plan));
    EXPECT_EQ(choiceOf(*again), choiceOf(*plan));
    EXPECT_EQ(again->algorithm, plan->algorithm);
    EXPECT_EQ(again->options, plan->options);
    EXPECT_EQ(again->problem, plan->problem);
    EXPECT_EQ(again->workspaceBytes, plan->workspaceBytes);
    EXPECT_EQ(again->packedBytes, plan->packedBytes);
    EXPECT_EQ(again->mainLaunch, plan->mainLaunch);
    expectSameFigures(*again, *plan);
    expectSameLaunches(*again, *plan);
    EXPECT_EQ(bytesOf(*again, kVersion), bytes);
  }
}

/// Nothing of a device is taken for something else of it.
TEST(PlanBytes, KeepWhatAPlanKnowsOfItsDevice) {
  Problem problem;
  ASSERT_TRUE(parse("2x9x11x24 f16 * 16x3x3x24 pad 1,1,1,1 -> f16", problem).ok());
  for (const device::Kind kind : {device::Kind::Cuda, device::Kind::Emulated}) {
    device::Properties properties;
    properties.kind = kind, properties.name = "a card", properties.computeMajor = 10, properties.computeMinor = 3;
    properties.multiprocessors = 37, properties.sharedBytesPerBlock = 200'000;
    properties.l2Bytes = 11'000'000, properties.globalBytes = 13'000'000'000;
    std::shared_ptr<const Plan> plan, again;
    ASSERT_TRUE(makePlan(problem, properties, {}, plan).ok());
    const Status status = planOf(bytesOf(*plan, kVersion), kVersion, again);
    ASSERT_TRUE(status.ok()) << status.message();
    expectSameFigures(*again, *plan);
  }
}

TEST(PlanBytes, OfOtherVersionsAreRefusedByName) {
  const std::string bytes = bytesOf(*planned(kWritten[0].problem, "B200"), "0.1.9");
  std::shared_ptr<const Plan> plan;
  const Status status = planOf(bytes, kVersion, plan);
  EXPECT_EQ(status.message(), "the plan's bytes are of ShiftConv \"0.1.9\", but this is 0.2.0; make the plan again");
  EXPECT_EQ(plan, nullptr);
}

TEST(PlanBytes, TruncatedOrWithOneWrongByteAreRefused) {
  const std::string bytes = bytesOf(*planned(kWritten[1].problem, "B200", {kWritten[1].algorithm, kWritten[1].options}), kVersion);
  std::shared_ptr<const Plan> plan;
  for (size_t length = 0; length < bytes.size(); ++length) {
    const Status status = planOf(std::string_view(bytes).substr(0, length), kVersion, plan);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << length;
    EXPECT_NE(status.message().find("bytes"), std::string::npos) << status.message();
  }
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      const Status status = planOf(damaged, kVersion, plan);
      EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << "byte " << i << ", bit " << bit;
      EXPECT_TRUE(status.message().find("do not begin as a plan's do") != std::string::npos ||
                  status.message().find("checksum is wrong") != std::string::npos)
          << status.message();
    }
  EXPECT_FALSE(planOf(bytes + '\0', kVersion, plan).ok()) << "too long";
  EXPECT_EQ(plan, nullptr);
}

/// With the checksum that its content has.
std::string sealed(std::string content) {
  const uint64_t sum = checksum(content);
  for (int i = 0; i < 8; ++i) content += static_cast<char>(sum >> (8 * i));
  return content;
}

TEST(PlanBytes, WithARightChecksumAreStillChecked) {
  const uint32_t seed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int refused = 0, total = 0;
  for (const Written& one : kWritten) {
    const std::string bytes = bytesOf(*planned(one.problem, one.device, {one.algorithm, one.options}), kVersion);
    const std::string content = bytes.substr(0, bytes.size() - 8);
    const auto isRefused = [&](const std::string& changed) {
      std::shared_ptr<const Plan> plan;
      const Status status = planOf(sealed(changed), kVersion, plan);
      ++total;
      if (status.ok()) {
        EXPECT_NE(plan, nullptr);
        return false;
      }
      EXPECT_NE(status.message().find("bytes"), std::string::npos) << status.message();
      ++refused;
      return true;
    };
    EXPECT_TRUE(isRefused(content + "x"));
    for (size_t length = 0; length < content.size(); length += 7) EXPECT_TRUE(isRefused(content.substr(0, length))) << length;
    for (int i = 0; i < 300; ++i) {
      std::string changed = content;
      for (uint32_t n = 1 + random() % 3; n > 0; --n) changed[random() % changed.size()] = static_cast<char>(random());
      isRefused(changed);
    }
    // In the candidates' lines, which nothing depends on, a change is not noticed.
    std::string other = content;
    const size_t chosen = other.find("chosen     ");
    ASSERT_NE(chosen, std::string::npos);
    other[chosen] = 'C';
    EXPECT_FALSE(isRefused(other));
    // A plan of this version, but not of this build: something in it is described differently.
    other = content;
    other.back() = static_cast<char>(other.back() ^ 1);
    std::shared_ptr<const Plan> plan;
    EXPECT_NE(planOf(sealed(other), kVersion, plan).message().find("plans differently"), std::string::npos);
  }
  EXPECT_GT(refused, total / 4);
}

}  // namespace
}  // namespace shiftconv::plan
