// cuDNN through its graph API: every plan of the heuristics A, B and fallback for one forward convolution and its epilogue, and
// those of its engines under knobs of the caller's choice. cudnn_absent.cpp stands in where a build has no headers of cuDNN.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conv/problem/problem.hpp"

namespace shiftconv::cudnn {

/// Whether this program was built with cuDNN's headers. Without them load() ends it, and every convolution is refused.
bool available();

/// Loads the library at `path`; returns its version as text, or ends the program with a message.
std::string load(const std::string& path);

/// A setting of an engine: its number in cudnnBackendKnobType_t and the values that it may have.
struct Knob {
  int64_t type = 0, low = 0, high = 0, step = 1;
  bool operator==(const Knob&) const = default;
};
struct Engine {
  int64_t id = 0;
  std::vector<Knob> knobs;
};
/// Of some knobs, by type; the engine decides on the others.
using KnobValues = std::vector<std::pair<int64_t, int64_t>>;

/// Addresses on the device, in the problem's layouts; 0 where the problem has no such tensor. The filter of a transposed
/// convolution is that of the convolution whose gradient it is: [C, T, R, S, K/groups]; with an NCHW input, filters have their taps
/// fastest.
struct Tensors {
  CUdeviceptr input = 0, filter = 0, bias = 0, residual = 0, channelScale = 0, output = 0;
};

/// In which types cuDNN computes.
enum class Types {
  OfTheProblem,
  Float32,  ///< input, filter and output are dense f32 tensors, whatever the problem's types, scale factors and pitches; the rest
            ///< as the problem has it
};

/// What follows a convolution without an epilogue.
enum class Plain {
  Nothing,
  Identity,  ///< an operation that changes nothing, so that engines that fuse operations are offered
};

class Convolution {
 public:
  /// f32 sums (integers: s32) and an epilogue in f32, each of its steps rounded where the problem says so. When cuDNN, or this
  /// wrapper, has no way to say the problem, refusal() says why and nothing else may be called.
  explicit Convolution(const Problem& problem, Types types = Types::OfTheProblem, Plain plain = Plain::Nothing);
  ~Convolution();

  const std::string& refusal() const;
  /// Milliseconds that the graph and the query of A, B and fallback took.
  double queryTime() const;
  int64_t plans() const;  ///< offered by A, then B, then fallback, then added
  /// The engines that take the graph.
  std::vector<Engine> engines() const;
  /// Adds a plan; its index, or nothing when cuDNN refuses it.
  std::optional<int64_t> add(int64_t engine, const KnobValues& knobs);
  /// Builds plan `index`; false when cuDNN cannot or its workspace is above `mostWorkspace`. Milliseconds through `buildTime`.
  bool build(int64_t index, size_t mostWorkspace, double& buildTime);
  size_t workspaceBytes(int64_t index) const;
  std::string name(int64_t index) const;
  bool run(int64_t index, const Tensors& tensors, CUdeviceptr workspace, CUstream stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shiftconv::cudnn
