// The GEMM kernels equal the exact product bit for bit, under every schedule, without a hazard.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "common/device/embedded_ptx.hpp"
#include "common/gemm/sm100/role_names.hpp"
#include "gemm_sm100_image.hpp"
#include "tests/gemm/gemm_runner.hpp"
#include "tests/support/schedules.hpp"

namespace shiftconv::tests {
namespace {

using gemm::GemmProblem;
using gemm::Operand;
using gemm::sm100::Engine;
using gemm::sm100::GemmChoices;
using gemm::sm100::GemmPlan;
using gemm::sm100::Grouping;
using gemm::sm100::Schedule;
using layout::ScaleFactorLayout;
using enum numerics::NumberType;
using numerics::NumberType;

struct Case {
  std::string name;
  GemmProblem problem;
  GemmChoices choices;
  int launches = 1;
};

GemmProblem dense(int64_t m, int64_t n, int64_t k, NumberType a, NumberType b, NumberType accumulator = F32,
                  NumberType output = F32) {
  GemmProblem problem;
  problem.m = m, problem.n = n, problem.k = k;
  problem.a.type = a, problem.b.type = b;
  problem.accumulator = accumulator, problem.output = output;
  return problem;
}
GemmProblem transposed(GemmProblem problem, bool a, bool b) {
  problem.a.mnMajor = a, problem.b.mnMajor = b;
  return problem;
}
GemmProblem scaled(int64_t m, int64_t n, int64_t k, NumberType a, NumberType b, int32_t blockSize, NumberType scale,
                   ScaleFactorLayout layoutA = ScaleFactorLayout::Interleaved128x4,
                   ScaleFactorLayout layoutB = ScaleFactorLayout::Interleaved128x4) {
  GemmProblem problem = dense(m, n, k, a, b);
  problem.blockSize = blockSize, problem.scale = scale;
  problem.a.scaleLayout = layoutA, problem.b.scaleLayout = layoutB;
  return problem;
}

/// Two stages, so that short reductions turn the ring over.
GemmChoices with(Engine engine, Grouping grouping, int32_t tileN, int32_t stages = 2) {
  GemmChoices choices;
  choices.engine = engine, choices.grouping = grouping, choices.schedule = Schedule::Static;
  choices.tileRows = 128, choices.tileN = tileN, choices.stages = stages, choices.splits = 1;
  return choices;
}
GemmChoices split(GemmChoices choices, int32_t parts) {
  choices.splits = parts;
  return choices;
}
GemmChoices halfRows(GemmChoices choices) {
  choices.tileRows = 64;
  return choices;
}
GemmChoices resident(GemmChoices choices) {
  choices.residentWeights = true;
  return choices;
}
GemmChoices byLaunchControl(GemmChoices choices) {
  choices.schedule = Schedule::LaunchControl;
  return choices;
}

std::vector<Case> allCases() {
  using enum Engine;
  using enum Grouping;
  constexpr auto kRows = ScaleFactorLayout::RowMajor, kTiles = ScaleFactorLayout::Interleaved128x4;
  const GemmChoices plain = with(SharedA, Single, 64), pair = with(SharedA, Pair, 64), sharing = with(SharedA, Sharing, 64);
  const GemmChoices tensor = with(TensorA, Single, 64), tensorPair = with(TensorA, Pair, 64);
  std::vector<Case> cases;
  const auto add = [&](std::string name, GemmProblem problem, GemmChoices choices, int launches = 1) {
    cases.push_back({std::move(name), withPitches(problem), choices, launches});
  };

  // Every kind and pair of types, A in shared memory; ragged in all extents.
  for (const auto& [a, b] : {std::pair{F16, F16}, {BF16, BF16}})
    add(fmt::format("f16_kind_{}", a == F16 ? "f16" : "bf16"), dense(200, 100, 200, a, b), plain);
  add("tf32", dense(200, 100, 100, TF32, TF32), plain);
  const std::pair<const char*, NumberType> narrow[] = {
      {"e4m3", E4M3}, {"e5m2", E5M2}, {"e2m3", E2M3}, {"e3m2", E3M2}, {"e2m1", E2M1}};
  for (const auto& [nameA, a] : narrow)
    for (const auto& [nameB, b] : narrow) add(fmt::format("{}_{}", nameA, nameB), dense(130, 40, 300, a, b), plain);
  for (const auto& [nameA, a] : {std::pair{"s8", S8}, {"u8", U8}})
    for (const auto& [nameB, b] : {std::pair{"s8", S8}, {"u8", U8}})
      add(fmt::format("{}_{}", nameA, nameB), dense(130, 40, 300, a, b, S32, S32), plain);

  // Accumulators and outputs.
  add("f16_accumulator", dense(130, 40, 200, F16, F16, F16, F16), plain);
  add("f8_f16_accumulator", dense(130, 40, 300, E4M3, E5M2, F16, F32), plain);
  add("bf16_output", dense(130, 40, 16, BF16, BF16, F32, BF16), plain);
  add("s32_as_f32", dense(130, 40, 300, S8, U8, S32, F32), plain);

  // A through Tensor Memory, in bytes and expanded.
  add("tensor_a_f16", dense(200, 100, 200, F16, F16), tensor);
  add("tensor_a_tf32", dense(130, 40, 100, TF32, TF32), tensor);
  for (const auto& [nameA, a] : narrow) add(fmt::format("tensor_a_{}", nameA), dense(130, 40, 300, a, E4M3), tensor);
  add("tensor_a_s8", dense(130, 40, 300, S8, U8, S32, S32), tensor);
  add("tensor_a_three_stages", dense(300, 40, 500, BF16, BF16), with(TensorA, Single, 32, 3));

  // M or N contiguous.
  for (const auto& [name, type] : {std::pair{"f16", F16}, {"tf32", TF32}, {"e4m3", E4M3}}) {
    add(fmt::format("mn_major_a_{}", name), transposed(dense(144, 40, 200, type, type), true, false), plain);
    add(fmt::format("mn_major_b_{}", name), transposed(dense(144, 80, 200, type, type), false, true), plain);
  }
  add("mn_major_both_s8", transposed(dense(144, 80, 200, S8, U8, S32, S32), true, true), plain);
  add("mn_major_mixed_with_packed", transposed(dense(144, 40, 200, E5M2, E2M1), true, false), plain);
  add("mn_major_wide_b", transposed(dense(130, 200, 100, BF16, BF16), false, true), with(SharedA, Single, 192));

  // Groups of CTAs.
  add("pair_f16", dense(500, 130, 200, F16, F16), pair);
  add("pair_tf32", dense(300, 100, 100, TF32, TF32), pair);
  add("pair_e3m2_e2m1", dense(300, 100, 300, E3M2, E2M1), pair);
  add("pair_s8", dense(300, 100, 300, S8, S8, S32, S32), pair);
  add("pair_wide", dense(300, 256, 130, F16, F16), with(SharedA, Pair, 256, 3));
  add("pair_mn_major", transposed(dense(304, 136, 200, F16, F16), true, true), pair);
  add("pair_tensor_a", dense(500, 130, 200, F16, F16), tensorPair);
  add("pair_tensor_a_e2m1", dense(300, 100, 300, E2M1, E4M3), tensorPair);
  add("sharing_f16", dense(500, 130, 200, F16, F16), sharing);
  add("sharing_e4m3", dense(300, 100, 300, E4M3, E2M3), sharing);
  add("sharing_tensor_a", dense(300, 100, 200, F16, F16), with(TensorA, Sharing, 64));
  add("sharing_mn_major", transposed(dense(304, 136, 200, BF16, BF16), true, true), with(SharedA, Sharing, 128));

  // Who does which tile.
  add("launch_control", dense(700, 100, 100, F16, F16), byLaunchControl(plain));
  add("launch_control_tensor_a", dense(700, 100, 100, F16, F16), byLaunchControl(tensor));
  add("launch_control_pair", dense(1300, 100, 100, F16, F16), byLaunchControl(pair));
  add("launch_control_sharing", dense(1300, 100, 100, F16, F16), byLaunchControl(sharing));
  add("split_in_3", dense(200, 100, 500, F16, F16), split(plain, 3), 2);
  add("split_s32", dense(200, 40, 700, S8, S8, S32, S32), split(plain, 4), 2);
  add("split_f16_accumulator", dense(130, 40, 300, F16, F16, F16, F16), split(plain, 2), 2);
  add("split_pair", dense(300, 100, 500, F16, F16), split(pair, 3), 2);
  add("split_sharing", dense(300, 100, 500, F16, F16), split(sharing, 2), 2);
  add("split_launch_control", dense(300, 100, 500, F16, F16), split(byLaunchControl(plain), 2), 2);
  add("resident", dense(900, 100, 200, F16, F16), resident(plain));
  add("resident_tensor_a", dense(900, 40, 200, F16, F16), resident(tensor));
  add("resident_pair", dense(1300, 100, 200, F16, F16), resident(pair));
  add("resident_sharing", dense(1300, 100, 200, F16, F16), resident(sharing));

  // Block scales: kinds, types, orders of the factors, tiles that share an atom and tiles of two atoms.
  const GemmChoices narrowTile = with(SharedA, Single, 32), wideTile = with(SharedA, Single, 256);
  for (const auto& [nameA, a] : narrow)
    for (const auto& [nameB, b] : {narrow[0], narrow[2]})
      add(fmt::format("mxf8f6f4_{}_{}", nameA, nameB), scaled(130, 70, 300, a, b, 32, UE8M0), narrowTile);
  add("mxf8f6f4_e4m3_e2m1", scaled(130, 70, 300, E4M3, E2M1, 32, UE8M0), narrowTile);
  add("mxf8f6f4_wide", scaled(130, 300, 300, E4M3, E5M2, 32, UE8M0), wideTile);
  add("mxf8f6f4_mn_major", transposed(scaled(144, 80, 300, E4M3, E5M2, 32, UE8M0), true, true), narrowTile);
  add("mxf4", scaled(200, 140, 700, E2M1, E2M1, 32, UE8M0), with(SharedA, Single, 128));
  add("mxf4_short", scaled(130, 70, 70, E2M1, E2M1, 32, UE8M0), narrowTile);
  add("nvf4_ue4m3", scaled(200, 140, 700, E2M1, E2M1, 16, UE4M3), with(SharedA, Single, 128));
  add("nvf4_ue8m0", scaled(130, 70, 300, E2M1, E2M1, 16, UE8M0), narrowTile);
  add("mxf8f6f4_row_major", scaled(200, 70, 300, E4M3, E4M3, 32, UE8M0, kRows, kRows), narrowTile);
  add("mxf4_row_major_wide", scaled(130, 300, 300, E2M1, E2M1, 32, UE8M0, kRows, kRows), wideTile);
  add("nvf4_row_major", scaled(200, 140, 330, E2M1, E2M1, 16, UE4M3, kRows, kRows), with(SharedA, Single, 64));
  add("nvf4_row_major_a_only", scaled(200, 140, 330, E2M1, E2M1, 16, UE4M3, kRows, kTiles), with(SharedA, Single, 64));
  add("nvf4_row_major_b_only", scaled(200, 140, 330, E2M1, E2M1, 16, UE4M3, kTiles, kRows), with(SharedA, Single, 64));
  add("mxf8f6f4_tensor_a", scaled(200, 70, 300, E4M3, E2M3, 32, UE8M0), with(TensorA, Single, 32));
  add("mxf8f6f4_tensor_a_e2m1", scaled(130, 70, 300, E2M1, E4M3, 32, UE8M0, kRows, kRows), with(TensorA, Single, 64));
  add("nvf4_tensor_a", scaled(130, 70, 300, E2M1, E2M1, 16, UE4M3), with(TensorA, Single, 64));
  add("mxf8f6f4_pair", scaled(500, 140, 300, E4M3, E3M2, 32, UE8M0), pair);
  add("mxf8f6f4_pair_wide", scaled(300, 300, 300, E4M3, E4M3, 32, UE8M0), with(SharedA, Pair, 256));
  add("mxf4_pair_row_major", scaled(500, 140, 300, E2M1, E2M1, 32, UE8M0, kRows, kRows), pair);
  add("nvf4_pair_tensor_a", scaled(300, 140, 300, E2M1, E2M1, 16, UE4M3), tensorPair);
  add("nvf4_pair_tensor_a_row_major", scaled(300, 140, 300, E2M1, E2M1, 16, UE4M3, kRows, kRows), tensorPair);
  add("nvf4_sharing", scaled(500, 140, 300, E2M1, E2M1, 16, UE4M3), sharing);
  add("mxf8f6f4_sharing_row_major", scaled(300, 140, 300, E4M3, E4M3, 32, UE8M0, kRows, kRows), sharing);
  add("mxf8f6f4_split_pair_row_major", scaled(300, 70, 700, E4M3, E4M3, 32, UE8M0, kRows, kRows), split(pair, 3), 2);
  add("mxf8f6f4_launch_control_row_major", scaled(700, 70, 200, E4M3, E4M3, 32, UE8M0, kRows, kRows), byLaunchControl(narrowTile));
  add("mxf8f6f4_launch_control_pair_row_major", scaled(700, 70, 200, E4M3, E4M3, 32, UE8M0, kRows, kRows), byLaunchControl(pair));
  add("mxf8f6f4_resident", scaled(700, 70, 300, E4M3, E4M3, 32, UE8M0), resident(narrowTile));
  // Factors of B that two CTAs load for each other: a row tile each, half of the atoms along K each, an atom that only one loads.
  add("nvf4_pair_wide", scaled(300, 300, 700, E2M1, E2M1, 16, UE4M3), with(SharedA, Pair, 256));
  add("mxf4_pair", scaled(300, 140, 700, E2M1, E2M1, 32, UE8M0), pair);
  add("mxf8f6f4_sharing", scaled(300, 140, 300, E4M3, E4M3, 32, UE8M0), sharing);
  add("mxf4_sharing_wide", scaled(300, 300, 700, E2M1, E2M1, 32, UE8M0), with(SharedA, Sharing, 256));

  // Tiles of 64 rows: 16 rows in every window of lanes, or in a pair 64 rows twice, once for each half of the columns.
  add("rows64_f16", dense(200, 100, 200, F16, F16), halfRows(plain));
  add("rows64_few", dense(5, 200, 200, BF16, BF16), halfRows(with(SharedA, Single, 256)));
  add("rows64_tf32", dense(100, 100, 100, TF32, TF32), halfRows(plain));
  add("rows64_e4m3_e2m1", dense(100, 40, 300, E4M3, E2M1), halfRows(plain));
  add("rows64_s8", dense(100, 100, 300, S8, U8, S32, S32), halfRows(plain));
  add("rows64_f16_accumulator", dense(130, 40, 200, F16, F16, F16, F16), halfRows(plain));
  add("rows64_mn_major", transposed(dense(144, 80, 200, F16, F16), true, true), halfRows(plain));
  add("rows64_mn_major_bytes", transposed(dense(144, 80, 200, E5M2, E5M2), true, true), halfRows(plain));
  add("rows64_narrow_output", dense(130, 37, 16, BF16, BF16, F32, BF16), halfRows(plain));
  add("rows64_sharing", dense(200, 130, 200, F16, F16), halfRows(sharing));
  add("rows64_split", dense(100, 200, 500, F16, F16), halfRows(split(with(SharedA, Single, 128), 3)), 2);
  add("rows64_launch_control", dense(400, 100, 100, F16, F16), halfRows(byLaunchControl(plain)));
  add("rows64_resident", dense(500, 100, 200, F16, F16), halfRows(resident(plain)));
  add("rows64_pair_f16", dense(250, 130, 200, F16, F16), halfRows(pair));
  add("rows64_pair_wide", dense(100, 256, 130, F16, F16), halfRows(with(SharedA, Pair, 256, 3)));
  add("rows64_pair_tf32", dense(100, 100, 100, TF32, TF32), halfRows(pair));
  add("rows64_pair_e3m2_e2m1", dense(100, 100, 300, E3M2, E2M1), halfRows(with(SharedA, Pair, 128)));
  add("rows64_pair_s8", dense(100, 100, 300, S8, S8, S32, S32), halfRows(pair));
  add("rows64_pair_f16_accumulator", dense(130, 40, 200, F16, F16, F16, F16), halfRows(pair));
  add("rows64_pair_mn_major", transposed(dense(144, 136, 200, BF16, BF16), true, true), halfRows(with(SharedA, Pair, 128)));
  add("rows64_pair_narrow_output", dense(130, 101, 16, BF16, BF16, F32, BF16), halfRows(with(SharedA, Pair, 128)));
  add("rows64_pair_split", dense(100, 200, 500, F16, F16), halfRows(split(with(SharedA, Pair, 128), 3)), 2);
  add("rows64_pair_launch_control", dense(700, 100, 100, F16, F16), halfRows(byLaunchControl(pair)));
  add("rows64_pair_mxf8f6f4", scaled(250, 140, 300, E4M3, E3M2, 32, UE8M0), halfRows(pair));
  add("rows64_pair_mxf8f6f4_wide", scaled(100, 300, 300, E4M3, E4M3, 32, UE8M0, kRows, kTiles), halfRows(with(SharedA, Pair, 256)));
  add("rows64_pair_mxf4", scaled(250, 140, 700, E2M1, E2M1, 32, UE8M0, kRows, kRows), halfRows(with(SharedA, Pair, 128)));
  add("rows64_pair_nvf4", scaled(250, 140, 330, E2M1, E2M1, 16, UE4M3), halfRows(with(SharedA, Pair, 128)));
  return cases;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = allCases();
  return all;
}

/// The open questions (common/emulator/options.hpp) that a kernel's result rests on, or whose alternatives it does not care about.
std::set<emulator::Unproven> questionsOf(const GemmProblem& problem, const GemmPlan& plan) {
  using emulator::Unproven;
  const auto hasSixBits = [](NumberType type) { return type == E2M3 || type == E3M2; };
  const bool integers = problem.accumulator == S32, isPair = plan.grouping == Grouping::Pair;
  std::set<Unproven> questions;
  if (problem.accumulator == F16) questions.insert(Unproven::U9);  // the other halves of the accumulators' words
  if (integers) questions.insert(Unproven::U13);                   // overflow
  if (integers || isPair || hasSixBits(problem.a.type) || hasSixBits(problem.b.type)) questions.insert(Unproven::U14);  // sums
  if (plan.engine == Engine::TensorA) questions.insert(Unproven::U29);                               // copies from swizzled tiles
  if (plan.engine == Engine::TensorA && hasSixBits(problem.a.type)) questions.insert(Unproven::U8);  // place of 6 bits in a byte
  return questions;
}
std::set<emulator::Unproven> questionsAsked(const emulator::Counters& counters) {
  std::set<emulator::Unproven> questions;
  for (size_t i = 0; i < counters.unprovenUses.size(); ++i)
    if (counters.unprovenUses[i] != 0) questions.insert(static_cast<emulator::Unproven>(i));
  return questions;
}

class GemmKernel : public testing::TestWithParam<size_t> {};

TEST_P(GemmKernel, EqualsTheExactProductUnderEverySchedule) {
  static GemmRunner runner(device::ptxFor(images::gemm_sm100(), "sm_100a"));
  const Case& what = cases().at(GetParam());
  const uint64_t seed = 1000 + GetParam();
  SCOPED_TRACE(fmt::format("{}, seed {}", gemm::describe(what.problem), seed));
  GemmPlan plan;
  ASSERT_EQ(planGemm(what.problem, fewMultiprocessors(), what.choices, plan), "");
  const GemmCase operands(what.problem, seed);
  for (emulator::Options options : schedulesOfKernels(seed)) {
    options.hazards = emulator::HazardMode::Warn;
    options.warpRoles = gemm::sm100::warpRoles(plan.params.buildScales);
    const Observation seen = runner.run(operands, plan, options, what.launches);
    EXPECT_EQ(questionsAsked(seen.counters), questionsOf(what.problem, plan));
    EXPECT_EQ(seen.difference, "") << "policy " << static_cast<int>(options.policy) << "\n" << plan.describe();
    for (const emulator::Hazard& hazard : seen.hazards)
      ADD_FAILURE() << "policy " << static_cast<int>(options.policy) << "\n" << describe(hazard);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Gemm, GemmKernel, testing::Range<size_t>(0, cases().size()),
                         [](const auto& info) { return cases()[info.param].name; });

}  // namespace
}  // namespace shiftconv::tests
