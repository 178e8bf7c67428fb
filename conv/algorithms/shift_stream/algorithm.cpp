#include "conv/algorithms/shift_stream/algorithm.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "common/gemm/sm100/role_names.hpp"
#include "conv/algorithms/shift_stream/plan.hpp"
#include "conv/plan/chosen_algorithm.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/targets.hpp"
#include "shift_stream_image.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kName = "shift_stream";
constexpr std::array<std::string_view, 2> kScales{"copies", "shifted"};
constexpr std::array<OptionDescription, 7> kOptions{
    {{"map", "strips, packed, strips_refill, flat_refill, flat_masked",
      "what lanes hold: a strip in every window, or several pieces of rows; the same with windows that are refilled behind shifts; "
      "or, masked, rows end to end"},
     kGroupOption,
     {"tile_n", "multiples of 16 from 16 to 256", "output channels of a pass"},
     {"block_rows", "1 to 2147483647", "output rows of a tile"},
     {"clusters", "1 to 2147483647", "CTAs, or pairs of them, along the tiles"},
     {"resident_weights", "yes, no", "keep all weights of a pass in shared memory"},
     {"scales", "copies, shifted", "block scales of pixels: a copy for every filter column, or moved by tcgen05.shift"}}};

std::string textOf(const ShiftStreamPlan& plan) {
  const kernels::ShiftStreamParams& p = plan.params;
  return OptionText()
      .add("map", kStreamMapNames[static_cast<size_t>(plan.cut.map)])
      .add("group", groupName(plan.cut.pair))
      .add("tile_n", p.tileN)
      .add("block_rows", p.blockRows)
      .add("clusters", plan.launch.grid.x / plan.launch.cluster.x)
      .add("resident_weights", p.filter.resident ? "yes" : "no")
      .addIf(isScaled(plan.problem), "scales", kScales[p.scaleCopies == 1 ? 1 : 0])
      .text();
}

Status choicesOf(std::string_view text, ShiftStreamChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  std::optional<size_t> map, scales;
  if (Status status = values.choice("map", kStreamMapNames, map); !status.ok()) return status;
  if (map) choices.map = static_cast<StreamMap>(*map);
  if (Status status = readGroup(values, choices.pair); !status.ok()) return status;
  if (Status status = values.choice("scales", kScales, scales); !status.ok()) return status;
  if (scales) choices.shiftedScales = *scales == 1;
  constexpr uint32_t kMost = 2147483647;
  if (Status status = values.number("tile_n", 16, 256, 16, choices.tileN); !status.ok()) return status;
  if (Status status = values.number("block_rows", 1, kMost, 1, choices.blockRows); !status.ok()) return status;
  if (Status status = values.number("clusters", 1, kMost, 1, choices.clusters); !status.ok()) return status;
  return values.flag("resident_weights", choices.residentWeights);
}

class ShiftStream final : public ChosenAlgorithm<ShiftStreamChoices, ShiftStreamPlan> {
 public:
  std::string_view name() const override { return kName; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::TensorCore; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return shiftStreamRefusal(problem, properties);
  }

 protected:
  Status read(const Problem& problem, std::string_view text, ShiftStreamChoices& choices) const override {
    if (Status status = choicesOf(text, choices); !status.ok()) return status;
    if (choices.shiftedScales && !isScaled(problem))
      return {StatusCode::InvalidArgument, "scales was given, but the problem has no block scales"};
    return {};
  }
  /// The best lane map without refill and each with it, and with block scales each way of moving them.
  std::vector<ShiftStreamChoices> alternatives(const Problem& problem, const ShiftStreamChoices& choices) const override {
    std::vector<ShiftStreamChoices> all{choices};
    if (!choices.map)
      for (const StreamMap map : kStreamMaps) {
        if (!isRefilled(map)) continue;
        all.push_back(choices);
        all.back().map = map;
      }
    if (!isScaled(problem) || choices.shiftedScales) return all;
    const size_t maps = all.size();
    for (size_t i = 0; i < maps; ++i)
      for (const bool shifted : {false, true}) {
        all.push_back(all[i]);
        all.back().shiftedScales = shifted;
      }
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(maps));
    return all;
  }
  std::string make(const Problem& problem, const device::Properties& properties, const ShiftStreamChoices& choices,
                   ShiftStreamPlan& made) const override {
    return cutShiftStream(problem, properties, choices, made);
  }
  void complete(ShiftStreamPlan& made) const override { made.countPlaces(); }
  std::string optionText(const ShiftStreamPlan& plan) const override { return textOf(plan); }
};

}  // namespace

/// Where tcgen05.cp.4x256b may begin and what it reads (U4), how a lane mask reaches the CTAs of a pair (U7), and where 6-bit
/// elements lie in Tensor Memory (U8).
std::vector<std::string_view> ShiftStreamPlan::openQuestions() const {
  std::vector<std::string_view> questions = questionsOfProducts(problem, cut.pair);
  if (isRefilled(cut.map)) questions.push_back("U4");
  if (cut.pair) questions.push_back("U7");
  if (hasSixBitElements(problem.inputType)) questions.push_back("U8");
  return questions;
}

PlannedLaunch ShiftStreamPlan::planned() const {
  Parameter values = Parameter::value(params);
  bindEpilogue(values, offsetof(kernels::ShiftStreamParams, epilogue));
  bindCorrections(problem, values, offsetof(kernels::ShiftStreamParams, epilogue));
  bindScales(values, offsetof(kernels::ShiftStreamParams, inputScales), TensorName::InputScale, problem.inputScale.order);
  bindScales(values, offsetof(kernels::ShiftStreamParams, filterScales), TensorName::FilterScale, problem.filterScale.order);
  return {images::shift_stream(),
          kernelName,
          launch,
          {Parameter::map(input, {TensorName::Input}), Parameter::map(refill, {TensorName::Input}),
           Parameter::map(filter, {TensorName::Filter}),
           // The kernel does not look at the map of an output that it does not stage.
           output.rank != 0 ? Parameter::map(output, {TensorName::Output}) : Parameter::map(input, {TensorName::Input}),
           std::move(values)},
          gemm::sm100::warpRoles(isScaled(problem))};
}

const Algorithm& shiftStreamAlgorithm() {
  static const ShiftStream algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
