// cuDNN through its graph API: every plan of the heuristics A, B and fallback for one forward convolution.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>

#include "conv/problem/problem.hpp"

namespace shiftconv::cudnn {

/// Loads the library at `path`; returns its version as text, or ends the program with a message.
std::string load(const std::string& path);

class Convolution {
 public:
  /// f16 or bf16 in and out, f32 compute, NHWC x KRSC -> NPQK.
  explicit Convolution(const Problem& problem);
  ~Convolution();

  int64_t plans() const;  ///< offered by A, then B, then fallback
  /// Builds plan `index`; false when cuDNN cannot or its workspace is above `mostWorkspace`. Milliseconds through `buildTime`.
  bool build(int64_t index, size_t mostWorkspace, double& buildTime);
  size_t workspaceBytes(int64_t index) const;
  std::string name(int64_t index) const;
  bool run(int64_t index, CUdeviceptr input, CUdeviceptr filter, CUdeviceptr output, CUdeviceptr workspace, CUstream stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shiftconv::cudnn
