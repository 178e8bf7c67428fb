#include "bench/conv/gpu/cudnn_readings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "bench/conv/gpu/regimes.hpp"

namespace shiftconv::gpu {
namespace {

constexpr size_t kMostWorkspace = size_t{2} << 30;
constexpr int kCallsInQuickGraph = 5, kQuickRounds = 3;
constexpr double kQuickRest = 2;       // milliseconds
constexpr double kHopelessFactor = 4;  // a single call this much slower than the best so far is not timed any further

void announce(const char* step, const std::string& label) {
  fmt::print(stderr, "{} {}\n", step, label);
  std::fflush(stderr);
}

}  // namespace

int readingsNamed(const std::string& name) {
  static constexpr std::array<std::string_view, 4> kNames{"none", "first", "best", "engines"};
  return static_cast<int>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
}

CudnnReadings::CudnnReadings(const Problem& problem, const cudnn::Tensors& tensors, const CudnnOptions& options, CUstream stream,
                             const std::function<bool(const std::string&, const Enqueue&)>& isRight)
    : convolution_(problem, cudnn::Types::OfTheProblem, options.plain),
      tensors_(tensors),
      skipped_(options.skipped),
      stream_(stream) {
  refusal_ = convolution_.refusal();
  if (!refusal_.empty()) return;
  std::vector<Reading> built;
  const int64_t all = convolution_.plans(), offered = options.mostPlans == 0 ? all : std::min(all, options.mostPlans);
  for (int64_t i = 0; i < offered && (options.readings > 1 || built.empty()); ++i)
    if (begin(std::to_string(i)))
      if (std::optional<Reading> reading = build(i)) built.push_back(std::move(*reading));
  for (const Reading& reading : built) buildAll_ += reading.buildMilliseconds;
  size_t bytes = 16;
  for (const Reading& reading : built) bytes = std::max(bytes, reading.workspaceBytes);
  makeWorkspace(bytes);
  for (const Reading& reading : built)
    if (const std::optional<double> microseconds = time(reading, std::to_string(reading.index))) {
      if (usable_++ == 0) readings_.push_back(reading);
      timed_.push_back({*microseconds, std::to_string(reading.index), reading});
    }
  if (readings_.empty()) {
    refusal_ = fmt::format("none of its {} plans runs", offered);
    return;
  }
  if (options.readings > 1) add(ReadingKind::Best, isRight);
  if (options.readings > 2) {
    searchAllEngines(options);
    add(ReadingKind::Engines, isRight);
  }
  announce("done with", "cuDNN");
}

CudnnReadings::Enqueue CudnnReadings::enqueue(int64_t index) const {
  return [this, index](CUstream stream) { convolution_.run(index, tensors_, workspace_->address(), stream); };
}

bool CudnnReadings::begin(const std::string& label) const {
  if (std::find(skipped_.begin(), skipped_.end(), label) != skipped_.end()) return false;
  announce("building", label);
  return true;
}

std::optional<Reading> CudnnReadings::build(int64_t index) {
  Reading reading;
  reading.index = index;
  if (!convolution_.build(index, kMostWorkspace, reading.buildMilliseconds)) return {};
  reading.name = convolution_.name(index);
  reading.workspaceBytes = convolution_.workspaceBytes(index);
  return reading;
}

void CudnnReadings::makeWorkspace(size_t bytes) {
  if (workspace_ != nullptr && workspace_->bytes() >= bytes) return;
  workspace_.reset();
  workspace_ = std::make_unique<Buffer>(bytes);
}

std::optional<double> CudnnReadings::time(const Reading& reading, const std::string& label) const {
  announce("running", label);
  if (!convolution_.run(reading.index, tensors_, workspace_->address(), stream_)) return {};
  SHIFTCONV_GPU(cuStreamSynchronize(stream_));
  if (!capturable(stream_,
                  [&](CUstream stream) { return convolution_.run(reading.index, tensors_, workspace_->address(), stream); }))
    return {};
  Replay once(stream_, 1, enqueue(reading.index));
  const double first = once.time(0);
  double best = first;
  for (const Timed& other : timed_) best = std::min(best, other.microseconds);
  if (first > kHopelessFactor * best + 20) return first;  // a graph's start is in it
  Replay quick(stream_, kCallsInQuickGraph, enqueue(reading.index));
  quick.time(0);
  std::vector<double> times;
  for (int round = 0; round < kQuickRounds; ++round) times.push_back(quick.time(kQuickRest));
  return median(times);
}

void CudnnReadings::add(ReadingKind kind, const std::function<bool(const std::string&, const Enqueue&)>& isRight) {
  std::stable_sort(timed_.begin(), timed_.end(), [](const Timed& a, const Timed& b) { return a.microseconds < b.microseconds; });
  for (const Timed& timed : timed_) {
    announce("running", timed.label);
    if (!isRight("cuDNN plan " + timed.reading.name, enqueue(timed.reading))) continue;
    readings_.push_back(timed.reading);
    readings_.back().kind = kind;
    return;
  }
}

void CudnnReadings::searchAllEngines(const CudnnOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  EngineSearch search;
  search.seed = options.seed;
  search.timeLeft = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < options.engineSeconds;
  };
  search.measure = [&](const EngineChoice& choice) -> std::optional<double> {
    const std::string label = describe(choice);
    if (!begin(label)) return {};
    const std::optional<int64_t> index = convolution_.add(choice.engine, choice.knobs);
    if (!index) return {};
    std::optional<Reading> reading = build(*index);
    if (!reading) return {};
    makeWorkspace(reading->workspaceBytes);
    const std::optional<double> microseconds = time(*reading, label);
    if (microseconds) timed_.push_back({*microseconds, label, std::move(*reading)});
    return microseconds;
  };
  std::optional<std::pair<EngineChoice, double>> known;
  if (!timed_.empty())
    if (const auto choice = parseEngineChoice(timed_.front().reading.name)) known = {*choice, timed_.front().microseconds};
  search_ = searchEngines(convolution_.engines(), known, search);
}

}  // namespace shiftconv::gpu
