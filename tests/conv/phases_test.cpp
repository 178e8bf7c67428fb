// Transposed convolutions as phases: which inputs every output is made of, and what a plan of them holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/device/registry.hpp"
#include "conv/plan/phase_axis.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

using InputsAndTaps = std::set<std::pair<int64_t, int64_t>>;

/// By the definition: input i adds tap r of the filter to output i * stride + r * dilation - padBefore.
std::vector<InputsAndTaps> spread(const TransposedAxis& axis) {
  std::vector<InputsAndTaps> outputs(static_cast<size_t>(axis.outputs));
  for (int64_t i = 0; i < axis.extent; ++i)
    for (int64_t r = 0; r < axis.taps; ++r)
      if (const int64_t at = i * axis.stride + r * axis.dilation - axis.padBefore; at >= 0 && at < axis.outputs)
        outputs[static_cast<size_t>(at)].emplace(i, r);
  return outputs;
}

TEST(PhaseAxis, FindsEveryInputAndTapOnce) {
  const uint32_t seed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto in = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  int empty = 0, skipping = 0, exact = 0;
  for (int round = 0; round < 20000; ++round) {
    TransposedAxis axis{in(1, 6), 0, in(1, 6), in(1, 4), in(1, 4), in(0, 7)};
    axis.outputs = (axis.extent - 1) * axis.stride + axis.dilation * (axis.taps - 1) + 1 - axis.padBefore - in(0, 7) +
                   in(0, std::max(axis.stride, axis.dilation) - 1);
    if (axis.outputs < 1) continue;
    const std::vector<InputsAndTaps> expected = spread(axis);
    for (int64_t residue = 0; residue < axis.stride; ++residue) {
      const AxisPhase phase = phaseOf(axis, residue);
      if (residue >= axis.outputs) {
        EXPECT_EQ(phase.outputs, 0);
        continue;
      }
      const int64_t taps = std::max<int64_t>(1, phase.taps);
      ASSERT_GE(phase.padBefore, 0);
      ASSERT_GE(phase.padAfter, 0);
      ASSERT_EQ(phase.computed, axis.extent + phase.padBefore + phase.padAfter - (taps - 1) * phase.dilation);
      ASSERT_GE(phase.computed, phase.skip + phase.outputs);
      ASSERT_EQ(phase.isExact(), phase.computed == phase.outputs && phase.skip == 0);
      empty += phase.taps == 0, skipping += phase.skip > 0, exact += phase.isExact();
      for (int64_t j = 0; j < phase.outputs; ++j) {
        InputsAndTaps found;
        for (int64_t i = 0; i < taps; ++i)
          if (const int64_t input = j + phase.skip + i * phase.dilation - phase.padBefore; input >= 0 && input < axis.extent)
            found.emplace(input, phase.taps == 0 ? -1 : phase.firstTap + (taps - 1 - i) * phase.tapStep);
        ASSERT_EQ(found, expected[static_cast<size_t>(residue + j * axis.stride)])
            << "extent " << axis.extent << ", outputs " << axis.outputs << ", taps " << axis.taps << ", stride " << axis.stride
            << ", dilation " << axis.dilation << ", pad " << axis.padBefore << ", residue " << residue << ", output " << j;
      }
    }
  }
  EXPECT_GT(empty, 100);
  EXPECT_GT(skipping, 100);
  EXPECT_GT(exact, 100);
}

