#include "conv/algorithms/halo/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "conv/algorithms/halo/plan.hpp"
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/option_conflict.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/targets.hpp"
#include "halo_activated_float_sm90_image.hpp"
#include "halo_activated_integer_sm90_image.hpp"
#include "halo_activated_pixels_sm90_image.hpp"
#include "halo_activated_sm90_image.hpp"
#include "halo_converted_float_sm90_image.hpp"
#include "halo_converted_integer_sm90_image.hpp"
#include "halo_converted_sm90_image.hpp"
#include "halo_float_sm90_image.hpp"
#include "halo_half_sm90_image.hpp"
#include "halo_integer_sm90_image.hpp"
#include "halo_pixels_sm90_image.hpp"
#include "halo_residual_float_sm90_image.hpp"
#include "halo_residual_integer_sm90_image.hpp"
#include "halo_residual_pixels_sm90_image.hpp"
#include "halo_residual_sm90_image.hpp"
#include "halo_shared_sm90_image.hpp"
#include "halo_sm90_image.hpp"

namespace shiftconv::plan {
namespace {

#define SHIFTCONV_HALO_NAME(NAME, ...) #NAME,
constexpr std::string_view kShapeNames[] = {SHIFTCONV_HALO_SHAPES(SHIFTCONV_HALO_NAME) SHIFTCONV_HALO_WIDE_SHAPES(
    SHIFTCONV_HALO_NAME) SHIFTCONV_HALO_PIXEL_SHAPES(SHIFTCONV_HALO_NAME) SHIFTCONV_HALO_BYTES_ALONE_SHAPES(SHIFTCONV_HALO_NAME)};
#undef SHIFTCONV_HALO_NAME
#define SHIFTCONV_HALO_LISTED(NAME, ...) ", " #NAME
constexpr std::string_view kShapeList =
    std::string_view(SHIFTCONV_HALO_SHAPES(SHIFTCONV_HALO_LISTED) SHIFTCONV_HALO_WIDE_SHAPES(SHIFTCONV_HALO_LISTED)
                         SHIFTCONV_HALO_PIXEL_SHAPES(SHIFTCONV_HALO_LISTED)
                             SHIFTCONV_HALO_BYTES_ALONE_SHAPES(SHIFTCONV_HALO_LISTED))
        .substr(2);
#undef SHIFTCONV_HALO_LISTED
constexpr std::array<std::string_view, 2> kShareNames{"none", "boxes"};
constexpr std::array<HaloCut, 3> kCuts{HaloCut::Columns, HaloCut::Flat, HaloCut::Dense};
constexpr std::array<std::string_view, 3> kCutNames{"columns", "flat", "dense"};
constexpr std::array<OptionDescription, 6> kHaloOptions{
    {{"shape", kShapeList, "output channels and pixels of a tile"},
     {"cut", "columns, flat, dense", "8-column groups, whole rows with their pads, or whole rows without"},
     {"split", "1, 2, 4", "CTAs that share the reduction of a tile"},
     {"share", "none, boxes",
      "what CTAs with neighbouring tiles of channels load for each other, in pairs; none where a shape is given and share is not"},
     {"lag", "0 to 64", "taps that a warpgroup is behind the one before it, as far as the rings hold them"},
     kFilterDependentOption}};

Status readHalo(std::string_view text, HaloChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kHaloOptions, values); !status.ok()) return status;
  std::optional<size_t> shape, cut;
  if (Status status = values.choice("shape", kShapeNames, shape); !status.ok()) return status;
  if (shape) choices.shape = kShapeNames[*shape];
  if (Status status = values.choice("cut", kCutNames, cut); !status.ok()) return status;
  if (cut) choices.cut = kCuts[*cut];
  std::optional<size_t> share;
  if (Status status = values.choice("share", kShareNames, share); !status.ok()) return status;
  if (share || shape) choices.sharesBoxes = share.value_or(0) != 0;
  std::optional<uint32_t> split, lag;
  if (Status status = values.number("split", 1, 4, 1, split); !status.ok()) return status;
  if (split) choices.split = static_cast<int32_t>(*split);
  if (Status status = values.number("lag", 0, 64, 1, lag); !status.ok()) return status;
  if (lag) choices.lag = static_cast<int32_t>(*lag);
  return values.dependent(choices.dependent);
}

device::ModuleImage imageOf(HaloModule module) {
  switch (module) {
    case HaloModule::Activated:
      return images::halo_activated_sm90();
    case HaloModule::Converted:
      return images::halo_converted_sm90();
    case HaloModule::ConvertedFloat:
      return images::halo_converted_float_sm90();
    case HaloModule::ConvertedInteger:
      return images::halo_converted_integer_sm90();
    case HaloModule::ActivatedPixels:
      return images::halo_activated_pixels_sm90();
    case HaloModule::ActivatedFloat:
      return images::halo_activated_float_sm90();
    case HaloModule::ActivatedInteger:
      return images::halo_activated_integer_sm90();
    case HaloModule::Pixels:
      return images::halo_pixels_sm90();
    case HaloModule::Shared:
      return images::halo_shared_sm90();
    case HaloModule::Residual:
      return images::halo_residual_sm90();
    case HaloModule::ResidualPixels:
      return images::halo_residual_pixels_sm90();
    case HaloModule::ResidualFloat:
      return images::halo_residual_float_sm90();
    case HaloModule::ResidualInteger:
      return images::halo_residual_integer_sm90();
    case HaloModule::Half:
      return images::halo_half_sm90();
    case HaloModule::Float:
      return images::halo_float_sm90();
    case HaloModule::Integer:
      return images::halo_integer_sm90();
    case HaloModule::Plain:
      break;
  }
  return images::halo_sm90();
}

