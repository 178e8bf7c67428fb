#include "conv/algorithms/pointwise/algorithm.hpp"

#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "conv/algorithms/pointwise/plan.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/listed_algorithm.hpp"
#include "conv/plan/targets.hpp"
#include "pointwise_bytes_image.hpp"
#include "pointwise_image.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::array<OptionDescription, 7> kOptions{
    {{"pixels", "16, 32", "output pixels of a warp's tile"},
     {"loads", "2, 4, 8", "input channels of a load"},
     {"warps", "4, 8", "of a CTA"},
     {"channel_warps", "1, 2, 4, 8", "warps that share a tile's output channels"},
     {"parts", "1 to 8", "of the output channels, a CTA each"},
     {"gathers", "yes, no", "outputs of a tile leave through shared memory, as one run of bytes"},
     kDependentOption}};

Status readPointwise(std::string_view text, PointwiseChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  for (const auto& [name, most, choice] : {std::tuple{"pixels", 32u, &choices.pixels},
                                           {"loads", 8u, &choices.loads},
                                           {"warps", 8u, &choices.warps},
                                           {"channel_warps", 8u, &choices.channelWarps},
                                           {"parts", 8u, &choices.parts}}) {
    std::optional<uint32_t> value;
    if (Status status = values.number(name, 1, most, 1, value); !status.ok()) return status;
    if (value) *choice = static_cast<int32_t>(*value);
  }
  if (Status status = values.flag("gathers", choices.gathers); !status.ok()) return status;
  return values.dependent(choices.dependent);
}

class Pointwise final : public ListedAlgorithm<PointwiseChoices, PointwisePlan> {
 public:
  std::string_view name() const override { return "pointwise"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::HalfTensorCore; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return pointwiseRefusal(problem, properties);
  }

 protected:
  Status read(std::string_view text, PointwiseChoices& choices) const override { return readPointwise(text, choices); }
  std::vector<PointwisePlan> list(const Problem& problem, const device::Properties& properties,
                                  const PointwiseChoices& choices) const override {
    return pointwiseCandidates(problem, properties, choices);
  }
  std::string optionText(const PointwisePlan& made) const override { return made.options(); }
  Tiling tiling(const PointwisePlan& made) const override {
    return {made.instance.pixels * made.warps / made.channelWarps,
            made.params.channelGroups * kernels::pointwise::kGroupChannels,
            1,
            {made.instance.pixels, made.warps + (made.params.gathers ? kernels::pointwise::kMostWarps : 0), made.channelWarps},
            made.modelParts};
  }
  void addLaunches(const Problem& problem, const PointwisePlan& made, Plan& plan) const override {
    addPreparedLaunch(problem, bitsOf(problem.inputType) == 8 ? images::pointwise_bytes() : images::pointwise(), made.kernelName(),
                      made.launch, made.params, "stream and multiply", plan);
  }
};

}  // namespace

const Algorithm& pointwiseAlgorithm() {
  static const Pointwise algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
