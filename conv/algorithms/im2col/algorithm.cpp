#include "conv/algorithms/im2col/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "common/gemm/sm100/gemm.hpp"
#include "common/gemm/sm100/role_names.hpp"
#include "conv/algorithms/im2col/plan.hpp"
#include "conv/plan/chosen_algorithm.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/targets.hpp"
#include "gemm_sm100_image.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kName = "im2col";
constexpr std::array<OptionDescription, 4> kOptions{
    {kGroupOption,
     {"tile_n", "multiples of 32 from 32 to 256", "output channels of a tile"},
     {"clusters", "1 to 2147483647", "CTAs, or pairs of them, along the tiles"},
     {"resident_weights", "yes, no", "keep all weights of a tile's channels in shared memory"}}};

std::string textOf(const Im2colPlan& plan) {
  return OptionText()
      .add("group", groupName(plan.pair()))
      .add("tile_n", plan.gemm.params.tileN)
      .add("clusters", plan.clusters())
      .add("resident_weights", plan.gemm.params.weightsResident ? "yes" : "no")
      .text();
}

Status choicesOf(std::string_view text, Im2colChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = readGroup(values, choices.pair); !status.ok()) return status;
  if (Status status = values.number("tile_n", 32, 256, 32, choices.tileN); !status.ok()) return status;
  if (Status status = values.number("clusters", 1, 2147483647, 1, choices.clusters); !status.ok()) return status;
  return values.flag("resident_weights", choices.residentWeights);
}

class Im2col final : public ChosenAlgorithm<Im2colChoices, Im2colPlan> {
 public:
  std::string_view name() const override { return kName; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::TensorCore; }
  bool takesSplit() const override { return true; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return im2colRefusal(problem, properties);
  }

 protected:
  Status read(const Problem&, std::string_view text, Im2colChoices& choices) const override { return choicesOf(text, choices); }
  std::string make(const Problem& problem, const device::Properties& properties, const Im2colChoices& choices,
                   Im2colPlan& made) const override {
    return planIm2col(problem, properties, choices, made);
  }
  std::string optionText(const Im2colPlan& plan) const override { return textOf(plan); }
};

}  // namespace

std::vector<std::string_view> Im2colPlan::openQuestions() const { return questionsOfProducts(problem, pair()); }

PlannedLaunch Im2colPlan::planned() const {
  using gemm::sm100::GemmMaps;
  using gemm::sm100::GemmParams;
  Parameter maps = Parameter::value(GemmMaps{});
  maps.map(offsetof(GemmMaps, a), gemm.windowA, {TensorName::Input}).map(offsetof(GemmMaps, b), gemm.mapB, {TensorName::Filter});
  if (problem.isSplit()) maps.map(offsetof(GemmMaps, second), gemm.windowSecond, {TensorName::SecondInput});
  if (gemm.mapOutput.rank != 0) maps.map(offsetof(GemmMaps, output), gemm.mapOutput, {TensorName::Output});
  Parameter params = Parameter::value(gemm.params);
  bindEpilogue(params, offsetof(GemmParams, epilogue));
  bindCorrections(problem, params, offsetof(GemmParams, epilogue));
  bindScales(params, offsetof(GemmParams, scaleA), TensorName::InputScale, problem.inputScale.order);
  bindScales(params, offsetof(GemmParams, scaleB), TensorName::FilterScale, problem.filterScale.order);
  return {images::gemm_sm100(),
          gemm.kernelName,
          gemm.launch,
          {std::move(maps), std::move(params)},
          gemm::sm100::warpRoles(gemm.params.buildScales)};
}

const Algorithm& im2colAlgorithm() {
  static const Im2col algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
