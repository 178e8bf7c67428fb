// One layer, ours and cuDNN's, over the same buffers: every side checked against the exact sums, captured in graphs and ready to be
// timed in turn.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/cudnn_readings.hpp"
#include "bench/conv/gpu/engines.hpp"
#include "bench/conv/gpu/launch_overhead.hpp"
#include "bench/conv/gpu/layer_tensors.hpp"
#include "bench/conv/gpu/regimes.hpp"

namespace shiftconv::gpu {

enum class Who : uint8_t {
  Ours,
  OursAutotuned,  ///< the plan that the library's own measurement chose: shown apart, not compared
  OursWaiting,    ///< starts after its predecessor has ended (option dependent=no): shown apart, not compared
  CudnnFirst,
  CudnnBest,     ///< of A, B and fallback
  CudnnEngines,  ///< of all engines
};

struct Side {
  Who who = Who::Ours;
  std::string name, note;  ///< note: of ours the plan, else engine and knobs
  std::unique_ptr<Replay> many, once;
  std::optional<LaunchOverhead> overhead;
  std::optional<Reading> reading;  ///< of cuDNN's sides
  bool right = false;
  double worstShare = 0;     ///< largest |error| / bound
  double relativeError = 0;  ///< L2 norm of the errors over that of the outputs
};

struct ComparisonOptions {
  std::vector<std::string> choices;  ///< of ours, "algorithm:options"; none: the planner's
  int tuned = 0;                     ///< or so many of the planner's candidates
  bool waiting = false;              ///< ours with dependent=no, too
  bool overhead = false;             ///< the host's time of a call of ours
  bool autotune = false;             ///< ours as chosen by a measurement, too
  std::string autotuneCache;         ///< the file that remembers such choices; empty: none does
  CudnnOptions cudnn;
};

class Comparison {
 public:
  /// `verification` is the module of verification.cu; it and the library must outlive this. Says on stdout what is wrong or
  /// refused.
  Comparison(Layer layer, const ComparisonOptions& options, Library& library, const Module& verification, uint64_t seed,
             CUstream stream);
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  const Layer& layer() const { return layer_; }
  const std::vector<Side>& sides() const { return sides_; }
  const CudnnReadings* cudnn() const { return cudnn_.get(); }  ///< nullptr when none was asked for
  bool oursRight() const;
  double flops() const;  ///< of a call
  size_t leastBytes() const { return tensors_.leastBytes(); }

  /// In the order of sides().
  std::span<TimedSide> timed() { return timed_; }
  /// Median of a regime over the sides of `who`, the least where there are several; nothing when there is none.
  std::optional<double> time(Regime regime, std::initializer_list<Who> who) const;
  /// Ours over the best that cuDNN's heuristics offer, and over the best of all its engines.
  std::optional<double> ours(Regime regime) const { return time(regime, {Who::Ours}); }
  std::optional<double> cudnnBest(Regime regime) const { return time(regime, {Who::CudnnFirst, Who::CudnnBest}); }
  std::optional<double> cudnnEngines(Regime regime) const;

 private:
  using Enqueue = std::function<void(CUstream)>;
  bool verify(Side& side, const Enqueue& enqueue) const;
  void add(Side side, const Enqueue& enqueue, bool overhead);
  std::string addOurs(Who who, const std::string& name, const std::string& choice, Library& library,
                      const ComparisonOptions& options);
  void addAllOurs(Library& library, const ComparisonOptions& options);
  void addCudnn(const CudnnOptions& options);

  const Layer layer_;
  CUstream stream_;
  const LayerTensors tensors_;
  std::unique_ptr<CudnnReadings> cudnn_;
  std::vector<Side> sides_;
  std::vector<TimedSide> timed_;
};

}  // namespace shiftconv::gpu
