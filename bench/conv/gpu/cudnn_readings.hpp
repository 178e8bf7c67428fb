// The plans of cuDNN that ours are compared with, found for one problem: what users get first, the best that its heuristics offer,
// and the best of all its engines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/cudnn_side.hpp"
#include "bench/conv/gpu/engine_search.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::gpu {

enum class ReadingKind : uint8_t {
  First,    ///< the first plan of heuristics A; where it does not build, the next one
  Best,     ///< the fastest plan of A, B and fallback whose output is right
  Engines,  ///< the fastest one that searchEngines found, those of Best among them
};

struct CudnnOptions {
  int readings = 0;                  ///< of ReadingKind, in its order; 0: none
  std::vector<std::string> skipped;  ///< plans that end the process, as the lines on stderr name them: left out
  int64_t mostPlans = 0;             ///< of the heuristics, in their order; 0: all
  double engineSeconds = 5;          ///< of searching all engines
  uint64_t seed = 0;                 ///< of that search
  cudnn::Plain plain = cudnn::Plain::Nothing;
};
/// "none", "first", "best" or "engines": how many readings that asks for.
int readingsNamed(const std::string& name);

struct Reading {
  ReadingKind kind = ReadingKind::First;
  int64_t index = 0;
  std::string name;  ///< engine and knobs
  size_t workspaceBytes = 0;
  double buildMilliseconds = 0;
};

/// Says "building N" and "running N" on stderr before each step that may end the process, N being a plan's number or its engine
/// and knobs.
class CudnnReadings {
 public:
  CudnnReadings(const CudnnReadings&) = delete;
  CudnnReadings& operator=(const CudnnReadings&) = delete;
  using Enqueue = std::function<void(CUstream)>;  ///< valid as long as the CudnnReadings
  /// `isRight` runs what it is given once, and checks the output.
  CudnnReadings(const Problem& problem, const cudnn::Tensors& tensors, const CudnnOptions& options, CUstream stream,
                const std::function<bool(const std::string& name, const Enqueue&)>& isRight);

  /// Why cuDNN has no plan; then there are no readings.
  const std::string& refusal() const { return refusal_; }
  const std::vector<Reading>& readings() const { return readings_; }
  /// Of a call of the fastest plan, from a few replays.
  double quickMicroseconds() const { return timed_.front().microseconds; }
  Enqueue enqueue(const Reading& reading) const { return enqueue(reading.index); }

  double queryMilliseconds() const { return convolution_.queryTime(); }  ///< graph, and query of A, B and fallback
  double buildAllMilliseconds() const { return buildAll_; }              ///< of their plans
  int64_t usable() const { return usable_; }                             ///< of these that run
  const std::optional<EngineSearchResult>& search() const { return search_; }

 private:
  struct Timed {
    double microseconds = 0;
    std::string label;  ///< in the lines on stderr
    Reading reading;
  };

  Enqueue enqueue(int64_t index) const;
  /// Announces it; false when it is to be left out.
  bool begin(const std::string& label) const;
  std::optional<Reading> build(int64_t index);
  void makeWorkspace(size_t bytes);
  /// Of a call; nothing when it does not run.
  std::optional<double> time(const Reading& reading, const std::string& label) const;
  void add(ReadingKind kind, const std::function<bool(const std::string&, const Enqueue&)>& isRight);
  void searchAllEngines(const CudnnOptions& options);

  cudnn::Convolution convolution_;
  const cudnn::Tensors tensors_;
  const std::vector<std::string> skipped_;
  CUstream stream_;
  std::unique_ptr<Buffer> workspace_;
  std::vector<Timed> timed_;
  std::vector<Reading> readings_;
  std::optional<EngineSearchResult> search_;
  std::string refusal_;
  double buildAll_ = 0;
  int64_t usable_ = 0;
};

}  // namespace shiftconv::gpu
