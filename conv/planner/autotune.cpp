#include "conv/planner/autotune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "conv/planner/autotune_cache.hpp"
#include "conv/planner/binding.hpp"
#include "conv/planner/scratch_tensors.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

constexpr int kRounds = 5;             // of the final
constexpr size_t kFinalists = 6;       // besides the planner's choice
constexpr double kNearlyBest = 1.15;   // times of one measurement, within which a candidate comes into the final
constexpr double kMeasurement = 1e-3;  // seconds that a measurement should take, as far as kMostRuns go
constexpr int kMostRuns = 20;
constexpr double kPreliminaryShare = 0.7;  // of the time, so that there is some left for the final

struct Contender {
  size_t candidate = 0;
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<Binding> binding;
  std::vector<double> seconds;  ///< of a run, by measurement
  int runs = 1;
  bool finalist = false;

  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    const size_t n = sorted.size();
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  }
};

class Tuner {
 public:
  Tuner(const Problem& problem, KernelCache& kernels, device::Stream stream, const Candidates& candidates,
        const AutotuneOptions& how, const AutotuneClock& clock, std::vector<std::string>& notes)
      : problem_(problem),
        kernels_(kernels),
        stream_(stream),
        candidates_(candidates),
        how_(how),
        clock_(clock),
        notes_(notes),
        tensors_(kernels.device(), stream),
        start_(clock.now()) {}

  Status run(Contender*& winner) {
    if (Status status = tensors_.make(problem_); !status.ok()) return status;
    if (Status status = preliminaries(); !status.ok()) return status;
    decide();
    winner = &contenders_.front();  // the planner's
    for (Contender& one : contenders_)
      if (one.finalist && one.median() < winner->median()) winner = &one;
    if (contenders_.front().median() <= winner->median() * (1 + kTieMargin)) winner = &contenders_.front();
    return {};
  }

  /// How the plan was chosen, a line for each candidate.
  std::string choice(const Contender& winner) const {
    std::vector<const Contender*> order;
    for (const Contender& one : contenders_) order.push_back(&one);
    std::stable_sort(order.begin(), order.end(), [&](const Contender* a, const Contender* b) {
      return std::pair(a != &winner, a->median()) < std::pair(b != &winner, b->median());
    });
    std::string text;
    std::vector<bool> told(candidates_.all.size());
    for (const Contender* one : order) {
      text += fmt::format("{} {:.2f} us measured; {}\n", one == &winner ? "chosen    " : "candidate ", one->median() * 1e6,
                          describe(candidates_.all[one->candidate]));
      told[one->candidate] = true;
    }
    for (const size_t i : candidates_.byEstimate())
      if (!told[i]) text += fmt::format("candidate  not measured; {}\n", describe(candidates_.all[i]));
    return text + candidates_.refusals;
  }

 private:
  bool timeLeft(double share = 1) const { return clock_.now() - start_ < share * how_.seconds; }

  /// Every candidate once, the planner's choice first.
  Status preliminaries() {
    const std::vector<size_t> order = candidates_.byEstimate();
    const size_t wanted = how_.candidates == 0 ? order.size() : std::min<size_t>(how_.candidates, order.size());
    for (size_t i = 0; i < wanted; ++i) {
      if (i > 0 && !timeLeft(kPreliminaryShare)) {
        notes_.push_back(fmt::format("{} of {} candidates were measured within {} s", contenders_.size(), wanted, how_.seconds));
        break;
      }
      Contender one;
      one.candidate = order[i];
      const Status status = enter(one);
      if (status.ok()) {
        contenders_.push_back(std::move(one));
        continue;
      }
      if (i == 0) return status;
      notes_.push_back(fmt::format("candidate {} is left out: {}", describe(candidates_.all[order[i]]), status.message()));
    }
    return {};
  }

  /// Binds and runs it; the first time that counts tells how many runs later measurements have.
  Status enter(Contender& one) {
    if (Status status = makePlan(problem_, kernels_.device().properties(), candidates_.all[one.candidate], {}, one.plan);
        !status.ok())
      return status;
    if (Status status = tensors_.makeWorkspace(bytesOfRun(*one.plan)[TensorName::Workspace]); !status.ok()) return status;
    if (Status status = Binding::make(one.plan, kernels_, tensors_.of(*one.plan), one.binding); !status.ok()) return status;
    double seconds = 0;
    if (Status status = measure(one, seconds); !status.ok()) return status;  // loads the kernel, fills caches
    if (Status status = measure(one, seconds); !status.ok()) return status;
    one.runs = static_cast<int>(std::clamp(std::ceil(kMeasurement / std::max(seconds, 1e-9)), 1.0, double{kMostRuns}));
    if (one.runs > 1)
      if (Status status = measure(one, seconds); !status.ok()) return status;
    one.seconds.push_back(seconds);
    one.binding.reset();  // a workspace may move
    return {};
  }

  Status measure(const Contender& one, double& seconds) const {
    double all = 0;
    const auto enqueue = [&]() -> Status {
      for (int i = 0; i < one.runs; ++i)
        if (Status status = one.binding->run(stream_); !status.ok()) return status;
      return {};
    };
    if (Status status = clock_.time(*one.plan, enqueue, all); !status.ok()) return status;
    seconds = all / one.runs;
    return {};
  }

