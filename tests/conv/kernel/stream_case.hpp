// One convolution for shift_stream below the public API: random operands whose sums are exact in any order, and their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conv/plan/sm100/shift_stream.hpp"
#include "conv/problem/problem.hpp"
#include "tests/hazards/kernels/kernel_trials.hpp"

namespace shiftconv::tests {

/// Operands are small integers and halves, so that every sum is exact in f32 and s32 and any difference is an error.
class StreamCase {
 public:
  StreamCase(const Problem& problem, uint64_t seed);

  const Problem& problem() const { return problem_; }
  /// Launches the plan's kernel on poisoned output. `difference` is "" when all bytes of the output are as expected: every
  /// element, and the poison between pixels.
  Observation run(DeviceRun& device, const plan::ShiftStreamPlan& plan, const emulator::Options& options) const;

 private:
  Problem problem_;
  std::vector<uint8_t> input_, filter_;
  std::vector<uint8_t> inputScales_, filterScales_;  ///< or empty
  std::vector<float> bias_;
  std::vector<uint8_t> output_;  ///< with poison where nothing is stored
};

}  // namespace shiftconv::tests
