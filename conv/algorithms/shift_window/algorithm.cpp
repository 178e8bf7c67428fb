#include "conv/algorithms/shift_window/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "common/gemm/sm100/role_names.hpp"
#include "conv/algorithms/shift_window/plan.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kName = "shift_window";
constexpr std::array<OptionDescription, 4> kOptions{{kGroupOption,
                                                     {"tile_n", "multiples of 16 from 16 to 192", "output channels of a pass"},
                                                     {"ctas", "1 to 2147483647", "CTAs, or pairs of them, along the tiles"},
                                                     {"resident_weights", "yes, no", "keep all weights in shared memory"}}};

std::string optionText(const ShiftWindowCut& cut) {
  return OptionText()
      .add("group", groupName(cut.pair))
      .add("tile_n", cut.tileN)
      .add("ctas", cut.clusters)
      .add("resident_weights", cut.resident ? "yes" : "no")
      .text();
}

Status read(std::string_view text, ShiftWindowChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = readGroup(values, choices.pair); !status.ok()) return status;
  if (Status status = values.number("tile_n", 16, 192, 16, choices.tileN); !status.ok()) return status;
  if (Status status = values.number("ctas", 1, 2147483647, 1, choices.clusters); !status.ok()) return status;
  return values.flag("resident_weights", choices.residentWeights);
}

class ShiftWindow final : public Algorithm {
 public:
  std::string_view name() const override { return kName; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::TensorCore; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return shiftWindowRefusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    ShiftWindowChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    std::vector<ShiftWindowCut> cuts;
    if (std::string reason = shiftWindowCuts(problem, properties, choices, cuts); !reason.empty())
      return {StatusCode::InvalidArgument, std::move(reason)};
    const Estimator estimator(problem, ratesOf(properties));
    const size_t first = candidates.size();
    for (const ShiftWindowCut& cut : cuts)
      candidates.push_back({this, estimator.of(cut.clocks, cut.bound, cut.clocksAround), shiftWindowQuestions(problem, cut.pair)});
    setPlans(candidates, first, std::make_shared<TypedPlans<ShiftWindowCut>>(std::move(cuts), complete, optionText));
    return {};
  }

 private:
  static Status complete(const ShiftWindowCut& cut, const Problem& problem, const device::Properties&, Plan& plan) {
    ShiftWindowPlan made;
    completeShiftWindow(problem, cut, made);
    addPreparation(problem, plan);
    plan.mainLaunch = plan.launches.size();
    plan.launches.push_back(made.planned());
    plan.traffic = made.traffic;
    plan.details = made.describe();
    return {};
  }
};

}  // namespace

std::vector<std::string_view> shiftWindowQuestions(const Problem& problem, bool pair) {
  std::vector<std::string_view> questions = questionsOfProducts(problem, pair);
  questions.push_back("U3");
  if (pair) questions.push_back("U7");
  return questions;
}
std::vector<std::string_view> ShiftWindowPlan::openQuestions() const { return shiftWindowQuestions(problem, cut.pair); }

PlannedLaunch ShiftWindowPlan::planned() const {
  Parameter values = Parameter::value(params);
  bindEpilogue(values, offsetof(kernels::ShiftWindowParams, epilogue));
  bindCorrections(problem, values, offsetof(kernels::ShiftWindowParams, epilogue));
  return {shiftWindowImage(),
          kernelName,
          launch,
          {Parameter::map(input, {TensorName::Input}), Parameter::map(filter, {TensorName::Filter}),
           // The kernel does not look at the map of an output that it does not stage.
           output.rank != 0 ? Parameter::map(output, {TensorName::Output}) : Parameter::map(input, {TensorName::Input}),
           std::move(values)},
          gemm::sm100::warpRoles(false)};
}

const Algorithm& shiftWindowAlgorithm() {
  static const ShiftWindow algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
