// Base of the algorithms that copy tensors and leave the convolution of the copies to another algorithm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/device/module_image.hpp"
#include "conv/plan/algorithm.hpp"
#include "conv/plan/inner_search.hpp"

namespace shiftconv::plan {

/// A launch of a kernel that copies from Params::source to Params::destination.
template <class Params>
PlannedLaunch launchOfCopy(const device::ModuleImage& image, const char* kernel, const Params& params, int64_t ctas,
                           uint32_t threads, TensorPlace source, TensorPlace destination) {
  Parameter parameter = Parameter::value(params);
  parameter.address(offsetof(Params, source), source).address(offsetof(Params, destination), destination);
  PlannedLaunch launch;
  launch.image = image;
  launch.kernel = kernel;
  launch.config.grid = {static_cast<uint32_t>(ctas), 1, 1};
  launch.config.block = {threads, 1, 1};
  launch.parameters.push_back(std::move(parameter));
  launch.warpRoles.assign(threads / 32, "copy");
  return launch;
}

/// The option that names the other algorithm, one of `names`, and kBatchInvariantOption.
std::array<OptionDescription, 2> copyingOptions(std::string_view names, std::string_view meaning);

class CopyingAlgorithm : public Algorithm {
 public:
  explicit CopyingAlgorithm(const InnerSearch& search) : search_(search) {}
  std::optional<Accumulation> accumulation() const final { return {}; }
  bool isBuiltFor(const device::Properties& properties) const final;
  std::string refusal(const Problem& problem, const device::Properties& properties) const final;
  /// The best candidate for the copies, with the clocks of copying.
  Status candidates(const Problem& problem, const device::Properties& properties, std::string_view options,
                    std::vector<Candidate>& candidates) const final;

 protected:
  const InnerSearch& search() const { return search_; }

  struct Copying {
    double bytes = 0;  ///< read and written
    size_t launches = 0;
    double launchClocks = 0;  ///< of each; 0: those of an empty kernel
    double memoryShare = 0;   ///< of device memory's rate that the convolution has at most; 0: its model knows
  };

  /// Why this is no problem to make copies for; empty: it is.
  virtual std::string copyingRefusal(const Problem& problem, const device::Properties& properties) const = 0;
  /// What the convolution of the copies is called in refusals: "the taps in order".
  virtual std::string_view ofCopies() const = 0;
  virtual Problem problemOfCopies(const Problem& problem) const = 0;
  virtual Copying copying(const Problem& problem) const = 0;
  /// The plan: the launches that copy, and with addInner() those of `inner`, a candidate of problemOfCopies().
  virtual Status complete(const Candidate& inner, const Problem& problem, const device::Properties& properties,
                          Plan& plan) const = 0;

 private:
  const InnerSearch& search_;
};

}  // namespace shiftconv::plan
