#include "conv/plan/sm100/shift_window_algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "conv/plan/sm100/shift_window.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kName = "shift_window";
constexpr std::array<std::string_view, 2> kProducers{"tensor_copy", "register_store"};  // in the order of OperandProducer
constexpr std::array<OptionDescription, 4> kOptions{
    {{"producer", "tensor_copy, register_store", "how activations enter Tensor Memory: tcgen05.cp, or ld.shared and tcgen05.st"},
     {"tile_n", "multiples of 16 from 16 to 192", "output channels of a pass"},
     {"ctas", "1 to 2147483647", "CTAs along the tiles"},
     {"resident_weights", "yes, no", "keep all weights in shared memory"}}};

std::string optionText(OperandProducer producer, const ShiftWindowCut& cut) {
  return fmt::format("producer={},tile_n={},ctas={},resident_weights={}", kProducers[static_cast<size_t>(producer)], cut.tileN,
                     cut.ctas, cut.resident ? "yes" : "no");
}

Status read(std::string_view text, ShiftWindowChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  std::optional<size_t> producer;
  if (Status status = values.choice("producer", kProducers, producer); !status.ok()) return status;
  if (producer) choices.producer = static_cast<OperandProducer>(*producer);
  if (Status status = values.number("tile_n", 16, 192, 16, choices.tileN); !status.ok()) return status;
  if (Status status = values.number("ctas", 1, 2147483647, 1, choices.ctas); !status.ok()) return status;
  return values.flag("resident_weights", choices.residentWeights);
}

class ShiftWindow final : public Algorithm {
 public:
  std::string_view name() const override { return kName; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return shiftWindowRefusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    ShiftWindowChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    std::vector<ShiftWindowCut> cuts;
    if (std::string reason = shiftWindowCuts(problem, properties, choices, cuts); !reason.empty())
      return {StatusCode::InvalidArgument, std::move(reason)};
    const Rates& rates = ratesOf(properties);
    for (const ShiftWindowCut& cut : cuts)
      for (const OperandProducer producer : {OperandProducer::TensorCopy, OperandProducer::RegisterStore})
        if (choices.producer.value_or(producer) == producer)
          candidates.push_back({this, optionText(producer, cut), estimate(problem, rates, cut.clocks, cut.bound), {"U3"}});
    return {};
  }

  Status plan(const Problem& problem, const device::Properties& properties, std::string_view options, Plan& plan) const override {
    ShiftWindowChoices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    ShiftWindowPlan made;
    if (std::string reason = planShiftWindow(problem, properties, choices, made); !reason.empty())
      return {StatusCode::InvalidArgument, std::move(reason)};
    plan.launches.push_back(made.planned());
    plan.traffic = made.traffic;
    plan.details = made.describe();
    return {};
  }
};

}  // namespace

PlannedLaunch ShiftWindowPlan::planned() const {
  Parameter values = Parameter::value(params);
  values.address(offsetof(kernels::ShiftWindowParams, output), {TensorName::Output})
      .address(offsetof(kernels::ShiftWindowParams, bias), {TensorName::Bias});
  return {shiftWindowImage(),
          kernelName,
          launch,
          {Parameter::map(input, {TensorName::Input}), Parameter::map(filter, {TensorName::Filter}), std::move(values)},
          shiftWindowWarpRoles(producer)};
}

const Algorithm& shiftWindowAlgorithm() {
  static const ShiftWindow algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
