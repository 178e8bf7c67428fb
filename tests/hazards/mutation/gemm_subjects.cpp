#include "tests/hazards/mutation/gemm_subjects.hpp"
#include "common/device/embedded_ptx.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "gemm_sm100_image.hpp"
#include "tests/gemm/gemm_runner.hpp"
#include "tests/hazards/mutation/mutation.hpp"

namespace shiftconv::tests {
namespace {

using gemm::GemmProblem;
using gemm::sm100::Engine;
using gemm::sm100::GemmChoices;
using gemm::sm100::GemmPlan;
using gemm::sm100::Grouping;
using gemm::sm100::Schedule;
using layout::ScaleFactorLayout;
using enum numerics::NumberType;

struct Trial {
  GemmPlan plan;
  GemmCase operands;
};
using Trials = std::vector<Trial>;

class LoadedGemm : public LoadedSubject {
 public:
  LoadedGemm(std::string_view ptx, std::shared_ptr<const Trials> trials) : runner_(ptx), trials_(std::move(trials)) {}
  Observation run(size_t trial, const emulator::Options& options) override {
    const auto& [plan, operands] = trials_->at(trial);
    return runner_.run(operands, plan, options);
  }
  void watch(emulator::machine::ObserverFactory observe) override { runner_.watch(std::move(observe)); }

