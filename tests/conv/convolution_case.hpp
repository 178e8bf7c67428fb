// One convolution through the public API, judged element by element against the exact reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <vector>

#include "conv/problem/problem.hpp"
#include "conv/reference/convolution.hpp"

namespace shiftconv::tests {

/// What the operands look like. None is ever all zero.
enum class DataKind {
  Unit,       ///< uniform in [-1, 1]
  Wide,       ///< random signs and exponents over 12 binades, a few zeros
  Subnormal,  ///< half of the values subnormal, the other half near the smallest normal numbers and near 1
};

struct ConvolutionCase {
  Convolution problem;
  std::string algorithm = "shift_window";
  std::string planOptions;       ///< of the algorithm; empty: the planner's choice
  uint32_t multiprocessors = 0;  ///< that the plan is made for; 0: those of the device
  DataKind data = DataKind::Unit;

  PlanOptions options() const;  ///< valid as long as this object
};

/// "problem | algorithm halo | options cut=flat,split=2 | multiprocessors 3 | data subnormal", all but the first in any order or
/// missing; the problem as shiftconv_problem_parse reads it. Throws with a sentence that quotes the line.
ConvolutionCase parseCase(const std::string& line);

/// The same problem as the library has it inside.
Problem internalProblem(const Convolution& problem);

/// In the problem's layouts; empty where it has none. Gaps of pixel pitches hold NaN, or ones for integers.
struct CaseTensors {
  std::vector<std::byte> input, secondInput, filter, bias, residual, channelScale;
  float amaxBefore = 0;  ///< what a run finds in amax

  reference::Operands operands() const;
};
CaseTensors makeTensors(const ConvolutionCase& test, uint64_t seed);

/// What the plan's engine should compute.
reference::Expectation expectationOf(const ConvolutionCase& test, const CaseTensors& tensors, const Plan& plan);

/// Bytes of the output tensor after a run, 0xCD where nothing was written, and after them those of amax where the problem has it.
/// Throws shiftconv::Error.
std::vector<std::byte> runCase(const ConvolutionCase& test, const CaseTensors& tensors, const Device& device, const Plan& plan,
                               shiftconv_stream_t stream = nullptr);

/// "" or a description of the first wrong elements.
std::string judge(const ConvolutionCase& test, const reference::Expectation& expected, const std::vector<std::byte>& output);

/// As the case asks for.
Plan planFor(const ConvolutionCase& test, DeviceProperties properties);
Plan planFor(const ConvolutionCase& test, const Device& device);

/// Plans, runs on `device`, and judges. `seed` makes the operands.
std::string check(const ConvolutionCase& test, Device& device, uint64_t seed);

/// A random problem that shift_window accepts, small enough to be emulated in a fraction of a second.
ConvolutionCase randomCase(std::mt19937_64& generator);

}  // namespace shiftconv::tests
