#include "conv/plan/sm100/halo_algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/plan/sm100/halo.hpp"
#include "conv/plan/sm100/operands.hpp"
#include "halo_sm100_image.hpp"

namespace shiftconv::plan::sm100 {
namespace {

constexpr std::string_view kName = "halo_sm100";
constexpr std::array<std::string_view, 2> kGroupNames{"single", "pair"};
constexpr std::array<OptionDescription, 5> kOptions{
    {{"group", "single, pair", "CTAs that multiply together: tcgen05 cta_group 1 or 2"},
     {"tile_n", "multiples of 16 from 16 to 256", "output channels of a pass"},
     {"tile_images", "1, 2, 4, 8, 16", "images that the 16 rows of a CTA's operand belong to"},
     {"clusters", "1 to 2147483647", "CTAs, or pairs of them, along the tiles"},
     {"resident_weights", "yes, no", "keep all weights of a pass in shared memory"}}};

std::string optionText(const HaloPlan& plan) {
  return fmt::format("group={},tile_n={},tile_images={},clusters={},resident_weights={}", kGroupNames[plan.pair ? 1 : 0],
                     plan.params.gemm.tileN, plan.params.tileImages, plan.clusters(), plan.params.filterResident ? "yes" : "no");
}

Status read(std::string_view text, HaloChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  std::optional<size_t> group;
  if (Status status = values.choice("group", kGroupNames, group); !status.ok()) return status;
  if (group) choices.pair = *group == 1;
  constexpr uint32_t kMost = 2147483647;
  if (Status status = values.number("tile_n", 16, 256, 16, choices.tileN); !status.ok()) return status;
  if (Status status = values.number("tile_images", 1, 16, 1, choices.tileImages); !status.ok()) return status;
  if (Status status = values.number("clusters", 1, kMost, 1, choices.clusters); !status.ok()) return status;
  return values.flag("resident_weights", choices.residentWeights);
}

class Halo final : public Algorithm {
 public:
  std::string_view name() const override { return kName; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return haloRefusal(problem, properties);
  }

  /// The best cut for a CTA, and for a pair of them.
  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    HaloChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    std::string reason;
    const size_t before = candidates.size();
    for (const bool pair : {false, true}) {
      if (pair != choices.pair.value_or(pair)) continue;
      HaloChoices exact = choices;
      exact.pair = pair;
      HaloPlan made;
      if (reason = planHalo(problem, properties, exact, made); !reason.empty()) continue;
      candidates.push_back({this, optionText(made), made.estimate, unproven(made)});
    }
    if (candidates.size() == before) return {StatusCode::InvalidArgument, std::move(reason)};
    return {};
  }

  Status plan(const Problem& problem, const device::Properties& properties, std::string_view options, Plan& plan) const override {
    HaloChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    HaloPlan made;
    if (std::string reason = planHalo(problem, properties, choices, made); !reason.empty())
      return {StatusCode::InvalidArgument, std::move(reason)};
    plan.launches.push_back(made.planned());
    plan.traffic = made.traffic;
    plan.details = made.describe();
    return {};
  }

 private:
  /// The sums of a pair (U14) were not compared with hardware.
  static std::vector<std::string_view> unproven(const HaloPlan& plan) {
    if (plan.pair) return {"U14"};
    return {};
  }
};

}  // namespace

PlannedLaunch HaloPlan::planned() const {
  Parameter values = Parameter::value(params);
  bindEpilogue(values, offsetof(kernels::halo_sm100::HaloParams, gemm) + offsetof(gemm::sm100::GemmParams, epilogue));
  return {images::halo_sm100(),
          kernelName,
          launch,
          {Parameter::map(input, {TensorName::Input}), Parameter::map(filter, {TensorName::Filter}), std::move(values)},
          {"patch load", "mma", "filter load", "idle", "epilogue 0", "epilogue 1", "epilogue 2", "epilogue 3"}};
}

const Algorithm& haloAlgorithm() {
  static const Halo algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan::sm100