 private:
  GemmRunner runner_;
  std::shared_ptr<const Trials> trials_;
};

/// What differs between the trials of a kernel besides their schedules.
struct Operands {
  bool scaled = false;
  ScaleFactorLayout scales = ScaleFactorLayout::Interleaved128x4;
};

GemmProblem problemFor(Grouping grouping, const Operands& operands, int64_t tilesOfRows, int64_t n, int64_t chunks) {
  GemmProblem problem;
  problem.m = tilesOfRows * (grouping == Grouping::Single ? 128 : 256) - 20;
  problem.n = n;
  problem.k = chunks * (operands.scaled ? 128 : 64) - 40;
  problem.a.type = problem.b.type = operands.scaled ? E4M3 : F16;
  problem.a.scaleLayout = problem.b.scaleLayout = operands.scales;
  problem.blockSize = operands.scaled ? 32 : 0;
  return withPitches(problem);
}

Subject subjectFor(Grouping grouping, void (*change)(gemm::sm100::GemmParams&) = nullptr) {
  const auto trials = std::make_shared<Trials>();
  Subject subject;
  uint64_t seed = 801;
  const auto add = [&](std::string name, const GemmProblem& problem, const GemmChoices& choices, uint32_t multiprocessors = 2) {
    GemmPlan plan;
    if (const std::string why = planGemm(problem, fewMultiprocessors(multiprocessors), choices, plan); !why.empty())
      throw std::invalid_argument(why);
    if (change != nullptr) change(plan.params);
    subject.kernel = plan.kernelName;
    subject.trials.push_back(std::move(name));
    trials->push_back({std::move(plan), GemmCase(problem, seed++)});
  };
  const Operands dense, scaled{true}, rowMajorScales{true, ScaleFactorLayout::RowMajor};
  GemmChoices choices;
  choices.engine = Engine::SharedA, choices.grouping = grouping;
  choices.tileRows = 128, choices.tileN = 64, choices.stages = 2;
  choices.splits = 1, choices.schedule = Schedule::Static;
  add("in turns", problemFor(grouping, dense, 5, 100, 3), choices);
  GemmChoices resident = choices;
  resident.residentWeights = true;
  add("resident weights, odd columns", problemFor(grouping, dense, 3, 37, 2), resident);
  GemmChoices split = choices;
  split.splits = 2;
  // Parts of a tile in different CTAs, and more of them in each than accumulators.
  add("split", problemFor(grouping, dense, 4, 64, 5), split, grouping == Grouping::Single ? 2 : 4);
  GemmChoices launchControl = choices;
  launchControl.schedule = Schedule::LaunchControl;
  add("cluster launch control", problemFor(grouping, dense, 4, 100, 2), launchControl);
  GemmChoices half = choices;
  half.tileRows = 64;
  add("64 rows in a CTA", problemFor(grouping, dense, 2, 100, 3), half);
  if (grouping == Grouping::Pair) add("64 rows in a CTA, block scales", problemFor(grouping, scaled, 2, 100, 3), half);
  choices.engine = launchControl.engine = Engine::TensorA;
  add("block scales, A in Tensor Memory", problemFor(grouping, scaled, 3, 64, 3), choices);
  add("row-major block scales", problemFor(grouping, rowMajorScales, 3, 64, 3), choices);
  add("cluster launch control, row-major block scales", problemFor(grouping, rowMajorScales, 4, 64, 2), launchControl);

  const std::string_view ptx = device::ptxFor(images::gemm_sm100(), "sm_100a");
  subject.ptx = onlyKernel(ptx, subject.kernel);
  subject.source = SourcePositions(ptx);
  subject.load = [trials](std::string_view text) { return std::make_unique<LoadedGemm>(text, trials); };
  return subject;
}

}  // namespace

namespace {

using gemm::sm100::GemmParams;

uint32_t loadedScaleBytes(const gemm::sm100::ScaleParams& scales, layout::MmaKind kind) {
  if (scales.loaders * scales.shareBytes == 0) return 0;
  return static_cast<uint32_t>(scales.rowTiles) * gemm::sm100::scaleAtomsPerChunk(kind) * gemm::sm100::kScaleAtomBytes;
}

constexpr GemmHostMistake kHostMistakes[] = {
    {"scale_factors_not_expected", "The barrier of a stage does not count the bytes of the scale factors", MutantKind::Hazard,
     Grouping::Single,
     [](GemmParams& p) { p.loadedBytes -= loadedScaleBytes(p.scaleA, p.kind) + loadedScaleBytes(p.scaleB, p.kind); }},
    {"half_of_the_columns_allocated", "Half of the Tensor Memory that the kernel uses is allocated", MutantKind::Hazard,
     Grouping::Single, [](GemmParams& p) { p.allocatedColumns /= 2; }},
    {"accumulators_overlap", "The second accumulator begins in the middle of the first", MutantKind::Hazard, Grouping::Single,
     [](GemmParams& p) { p.accumulatorColumns /= 2; }},
    {"staging_in_the_last_stage", "The epilogue stages outputs where the last stage has its operands", MutantKind::Hazard,
     Grouping::Single, [](GemmParams& p) { p.stagingOffset -= p.stageBytes; }},
    {"64_rows_multiplied_as_128", "Behind the rows of A lie those of B, which are there, too", MutantKind::Value, Grouping::Single,
     [](GemmParams& p) {
       if (p.tileRows == gemm::sm100::kHalfTileRows) p.instructionDescriptor += (64u >> 4) << 24;
     }},
    {"both_load_the_same_factors", "Both CTAs load the same scale factors into both", MutantKind::Hazard, Grouping::Pair,
     [](GemmParams& p) {
       if (p.scaleB.shareBytes != 0)
         p.scaleB.loaders = 2, p.scaleB.shareBytes = 0, p.loadedBytes += 2 * gemm::sm100::kScaleAtomBytes;
     }},
    {"factors_in_the_stage_of_b", "The scale factors of a stage begin before B ends", MutantKind::Hazard, Grouping::Pair,
     [](GemmParams& p) { p.b.stageBytes -= 1024; }},
};

}  // namespace

std::span<const GemmHostMistake> gemmHostMistakes() { return kHostMistakes; }
Subject gemmSubjectWith(const GemmHostMistake& mistake) { return subjectFor(mistake.grouping, mistake.make); }

std::vector<Subject> gemmSubjects() {
  std::vector<Subject> subjects;
  for (const Grouping grouping : {Grouping::Single, Grouping::Sharing, Grouping::Pair}) subjects.push_back(subjectFor(grouping));
  return subjects;
}

}  // namespace shiftconv::tests
