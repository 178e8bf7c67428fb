// The table of algorithms. Each answers whether it can run a problem, or why not, and makes plans.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/device/device.hpp"
#include "common/device/status.hpp"
#include "conv/plan/plan.hpp"
#include "conv/plan/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's choices; empty or nullopt lets it choose.
struct PlanOptions {
  std::string algorithm;
  std::string producer;
  std::optional<uint32_t> tileN;
  std::optional<uint32_t> ctas;
  std::optional<bool> residentWeights;
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual std::string_view name() const = 0;
  /// Empty when a valid problem can be run on such a device, else one sentence.
  virtual std::string refusal(const Problem& problem, const device::Properties& properties) const = 0;
  /// Requires an empty refusal; fails when an option cannot be met.
  virtual Status plan(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                      std::shared_ptr<const Plan>& plan) const = 0;
};

/// In the order in which they are preferred.
std::span<const Algorithm* const> algorithms();

/// nullptr when there is none of this name; `known` then lists the names.
const Algorithm* findAlgorithm(std::string_view name, std::string& known);

/// Validates the problem and makes a plan with the algorithm asked for, or with the first that accepts it.
Status makePlan(const Problem& problem, const device::Properties& properties, const PlanOptions& options,
                std::shared_ptr<const Plan>& plan);

}  // namespace shiftconv::plan
