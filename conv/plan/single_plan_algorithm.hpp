// An algorithm with one plan a problem, without options of its own, as an entry of the registry.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/device/module_image.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/shared_memory.hpp"
#include "conv/plan/tiling.hpp"

namespace shiftconv::plan {

template <class EnginePlan>
struct SinglePlanEngine {
  std::string_view name;
  Accumulation accumulation;
  bool (*isBuiltFor)(const device::Properties&);
  std::string (*refusal)(const Problem&, const device::Properties&);
  EnginePlan (*plan)(const Problem&, const device::Properties&);
  device::ModuleImage (*image)();
  std::vector<std::string> (*warpRoles)();
  Tiling (*tiling)(const EnginePlan&) = nullptr;  ///< of engines whose recorded times are enough to fit to
};

template <class EnginePlan>
class SinglePlanAlgorithm final : public Algorithm {
 public:
  explicit SinglePlanAlgorithm(const SinglePlanEngine<EnginePlan>& engine) : engine_(engine) {}
  std::string_view name() const override { return engine_.name; }
  std::optional<Accumulation> accumulation() const override { return engine_.accumulation; }
  std::span<const OptionDescription> options() const override { return {&kDependentOption, 1}; }
  bool isBuiltFor(const device::Properties& properties) const override { return engine_.isBuiltFor(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return engine_.refusal(problem, properties);
  }

  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    bool dependent = true;
    if (Status status = readDependent(options, dependent); !status.ok()) return status;
    EnginePlan made = engine_.plan(problem, properties);
    made.launch.programmaticDependent = dependent;
    spreadEvenly(properties, made.launch);
    candidates.push_back({this,
                          estimate(problem, ratesOf(properties), made.modelledClocks, made.bound),
                          {},
                          engine_.tiling == nullptr ? Tiling{} : engine_.tiling(made)});
    const auto complete = [this](const EnginePlan& chosen, const Problem& of, const device::Properties&, Plan& plan) {
      addLaunch(of, chosen, plan);
      return Status();
    };
    std::vector<EnginePlan> plans;
    plans.push_back(std::move(made));
    setPlans(candidates, candidates.size() - 1,
             std::make_shared<TypedPlans<EnginePlan>>(std::move(plans), complete, dependentOption<EnginePlan>));
    return {};
  }

 private:
  void addLaunch(const Problem& problem, const EnginePlan& made, Plan& plan) const {
    using Params = decltype(made.params);
    Parameter params = Parameter::value(made.params);
    params.address(offsetof(Params, filter), {TensorName::Filter});
    std::vector<Parameter> parameters{Parameter::map(made.input, {TensorName::Input})};
    bool full = false, readsEpilogue = false;
    if constexpr (requires { made.full; }) full = readsEpilogue = made.full;
    if constexpr (requires { made.scales; }) readsEpilogue = full || made.scales;
    if (!readsEpilogue) params.address(offsetof(Params, bias.numbers), {TensorName::Bias});
    if constexpr (requires { made.params.epilogue; }) {
      if (readsEpilogue) bindEpilogue(params, offsetof(Params, epilogue));
    }
    if (full) {
      parameters.push_back(parameters[0]);  // in place of the output's map
    } else if constexpr (requires { made.output; }) {
      parameters.push_back(Parameter::map(made.output, {TensorName::Output}));
      if constexpr (requires { made.residual; }) {
        if (problem.hasResidual()) parameters.push_back(Parameter::map(made.residual, {TensorName::Residual}));
      }
    } else {
      params.address(offsetof(Params, output), {TensorName::Output});
    }
    parameters.push_back(std::move(params));
    plan.launches.push_back({engine_.image(), made.kernelName, made.launch, std::move(parameters), engine_.warpRoles()});
    plan.details = made.describe() + "\n";
  }

  SinglePlanEngine<EnginePlan> engine_;
};

}  // namespace shiftconv::plan
