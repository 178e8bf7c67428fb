#include "bench/conv/gpu/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace shiftconv::gpu {
namespace {

constexpr int kCallsInGraph = 20;
constexpr double kAutotuneSeconds = 3;

}  // namespace

Comparison::Comparison(Layer layer, const ComparisonOptions& options, Library& library, const Module& verification, uint64_t seed,
                       CUstream stream)
    : layer_(std::move(layer)), stream_(stream), tensors_(verification, layer_, seed, stream) {
  addAllOurs(library, options);
  if (options.cudnn.readings > 0) addCudnn(options.cudnn);
  for (const Side& side : sides_) timed_.push_back({side.many.get(), side.once.get(), {}});
}

/// Runs once on a poisoned output and checks every element.
bool Comparison::verify(Side& side, const Enqueue& enqueue) const {
  tensors_.poison();
  enqueue(stream_);
  check(driver().cuStreamSynchronize(stream_), side.name.c_str());
  const verification::CheckResult found = tensors_.checkOutput();
  side.right = found.wrong == 0;
  side.worstShare = static_cast<double>(std::bit_cast<float>(found.worstShareBits));
  side.relativeError = std::sqrt(found.errorSquares / found.squares);
  if (!side.right) fmt::print("  WRONG {}: {} elements, worst {:.3g} of the bound\n", side.name, found.wrong, side.worstShare);
  return side.right;
}

void Comparison::add(Side side, const Enqueue& enqueue, bool overhead) {
  verify(side, enqueue);
  side.many = std::make_unique<Replay>(stream_, kCallsInGraph, enqueue);
  side.once = std::make_unique<Replay>(stream_, 1, enqueue);
  if (overhead) side.overhead = measureLaunchOverhead(side.once->graph(), enqueue, stream_);
  sides_.push_back(std::move(side));
}

std::string Comparison::addOurs(Who who, const std::string& name, const std::string& choice, Library& library,
                                const ComparisonOptions& options) {
  const BoundConvolution bound = library.bind(layer_.problem, tensors_.addresses(), choice);
  Side side;
  side.who = who;
  side.name = name;
  side.note = bound.description;
  add(std::move(side), bound.enqueue, options.overhead);
  return bound.choice;
}

void Comparison::addAllOurs(Library& library, const ComparisonOptions& options) {
  std::vector<std::string> choices = options.choices;
  if (choices.empty() && options.tuned > 0) {
    choices = library.candidates(layer_.problem);
    choices.resize(std::min(choices.size(), static_cast<size_t>(options.tuned)));
  }
  if (choices.empty()) choices = {""};
  for (const std::string& variant : choices) try {
      const std::string name = variant.empty() ? "ours" : variant;
      const std::string choice = addOurs(Who::Ours, name, variant, library, options);
      if (options.waiting)
        addOurs(Who::OursWaiting, name + ", dependent=no", choice + (choice.ends_with(':') ? "" : ",") + "dependent=no", library,
                options);
    } catch (const std::runtime_error& refusal) {
      fmt::print("{:14} refused: {}\n", layer_.name, refusal.what());
    }
  if (!options.autotune || sides_.empty()) return;
  const auto start = std::chrono::steady_clock::now();
  const std::string choice = library.autotune(layer_.problem, options.autotuneCache, kAutotuneSeconds);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  fmt::print("{:14} autotuned in {:.2f} ms\n", layer_.name, time.count());
  addOurs(Who::OursAutotuned, "ours, autotuned", choice, library, options);
}

void Comparison::addCudnn(const CudnnOptions& options) {
  cudnn_ = std::make_unique<CudnnReadings>(layer_.problem, tensors_.cudnnAddresses(), options, stream_,
                                           [&](const std::string& name, const Enqueue& enqueue) {
                                             Side trial;
                                             trial.name = name;
                                             return verify(trial, enqueue);
                                           });
  if (!cudnn_->refusal().empty()) fmt::print("{:14} cuDNN: {}\n", layer_.name, cudnn_->refusal());
  static constexpr std::pair<Who, const char*> kSides[]{
      {Who::CudnnFirst, "cuDNN first"}, {Who::CudnnBest, "cuDNN best"}, {Who::CudnnEngines, "cuDNN engines"}};
  for (const Reading& reading : cudnn_->readings()) {
    const bool there = std::any_of(sides_.begin(), sides_.end(),
                                   [&](const Side& side) { return side.reading && side.reading->index == reading.index; });
    if (there) continue;
    Side side;
    std::tie(side.who, side.name) = kSides[static_cast<size_t>(reading.kind)];
    side.note = reading.name;
    side.reading = reading;
    add(std::move(side), cudnn_->enqueue(reading), false);
  }
}

bool Comparison::oursRight() const {
  return std::all_of(sides_.begin(), sides_.end(), [](const Side& side) { return side.reading.has_value() || side.right; });
}

double Comparison::flops() const {
  const Problem& p = layer_.problem;
  return 2.0 * static_cast<double>(p.outputPixels() * p.k * p.t * p.r * p.s * p.groupChannels());
}

std::optional<double> Comparison::time(Regime regime, std::initializer_list<Who> who) const {
  std::optional<double> least;
  for (size_t i = 0; i < sides_.size(); ++i) {
    const std::vector<double>& times = timed_[i].times[regime];
    if (times.empty() || std::find(who.begin(), who.end(), sides_[i].who) == who.end()) continue;
    const double found = median(times);
    if (!least || found < *least) least = found;
  }
  return least;
}

std::optional<double> Comparison::cudnnEngines(Regime regime) const {
  if (cudnn_ == nullptr || !cudnn_->search()) return {};
  return time(regime, {Who::CudnnFirst, Who::CudnnBest, Who::CudnnEngines});
}

}  // namespace shiftconv::gpu
