#include "conv/algorithms/gathered/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/algorithms/gathered/plan.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/targets.hpp"
#include "gathered_image.hpp"
#include "gathered_narrow_image.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::array<OptionDescription, 2> kOptions{
    {{"tile", "128x128, 128x64, 64x64, 128x32", "output pixels x output channels of a CTA"}, kDependentOption}};

Status read(std::string_view text, GatheredChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = values.choice("tile", gatheredTileNames(), choices.tile); !status.ok()) return status;
  std::optional<bool> dependent;
  if (Status status = values.flag("dependent", dependent); !status.ok()) return status;
  choices.dependent = dependent.value_or(false);
  return {};
}

class Gathered final : public Algorithm {
 public:
  std::string_view name() const override { return "gathered"; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return gatheredRefusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    std::vector<GatheredPlan> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    for (const GatheredPlan& plan : plans)
      candidates.push_back({this,
                            OptionText()
                                .add("tile", gatheredTileNames()[plan.tile])
                                .addIf(plan.launch.programmaticDependent, "dependent", "yes")
                                .text(),
                            estimate(problem, ratesOf(properties), plan.modelledClocks, plan.bound),
                            {},
                            plan.tiling()});
    return {};
  }

  Status plan(const Problem& problem, const device::Properties& properties, std::string_view options, Plan& plan) const override {
    std::vector<GatheredPlan> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    const GatheredPlan& made = plans.front();
    using kernels::gathered::Params;
    Parameter params = Parameter::value(made.params);
    params.address(offsetof(Params, input), {TensorName::Input}).address(offsetof(Params, filter), {TensorName::Filter});
    bindEpilogue(params, offsetof(Params, epilogue));
    bindCorrections(problem, params, offsetof(Params, epilogue));
    plan.workspaceBytes = correctionPlaces(problem).bytes;
    plan.launches = preparationOf(problem);
    plan.launches.push_back({bitsOf(problem.inputType) == 16 ? images::gathered() : images::gathered_narrow(),
                             made.kernelName,
                             made.launch,
                             {std::move(params)},
                             std::vector<std::string>(made.launch.block.x / 32, "copy and multiply")});
    plan.details = made.describe();
    return {};
  }

 private:
  static Status plansOf(const Problem& problem, const device::Properties& properties, std::string_view options,
                        std::vector<GatheredPlan>& plans) {
    GatheredChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    plans = gatheredCandidates(problem, properties, choices);
    if (plans.empty())
      return {StatusCode::InvalidArgument,
              fmt::format(
                  "gathered has no kernel for the options {}: channels, groups or a pixel pitch that are no multiple of 16 bytes "
                  "have the tile 128x64 alone, and 128x128 is for f16 and bf16",
                  options)};
    return {};
  }
};

}  // namespace

const Algorithm& gatheredAlgorithm() {
  static const Gathered algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