  /// The nearly fastest and the planner's choice, in turn, once even without time; the first measurement of theirs counts no more:
  /// it was one of a card that had just copied or allocated, perhaps.
  void decide() {
    std::vector<Contender*> finalists;
    for (Contender& one : contenders_) finalists.push_back(&one);
    std::stable_sort(finalists.begin() + 1, finalists.end(),
                     [](const Contender* a, const Contender* b) { return a->seconds[0] < b->seconds[0]; });
    double fastest = finalists[0]->seconds[0];
    for (const Contender* one : finalists) fastest = std::min(fastest, one->seconds[0]);
    std::erase_if(finalists,
                  [&](const Contender* one) { return one != &contenders_.front() && one->seconds[0] > fastest * kNearlyBest; });
    finalists.resize(std::min(finalists.size(), kFinalists + 1));
    for (Contender* one : finalists) one->finalist = true;
    if (finalists.size() < 2) return;
    std::vector<std::vector<double>> rounds(finalists.size());
    for (int round = 0; round < kRounds && (round == 0 || timeLeft()); ++round) {
      std::vector<double> found(finalists.size());
      for (size_t i = 0; i < finalists.size(); ++i) {
        const size_t at = (i + static_cast<size_t>(round)) % finalists.size();
        Contender& one = *finalists[at];
        Status status;
        if (!one.binding) status = Binding::make(one.plan, kernels_, tensors_.of(*one.plan), one.binding);
        if (status.ok()) status = measure(one, found[at]);
        if (!status.ok()) {
          notes_.push_back(fmt::format("measuring ended early: {}", status.message()));
          return;
        }
      }
      for (size_t i = 0; i < finalists.size(); ++i) rounds[i].push_back(found[i]);
    }
    if (rounds[0].empty()) return;
    for (size_t i = 0; i < finalists.size(); ++i) finalists[i]->seconds = rounds[i];
  }

  const Problem& problem_;
  KernelCache& kernels_;
  const device::Stream stream_;
  const Candidates& candidates_;
  const AutotuneOptions& how_;
  const AutotuneClock& clock_;
  std::vector<std::string>& notes_;
  ScratchTensors tensors_;
  const double start_;
  std::vector<Contender> contenders_;  ///< the first is the planner's choice
};

AutotuneKey keyOf(const Problem& problem, const device::Device& device, const PlanOptions& options, const AutotuneOptions& how) {
  const device::Properties& p = device.properties();
  return {shiftconv::describe(problem),
          fmt::format("{} {}.{} with {} multiprocessors", p.name, p.computeMajor, p.computeMinor, p.multiprocessors),
          device.driverVersion(), how.version,
          fmt::format("{}:{}{}{}", options.algorithm, options.options, options.constantFilter ? " constant_filter" : "",
                      options.noWorkspace ? " no_workspace" : "")};
}

}  // namespace

AutotuneClock deviceClock(device::Device& device, device::Stream stream) {
  return {[&device, stream](const Plan&, const std::function<Status()>& enqueue, double& seconds) {
            return device.time(stream, enqueue, seconds);
          },
          [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }};
}

Status autotune(const Problem& problem, KernelCache& kernels, device::Stream stream, const PlanOptions& options,
                const AutotuneOptions& how, const AutotuneClock& clock, std::shared_ptr<const Plan>& plan,
                std::vector<std::string>& notes) {
  const device::Properties& properties = kernels.device().properties();
  Candidates candidates;
  const Status searched = findCandidates(problem, properties, options, candidates);
  notes.insert(notes.end(), candidates.defects.begin(), candidates.defects.end());
  if (!searched.ok()) return searched;
  const AutotuneCache cache(how.cache);
  const AutotuneKey key = keyOf(problem, kernels.device(), options, how);
  bool usable = !how.cache.empty();
  if (usable) {
    std::optional<AutotuneEntry> known;
    if (const Status status = cache.find(key, known, notes); !status.ok()) {
      notes.push_back("no cache is used: " + status.message());
      usable = false;
    }
    if (known) {
      const auto found = std::find_if(candidates.all.begin(), candidates.all.end(), [&](const Candidate& candidate) {
        return candidate.algorithm->name() == known->algorithm && candidate.options() == known->options;
      });
      if (found != candidates.all.end())
        return makePlan(problem, properties, *found,
                        fmt::format("remembered {:.2f} us measured, from {}; {}\n{}", known->microseconds, cache.path(),
                                    describe(*found), candidates.refusals),
                        plan);
      notes.push_back(
          fmt::format("{} remembers {} {}, which is no candidate of this version", cache.path(), known->algorithm, known->options));
    }
  }
  Tuner tuner(problem, kernels, stream, candidates, how, clock, notes);
  Contender* winner = nullptr;
  if (Status status = tuner.run(winner); !status.ok()) return status;
  const Candidate& chosen = candidates.all[winner->candidate];
  if (Status status = makePlan(problem, properties, chosen, tuner.choice(*winner), plan); !status.ok()) return status;
  if (!usable) return {};
  if (const Status status = cache.remember(key, {std::string(chosen.algorithm->name()), chosen.options(), winner->median() * 1e6});
      !status.ok())
    notes.push_back("nothing is remembered: " + status.message());
  return {};
}

}  // namespace shiftconv::plan