std::shared_ptr<const Plan> plannedOn(const char* device, const std::string& text, const PlanOptions& options = {}) {
  Problem problem;
  const Status parsed = parse(text, problem);
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  const auto presets = device::presets();
  const auto preset =
      std::find_if(presets.begin(), presets.end(), [&](const device::Preset& one) { return std::string(one.name) == device; });
  std::shared_ptr<const Plan> plan;
  const Status status = makePlan(problem, preset->properties, options, plan);
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

TEST(Phases, AreLaunchesOfOnePlan) {
  for (const char* device : {"H200", "B200"}) {
    SCOPED_TRACE(device);
    const auto plan = plannedOn(device, "2x8x8x64 f16 * 32x3x3x64 pad 1,1,1,1 stride 2,2 transposed output_padding 1,1 -> f16 bias",
                                {"phases", "form=apart"});
    EXPECT_EQ(plan->algorithm, "phases");
    ASSERT_EQ(plan->launches.size(), 6u);
    EXPECT_EQ(plan->launches.front().kernel, "gather_phase_filters");
    EXPECT_EQ(plan->launches.back().kernel, "merge_phases");
    EXPECT_EQ(plan->mainLaunch, 1u);
    // Filters of 1, 2, 2 and 4 taps, and the outputs.
    EXPECT_GE(plan->packedBytes, 2u * 32 * 64 * 9);
    EXPECT_LE(plan->packedBytes, 2u * 32 * 64 * 9 + 4 * 256);
    EXPECT_GE(plan->workspaceBytes, 2u * 2 * 16 * 16 * 32);
    EXPECT_LE(plan->workspaceBytes, 2u * 2 * 16 * 16 * 32 + 4 * 256);
    EXPECT_GE(bytesOfRun(*plan)[TensorName::Workspace], plan->packedBytes + plan->workspaceBytes);
    // Nine taps of every input pixel, and none of zeros.
    EXPECT_EQ(plan->estimate.flops, 2.0 * 2 * 8 * 8 * 9 * 64 * 32);
    EXPECT_NE(plan->details.find("phase 3    "), std::string::npos) << plan->details;
    // Only the first and the last launch touch the tensors that phases have parts of.
    for (size_t i = 1; i + 1 < plan->launches.size(); ++i)
      for (const Parameter& parameter : plan->launches[i].parameters) {
        for (const auto& field : parameter.addresses())
          EXPECT_TRUE(field.place.tensor != TensorName::Filter && field.place.tensor != TensorName::Output);
        for (const auto& field : parameter.maps())
          EXPECT_TRUE(field.place.tensor != TensorName::Filter && field.place.tensor != TensorName::Output);
      }
  }
}

TEST(Phases, ThatAreAlikeShareAPlanAndAResidualIsSpread) {
  const auto plan =
      plannedOn("H200", "8x16x16x64 f16 * 64x2x2x64 stride 2,2 transposed -> f16 residual 1 relu", {"phases", "form=apart"});
  ASSERT_EQ(plan->launches.size(), 7u);
  EXPECT_EQ(plan->launches[1].kernel, "split_into_phases");
  EXPECT_EQ(plan->mainLaunch, 2u);
  for (size_t i = 3; i < 6; ++i) EXPECT_EQ(plan->launches[i].kernel, plan->launches[2].kernel);
}

/// Where launches begin to write in the output, by their tensor maps.
std::set<uint64_t> outputPlaces(const Plan& plan) {
  std::set<uint64_t> places;
  for (const PlannedLaunch& launch : plan.launches)
    for (const Parameter& parameter : launch.parameters)
      for (const auto& field : parameter.maps())
        if (field.place.tensor == TensorName::Output) places.insert(field.place.byteOffset);
  return places;
}

/// Only halo's launches, on the tensors as they are given: the first pixel of each phase, and every pixel's stride.
TEST(Phases, AreDirectWithoutACopy) {
  const auto plan =
      plannedOn("H200", "2x9x7x64 f16 * 40x3x2x64 pad 1,1,0,0 stride 2,2 transposed output_padding 1,0 -> f16 pitch 48 bias",
                {"phases", "form=direct"});
  ASSERT_EQ(plan->launches.size(), 4u);
  EXPECT_EQ(plan->mainLaunch, 0u);
  EXPECT_EQ(plan->workspaceBytes + plan->packedBytes, 0u);
  EXPECT_EQ(plan->estimate.flops, 2.0 * 2 * 9 * 7 * 6 * 64 * 40);
  EXPECT_EQ(outputPlaces(*plan), (std::set<uint64_t>{0, 2 * 48, 14 * 2 * 48, 15 * 2 * 48}));  // outputs have 18 rows of 14 pixels
}

/// 4 phases of 1 to 4 of 9 taps: each output meets those of 2 x 2 inputs. A bias for each phase.
TEST(Phases, AreUnitedInOneConvolution) {
  for (const char* device : {"H200", "B200"}) {
    SCOPED_TRACE(device);
    const auto plan = plannedOn(device, "2x8x8x64 f16 * 24x3x3x64 pad 1,1,1,1 stride 2,2 transposed output_padding 1,1 -> f16 bias",
                                {"phases", "form=united"});
    ASSERT_EQ(plan->launches.size(), 4u);
    EXPECT_EQ(plan->launches[0].kernel, "gather_phase_filters");
    EXPECT_EQ(plan->launches[1].kernel, "repeat_channels");
    EXPECT_EQ(plan->launches[3].kernel, "merge_phases");
    EXPECT_EQ(plan->mainLaunch, 2u);
    EXPECT_EQ(plan->packedBytes, 2u * 4 * 24 * 4 * 64);
    EXPECT_GE(plan->workspaceBytes, 2u * 2 * 16 * 16 * 24 + 4u * 4 * 24);
    EXPECT_EQ(plan->estimate.flops, 2.0 * 2 * 8 * 8 * 4 * 64 * (4 * 24));
  }
}

/// Two launches for rows of either rest, each of both phases of the width: 2 x 40 channels of two taps of the height or one.
TEST(Phases, AreChannelsOfRows) {
  const auto plan = plannedOn("H200", "2x9x7x64 f16 * 40x3x2x64 pad 1,1,0,0 stride 2,2 transposed output_padding 1,0 -> f16 bias",
                              {"phases", "form=rows"});
  ASSERT_EQ(plan->launches.size(), 4u);
  EXPECT_EQ(plan->launches[0].kernel, "gather_phase_filters");
  EXPECT_EQ(plan->launches[1].kernel, "repeat_channels");
  EXPECT_EQ(plan->mainLaunch, 2u);
  EXPECT_EQ(plan->packedBytes, 2u * 80 * 3 * 64);
  EXPECT_GE(plan->workspaceBytes, 4u * 80);
  EXPECT_LE(plan->workspaceBytes, 512u);
  EXPECT_EQ(plan->estimate.flops, 2.0 * 2 * 9 * 7 * 3 * 64 * 80);
  EXPECT_EQ(outputPlaces(*plan), (std::set<uint64_t>{0, 14 * 2 * 40}));  // outputs have 18 rows of 14 pixels
}

/// Along the width alone, the phases of a pixel are neighbours in the output: nothing is merged.
TEST(Phases, AreUnitedInTheOutput) {
  const auto plan =
      plannedOn("H200", "2x1x21x64 f16 * 32x1x16x64 pad 0,0,4,4 stride 1,8 transposed -> f16", {"phases", "form=united"});
  ASSERT_EQ(plan->launches.size(), 2u);
  EXPECT_EQ(plan->workspaceBytes, 0u);
  EXPECT_EQ(plan->packedBytes, 2u * 8 * 32 * 3 * 64) << "taps of two inputs each, of three in all";
  const auto apart =
      plannedOn("H200", "2x1x21x64 f16 * 32x1x16x64 pad 0,0,4,4 stride 1,8 transposed -> f16 pitch 40", {"phases", "form=united"});
  EXPECT_EQ(apart->launches.size(), 3u) << "pixels with gaps do not follow each other";
}

/// Each phase here is this convolution, and recorded times correct its estimates as they do elsewhere.
TEST(Phases, ArePlannedAsConvolutionsAre) {
  for (const auto& [transposed, phase] :
       {std::pair{"4x14x14x128 bf16 * 64x2x2x128 stride 2,2 transposed -> bf16", "4x14x14x128 bf16 * 64x1x1x128 -> bf16"},
        {"1x7x7x256 f16 * 64x2x2x256 stride 2,2 transposed -> f16", "1x7x7x256 f16 * 64x1x1x256 -> f16"},
        {"8x56x56x24 f16 * 72x2x2x24 stride 2,2 transposed -> f16", "8x56x56x24 f16 * 72x1x1x24 -> f16"}})
    EXPECT_EQ(plannedOn("H200", transposed, {"phases", "form=apart"})->launches[1].kernel,
              plannedOn("H200", phase)->launches[0].kernel)
        << phase;
}

TEST(Phases, TakeAnAlgorithmByName) {
  const std::string text = "2x8x8x64 f16 * 32x3x3x64 pad 1,1,1,1 stride 2,2 transposed -> f16";
  const auto plan = plannedOn("H200", text, {"phases", "algorithm=gathered,form=apart"});
  EXPECT_EQ(plan->options, "algorithm=gathered,form=apart");
  for (size_t i = 1; i + 1 < plan->launches.size(); ++i) EXPECT_EQ(plan->launches[i].kernel.rfind("gathered_", 0), 0u);
  Problem problem;
  ASSERT_TRUE(parse(text, problem).ok());
  std::shared_ptr<const Plan> none;
  const Status status = makePlan(problem, device::presets()[0].properties, {"phases", "algorithm=grouped"}, none);
  EXPECT_NE(status.message().find("grouped"), std::string::npos) << status.message();
}

/// What is listed as values of the option is what there is.
TEST(Phases, ListTheirAlgorithms) {
  std::string names;
  const Algorithm* phases = nullptr;
  for (const Algorithm* one : algorithms()) {
    if (one->name() == "phases")
      phases = one;
    else if (one->accumulation())  // it multiplies
      names += (names.empty() ? "" : ", ") + std::string(one->name());
  }
  ASSERT_NE(phases, nullptr);
  EXPECT_EQ(phases->options()[0].range, names);
}

}  // namespace
}  // namespace shiftconv::plan
