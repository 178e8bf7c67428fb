// Convolutions of the library as something to enqueue: planned, bound to addresses, ready to be launched any number of times.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/conv/gpu/cuda.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::gpu {

struct Tensors {
  CUdeviceptr input = 0, filter = 0, bias = 0, channelScale = 0, residual = 0, output = 0, amax = 0;  ///< 0: the problem has none
};

struct BoundConvolution {
  std::string choice;  ///< "algorithm:options", complete
  std::string description;
  std::function<void(CUstream)> enqueue;
};

/// The library on GPU 0. Failures end the program with a message, except refusals of a problem.
class Library {
 public:
  Library();
  ~Library();

  /// `choice`: "algorithm:options", either may be empty. Throws std::runtime_error with the refusal.
  BoundConvolution bind(const Problem& problem, const Tensors& tensors, const std::string& choice);
  /// The planner's candidates in the notation of `choice`, best by its model first.
  std::vector<std::string> candidates(const Problem& problem, bool constantFilter = false) const;
  /// The choice that a measurement takes, at most `seconds` of it; `cache`: the file that remembers it, or empty. Notes go to
  /// stderr.
  std::string autotune(const Problem& problem, const std::string& cache, double seconds) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shiftconv::gpu
