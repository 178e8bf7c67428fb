// Which kernels halo takes, what its tensor maps are, and its options.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "conv/algorithms/halo/plan.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/sm90/hopper_plan.hpp"

namespace shiftconv::plan::halo_plan_test {
namespace {

/// Four warps load or do nothing; of each four others that multiply, one of these brings the residual where a kernel stages it.
TEST(HopperPlans, EveryWarpgroupOfHaloHasAWarpForItsResidual) {
  const Algorithm* algorithm = nullptr;
  ASSERT_TRUE(findAlgorithm("halo", algorithm).ok());
  std::map<std::ptrdiff_t, int> seen;
  for (const char* text :
       {"8x28x28x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias", "8x28x28x64 f16 * 128x3x3x64 pad 1,1,1,1 -> f16 residual 1"}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok());
    std::vector<Candidate> all;
    ASSERT_TRUE(algorithm->candidates(problem, h200(), {}, all).ok());
    for (const Candidate& one : all) {
      std::shared_ptr<const Plan> plan;
      ASSERT_TRUE(makePlan(problem, h200(), one, "", plan).ok());
      const std::vector<std::string>& roles = plan->launches.at(0).warpRoles;
      const auto count = [&](const char* role) { return std::count(roles.begin(), roles.end(), role); };
      EXPECT_EQ(count("load boxes"), 1);
      EXPECT_EQ(count("load weights"), 1);
      EXPECT_EQ(count("load boxes") + count("load weights") + count("load residual") + count("idle"), 4) << plan->kernelName();
      EXPECT_EQ(count("multiply"), static_cast<std::ptrdiff_t>(roles.size()) - 4);
      const std::ptrdiff_t residual = count("load residual");
      EXPECT_TRUE(residual == 0 || residual == count("multiply") / 4) << plan->kernelName();
      ++seen[residual];
    }
  }
  EXPECT_GT(seen.size(), 1u) << "with and without";
}

/// The first warpgroup may be as many taps ahead as weights and boxes are kept for: two stages fewer than the ring of weights has,
/// the taps of all boxes but one (and one tap fewer where each box has but one), and fewer than a tile has taps.
TEST(HopperPlans, ALagIsAsLongAsTheRingsHold) {
  for (const auto& [text, options, lag] :
       {std::tuple{"1x16x16x512 f16 * 128x1x1x512 -> f16", "shape=k128_n256,cut=flat,split=1", 1},        // 3 boxes of a tap
        {"1x16x16x72 f16 * 128x3x3x72 pad 1,1,1,1 -> f16", "shape=k128_n64,cut=columns,split=2", 7},      // 9 stages of weights
        {"1x16x16x64 f16 * 128x3x3x64 pad 1,1,1,1 -> f16", "shape=k128_n64,cut=columns,split=1", 8},      // 9 taps, which stay
        {"1x30x24x16 f16 * 64x1x3x16 pad 0,0,1,1 -> f16", "shape=k64x2_n128,cut=columns,split=1", 2},     // 3 taps
        {"1x16x16x64 f16 * 192x3x3x64 pad 1,1,1,1 -> f16", "shape=k192_n128,cut=columns,split=1", 1},     // 5 stages, twice
        {"64x28x28x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16", "shape=k128_n256,cut=columns,split=1", 2},  // 4 stages
        {"1x16x16x64 f16 * 128x1x1x64 -> f16", "shape=k128_n256,cut=flat,split=1", 0}}) {                 // one tap
    const auto plan = planOnH200(text, {"halo", std::string(options) + ",lag=64"});
    ASSERT_NE(plan, nullptr);
    EXPECT_TRUE(plan->options.ends_with(",lag=" + std::to_string(lag))) << text << ": " << plan->options;
  }
}

/// Pixels leave L2 first where one tile of channels alone reads them, boxes share no line of 128 bytes, they and the outputs need
/// more than 50,331,648 bytes, four fifths of L2, and either the outputs alone less than 28,311,552 or all less than 69,206,016.
TEST(HopperPlans, AnInputThatIsReadOnceLeavesL2First) {
  for (const auto& [text, shape, leaves] :
       {std::tuple{"32x80x77x64 f16 * 64x1x1x64 -> f16", "k64x2_n128", true},                  // 50,462,720 bytes and the filter
        {"32x80x76x64 f16 * 64x1x1x64 -> f16", "k64x2_n128", false},                           // 49,807,360 and the filter
        {"32x80x77x256 f16 * 64x1x1x256 -> f16", "k64x2_n128", true},                          // outputs of 25,231,360
        {"32x80x87x256 f16 * 64x1x1x256 -> f16", "k64x2_n128", false},                         // of 28,508,160
        {"32x80x80x64 f16 * 80x1x1x64 -> f16", "m64x2_k96", true},                             // 58,982,400, of 32,768,000
        {"32x80x94x64 f16 * 80x1x1x64 -> f16", "m64x2_k96", false},                            // 69,304,320
        {"32x70x70x64 f16 * 128x1x1x64 -> f16", "k64x2_n128", false},                          // two tiles of channels
        {"32x70x70x64 f16 * 128x1x1x64 -> f16", "k128_n128", true},                            // one
        {"32x80x80x64 f16 * 64x1x1x64 -> f16 silu", "k64x2_n128", true},                       // a kernel that takes any input
        {"32x80x80x96 f16 * 64x1x1x96 -> f16", "k64x2_n128", false},                           // 192 bytes a pixel in two chunks
        {"32x80x80x128 f16 * 64x1x1x128 -> f16", "k64x2_n128", true},                          // whole lines in two chunks
        {"32x162x160x32 f16 * 64x3x3x32 pad 1,1,1,1 stride 2,2 -> f16", "k64x2_n128", false},  // every other pixel of 64 bytes
        {"32x162x160x64 f16 * 64x3x3x64 pad 1,1,1,1 stride 2,2 -> f16", "k64x2_n128", true},   // of 128 bytes
        {"32x108x108x32 f16 * 40x3x3x32 pad 1,1,1,1 -> f16", "m128x2_k48", true},              // neighbours, in one box
        {"8x8x80x80x64 f16 * 64x3x3x3x64 pad 1,1,1,1,1,1 -> f16", "k128_n128", false}}) {      // boxes of planes
    const auto plan = planOnH200(text, {"halo", std::string("shape=") + shape});
    ASSERT_NE(plan, nullptr) << text;
    EXPECT_EQ(describe(*plan).find("input leaves L2 first") != std::string::npos, leaves) << text << ": " << describe(*plan);
  }
}

/// 288 tiles of 2 x 128 pixels take 3 rounds on 132 multiprocessors: on 96 CTAs, or dense ones on all. (Where pixels are operand A
/// two warpgroups take the 576 boxes of 128 pixels in turns, 5 rounds on 116 CTAs.)
TEST(HopperPlans, DenseTilesTakeEveryMultiprocessor) {
  for (const auto& [text, options, ctas] :
       {std::tuple{"32x48x48x256 f16 * 64x1x1x256 -> f16", "shape=k64x2_n128,cut=dense,split=1", 132u},
        {"32x48x48x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "shape=k64x2_n128,cut=columns,split=1", 96u},
        {"32x48x48x256 f16 * 64x1x1x256 -> f16", "shape=m128x2_k64,cut=dense,split=1", 116u},
        {"1x8x80x64 f16 * 64x1x1x64 -> f16", "shape=k64x2_n128,cut=dense,split=1", 3u}}) {  // as many as there are tiles
    const auto plan = planOnH200(text, {"halo", options});
    ASSERT_NE(plan, nullptr) << text;
    const std::string said = describe(*plan);
    EXPECT_NE(said.find("grid " + std::to_string(ctas) + "x1,"), std::string::npos) << text << ": " << said;
  }
}

/// Halves are of an even number of rows of one image, and then what the output's map stores at a time.
TEST(HopperPlans, TwoRanksFinishHalfOfATileWhereItCanBeHalved) {
  for (const auto& [text, halves] : {std::pair{"1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16", true},
                                     {"1x15x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16", false},
                                     {"1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16 silu", true},
                                     {"1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16 amax", true},
                                     {"1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16 rounding separate", false}}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok()) << text;
    HaloChoices choices;
    choices.cut = HaloCut::Columns;
    choices.split = 2;
    choices.shape = "k128_n128";
    const auto plans = haloCandidates(problem, h200(), choices);
    ASSERT_FALSE(plans.empty()) << text;
    const HaloPlan& plan = plans.front();
    EXPECT_EQ(plan.params.halves, halves) << plan.describe();
    EXPECT_EQ(plan.output.box[3], static_cast<uint32_t>(plan.params.tileRows / (halves ? 2 : 1))) << plan.describe();
  }
}

/// Kernels of their own take an activation, alpha and channel scales; others also the largest output, an output scale and outputs
/// of other types.
TEST(HopperPlans, AnActivationStaysInRegistersWhereItCan) {
  for (const auto& [epilogue, kernel] : {std::pair{"f16 bias silu", "halo_sm90_f16_activated_"},
                                         {"f16 bias bf16", "halo_sm90_f16_k"},
                                         {"f16 alpha 0.5 relu", "halo_sm90_f16_activated_"},
                                         {"f16 channel_scale", "halo_sm90_f16_activated_"},
                                         {"f16 clamp 0,6", "halo_sm90_f16_k"},
                                         {"f16 clamp 0,0.1", "halo_sm90_f16_activated_"},
                                         {"f16 pitch 264 sigmoid", "halo_sm90_f16_activated_"},
                                         {"f16 bias relu", "halo_sm90_f16_k"},
                                         {"f16 bias tanh", "halo_sm90_f16_activated_"},
                                         {"f16 gelu_erf", "halo_sm90_f16_activated_"},
                                         {"f16 alpha 2 gelu_tanh", "halo_sm90_f16_activated_"},
                                         {"f16 silu out_scale 2", "halo_sm90_f16_converted_"},
                                         {"f16 silu amax", "halo_sm90_f16_converted_"},
                                         {"f32 silu", "halo_sm90_f16_converted_"},
                                         {"bf16 bias relu", "halo_sm90_f16_converted_"},
                                         {"s8 bias relu out_scale 4 zero -3", "halo_sm90_f16_converted_"},
                                         {"e4m3 pitch 264", "halo_sm90_f16_f16_full_"},
                                         {"e5m2 bias", "halo_sm90_f16_f16_full_"},
                                         {"f32 residual 1", "halo_sm90_f16_f16_full_"},
                                         {"f16 silu rounding separate", "halo_sm90_f16_f16_full_"},
                                         {"f16 residual 1 silu", "halo_sm90_f16_residual_"},
                                         {"f16 alpha 2 residual 1 silu", "halo_sm90_f16_f16_full_"},
                                         {"f16 residual 1 tanh", "halo_sm90_f16_f16_full_"}}) {
    const auto plan = planOnH200((std::string("128x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> ") + epilogue).c_str(), {"halo", ""});
    ASSERT_NE(plan, nullptr);
    EXPECT_TRUE(plan->kernelName().starts_with(kernel)) << epilogue << ": " << describe(*plan);
  }
  // They also take what the plain kernels do not: planes, and inputs in two tensors.
  for (const char* text : {"1x8x28x28x128 f16 * 128x3x3x3x128 pad 1,1,1,1,1,1 -> f16 bias relu",
                           "1x14x14x256 f16 split_c 64 * 256x3x3x256 pad 1,1,1,1 -> f16",
                           "1x8x28x28x128 f16 split_d 3 * 128x3x3x3x128 pad 1,1,1,1,1,1 -> f16 silu"}) {
    const auto plan = planOnH200(text, {"halo", "shape=k128_n128"});
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->kernelName(), "halo_sm90_f16_activated_k128_n128") << describe(*plan);
  }
}

