// What an algorithm declares: whether it can run a problem, or why not, the candidates that it offers, and their plans.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/status.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/plan.hpp"
#include "conv/plan/tiling.hpp"
#include "conv/problem/accumulation.hpp"

namespace shiftconv::plan {

class Algorithm;

/// What an algorithm has planned for the candidates of one search, in its own type. The candidates share it.
class CandidatePlans {
 public:
  virtual ~CandidatePlans() = default;
  /// Fills in launches, workspaceBytes, packedBytes and details of the plan of candidate `number`. Problem and device are those of
  /// the search.
  virtual Status complete(size_t number, const Problem& problem, const device::Properties& properties, Plan& plan) const = 0;
  /// Options that make exactly this plan when somebody asks for them.
  virtual std::string options(size_t number) const = 0;
};

template <class Made>
class TypedPlans final : public CandidatePlans {
 public:
  using Complete = std::function<Status(const Made&, const Problem&, const device::Properties&, Plan&)>;
  using Options = std::function<std::string(const Made&)>;
  TypedPlans(std::vector<Made> made, Complete complete, Options options)
      : made_(std::move(made)), complete_(std::move(complete)), options_(std::move(options)) {}
  Status complete(size_t number, const Problem& problem, const device::Properties& properties, Plan& plan) const override {
    return complete_(made_.at(number), problem, properties, plan);
  }
  std::string options(size_t number) const override { return options_(made_.at(number)); }

 private:
  std::vector<Made> made_;
  Complete complete_;
  Options options_;
};

/// One way in which an algorithm would run a problem.
struct Candidate {
  const Algorithm* algorithm = nullptr;
  Estimate estimate;
  std::vector<std::string_view> unproven;  ///< hardware behaviours it relies on that no public source settles: "U3"
  Tiling tiling{};
  double correction = 1;  ///< of measuredCorrections(...), which `estimate` holds
  /// Recorded times correct the estimates of others, but none of this algorithm are there.
  bool isUntimed = false;
  std::shared_ptr<const CandidatePlans> plans{};
  size_t number = 0;  ///< of its plan in `plans`

  /// CandidatePlans::complete, and Plan::sums.
  Status complete(const Problem& problem, const device::Properties& properties, Plan& plan) const;
  /// CandidatePlans::options. They are printed when they are asked for: most candidates lose.
  std::string options() const { return plans ? plans->options(number) : std::string(); }
};

/// Gives the candidates from `first` on their plans, in their order.
inline void setPlans(std::vector<Candidate>& candidates, size_t first, const std::shared_ptr<const CandidatePlans>& plans) {
  for (size_t i = first; i < candidates.size(); ++i) candidates[i].plans = plans, candidates[i].number = i - first;
}

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual std::string_view name() const = 0;
  /// How its kernels sum, from which tests and benchmarks derive how far its results may be off. nullopt: other algorithms multiply
  /// for it.
  virtual std::optional<Accumulation> accumulation() const = 0;
  /// Competes only where every other algorithm refuses.
  virtual bool isLastResort() const { return false; }
  /// Whether Problem::transposed is known to it; where it is not, such problems are refused.
  virtual bool takesTransposed() const { return false; }
  /// The same of Problem::isUpsampled().
  virtual bool takesUpsampled() const { return false; }
  /// The same of Problem::isSplit().
  virtual bool takesSplit() const { return false; }
  /// The same of Problem::hasReversedTaps().
  virtual bool takesReversedTaps() const { return false; }
  /// The same of Problem::hasChosenTaps().
  virtual bool takesChosenTaps() const { return false; }
  /// The same of Problem::hasSpreadOutput().
  virtual bool takesSpreadOutput() const { return false; }
  /// The same of Problem::hasChannelsFirst().
  virtual bool takesChannelsFirst() const { return false; }
  virtual std::span<const OptionDescription> options() const = 0;
  /// Whether its kernels are built for the device's compute capability; where they are not, every problem is refused.
  virtual bool isBuiltFor(const device::Properties& properties) const = 0;
  /// Empty when a valid problem, transposed, upsampled, split, flipped, spread or in NCHW only with the functions above, can be run on such
  /// a device, else one sentence that begins with the name.
  virtual std::string refusal(const Problem& problem, const device::Properties& properties) const = 0;
  /// Appends every way that agrees with the options, at least one, with its plan. Requires an empty refusal; fails when an option
  /// is wrong or cannot be met, and never without options.
  virtual Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                            std::vector<Candidate>& candidates) const = 0;
};

/// Algorithm::refusal of a problem that need not be of the algorithm's kind: most compute no transposed convolution,
/// upsample nothing, and read one tensor in NHWC and taps in their order.
std::string refusalOf(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties);

/// Whether it has kernels that multiply: others copy for it.
inline bool multiplies(const Algorithm& one) { return one.accumulation().has_value(); }

/// The names of those that `wanted` holds for, with ", " between them.
std::string algorithmNames(std::span<const Algorithm* const> algorithms, bool (*wanted)(const Algorithm&));

/// Algorithm, options, estimate and unproven behaviours, in a line without its end.
std::string describe(const Candidate& candidate);

}  // namespace shiftconv::plan
