#include "conv/algorithms/raw_rows/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/algorithms/raw_rows/plan.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/targets.hpp"
#include "raw_rows_image.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::array<OptionDescription, 4> kOptions{{{"rows", "1 to 256", "output rows of a tile"},
                                                     {"columns", "1 to 4096", "output columns of a tile"},
                                                     {"channels", "32, 64", "output channels of a CTA"},
                                                     kDependentOption}};

Status read(std::string_view text, RawRowsChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = values.number("rows", 1, kRawRowsMostRows, 1, choices.rows); !status.ok()) return status;
  if (Status status = values.number("columns", 1, kRawRowsMostColumns, 1, choices.columns); !status.ok()) return status;
  if (Status status = values.number("channels", 32, 64, 32, choices.channels); !status.ok()) return status;
  std::optional<bool> dependent;
  if (Status status = values.flag("dependent", dependent); !status.ok()) return status;
  choices.dependent = dependent.value_or(false);
  return {};
}

class RawRows final : public Algorithm {
 public:
  std::string_view name() const override { return "raw_rows"; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return rawRowsRefusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    std::vector<RawRowsPlan> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    for (const RawRowsPlan& plan : plans)
      candidates.push_back({this,
                            OptionText()
                                .add("rows", plan.rows)
                                .add("columns", plan.columns)
                                .add("channels", plan.channels)
                                .addIf(plan.launch.programmaticDependent, "dependent", "yes")
                                .text(),
                            estimate(problem, ratesOf(properties), plan.modelledClocks, plan.bound),
                            {},
                            {plan.rows * plan.columns, plan.channels, 1, {plan.rows}}});
    return {};
  }

  Status plan(const Problem& problem, const device::Properties& properties, std::string_view options, Plan& plan) const override {
    std::vector<RawRowsPlan> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    const RawRowsPlan& made = plans.front();
    using kernels::raw_rows::Params;
    Parameter params = Parameter::value(made.params);
    params.address(offsetof(Params, input), {TensorName::Input}).address(offsetof(Params, filter), {TensorName::Filter});
    bindEpilogue(params, offsetof(Params, epilogue));
    plan.launches.push_back({images::raw_rows(),
                             made.kernelName,
                             made.launch,
                             {std::move(params)},
                             std::vector<std::string>(made.launch.block.x / 32, "copy and multiply")});
    plan.details = made.describe();
    return {};
  }

 private:
  static Status plansOf(const Problem& problem, const device::Properties& properties, std::string_view options,
                        std::vector<RawRowsPlan>& plans) {
    RawRowsChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    plans = rawRowsCandidates(problem, properties, choices);
    if (plans.empty())
      return {StatusCode::InvalidArgument,
              fmt::format("raw_rows has no room in shared memory for tiles with the options {}", options)};
    return {};
  }
};

}  // namespace

const Algorithm& rawRowsAlgorithm() {
  static const RawRows algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
