// An algorithm whose plans follow from choices: what the options leave open competes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conv/plan/algorithm.hpp"
#include "conv/plan/preparation.hpp"

namespace shiftconv::plan {

/// `Choices` has an optional `pair`. `Made` has estimate, traffic, planned(), describe() and openQuestions().
template <class Choices, class Made>
class ChosenAlgorithm : public Algorithm {
 public:
  /// The best cut of every alternative that can be planned.
  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    Choices choices;
    if (Status status = read(problem, options, choices); !status.ok()) return status;
    std::string reason;
    const size_t before = candidates.size();
    std::vector<Made> plans;
    for (const bool pair : {false, true}) {
      if (pair != choices.pair.value_or(pair)) continue;
      Choices grouped = choices;
      grouped.pair = pair;
      for (const Choices& exact : alternatives(problem, grouped)) {
        Made made;
        if (std::string why = make(problem, properties, exact, made); !why.empty()) {
          if (reason.empty()) reason = std::move(why);
          continue;
        }
        candidates.push_back({this, made.estimate, made.openQuestions()});
        plans.push_back(std::move(made));
      }
    }
    if (candidates.size() == before) {
      // In the words of the options: the alternatives have made choices that nobody asked for.
      Made none;
      std::string why = make(problem, properties, choices, none);
      return {StatusCode::InvalidArgument, why.empty() ? std::move(reason) : std::move(why)};
    }
    const auto finish = [this](const Made& chosen, const Problem& of, const device::Properties&, Plan& plan) {
      Made made = chosen;
      complete(made);
      addPreparation(of, plan);
      addWorkspace(made, plan);
      plan.mainLaunch = plan.launches.size();
      plan.launches.push_back(made.planned());
      plan.traffic = made.traffic;
      plan.details = made.describe();
      return Status();
    };
    setPlans(candidates, before,
             std::make_shared<TypedPlans<Made>>(std::move(plans), finish, [this](const Made& made) { return optionText(made); }));
    return {};
  }

 protected:
  virtual Status read(const Problem& problem, std::string_view text, Choices& choices) const = 0;
  /// Of choices whose `pair` is set: what else competes.
  virtual std::vector<Choices> alternatives(const Problem&, const Choices& choices) const { return {choices}; }
  virtual std::string make(const Problem& problem, const device::Properties& properties, const Choices& choices,
                           Made& made) const = 0;
  /// Adds what a candidate does not need to compete.
  virtual void complete(Made&) const {}
  /// Adds workspace of its own, and launches in front that prepare it.
  virtual void addWorkspace(const Made&, Plan&) const {}
  virtual std::string optionText(const Made& made) const = 0;
};

}  // namespace shiftconv::plan
