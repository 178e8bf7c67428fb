#include "conv/algorithms/im2col_sm90/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/algorithms/im2col_sm90/plan.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/targets.hpp"
#include "im2col_full_sm90_image.hpp"
#include "im2col_sm90_image.hpp"

namespace shiftconv::plan::sm90 {
namespace {

constexpr std::array<OptionDescription, 3> kOptions{
    {{"tile", "64x32, 64x64, 64x128, 128x32, 128x64, 128x128, 128x256", "output pixels x output channels of a CTA"},
     {"stages", "1 to 9", "of the ring of operands; one serves a reduction of one step alone"},
     kDependentOption}};

Status read(std::string_view text, Im2colChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = values.choice("tile", im2colTileNames(), choices.tile); !status.ok()) return status;
  std::optional<uint32_t> stages;
  if (Status status = values.number("stages", 1, kernels::im2col::kMaximumStages, 1, stages); !status.ok()) return status;
  if (stages) choices.stages = static_cast<int32_t>(*stages);
  std::optional<bool> dependent;
  if (Status status = values.flag("dependent", dependent); !status.ok()) return status;
  choices.dependent = dependent.value_or(false);
  return {};
}

class Im2col final : public Algorithm {
 public:
  std::string_view name() const override { return "im2col_sm90"; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopper(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return im2colRefusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    std::vector<Im2colPlan> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    for (const Im2colPlan& plan : plans)
      candidates.push_back({this,
                            OptionText()
                                .add("tile", im2colTileNames()[plan.tile])
                                .add("stages", plan.params.stages)
                                .addIf(plan.launch.programmaticDependent, "dependent", "yes")
                                .text(),
                            estimate(problem, ratesOf(properties), plan.modelledClocks, plan.bound),
                            {},
                            plan.tiling()});
    return {};
  }

  Status plan(const Problem& problem, const device::Properties& properties, std::string_view options, Plan& plan) const override {
    std::vector<Im2colPlan> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    const Im2colPlan& made = plans.front();
    using kernels::im2col::Params;
    Parameter params = Parameter::value(made.params);
    bindEpilogue(params, offsetof(Params, epilogue));
    const Parameter input = Parameter::map(made.input, {TensorName::Input});
    plan.launches.push_back({made.full ? images::im2col_full_sm90() : images::im2col_sm90(),
                             made.kernelName,
                             made.launch,
                             {input, Parameter::map(made.filter, {TensorName::Filter}),
                              made.full ? input : Parameter::map(made.output, {TensorName::Output}), std::move(params)},
                             made.warpRoles()});
    plan.details = made.describe();
    return {};
  }

 private:
  static Status plansOf(const Problem& problem, const device::Properties& properties, std::string_view options,
                        std::vector<Im2colPlan>& plans) {
    Im2colChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    plans = im2colCandidates(problem, properties, choices);
    if (plans.empty())
      return {StatusCode::InvalidArgument,
              fmt::format(
                  "im2col_sm90 has no kernel for the options {}: the whole epilogue has the tiles 64x64, 128x64 and 128x128, and "
                  "the stages have to fit into shared memory",
                  options)};
    return {};
  }
};

}  // namespace

const Algorithm& im2colAlgorithm() {
  static const Im2col algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan::sm90
