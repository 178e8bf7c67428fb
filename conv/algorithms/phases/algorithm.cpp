#include "conv/algorithms/phases/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "conv/algorithms/phases/forms.hpp"
#include "conv/algorithms/phases/moves.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/inner_plan.hpp"
#include "conv/plan/targets.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::plan {
namespace {

using kernels::phases::kMostPhases;
using namespace phases;
using rates::phases::kCopyClocks;

constexpr std::string_view kName = "phases";
constexpr int64_t kMostVectors = int64_t{1} << 31;  ///< of a launch, a thread each

/// What plans the phases, and how.
struct Inner {
  std::vector<const Algorithm*> algorithms;
  bool isBatchInvariant = false;
  std::optional<size_t> form;
};

/// A form with the best plan of each of its convolutions.
struct Made {
  Form form = Form::Apart;
  std::vector<Phase> phases;  ///< unless united
  std::optional<Rows> rows;   ///< whose phases these are
  std::optional<United> united;
  std::vector<Candidate> best;  ///< of phases that are the first of their kind; of all that are united one
  std::string options;
};

class Phases final : public Algorithm {
 public:
  explicit Phases(const InnerSearch& search) : search_(search) {}
  std::string_view name() const override { return kName; }
  std::optional<Accumulation> accumulation() const override { return {}; }
  bool takesTransposed() const override { return true; }
  bool takesReversedTaps() const override { return true; }
  /// The algorithms with kernels that multiply.
  std::span<const OptionDescription> options() const override {
    static const std::string names = algorithmNames(search_.algorithms(), multiplies);
    static const std::array<OptionDescription, 3> known{
        {{"algorithm", names, "which computes every phase; otherwise the best of each"},
         {"form", "apart, direct, rows, united",
          "phases in the workspace; in the output itself, from the filter itself; those of a row or all as channels of one "
          "convolution. "
          "Otherwise the fastest"},
         kBatchInvariantOption}};
    return known;
  }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }

  std::string refusal(const Problem& p, const device::Properties& properties) const override {
    if (std::string refused = targetRefusal(kName, properties); !refused.empty()) return refused;
    if (!p.transposed) return "phases is for transposed convolutions, but transposed is 0";
    if (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0 || p.outputScale.blockSize != 0)
      return "phases takes no block scales";
    for (const auto& [name, type] :
         {std::pair{"filter_type", p.filterType}, {"output_type", p.outputType}, {"residual_type", p.residualType}})
      if (bitsOf(type) < 8) return fmt::format("phases moves whole bytes, but {} is {}", name, nameOf(type));
    Inner inner;
    if (Status status = read({}, inner); !status.ok()) return status.message();
    std::string why = apartRefusal(p, properties, inner);
    if (!why.empty() && (canUnite(p, properties, inner) || canBeDirect(p, properties, inner))) why.clear();
    return why;
  }

