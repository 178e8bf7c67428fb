#include "conv/plan/sm100/shift_stream_algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/plan/sm100/operands.hpp"
#include "conv/plan/sm100/shift_stream.hpp"
#include "shift_stream_image.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kName = "shift_stream";
constexpr std::array<std::string_view, 2> kGroups{"single", "pair"};
constexpr std::array<std::string_view, 2> kScales{"copies", "shifted"};
constexpr std::array<OptionDescription, 6> kOptions{
    {{"group", "single, pair", "CTAs that multiply together: tcgen05 cta_group 1 or 2"},
     {"tile_n", "multiples of 16 from 16 to 256", "output channels of a pass"},
     {"block_rows", "1 to 2147483647", "output rows of a tile"},
     {"clusters", "1 to 2147483647", "CTAs, or pairs of them, along the tiles"},
     {"resident_weights", "yes, no", "keep all weights of a pass in shared memory"},
     {"scales", "copies, shifted", "block scales of pixels: a copy for every filter column, or moved by tcgen05.shift"}}};

std::string optionText(const Problem& problem, const ShiftStreamPlan& plan) {
  const kernels::ShiftStreamParams& p = plan.params;
  std::string text = fmt::format("group={},tile_n={},block_rows={},clusters={},resident_weights={}", kGroups[plan.pair ? 1 : 0],
                                 p.tileN, p.blockRows, plan.launch.grid.x / plan.launch.cluster.x, p.filterResident ? "yes" : "no");
  if (problem.inputScale.blockSize != 0) text += fmt::format(",scales={}", kScales[p.scaleCopies == 1 ? 1 : 0]);
  return text;
}

Status read(std::string_view text, ShiftStreamChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  std::optional<size_t> group, scales;
  if (Status status = values.choice("group", kGroups, group); !status.ok()) return status;
  if (group) choices.pair = *group == 1;
  if (Status status = values.choice("scales", kScales, scales); !status.ok()) return status;
  if (scales) choices.shiftedScales = *scales == 1;
  constexpr uint32_t kMost = 2147483647;
  if (Status status = values.number("tile_n", 16, 256, 16, choices.tileN); !status.ok()) return status;
  if (Status status = values.number("block_rows", 1, kMost, 1, choices.blockRows); !status.ok()) return status;
  if (Status status = values.number("clusters", 1, kMost, 1, choices.clusters); !status.ok()) return status;
  return values.flag("resident_weights", choices.residentWeights);
}

class ShiftStream final : public Algorithm {
 public:
  std::string_view name() const override { return kName; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return shiftStreamRefusal(problem, properties);
  }

  /// The best cut for a CTA, and for a pair of them; with block scales each way of moving them.
  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    ShiftStreamChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    const bool scaled = problem.inputScale.blockSize != 0;
    if (choices.shiftedScales && !scaled)
      return {StatusCode::InvalidArgument, "scales was given, but the problem has no block scales"};
    std::string reason;
    const size_t before = candidates.size();
    for (const bool pair : {false, true})
      for (const bool shifted : {false, true}) {
        if (pair != choices.pair.value_or(pair) || shifted != choices.shiftedScales.value_or(scaled && shifted)) continue;
        ShiftStreamChoices exact = choices;
        exact.pair = pair;
        exact.shiftedScales = shifted;
        ShiftStreamPlan made;
        if (reason = planShiftStream(problem, properties, exact, made); !reason.empty()) continue;
        candidates.push_back({this, optionText(problem, made), made.estimate, unproven(made)});
      }
    if (candidates.size() == before) return {StatusCode::InvalidArgument, std::move(reason)};
    return {};
  }

  Status plan(const Problem& problem, const device::Properties& properties, std::string_view options, Plan& plan) const override {
    ShiftStreamChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    ShiftStreamPlan made;
    if (std::string reason = planShiftStream(problem, properties, choices, made); !reason.empty())
      return {StatusCode::InvalidArgument, std::move(reason)};
    plan.launches.push_back(made.planned());
    plan.traffic = made.traffic;
    plan.details = made.describe();
    return {};
  }

 private:
  /// What tcgen05.shift moves (U1) and tcgen05.cp from swizzled tiles (U29) were seen on hardware by others; how a lane mask and
  /// what a commit of a pair cover (U7, U14) were not.
  static std::vector<std::string_view> unproven(const ShiftStreamPlan& plan) {
    if (plan.pair) return {"U7", "U14"};
    return {};
  }
};

}  // namespace

PlannedLaunch ShiftStreamPlan::planned() const {
  const auto scales = [](size_t operand) { return operand + offsetof(gemm::sm100::ScaleParams, rowMajor); };
  Parameter values = Parameter::value(params);
  bindEpilogue(values, offsetof(kernels::ShiftStreamParams, epilogue));
  values.address(scales(offsetof(kernels::ShiftStreamParams, inputScales)), {TensorName::InputScale})
      .address(scales(offsetof(kernels::ShiftStreamParams, filterScales)), {TensorName::FilterScale});
  return {images::shift_stream(),
          kernelName,
          launch,
          {Parameter::map(input, {TensorName::Input}), Parameter::map(filter, {TensorName::Filter}), std::move(values)},
          shiftStreamWarpRoles(isScaled(problem))};
}

const Algorithm& shiftStreamAlgorithm() {
  static const ShiftStream algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
