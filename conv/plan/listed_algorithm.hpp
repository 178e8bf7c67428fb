// An algorithm whose plans for a problem are a list, best first, of which options leave some.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conv/plan/algorithm.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/input_parts.hpp"
#include "conv/plan/option_conflict.hpp"
#include "conv/plan/preparation.hpp"

namespace shiftconv::plan {

/// `Made` has modelledClocks, bound and describe().
template <class Choices, class Made>
class ListedAlgorithm : public Algorithm {
 public:
  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    std::vector<Made> plans;
    if (Status status = plansOf(problem, properties, options, plans); !status.ok()) return status;
    const Estimator estimator(problem, ratesOf(properties));
    const size_t first = candidates.size();
    for (const Made& plan : plans) candidates.push_back({this, estimator.of(plan.modelledClocks, plan.bound), {}, tiling(plan)});
    const auto complete = [this](const Made& made, const Problem& of, const device::Properties&, Plan& plan) {
      addLaunches(of, made, plan);
      plan.mainLaunch = plan.launches.size() - 1;
      plan.details = made.describe() + "\n";
      return Status();
    };
    setPlans(candidates, first,
             std::make_shared<TypedPlans<Made>>(std::move(plans), complete, [this](const Made& made) { return optionText(made); }));
    return {};
  }

 protected:
  virtual Status read(std::string_view text, Choices& choices) const = 0;
  /// Every plan that agrees with the choices.
  virtual std::vector<Made> list(const Problem& problem, const device::Properties& properties, const Choices& choices) const = 0;
  /// Options that make exactly this plan.
  virtual std::string optionText(const Made& made) const = 0;
  virtual Tiling tiling(const Made& made) const = 0;
  /// The last one multiplies.
  virtual void addLaunches(const Problem& problem, const Made& made, Plan& plan) const = 0;
  /// Why the list is empty, in one sentence.
  virtual std::string noPlan(const Problem& problem, const device::Properties& properties, std::string_view options) const {
    return noPlanWith(name(), options, [&](std::string_view others) {
      std::vector<std::string> texts;
      Choices fewer;
      if (read(others, fewer).ok())
        for (const Made& made : list(problem, properties, fewer)) texts.push_back(optionText(made));
      return texts;
    });
  }

 private:
  Status plansOf(const Problem& problem, const device::Properties& properties, std::string_view options,
                 std::vector<Made>& plans) const {
    Choices choices;
    if (Status status = read(options, choices); !status.ok()) return status;
    plans = list(problem, properties, choices);
    if (plans.empty()) return {StatusCode::InvalidArgument, noPlan(problem, properties, options)};
    return {};
  }
};

/// A role for each warp of a CTA.
inline std::vector<std::string> sameRoles(const LaunchConfig& launch, const char* role) {
  return std::vector<std::string>(launch.block.x / 32, role);
}

/// Of kernels that take plain addresses and have the whole epilogue: the launches for zero points, and behind them the kernel,
/// whose warps all do the same.
template <class Params>
void addPreparedLaunch(const Problem& problem, const device::ModuleImage& image, std::string kernel, const LaunchConfig& launch,
                       const Params& params, const char* role, Plan& plan) {
  Parameter parameter = Parameter::value(params);
  if constexpr (requires { Params::parts; })
    bindInputParts(problem, parameter, offsetof(Params, parts));
  else
    parameter.address(offsetof(Params, input), {TensorName::Input});
  parameter.address(offsetof(Params, filter), {TensorName::Filter});
  bindEpilogue(parameter, offsetof(Params, epilogue));
  bindCorrections(problem, parameter, offsetof(Params, epilogue));
  addPreparation(problem, plan);
  plan.launches.push_back({image, std::move(kernel), launch, {std::move(parameter)}, sameRoles(launch, role)});
}

}  // namespace shiftconv::plan
