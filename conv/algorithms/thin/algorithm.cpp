#include "conv/algorithms/thin/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "conv/algorithms/thin/plan.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/listed_algorithm.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/targets.hpp"
#include "thin_bytes_image.hpp"
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

Status readThin(std::string_view text, ThinChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = values.choice("tile", kTileNames, choices.tile); !status.ok()) return status;
  for (const auto& [name, choice] :
       {std::pair{"split", &choices.split}, {"pixel_warps", &choices.pixelWarps}, {"channel_warps", &choices.channelWarps}}) {
    std::optional<uint32_t> value;
    if (Status status = values.number(name, 1, kMostWarps, 1, value); !status.ok()) return status;
    if (value) *choice = static_cast<int32_t>(*value);
  }
  return values.dependent(choices.dependent);
}

class Thin final : public ListedAlgorithm<ThinChoices, ThinPlan> {
 public:
  std::string_view name() const override { return "thin"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::HalfTensorCore; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return thinRefusal(problem, properties);
  }

 protected:
  Status read(std::string_view text, ThinChoices& choices) const override { return readThin(text, choices); }
  std::vector<ThinPlan> list(const Problem& problem, const device::Properties& properties,
                             const ThinChoices& choices) const override {
    return thinCandidates(problem, properties, choices);
  }
  std::string optionText(const ThinPlan& made) const override { return made.options(); }
  Tiling tiling(const ThinPlan& made) const override {
    return {made.tile.pixels * made.pixelWarps,
            made.tile.channels * made.channelWarps,
            made.split,
            {made.tile.pixels, made.pixelWarps, made.channelWarps},
            made.modelParts};
  }
  void addLaunches(const Problem& problem, const ThinPlan& made, Plan& plan) const override {
    addPreparedLaunch(problem, bitsOf(problem.inputType) == 8 ? images::thin_bytes() : images::thin(), made.kernelName(),
                      made.launch, made.params, "multiply", plan);
  }
};

}  // namespace

const Algorithm& thinAlgorithm() {
  static const Thin algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
