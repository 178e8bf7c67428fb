#include "conv/algorithms/halo_sm100/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "common/gemm/sm100/role_names.hpp"
#include "conv/algorithms/halo_sm100/plan.hpp"
#include "conv/plan/chosen_algorithm.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/targets.hpp"
#include "halo_sm100_image.hpp"

namespace shiftconv::plan::sm100 {
namespace {

constexpr std::string_view kName = "halo_sm100";
constexpr std::array<OptionDescription, 7> kOptions{
    {kGroupOption,
     {"tile_n", "multiples of 16 from 16 to 256", "output channels of a pass"},
     {"tile_images", "1, 2, 4, 8, 16", "images that the 16 rows of a CTA's operand belong to"},
     {"clusters", "1 to 2147483647", "CTAs, or pairs of them, along the tiles"},
     {"resident_weights", "yes, no", "keep all weights of a pass in shared memory"},
     {"collector", "yes, no",
      "stream rows of the input, each read once for all filter rows through the collector buffer of the tensor core; no"},
     {"block_rows", "1 to 1024", "output rows of a stream; collector=yes"}}};

std::string textOf(const HaloPlan& plan) {
  const kernels::halo_sm100::HaloParams& p = plan.params;
  return OptionText()
      .add("group", groupName(plan.cut.pair))
      .add("tile_n", p.gemm.tileN)
      .add(p.streamsRows ? "block_rows" : "tile_images", p.streamsRows ? p.tileRows : p.tileImages)
      .add("clusters", plan.clusters())
      .add("resident_weights", p.filter.resident ? "yes" : "no")
      .add("collector", p.streamsRows ? "yes" : "no")
      .text();
}

Status choicesOf(std::string_view text, HaloChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = readGroup(values, choices.pair); !status.ok()) return status;
  constexpr uint32_t kMost = 2147483647;
  if (Status status = values.number("tile_n", 16, 256, 16, choices.tileN); !status.ok()) return status;
  if (Status status = values.number("tile_images", 1, 16, 1, choices.tileImages); !status.ok()) return status;
  if (Status status = values.number("clusters", 1, kMost, 1, choices.clusters); !status.ok()) return status;
  if (Status status = values.number("block_rows", 1, kMaximumBlockRows, 1, choices.blockRows); !status.ok()) return status;
  if (Status status = values.flag("collector", choices.collector); !status.ok()) return status;
  return values.flag("resident_weights", choices.residentWeights);
}

class Halo final : public ChosenAlgorithm<HaloChoices, HaloPlan> {
 public:
  std::string_view name() const override { return kName; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::TensorCore; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return haloRefusal(problem, properties);
  }

 protected:
  Status read(const Problem&, std::string_view text, HaloChoices& choices) const override { return choicesOf(text, choices); }
  std::string make(const Problem& problem, const device::Properties& properties, const HaloChoices& choices,
                   HaloPlan& made) const override {
    return planHalo(problem, properties, choices, made);
  }
  std::string optionText(const HaloPlan& plan) const override { return textOf(plan); }
};

}  // namespace

std::vector<std::string_view> HaloPlan::openQuestions() const {
  std::vector<std::string_view> questions = questionsOfProducts(problem, cut.pair);
  if (params.streamsRows) questions.push_back("U20");
  return questions;
}

PlannedLaunch HaloPlan::planned() const {
  Parameter values = Parameter::value(params);
  bindEpilogue(values, offsetof(kernels::halo_sm100::HaloParams, gemm) + offsetof(gemm::sm100::GemmParams, epilogue));
  bindCorrections(problem, values, offsetof(kernels::halo_sm100::HaloParams, gemm) + offsetof(gemm::sm100::GemmParams, epilogue));
  if (isScaled(problem)) {
    constexpr size_t kGemm = offsetof(kernels::halo_sm100::HaloParams, gemm);
    bindScales(values, kGemm + offsetof(gemm::sm100::GemmParams, scaleA), TensorName::InputScale, problem.inputScale.order);
    bindScales(values, kGemm + offsetof(gemm::sm100::GemmParams, scaleB), TensorName::FilterScale, problem.filterScale.order);
  }
  return {images::halo_sm100(),
          kernelName,
          launch,
          {Parameter::map(input, {TensorName::Input}), Parameter::map(filter, {TensorName::Filter}),
           // The kernel does not look at the map of an output that it does not stage.
           output.rank != 0 ? Parameter::map(output, {TensorName::Output}) : Parameter::map(input, {TensorName::Input}),
           std::move(values)},
          gemm::sm100::warpRoles(isScaled(problem))};
}

const Algorithm& haloAlgorithm() {
  static const Halo algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan::sm100
