#include "conv/algorithms/gemm/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "common/gemm/sm100/gemm.hpp"
#include "common/gemm/sm100/role_names.hpp"
#include "conv/algorithms/gemm/plan.hpp"
#include "conv/plan/chosen_algorithm.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/targets.hpp"
#include "gemm_sm100_image.hpp"

namespace shiftconv::plan {
namespace {

using gemm::sm100::Engine;
using gemm::sm100::Grouping;
using gemm::sm100::Schedule;

constexpr std::array<std::string_view, 3> kGroupings{"single", "sharing", "pair"};
constexpr std::array<std::string_view, 2> kEngines{"shared", "tensor"}, kSchedules{"static", "launch_control"};
constexpr std::array<OptionDescription, 9> kMatrixOptions{
    {{"group", "single, sharing, pair", "CTAs of a cluster: one, two that share loads of B, two that multiply together"},
     {"a_in", "shared, tensor", "where A is multiplied from: shared memory or Tensor Memory"},
     {"schedule", "static, launch_control", "tiles in turns, or by cluster launch control"},
     {"tile_rows", "64, 128", "rows of a CTA's tile"},
     {"tile_n", "multiples of 32 from 32 to 256", "columns of a tile"},
     {"stages", "1 to 12", "stages of the ring of operands, at least"},
     {"splits", "1 to 64", "parts of the reduction, which other CTAs add up; more than 1 needs a workspace"},
     {"clusters", "1 to 2147483647", "clusters of CTAs along the tiles, of a static schedule"},
     {"resident_weights", "yes, no", "keep all of B that a tile's columns need in shared memory"}}};

std::string matrixOptionText(const MatrixPlan& plan) {
  const gemm::sm100::GemmParams& g = plan.gemm.params;
  std::string text =
      fmt::format("group={},a_in={},schedule={},tile_rows={},tile_n={},stages={},splits={},resident_weights={}",
                  kGroupings[static_cast<size_t>(plan.gemm.grouping)], kEngines[static_cast<size_t>(plan.gemm.engine)],
                  kSchedules[static_cast<size_t>(plan.gemm.schedule)], g.tileRows, g.tileN, g.stages, g.splits,
                  g.weightsResident ? "yes" : "no");
  if (plan.gemm.schedule == Schedule::Static)
    text += fmt::format(",clusters={}", plan.gemm.launch.grid.x / plan.gemm.launch.cluster.x);
  return text;
}

template <class Value, size_t count>
Status choiceOf(const OptionValues& values, std::string_view name, const std::array<std::string_view, count>& words,
                std::optional<Value>& choice) {
  std::optional<size_t> number;
  if (Status status = values.choice(name, words, number); !status.ok()) return status;
  if (number) choice = static_cast<Value>(*number);
  return {};
}

Status matrixChoicesOf(std::string_view text, MatrixChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kMatrixOptions, values); !status.ok()) return status;
  if (Status status = choiceOf(values, "group", kGroupings, choices.group); !status.ok()) return status;
  if (choices.group) choices.pair = *choices.group == Grouping::Pair;
  if (Status status = choiceOf(values, "a_in", kEngines, choices.engine); !status.ok()) return status;
  if (Status status = choiceOf(values, "schedule", kSchedules, choices.schedule); !status.ok()) return status;
  if (Status status = values.number("tile_rows", 64, 128, 64, choices.tileRows); !status.ok()) return status;
  if (Status status = values.number("tile_n", 32, 256, 32, choices.tileN); !status.ok()) return status;
  if (Status status = values.number("stages", 1, 12, 1, choices.stages); !status.ok()) return status;
  if (Status status = values.number("splits", 1, 64, 1, choices.splits); !status.ok()) return status;
  if (Status status = values.number("clusters", 1, 2147483647, 1, choices.clusters); !status.ok()) return status;
  return values.flag("resident_weights", choices.residentWeights);
}

class Gemm final : public ChosenAlgorithm<MatrixChoices, MatrixPlan> {
 public:
  std::string_view name() const override { return "gemm"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::TensorCore; }
  std::span<const OptionDescription> options() const override { return kMatrixOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return matrixRefusal(problem, properties);
  }

 protected:
  Status read(const Problem&, std::string_view text, MatrixChoices& choices) const override {
    return matrixChoicesOf(text, choices);
  }
  std::vector<MatrixChoices> alternatives(const Problem&, const MatrixChoices& choices) const override {
    if (*choices.pair || choices.group) return {choices};
    MatrixChoices single = choices, sharing = choices;
    single.group = Grouping::Single, sharing.group = Grouping::Sharing;
    return {single, sharing};
  }
  std::string make(const Problem& problem, const device::Properties& properties, const MatrixChoices& choices,
                   MatrixPlan& made) const override {
    return planMatrix(problem, properties, choices, made);
  }
  std::string optionText(const MatrixPlan& plan) const override { return matrixOptionText(plan); }
  /// Sums of parts of the reduction, and counters of the parts that are there, which are zero before a run.
  void addWorkspace(const MatrixPlan& made, Plan& plan) const override {
    if (made.gemm.params.splits == 1) return;
    plan.launches.push_back(zeroedWords({TensorName::Workspace, made.countersOffset()}, made.gemm.counterBytes / sizeof(uint32_t)));
    plan.workspaceBytes = made.countersOffset() + made.gemm.counterBytes;
  }
};

}  // namespace

std::vector<std::string_view> MatrixPlan::openQuestions() const {
  return questionsOfProducts(problem, gemm.grouping == Grouping::Pair);
}

PlannedLaunch MatrixPlan::planned() const {
  using gemm::sm100::GemmMaps;
  using gemm::sm100::GemmParams;
  Parameter maps = Parameter::value(GemmMaps{});
  const auto add = [&](size_t offset, const layout::TiledMap& map, TensorName tensor) {
    if (map.rank != 0) maps.map(offset, map, {tensor});
  };
  add(offsetof(GemmMaps, a), gemm.mapA, TensorName::Input);
  add(offsetof(GemmMaps, b), gemm.mapB, TensorName::Filter);
  add(offsetof(GemmMaps, scaleA), gemm.mapScaleA, TensorName::InputScale);
  add(offsetof(GemmMaps, scaleB), gemm.mapScaleB, TensorName::FilterScale);
  add(offsetof(GemmMaps, output), gemm.mapOutput, TensorName::Output);
  Parameter params = Parameter::value(gemm.params);
  bindEpilogue(params, offsetof(GemmParams, epilogue));
  bindCorrections(problem, params, offsetof(GemmParams, epilogue));
  // Factors that a map loads are not built by threads.
  if (gemm.mapScaleA.rank == 0) bindScales(params, offsetof(GemmParams, scaleA), TensorName::InputScale, problem.inputScale.order);
  if (gemm.mapScaleB.rank == 0)
    bindScales(params, offsetof(GemmParams, scaleB), TensorName::FilterScale, problem.filterScale.order);
  if (gemm.params.splits > 1)
    params.address(offsetof(GemmParams, partials), {TensorName::Workspace, partialsOffset()})
        .address(offsetof(GemmParams, counters), {TensorName::Workspace, countersOffset()});
  return {images::gemm_sm100(),
          gemm.kernelName,
          gemm.launch,
          {std::move(maps), std::move(params)},
          gemm::sm100::warpRoles(gemm.params.buildScales)};
}

const Algorithm& gemmAlgorithm() {
  static const Gemm algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