  Status candidates(const Problem& p, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const override {
    Inner inner;
    if (Status status = read(options, inner); !status.ok()) return status;
    struct Way {
      Candidate candidate;
      Made made;
    };
    std::vector<Way> ways;
    for (const Form form : {Form::Apart, Form::Direct, Form::Rows, Form::United}) {
      if (inner.form && *inner.form != static_cast<size_t>(form)) continue;
      Way way{{this, {}, {}}, {}};
      if (!plan(form, p, properties, inner, way.candidate, way.made)) continue;
      way.made.options = options;
      if (!inner.form)
        way.made.options += fmt::format("{}form={}", options.empty() ? "" : ",", kFormNames[static_cast<size_t>(form)]);
      ways.push_back(std::move(way));
    }
    if (ways.empty())
      return {StatusCode::Unsupported,
              inner.form ? fmt::format("phases cannot compute this convolution in the form {}", kFormNames[*inner.form])
                         : fmt::format("phases cannot compute this convolution with the options {}", options)};
    std::stable_sort(ways.begin(), ways.end(),
                     [](const Way& a, const Way& b) { return a.candidate.estimate.seconds < b.candidate.estimate.seconds; });
    const size_t first = candidates.size();
    std::vector<Made> made;
    for (Way& way : ways) {
      candidates.push_back(std::move(way.candidate));
      made.push_back(std::move(way.made));
    }
    setPlans(candidates, first,
             std::make_shared<TypedPlans<Made>>(std::move(made), complete, [](const Made& one) { return one.options; }));
    return {};
  }

 private:
  Status read(std::string_view text, Inner& inner) const {
    std::vector<const Algorithm*>& algorithms = inner.algorithms;
    OptionValues values;
    if (Status status = OptionValues::parse(text, options(), values); !status.ok()) return status;
    if (Status status = readBatchInvariant(values, inner.isBatchInvariant); !status.ok()) return status;
    if (Status status = values.choice("form", kFormNames, inner.form); !status.ok()) return status;
    for (const Algorithm* one : search_.algorithms())
      if (one != this && !one->isLastResort()) algorithms.push_back(one);
    const std::optional<std::string_view> name = values.find("algorithm");
    if (!name) return {};
    const Algorithm* found = nullptr;
    if (Status status = search_.find(*name, found); !status.ok()) return status;
    if (found == this) return {StatusCode::InvalidArgument, "phases: option algorithm must be another one"};
    algorithms.assign(1, found);
    return {};
  }

  static bool canCompute(const Inner& inner, const Problem& one, const device::Properties& properties) {
    return std::any_of(inner.algorithms.begin(), inner.algorithms.end(), [&](const Algorithm* algorithm) {
      return algorithm->isBuiltFor(properties) && refusalOf(*algorithm, one, properties).empty();
    });
  }

  /// Whether there are few enough vectors to copy.
  static bool isSmall(const Problem& p) {
    const int64_t residualBytes = p.hasResidual() ? bytesOf(p.residualType) : 0;
    return p.outputPixels() < kMostVectors / (p.k * std::max<int64_t>(bytesOf(p.outputType), residualBytes)) &&
           p.k * p.taps() < kMostVectors / (p.groupChannels() * bytesOf(p.filterType));
  }

  static std::string apartRefusal(const Problem& p, const device::Properties& properties, const Inner& inner) {
    if (!isSmall(p)) return "phases needs an output and a filter below 2^31 bytes";
    if (phaseCount(p) > kMostPhases)
      return fmt::format("phases needs stride_d * stride_h * stride_w up to {}, but they are {}, {} and {}", kMostPhases, p.strideD,
                         p.strideH, p.strideW);
    const std::vector<Phase> phases = phasesOf(p);
    const auto inexact =
        std::find_if(phases.begin(), phases.end(), [](const Phase& one) { return one.exists() && !one.isExact(); });
    if ((p.hasAmax || p.hasResidual()) && inexact != phases.end())
      return fmt::format(
          "phases computes outputs beyond those of the convolution for this filter, stride and padding, which {} forbids",
          p.hasAmax ? "amax" : "a residual");
    for (size_t i = 0; i < phases.size(); ++i) {
      if (!isFirst(phases, i)) continue;
      const Problem& one = phases[i].problem;
      if (Status status = validate(one); !status.ok()) return fmt::format("phases: {}", status.message());
      if (one.outputPixels() >= kMostVectors / one.k) return "phases needs fewer than 2^31 outputs of a phase";
      if (!canCompute(inner, one, properties))
        return fmt::format("phases needs an algorithm other than direct for {}", shiftconv::describe(one));
    }
    return {};
  }

  static bool canCompute(const Inner& inner, const std::vector<Phase>& phases, const device::Properties& properties) {
    return std::all_of(phases.begin(), phases.end(), [&](const Phase& phase) {
      return !phase.exists() || (validate(phase.problem).ok() && canCompute(inner, phase.problem, properties));
    });
  }
  static bool canBeDirect(const Problem& p, const device::Properties& properties, const Inner& inner) {
    if (phaseCount(p) > kMostPhases) return false;
    const auto phases = directPhases(p);
    return phases && canCompute(inner, *phases, properties);
  }
  static bool canUnite(const Problem& p, const device::Properties& properties, const Inner& inner) {
    const std::optional<United> united = unitedOf(p);
    return united && isSmall(p, *united) && canCompute(inner, united->problem, properties);
  }
  /// Whether the copies around it have few enough vectors, and it is a problem itself.
  static bool isSmall(const Problem& p, const United& united) {
    return isSmall(p) && isSmall(united.problem) && phaseCount(p) < (1 << 16) && validate(united.problem).ok();
  }

  /// The best of each convolution of a form, and what all of it takes; false where it cannot be.
  bool plan(Form form, const Problem& p, const device::Properties& properties, const Inner& inner, Candidate& all,
            Made& made) const {
    if (form != Form::United && phaseCount(p) > kMostPhases) return false;
    made.form = form;
    const auto search = [&](const Problem& one, Candidate& best) {
      return search_.bestAmong(inner.algorithms, one, properties, inner.isBatchInvariant, best).ok();
    };
    int copies = 0;
    const auto bytes = tensorBytes(p);
    double copied = 0;
    if (form == Form::United) {
      made.united = unitedOf(p);
      if (!made.united || !isSmall(p, *made.united)) return false;
      const Problem& one = made.united->problem;
      if (!search(one, made.best.emplace_back())) return false;
      add(made.best.front(), all);
      copies = copiesOfNumbers(p) + 1;
      copied = copyBytes(tensorBytes(one)[TensorName::Filter], p.groupChannels(), p.groupChannels(), p.filterType);
    } else {
      if (form == Form::Direct) {
        if (auto phases = directPhases(p); phases && canBeDirect(p, properties, inner)) made.phases = std::move(*phases);
      } else if (form == Form::Rows) {
        made.rows = rowsOf(p);
        if (made.rows && isSmall(p) && canCompute(inner, made.rows->phases, properties)) made.phases = made.rows->phases;
      } else if (apartRefusal(p, properties, inner).empty()) {
        made.phases = phasesOf(p);
      }
      if (made.phases.empty()) return false;
      made.best.resize(made.phases.size());
      for (size_t i = 0; i < made.phases.size(); ++i) {
        const Phase& phase = made.phases[i];
        if (!phase.exists()) continue;
        if (isFirst(made.phases, i) && !search(phase.problem, made.best[i])) return false;
        add(made.best[phase.sameAs], all);
      }
      if (form == Form::Rows) copies = copiesOfNumbers(p) + 1;
      if (form == Form::Apart) copies = 1;
      if (form != Form::Direct) copied = copyBytes(bytes[TensorName::Filter], p.groupChannels(), p.groupChannels(), p.filterType);
    }
    if (form == Form::Apart || (form == Form::United && !made.united->writesOutput)) {
      copies += p.hasResidual() ? 2 : 1;
      copied += copyBytes(bytes[TensorName::Output], p.k, p.outputPitch(), p.outputType);
      if (p.hasResidual()) copied += copyBytes(bytes[TensorName::Residual], p.k, p.residualPitch(), p.residualType);
    }
    all.estimate.bytes = bytesOnce(p);
    const Rates& rates = ratesOf(properties);
    const double clocks = 2 * copied / rates.of(Resource::DeviceMemory) + (rates.launchClocks.perClock + kCopyClocks) * copies;
    all.estimate.clocks += clocks;
    all.estimate.seconds += clocks / rates.clockHertz.perClock;
    return true;
  }

  static int copiesOfNumbers(const Problem& p) { return (p.hasBias ? 1 : 0) + (p.hasChannelScale ? 1 : 0); }

  /// As if of whole 16 bytes: a copy of rows of `elements`, `pitch` apart, takes as long as its vectors are many.
  static double copyBytes(uint64_t bytes, int64_t elements, int64_t pitch, DataType type) {
    return static_cast<double>(bytes) * 16 / vectorBytes(elements * bytesOf(type), pitch * bytesOf(type));
  }

  /// What one convolution takes, to all of them. The longest says what bounds them.
  static void add(const Candidate& one, Candidate& all) {
    if (one.estimate.seconds > all.estimate.seconds) all.estimate.bound = one.estimate.bound;
    all.estimate.clocks += one.estimate.clocks;
    all.estimate.seconds += one.estimate.seconds;
    all.estimate.flops += one.estimate.flops;
    for (const std::string_view question : one.unproven)
      if (std::find(all.unproven.begin(), all.unproven.end(), question) == all.unproven.end()) all.unproven.push_back(question);
  }

  static Status complete(const Made& chosen, const Problem& p, const device::Properties& properties, Plan& plan) {
    if (chosen.form == Form::United) return completeUnited(chosen, p, properties, plan);
    const std::vector<Phase>& phases = chosen.phases;
    const bool isApart = chosen.form == Form::Apart;
    const Places places = isApart ? placesApart(p, phases) : chosen.rows ? placesOfRows(p, *chosen.rows) : placesDirect(p, phases);
    std::vector<Plan> made(phases.size());
    size_t scratch = 0;
    for (size_t i = 0; i < phases.size(); ++i) {
      if (!isFirst(phases, i)) continue;
      const Candidate& best = chosen.best[i];
      if (Status status = best.complete(phases[i].problem, properties, made[i]); !status.ok()) return status;
      made[i].algorithm = best.algorithm->name(), made[i].options = best.options();
      scratch = std::max(scratch, made[i].workspaceBytes);
      plan.sums.insert(made[i].sums.begin(), made[i].sums.end());
    }
    plan.workspaceBytes = places.bytes + scratch;
    plan.packedBytes = places.packedBytes;

    const Moves moves = chosen.rows ? Moves(p, *chosen.rows, places) : Moves(p, phases, places);
    PerTensor<TensorPlace> given = placesAsGiven();
    if (chosen.form != Form::Direct) plan.launches.push_back(moves.gatherFilters());
    if (isApart && p.hasResidual()) plan.launches.push_back(moves.splitResidual());
    if (chosen.rows) repeatNumbers(p, moves, places, given, plan);
    plan.mainLaunch = plan.launches.size();
    for (size_t i = 0; i < phases.size(); ++i)
      if (phases[i].exists()) addLaunches(phases[i], chosen.form, places, given, i, made[phases[i].sameAs], plan);
    if (isApart) plan.launches.push_back(moves.mergeOutputs());
    return {};
  }

  /// Bias and channel scales for the phases that are channels of one convolution.
  static void repeatNumbers(const Problem& p, const Moves& moves, const Places& places, PerTensor<TensorPlace>& moved, Plan& plan) {
    if (p.hasBias) {
      plan.launches.push_back(moves.repeat(TensorName::Bias, p.biasType, places.bias));
      moved[TensorName::Bias] = {TensorName::Workspace, places.bias};
    }
    if (p.hasChannelScale) {
      plan.launches.push_back(moves.repeat(TensorName::ChannelScale, DataType::F32, places.channelScale));
      moved[TensorName::ChannelScale] = {TensorName::Workspace, places.channelScale};
    }
  }

  /// The launches of a phase, on its tensors in the workspace, or in those that are given.
  static void addLaunches(const Phase& phase, Form form, const Places& places, PerTensor<TensorPlace> moved, size_t number,
                          const Plan& made, Plan& plan) {
    const bool isApart = form == Form::Apart;
    moved[TensorName::Output] = {isApart ? TensorName::Workspace : TensorName::Output, places.phases[number].output};
    if (phase.problem.hasResidual())
      moved[TensorName::Residual] = {isApart ? TensorName::Workspace : TensorName::Residual, places.phases[number].residual};
    moved[TensorName::Workspace].byteOffset = places.bytes;
    if (form != Form::Direct) moved[TensorName::Filter] = {TensorName::PackedFilter, places.phases[number].filter};
    // Phases that share a plan have different filters.
    moved[TensorName::PackedFilter] = placeInPackedFilter(made.packedBytes, plan);
    if (plan.details.empty()) plan.mainLaunch += made.mainLaunch;
    for (PlannedLaunch launch : made.launches) {
      relocate(launch, moved);
      plan.launches.push_back(std::move(launch));
    }
    plan.details +=
        fmt::format("phase {:<4} {} {}: {}\n", number, made.algorithm, made.options, shiftconv::describe(phase.problem));
  }

  static Status completeUnited(const Made& chosen, const Problem& p, const device::Properties& properties, Plan& plan) {
    const United& united = *chosen.united;
    const Places places = placesUnited(p, united);
    plan.workspaceBytes = places.bytes;
    plan.packedBytes = places.packedBytes;
    const Moves moves(p, united, places);
    plan.launches.push_back(moves.gatherFilters());
    PerTensor<TensorPlace> moved = placesAsGiven();
    moved[TensorName::Filter] = {TensorName::PackedFilter, places.phases.front().filter};
    repeatNumbers(p, moves, places, moved, plan);
    if (!united.writesOutput) {
      moved[TensorName::Output] = {TensorName::Workspace, places.phases.front().output};
      if (p.hasResidual()) {
        plan.launches.push_back(moves.splitResidual());
        moved[TensorName::Residual] = {TensorName::Workspace, places.phases.front().residual};
      }
    }
    plan.mainLaunch = plan.launches.size();
    if (Status status = addInner(chosen.best.front(), united.problem, properties, moved, plan); !status.ok()) return status;
    if (!united.writesOutput) plan.launches.push_back(moves.mergeOutputs());
    return {};
  }

  const InnerSearch& search_;
};

}  // namespace

const Algorithm& phasesAlgorithm(const InnerSearch& search) {
  static const Phases algorithm(search);
  return algorithm;
}

}  // namespace shiftconv::plan
