// One convolution for the kernels below the public API: random operands whose sums are exact in any order, and their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conv/plan/plan.hpp"
#include "conv/problem/problem.hpp"
#include "conv/reference/convolution.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests {

/// Operands are small integers and halves, so that every sum is exact in f32 and s32 and any difference is an error.
class StreamCase {
 public:
  StreamCase(const Problem& problem, uint64_t seed);

  const Problem& problem() const { return problem_; }
  /// Every f16 input of a group becomes infinity. Outputs of the other groups stay as they were, and are compared; of those
  /// of the group one at least must not be finite.
  void fillWithInfinity(int64_t group);
  /// Of f16 operands and f32 outputs without bias, the pixels of all groups but the first and the filters of the first become
  /// zeros: what is left are products that no output has.
  void keepProductsAcrossGroups();
  /// Launches the kernel on poisoned output. `difference` is "" when all bytes of the output are as expected: every element, every
  /// scale factor, and the poison between pixels.
  Observation run(DeviceRun& device, const plan::PlannedLaunch& launch, const emulator::Options& options) const;

 private:
  std::string difference(const std::vector<uint8_t>& stored, const std::vector<uint8_t>& scales) const;
  std::string differenceOutsideOfInfinity(const std::vector<uint8_t>& stored) const;

  Problem problem_;
  std::vector<uint8_t> input_, filter_;
  std::vector<uint8_t> inputScales_, filterScales_;  ///< or empty
  std::vector<float> bias_;
  std::vector<uint8_t> output_;  ///< with poison where nothing is stored; unless it is quantised in blocks
  reference::Expectation exact_;
  float largest_ = 0;
  std::optional<int64_t> infinite_;  ///< a group
};

/// An sm_100 device with few multiprocessors, so that CTAs have several tiles.
device::Properties fewMultiprocessors();
/// f16 to f32, square padding.
Problem plain(int64_t n, int64_t h, int64_t w, int64_t c, int64_t k, int64_t r, int64_t s, int64_t pad);
/// f32 stands for tf32.
Problem typed(Problem p, DataType input, DataType filter, DataType output);
/// One problem in the operand types that every algorithm of sm_100a takes, with zero points where they mean the same to each; every
/// name says which. `small` has f16 operands and an f32 output.
std::vector<std::pair<std::string, Problem>> operandCases(const Problem& small);
/// Of block-scaled elements.
Problem scaled(Problem p, DataType input, DataType filter, int64_t block, DataType scale);
/// Outputs in blocks of 16 (nvfp4) or 32 (MX) channels.
Problem quantised(Problem p, DataType output, int64_t block, ScaleOrder order);

}  // namespace shiftconv::tests