std::string optionsOf(const HaloOffer& offer) {
  return OptionText()
      .add("shape", offer.shape)
      .add("cut", toString(offer.cut))
      .add("split", offer.split)
      .add("lag", offer.lag)
      .addIf(offer.sharesBoxes, "share", kShareNames[1])
      .addIf(offer.dependent != Dependence::Launch, kFilterDependentOption.name, toString(offer.dependent))
      .text();
}

class Halo final : public Algorithm {
 public:
  std::string_view name() const override { return "halo"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::WgmmaTensorCore; }
  bool takesSplit() const override { return true; }
  bool takesChosenTaps() const override { return true; }
  bool takesSpreadOutput() const override { return true; }
  std::span<const OptionDescription> options() const override { return kHaloOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopper(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return haloRefusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    HaloChoices choices;
    if (Status status = readHalo(options, choices); !status.ok()) return status;
    std::vector<HaloOffer> offers = haloOffers(problem, properties, choices);
    if (offers.empty()) return noPlan(problem, properties, options);
    const Estimator estimator(problem, ratesOf(properties));
    const size_t first = candidates.size();
    for (const HaloOffer& offer : offers)
      candidates.push_back({this,
                            estimator.of(offer.modelledClocks, offer.bound),
                            {},
                            {offer.tilePixels,
                             offer.tileChannels,
                             offer.split,
                             {static_cast<int32_t>(offer.cut), offer.lag, offer.pixelsAreA + 2 * offer.weightsStay},
                             offer.modelParts}});
    setPlans(candidates, first, std::make_shared<TypedPlans<HaloOffer>>(std::move(offers), complete, optionsOf));
    return {};
  }

 private:
  static Status complete(const HaloOffer& offer, const Problem& problem, const device::Properties& properties, Plan& plan) {
    const std::vector<HaloPlan> plans = haloCandidates(
        problem, properties, {offer.cut, std::string(offer.shape), offer.split, offer.lag, offer.sharesBoxes, offer.dependent});
    if (plans.empty()) return {StatusCode::InternalError, "halo cannot plan what it offers"};
    const HaloPlan& made = plans.front();
    using kernels::halo::Params;
    constexpr size_t kMapBytes = 128;
    Parameter inputs = Parameter::value(std::array<std::byte, kernels::halo::kMaximumInputMaps * kMapBytes>{});
    const auto maps = static_cast<size_t>(made.params.inputMaps), firstMaps = static_cast<size_t>(made.params.firstMaps);
    for (size_t i = 0; i < made.inputs.size(); ++i) {
      const TensorName tensor = i >= firstMaps && i < maps ? TensorName::SecondInput : TensorName::Input;
      inputs.map(i * kMapBytes, made.inputs[i], {tensor, made.inputs[i].globalAddress});
    }
    Parameter params = Parameter::value(made.params);
    params.address(offsetof(Params, filter), {TensorName::Filter});
    std::vector<Parameter> parameters{std::move(inputs), Parameter::map(made.filter, {TensorName::Filter})};
    constexpr size_t kEpilogue = offsetof(Params, full) + offsetof(kernels::halo::FullEpilogue, epilogue);
    const bool byThreads = made.params.storingLanes != 0;
    if (made.module == HaloModule::Plain || made.module == HaloModule::Pixels || made.module == HaloModule::Shared ||
        (made.addsResidual() && !made.addsResidualOfBytes()))
      params.address(offsetof(Params, bias.numbers), {TensorName::Bias});
    else
      bindEpilogue(params, kEpilogue);
    if (byThreads && made.module == HaloModule::Pixels)
      params.address(kEpilogue + offsetof(gemm::EpilogueParams, output), {TensorName::Output});
    if (made.storesTiles())
      parameters.push_back(Parameter::map(made.output, {byThreads ? TensorName::Filter : TensorName::Output}));
    if (made.addsResidual()) parameters.push_back(Parameter::map(made.residual, {TensorName::Residual}));
    parameters.push_back(std::move(params));
    plan.launches.push_back({imageOf(made.module), made.kernelName, made.launch, std::move(parameters), made.warpRoles()});
    plan.details = made.describe() + "\n";
    return {};
  }

  static Status noPlan(const Problem& problem, const device::Properties& properties, std::string_view options) {
    const auto plansWith = [&](std::string_view others) {
      std::vector<std::string> texts;
      HaloChoices fewer;
      if (readHalo(others, fewer).ok())
        for (const HaloOffer& offer : haloOffers(problem, properties, fewer)) texts.push_back(optionsOf(offer));
      return texts;
    };
    return {StatusCode::InvalidArgument, noPlanWith("halo", options, plansWith)};
  }
};

}  // namespace

const Algorithm& haloAlgorithm() {
  static const Halo algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
