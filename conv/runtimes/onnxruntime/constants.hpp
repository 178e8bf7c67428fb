// Filters, biases and scales of an island on the device, filters with channels last. Made once, for all shapes of the inputs.
#pragma once

#include <map>
#include <shiftconv/shiftconv.hpp>
#include <vector>

#include "conv/runtimes/onnxruntime/graph.hpp"
#include "conv/runtimes/onnxruntime/steps.hpp"

namespace shiftconv::runtimes::onnx {

class Constants {
 public:
  /// The graph's constants come with their data.
  Constants(const Graph& graph, const std::vector<Step>& steps, Device& device);

  /// In the library's layout: [K, taps..., C/groups].
  const void* filter(const Convolution& convolution) const;
  /// One number for each channel; nullptr for kAbsent.
  const void* vector(int value) const { return value == kAbsent ? nullptr : memory_.at({value, false}).get(); }
  /// Of a step that is a BatchNorm, f32 for each channel: what x is multiplied with, and what is added.
  const void* factors(const Step& batchNorm) const { return norms_.at(batchNorm.output).first.get(); }
  const void* summands(const Step& batchNorm) const { return norms_.at(batchNorm.output).second.get(); }
  /// nullptr where there is none.
  const void* bias(const Convolution& convolution) const;

 private:
  std::map<std::pair<int, bool>, Memory> memory_;   ///< by value, and whether its axes are turned
  std::map<int, std::pair<Memory, Memory>> norms_;  ///< by what the step gives
};

}  // namespace shiftconv::runtimes::onnx
