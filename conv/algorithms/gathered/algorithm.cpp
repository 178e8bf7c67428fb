#include "conv/algorithms/gathered/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/algorithms/gathered/plan.hpp"
#include "conv/plan/listed_algorithm.hpp"
#include "conv/plan/targets.hpp"
#include "gathered_image.hpp"
#include "gathered_narrow_image.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::array<OptionDescription, 2> kOptions{
    {{"tile", "128x128, 128x64, 64x64, 128x32", "output pixels x output channels of a CTA"}, kDependentOption}};

Status readGathered(std::string_view text, GatheredChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  if (Status status = values.choice("tile", gatheredTileNames(), choices.tile); !status.ok()) return status;
  return values.dependent(choices.dependent);
}

class Gathered final : public ListedAlgorithm<GatheredChoices, GatheredPlan> {
 public:
  std::string_view name() const override { return "gathered"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::HalfTensorCore; }
  bool takesTransposed() const override { return true; }
  bool takesUpsampled() const override { return true; }
  bool takesSplit() const override { return true; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return gatheredRefusal(problem, properties);
  }

 protected:
  Status read(std::string_view text, GatheredChoices& choices) const override { return readGathered(text, choices); }
  std::vector<GatheredPlan> list(const Problem& problem, const device::Properties& properties,
                                 const GatheredChoices& choices) const override {
    return gatheredCandidates(problem, properties, choices);
  }
  std::string optionText(const GatheredPlan& made) const override {
    return OptionText()
        .add("tile", gatheredTileNames()[made.tile])
        .addIf(!made.launch.programmaticDependent, "dependent", "no")
        .text();
  }
  Tiling tiling(const GatheredPlan& made) const override { return made.tiling(); }
  void addLaunches(const Problem& problem, const GatheredPlan& made, Plan& plan) const override {
    addPreparedLaunch(problem, bitsOf(problem.inputType) == 16 ? images::gathered() : images::gathered_narrow(), made.kernelName,
                      made.launch, made.params, "copy and multiply", plan);
  }
  std::string noPlan(const Problem&, const device::Properties&, std::string_view options) const override {
    return fmt::format(
        "gathered has no kernel for the options {}: channels, groups or a pixel pitch that are no multiple of 16 bytes have the "
        "tile "
        "128x64 alone, and 128x128 is for f16 and bf16",
        options);
  }
};

}  // namespace

const Algorithm& gatheredAlgorithm() {
  static const Gathered algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