/// Of 8-bit operands the largest output, and outputs that are no short epilogue's.
TEST(HopperPlans, OutputsOf8BitOperandsAreConverted) {
  for (const auto& [text, kernel] : {std::pair{"e4m3 * 256x3x3x256 pad 1,1,1,1 -> f32 bias relu", "halo_sm90_e4m3_e4m3_converted_"},
                                     {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> e4m3 bias relu amax", "halo_sm90_e4m3_e4m3_converted_"},
                                     {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> e4m3 bias relu", "halo_sm90_e4m3_e4m3_activated_"},
                                     {"e4m3 * 256x3x3x256 e5m2 pad 1,1,1,1 -> f32 bias", "halo_sm90_e4m3_e5m2_full_"},
                                     {"s8 * 256x3x3x256 pad 1,1,1,1 -> f32 alpha 0.01 silu", "halo_sm90_s8_s8_converted_"},
                                     {"s8 * 256x3x3x256 pad 1,1,1,1 -> f16 out_scale 2", "halo_sm90_s8_s8_converted_"},
                                     {"s8 * 256x3x3x256 pad 1,1,1,1 -> f16 alpha 0.01", "halo_sm90_s8_s8_activated_"},
                                     {"s8 * 256x3x3x256 pad 1,1,1,1 -> s32", "halo_sm90_s8_s8_full_"}}) {
    const auto plan = planOnH200((std::string("128x14x14x256 ") + text).c_str(), {"halo", ""});
    ASSERT_NE(plan, nullptr);
    EXPECT_TRUE(plan->kernelName().starts_with(kernel)) << text << ": " << describe(*plan);
  }
}

/// Of 8-bit operands they add one of 16 bits, too.
TEST(HopperPlans, AResidualOf16BitsAfter8BitOperandsIsStaged) {
  for (const auto& [types, kernel] :
       {std::pair{"s8 * 256x3x3x256 pad 1,1,1,1 -> f16 alpha 0.01 bias residual 1 residual_type f16 relu",
                  "halo_sm90_s8_s8_residual_"},
        {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> bf16 channel_scale residual 0.5 residual_type bf16 clamp -1,2",
         "halo_sm90_e4m3_e4m3_residual_"},
        {"e4m3 * 248x3x3x256 pad 1,1,1,1 -> f16 residual 1 residual_type f16", "halo_sm90_e4m3_e4m3_residual_"},
        {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> f16 residual 1 residual_type bf16", "halo_sm90_e4m3_e4m3_full_"},
        {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> f16 residual 1 residual_type f16 silu", "halo_sm90_e4m3_e4m3_full_"},
        {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> f16 residual 1 residual_type f16 residual_last silu", "halo_sm90_e4m3_e4m3_full_"},
        {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> f16 residual 1 residual_type f16 out_scale 2", "halo_sm90_e4m3_e4m3_full_"},
        {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> f16 residual 1 residual_type f16 amax", "halo_sm90_e4m3_e4m3_full_"},
        {"e4m3 * 256x3x3x256 pad 1,1,1,1 -> f16 residual 1 residual_type f16 residual_pitch 260", "halo_sm90_e4m3_e4m3_full_"},
        {"e4m3 * 252x3x3x256 pad 1,1,1,1 -> f16 residual 1 residual_type f16", "halo_sm90_e4m3_e4m3_full_"}}) {
    const auto plan = planOnH200((std::string("128x14x14x256 ") + types).c_str(), {"halo", ""});
    ASSERT_NE(plan, nullptr);
    EXPECT_TRUE(plan->kernelName().starts_with(kernel)) << types << ": " << describe(*plan);
  }
}

/// Kernels of their own add a residual of the output's type, with nothing but a bias and ReLU beside it.
TEST(HopperPlans, AResidualTakesTheShortEpilogueWhereItCan) {
  for (const auto& [text, kernel] :
       {std::pair{"128x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias residual 1 relu", "halo_sm90_f16_residual_"},
        {"128x14x14x256 bf16 * 256x3x3x256 pad 1,1,1,1 -> bf16 residual -0.5 residual_type bf16 residual_pitch 264",
         "halo_sm90_bf16_residual_"},
        {"8x32x32x640 f16 * 640x3x3x640 pad 1,1,1,1 -> f16 residual 1", "halo_sm90_f16_residual_"},
        {"64x28x28x256 f16 * 256x3x3x8 groups 32 pad 1,1,1,1 -> f16 bias residual 1 relu", "halo_sm90_f16_residual_"},
        {"128x56x56x64 f16 * 256x1x1x64 -> f16 bias residual 1 relu", "halo_sm90_f16_residual_"},
        {"1x8x28x28x128 f16 * 128x3x3x3x128 pad 1,1,1,1,1,1 -> f16 bias residual 1 relu", "halo_sm90_f16_residual_"},
        {"8x28x28x256 f16 split_c 64 * 256x3x3x256 pad 1,1,1,1 -> f16 residual 1", "halo_sm90_f16_residual_"},
        {"1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias residual 1 relu", "resident_sm90_f16_residual"},
        {"64x56x56x96 f16 * 96x7x7x1 groups 96 pad 3,3,3,3 -> f16 residual 1", "depthwise_f16_residual"},
        {"128x224x224x4 f16 * 64x7x7x4 pad 3,3,3,3 stride 2,2 -> f16 bias residual 1 relu", "stem_sm90_f16_r7_residual"}}) {
    const std::string name = kernel;
    const auto plan = planOnH200(text, {name.substr(0, name.find(name.starts_with("depthwise") ? "_" : "_sm90")), ""});
    ASSERT_NE(plan, nullptr);
    EXPECT_TRUE(plan->kernelName().starts_with(kernel)) << describe(*plan);
    size_t places = 0;
    for (const Parameter& parameter : plan->launches.at(0).parameters) {
      for (const auto& field : parameter.addresses()) places += field.place.tensor == TensorName::Residual;
      for (const auto& field : parameter.maps()) places += field.place.tensor == TensorName::Residual;
    }
    EXPECT_EQ(places, 1u) << describe(*plan);
  }
  for (const char* epilogue : {"f16 residual 1 residual_type f32", "f16 residual 1 residual_type bf16", "f16 residual 1 alpha 0.5",
                               "f16 residual 1 tanh", "f16 residual 1 amax", "f16 residual 1 residual_pitch 260",
                               "f16 pitch 260 residual 1", "f16 residual 1 channel_scale", "f32 residual 1 residual_type f32"}) {
    const auto plan = planOnH200((std::string("128x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> ") + epilogue).c_str(), {"halo", ""});
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->kernelName().substr(0, 22), "halo_sm90_f16_f16_full") << epilogue << ": " << describe(*plan);
  }
}

/// The residual is cut as the output, from rows of its own pitch; a name of a tile means one kernel; and there are as many buffers
/// as wanted where few products would leave one waiting, if they fit.
TEST(HopperPlans, ResidualsComeInTilesOfTheOutput) {
  for (const char* text : {"8x64x64x320 f16 * 320x3x3x320 pad 1,1,1,1 -> f16 residual 1 residual_pitch 328",
                           "1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16 pitch 1288 residual 1",
                           "128x56x56x64 f16 * 256x1x1x64 -> f16 residual 1"}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok()) << text;
    std::map<std::string_view, HaloModule> modules;
    bool hasHalves = false;
    for (const HaloPlan& plan : haloCandidates(problem, h200())) {
      SCOPED_TRACE(std::string(text) + ": " + plan.describe());
      EXPECT_EQ(modules.try_emplace(plan.shape, plan.module).first->second, plan.module);
      EXPECT_LE(plan.launch.dynamicSharedBytes, h200().sharedBytesPerBlock);
      if (!plan.addsResidual()) continue;
      ASSERT_EQ(layout::refusal(plan.residual), "");
      EXPECT_EQ(plan.residual.dims, plan.output.dims);
      EXPECT_EQ(plan.residual.box, plan.output.box);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(plan.residual.strides[i] * static_cast<uint64_t>(problem.outputPitch()),
                  plan.output.strides[i] * static_cast<uint64_t>(problem.residualPitch()));
      const auto& box = plan.residual.box;
      const kernels::halo::ResidualTiles& tiles = plan.params.residual;
      EXPECT_EQ(tiles.bytes, box[0] * box[1] * box[2] * box[3] * 2);
      EXPECT_EQ(tiles.beta, problem.beta);
      if (plan.shape.ends_with("_over")) continue;
      EXPECT_LE(tiles.bytes, tiles.stagingBytes);
      EXPECT_LE(tiles.stagings, kernels::halo::kMaximumStagings);
      hasHalves |= plan.params.halves;
      if (plan.params.halves) {
        EXPECT_EQ(tiles.stagings % 2, 0);
      }
      if (problem.r == 1 && (plan.shape == "k64x2_n128" || plan.shape == "m64x2_k64")) {
        EXPECT_EQ(tiles.stagings, 2);
      }
      if (plan.shape == "m64x2_k192") {
        EXPECT_EQ(tiles.stagings, problem.r == 1 ? 4 : 3) << "pieces of 64 channels";
      }
    }
    EXPECT_EQ(hasHalves, problem.c == 1280);
  }
}

/// Of 1x1 filters, where channels make whole pairs of tiles: 2 x 448 tiles of 112 pixels and 128 channels, which 66 pairs of CTAs
/// take in turns. Offered where pixels of 592 bytes, say, begin within sectors of 32, and have more than four chunks. Asked for by
/// shape alone a plan shares nothing: recordings name plans so.
TEST(HopperPlans, PairsOfCtasShareBoxes) {
  const char* const text = "32x28x56x296 f16 * 256x1x1x296 -> f16";
  const auto plan = planOnH200(text, {"halo", "shape=k128_n112,cut=dense,share=boxes"});
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->kernelName(), "halo_sm90_f16_shared_k128_n112");
  EXPECT_EQ(plan->launches.at(0).config.grid.x, 132u);
  EXPECT_EQ(plan->launches.at(0).config.cluster.x, 2u);
  EXPECT_EQ(planOnH200(text, {"halo", plan->options})->options, plan->options);
  const auto alone = planOnH200(text, {"halo", "shape=k128_n112,cut=dense"});
  EXPECT_EQ(alone->kernelName(), "halo_sm90_f16_k128_n112");
  EXPECT_EQ(alone->launches.at(0).config.cluster.x, 1u);

  const auto sharing = [](const char* problem_, const HaloChoices& choices) {
    Problem problem;
    EXPECT_TRUE(parse(problem_, problem).ok());
    int count = 0;
    for (const HaloOffer& offer : haloOffers(problem, h200(), choices)) count += offer.sharesBoxes;
    return count;
  };
  HaloChoices shared;
  shared.sharesBoxes = true;
  EXPECT_EQ(sharing(text, {}), 3) << "the best few by the model";
  EXPECT_GT(sharing(text, shared), 3);
  EXPECT_EQ(sharing("2x28x28x296 f16 * 256x1x1x296 -> f16", {}), 0) << "most multiprocessors idle, which wait for nobody";
  EXPECT_GT(sharing("2x28x28x296 f16 * 256x1x1x296 -> f16", shared), 0);
  EXPECT_EQ(sharing("32x28x56x296 f16 * 320x1x1x296 -> f16", {}), 1) << "two tiles of 192 channels, but three of 128";
  EXPECT_EQ(sharing("32x28x56x304 f16 * 256x1x1x304 -> f16", {}), 0) << "whole sectors";
  EXPECT_GT(sharing("32x28x56x304 f16 pitch 312 * 256x1x1x304 -> f16", {}), 0);
  EXPECT_EQ(sharing("32x28x56x248 f16 * 256x1x1x248 -> f16", {}), 0) << "four chunks";
  EXPECT_EQ(sharing("32x28x56x296 f16 * 128x1x1x296 -> f16", shared), 0) << "one tile of channels";
  EXPECT_EQ(sharing("32x28x56x296 f16 * 256x3x1x296 pad 1,1,0,0 -> f16", shared), 0) << "a box serves three taps";
  EXPECT_EQ(sharing("32x28x56x296 f16 * 256x1x1x296 -> f16 residual 1", shared), 0);
}

/// Of 227 KiB, 3 for barriers and alignment and 48 for outputs leave 176: four boxes of 20 KiB and eight weight stages of 12. Five
/// boxes and six stages would fit, too. An odd number of slots is left where there is room for no more than three.
TEST(HopperPlans, WarpgroupsThatOwnBoxesHaveAnEvenNumberOfSlots) {
  Problem problem;
  HaloChoices choices;
  choices.cut = HaloCut::Columns;
  choices.shape = "m128x2_k96";
  ASSERT_TRUE(parse("8x480x832x96 f16 * 96x3x3x96 pad 0,1,0,1 stride 2,2 -> f16", problem).ok());
  const std::vector<HaloPlan> strided = haloCandidates(problem, h200(), choices);
  ASSERT_EQ(strided.size(), 1u);
  EXPECT_EQ(strided[0].params.patchSlots, 4);
  EXPECT_EQ(strided[0].params.weightStages, 8);
  for (const char* text : {"8x240x416x192 f16 * 192x3x3x192 pad 0,1,0,1 stride 2,2 -> f16",
                           "32x112x112x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "32x48x48x256 f16 * 64x1x1x256 -> f16"}) {
    ASSERT_TRUE(parse(text, problem).ok());
    int separate = 0;
    for (const HaloPlan& plan : haloCandidates(problem, h200())) {
      if (!plan.shape.starts_with("k64x2") && !plan.shape.starts_with("m")) continue;
      ++separate;
      EXPECT_TRUE(plan.params.patchSlots % 2 == 0 || plan.params.patchSlots == 3) << text << ": " << plan.describe();
    }
    EXPECT_GT(separate, 5);
  }
}

TEST(HopperPlans, ListsAllShapesOfHalo) {
  const plan::Algorithm* halo = nullptr;
  ASSERT_TRUE(findAlgorithm("halo", halo).ok());
  const std::string text = describe(halo->options());
  EXPECT_NE(text.find("k64_n32, k64_n64, k64x2_n128, "), std::string::npos) << text;
  EXPECT_NE(text.find(", k320_n128, k192_n128, k192_n200, m128x2_k8, "), std::string::npos) << text;
  EXPECT_NE(text.find(", m64x2_k256, k192_n192  output channels"), std::string::npos) << text;
  EXPECT_EQ(text.find("..."), std::string::npos) << text;
  EXPECT_EQ(text.find(".hpp"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncut        columns, flat, dense  8-column"), std::string::npos) << "a long list widens no column\n"
                                                                                         << text;
}

/// An image of one row has none of the odd rows that a stride of 2 would read beside it, flat or deep.
TEST(HopperPlans, HaloMapsNoTensorWithoutPixels) {
  for (const char* text : {"1x1x7x16 f16 * 24x3x3x16 pad 1,1,1,1 stride 2,1 -> f16",
                           "1x3x1x7x16 f16 * 24x1x3x3x16 pad 0,0,1,1,1,1 stride 1,2,1 -> f16"}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok()) << text;
    for (const HaloPlan& plan : haloCandidates(problem, h200()))
      for (const layout::TiledMap& map : plan.inputs)
        for (uint32_t i = 0; i < map.rank; ++i)
          EXPECT_GT(map.dims[i], 0u) << text << ": " << plan.describe() << ", dimension " << i;
    EXPECT_EQ(planOnH200(text)->algorithm, "thin");
    EXPECT_NE(haloRefusal(problem, h200()).find("in at most 12 boxes"), std::string::npos) << haloRefusal(problem, h200());
  }
}

/// Tiles that are at most half as full as the fullest are offered only where a tile is asked for. With 64 channels tiles of 128 and
/// more are half empty; with 100 pixels tiles of 256 are 0.39 full, of 64 0.78 and of 112 0.89.
TEST(HopperPlans, HaloOffersNoTilesThatAreHalfEmpty) {
  const auto offers = [](const char* text, const HaloChoices& choices) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok()) << text;
    std::set<std::string_view> shapes;
    for (const HaloOffer& offer : haloOffers(problem, h200(), choices)) shapes.insert(offer.shape);
    return shapes;
  };
  const char* const narrow = "32x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16";
  const auto ofNarrow = offers(narrow, {});
  EXPECT_TRUE(ofNarrow.contains("k64x2_n128") && ofNarrow.contains("k64_n32"));
  for (const std::string_view shape : ofNarrow) EXPECT_TRUE(shape.starts_with("k64") || shape.starts_with("m")) << shape;
  HaloChoices asked;
  asked.shape = "k128_n128";
  EXPECT_TRUE(offers(narrow, asked).contains("k128_n128"));
  const auto ofFew = offers("1x10x10x512 f16 * 512x1x1x512 -> f16", {});
  EXPECT_TRUE(ofFew.contains("k128_n112") && ofFew.contains("k64_n64"));
  EXPECT_FALSE(ofFew.contains("k128_n256") || ofFew.contains("k64x2_n256"));
}

/// Boxes of a single tap hold the same pixels however tiles are cut. With a stride they do not, and of several taps neither.
TEST(HopperPlans, HaloCutsLayersOfOneTapInOneWay) {
  const auto cuts = [](const char* text, const HaloChoices& choices = {}) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok()) << text;
    std::set<HaloCut> found;
    for (const HaloOffer& offer : haloOffers(problem, h200(), choices)) found.insert(offer.cut);
    return found;
  };
  const char* const one = "3x18x20x64 f16 * 136x1x1x64 -> f16";
  EXPECT_EQ(cuts(one), std::set{HaloCut::Dense});
  EXPECT_EQ(cuts("2x3x18x20x64 f16 * 136x1x1x1x64 -> f16"), std::set{HaloCut::Dense});
  EXPECT_EQ(cuts("3x18x20x64 f16 * 136x1x1x64 stride 2,2 -> f16").size(), 3u);
  EXPECT_EQ(cuts("3x18x20x64 f16 * 136x3x1x64 pad 1,1,0,0 -> f16").size(), 3u);
  HaloChoices asked;
  asked.cut = HaloCut::Columns;
  EXPECT_EQ(cuts(one, asked), std::set{HaloCut::Columns});
}

}  // namespace
}  // namespace shiftconv::plan::halo_plan_test
