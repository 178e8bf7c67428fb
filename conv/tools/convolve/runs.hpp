// A convolution with random operands and exact result, and what the library makes of it on one of its devices.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <vector>

#include "conv/tools/convolve/errors.hpp"
#include "conv/tools/convolve/operands.hpp"

namespace shiftconv::judged {

/// What output tensors hold before a run.
inline constexpr std::byte kPoison{0xCD};

/// A problem in both of its forms, with operands and exact result.
struct Case {
  /// Throws shiftconv::Error or std::invalid_argument with a sentence that quotes the text.
  Case(const std::string& text, uint64_t seed);

  std::string text;
  uint64_t seed;
  Convolution convolution;
  Problem problem;
  HostTensors tensors;
  /// Computed when first asked for. Not from several threads.
  const reference::Expectation& exact(const Accumulations& accumulations) const;
  /// Multiply-accumulates, padding included.
  double macs() const;

 private:
  mutable std::map<Accumulations, reference::Expectation> exact_;
};

/// The tensors of a case on a device.
class DeviceTensors {
 public:
  DeviceTensors(const Device& device, const Case& one);
  const Tensors& arguments() const { return arguments_; }
  void* address(TensorName name) const;
  /// What a run writes: output and its scale factors.
  void poison(std::byte value);
  std::vector<std::byte> download(TensorName name) const;

 private:
  const Device& device_;
  PerTensor<size_t> sizes_;
  std::vector<Memory> memory_;  ///< by TensorName; at least 16 bytes each
  Tensors arguments_;
};

/// One row of a report: {"side", "right", "beyond", "elements", "share", "l2", ...}.
nlohmann::ordered_json report(const std::string& side, const Errors& errors);

/// Runs `plan`; `output` receives the tensor.
Errors runPlan(const Case& one, const Device& device, const Plan& plan, std::vector<std::byte>& output);

using Outputs = std::map<std::string, std::vector<std::byte>>;  ///< by algorithm

/// Every algorithm of the library that takes the problem on `device`, each with the planner's choice for it, planned for the
/// properties given, except `left`. `outputs` receives their tensors; "bits" of a row is a hash of one.
nlohmann::ordered_json runAlgorithms(const Case& one, const Device& device, const DeviceProperties& properties,
                                     const std::string& name, Outputs& outputs, const std::string& left = "");

}  // namespace shiftconv::judged
