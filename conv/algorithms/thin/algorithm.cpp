#include "conv/algorithms/thin/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "conv/algorithms/thin/plan.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/targets.hpp"
#include "thin_image.hpp"

namespace shiftconv::plan {

using namespace kernels::thin;

namespace {

constexpr std::array<std::string_view, 4> kTileNames{"16x8", "16x16", "16x32", "32x32"};
static_assert(kTileNames.size() == std::size(kTiles));
constexpr std::array<OptionDescription, 5> kOptions{{{"tile", "16x8, 16x16, 16x32, 32x32", "output pixels x channels of a warp"},
                                                     {"split", "1, 2, 4, 8", "warps that share the reduction of a tile"},
                                                     {"pixel_warps", "1, 2, 4, 8", "tiles of a CTA along the pixels"},
                                                     {"channel_warps", "1, 2, 4, 8", "tiles of a CTA along the output channels"},
                                                     kDependentOption}};

Status read(std::string_view text, ThinChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = values.choice("tile", kTileNames, choices.tile); !status.ok()) return status;
  for (const auto& [name, choice] :
       {std::pair{"split", &choices.split}, {"pixel_warps", &choices.pixelWarps}, {"channel_warps", &choices.channelWarps}}) {
    std::optional<uint32_t> value;
    if (Status status = values.number(name, 1, kMostWarps, 1, value); !status.ok()) return status;
    if (value) *choice = static_cast<int32_t>(*value);
  }
  std::optional<bool> dependent;
  if (Status status = values.flag("dependent", dependent); !status.ok()) return status;
  choices.dependent = dependent.value_or(false);
  return {};
}

class Thin final : public Algorithm {
 public:
  std::string_view name() const override { return "thin"; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return thinRefusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    std::vector<ThinPlan> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    for (const ThinPlan& plan : plans)
      candidates.push_back({this,
                            plan.options(),
                            estimate(problem, ratesOf(properties), plan.modelledClocks, plan.bound),
                            {},
                            {plan.tile.pixels * plan.pixelWarps,
                             plan.tile.channels * plan.channelWarps,
                             plan.split,
                             {plan.tile.pixels, plan.pixelWarps, plan.channelWarps}}});
    return {};
  }

  Status plan(const Problem& problem, const device::Properties& properties, std::string_view options, Plan& plan) const override {
    std::vector<ThinPlan> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    const ThinPlan& made = plans.front();
    Parameter params = Parameter::value(made.params);
    params.address(offsetof(Params, input), {TensorName::Input}).address(offsetof(Params, filter), {TensorName::Filter});
    bindEpilogue(params, offsetof(Params, epilogue));
    plan.launches.push_back({images::thin(),
                             made.kernelName(),
                             made.launch,
                             {std::move(params)},
                             std::vector<std::string>(made.launch.block.x / 32, "multiply")});
    plan.details = made.describe();
    return {};
  }

 private:
  static Status plansOf(const Problem& problem, const device::Properties& properties, std::string_view options,
                        std::vector<ThinPlan>& plans) {
    ThinChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    plans = thinCandidates(problem, properties, choices);
    if (plans.empty()) return {StatusCode::InvalidArgument, fmt::format("thin has no plan with the options {}", options)};
    return {};
  }
};

}  // namespace

const Algorithm& thinAlgorithm() {
  static const Thin algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
