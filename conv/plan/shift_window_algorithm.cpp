#include "conv/plan/shift_window_algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "conv/plan/shift_window.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kName = "shift_window";

class PlannedShiftWindow final : public Plan {
 public:
  PlannedShiftWindow(const Problem& problem, const device::Properties& properties, ShiftWindowPlan plan)
      : Plan(problem, properties.computeMajor, properties.computeMinor), plan_(std::move(plan)) {}

  std::string_view algorithm() const override { return kName; }
  const std::string& kernelName() const override { return plan_.kernelName; }
  std::string describe() const override { return plan_.describe(); }
  device::ModuleImage image() const override { return shiftWindowImage(); }
  std::vector<std::string> warpRoles() const override { return shiftWindowWarpRoles(plan_.producer); }

  Status run(device::Device& device, const device::Kernel& kernel, const RunTensors& tensors,
             device::Stream stream) const override {
    device::TensorMap input, filter;
    if (Status status = encode(device, plan_.input, tensors.input, input); !status.ok()) return status;
    if (Status status = encode(device, plan_.filter, tensors.filter, filter); !status.ok()) return status;
    kernels::ShiftWindowParams params = plan_.params;
    params.output = reinterpret_cast<void*>(tensors.output);
    params.bias = reinterpret_cast<const float*>(tensors.bias);
    const std::array<const void*, 3> arguments{&input, &filter, &params};
    return device.launch(kernel, plan_.launch, arguments, stream);
  }

 private:
  static Status encode(device::Device& device, device::TiledMap map, device::Address address, device::TensorMap& encoded) {
    map.globalAddress = address;
    return device.encodeTiled(map, encoded);
  }

  const ShiftWindowPlan plan_;
};

Status parseProducer(const std::string& name, std::optional<OperandProducer>& producer) {
  if (name.empty()) return {};
  if (name == "tensor_copy")
    producer = OperandProducer::TensorCopy;
  else if (name == "register_store")
    producer = OperandProducer::RegisterStore;
  else
    return {StatusCode::InvalidArgument,
            fmt::format("producer must be \"tensor_copy\" or \"register_store\", but is \"{}\"", name)};
  return {};
}

class ShiftWindow final : public Algorithm {
 public:
  std::string_view name() const override { return kName; }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return shiftWindowRefusal(problem, properties);
  }
  Status plan(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
              std::shared_ptr<const Plan>& plan) const override {
    ShiftWindowChoices choices;
    if (Status status = parseProducer(options.producer, choices.producer); !status.ok()) return status;
    choices.tileN = options.tileN;
    choices.ctas = options.ctas;
    choices.residentWeights = options.residentWeights;
    ShiftWindowPlan made;
    if (std::string reason = planShiftWindow(problem, properties, choices, made); !reason.empty())
      return {StatusCode::InvalidArgument, reason};
    plan = std::make_shared<PlannedShiftWindow>(problem, properties, std::move(made));
    return {};
  }
};

}  // namespace

const Algorithm& shiftWindowAlgorithm() {
  static const ShiftWindow algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
