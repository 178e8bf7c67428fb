// The arguments of the operators that are numbers and names: what a convolution is, apart from its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "conv/runtimes/torch/tensor.hpp"

namespace shiftconv::torch_glue {

struct Settings {
  Integers stride, padding, dilation;
  int64_t groups = 1;
  std::string activation = "none";
  double activationA = 0, activationB = 0;
  bool residualLast = false;
  std::string compute = "default", plan;  ///< plan: "", "algorithm" or "algorithm:options"

  Settings() = default;
  /// Takes over the arguments of `conv` and `conv_out`, as their schemas order them.
  explicit Settings(const StableIValue* stack);
};

/// Reads "stride padding dilation groups activation a b residual_last compute plan", one space between two, lists with commas,
/// residual_last 0 or 1; the plan is all of the rest: "1 1,0,2,1 1 1 relu 0.0 0.0 0 default ". Throws std::invalid_argument for
/// anything else.
Settings parseSettings(std::string_view text);

/// Bytes that are equal for equal settings, and are no text that parseSettings takes.
std::string bytesOf(const Settings& settings);

}  // namespace shiftconv::torch_glue
