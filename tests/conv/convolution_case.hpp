// One convolution through the public API, judged element by element against the exact reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <vector>

#include "conv/plan/problem.hpp"
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
  std::string producer;  ///< empty: the planner's choice
  int32_t tileN = 0;
  int32_t ctas = 0;
  DataKind data = DataKind::Unit;

  PlanOptions options() const;  ///< valid as long as this object
};

/// "n h w c k r s top bottom left right [dil=d] [in=bf16] [out=bf16|f32] [bias] [relu] [ipitch=e] [opitch=e]
///  [producer=name] [tile_n=n] [ctas=n] [data=wide|subnormal]". Throws std::invalid_argument that quotes the line.
ConvolutionCase parseCase(const std::string& line);

struct ShapeLine {
  std::string name;  ///< file, line number and shape, as a test name
  std::string text;
};
/// Lines of a shape file, without comments (#) and empty lines.
std::vector<ShapeLine> readShapes(const std::string& path);
/// Of every shape file.
std::vector<ShapeLine> allShapes(const std::string& folder);

/// The same problem in the planner's own words.
Problem internalProblem(const shiftconv_problem_t& problem);

struct CaseTensors {
  std::vector<uint16_t> input;  ///< gaps of the pixel pitch hold NaN
  std::vector<uint16_t> filter;
  std::vector<float> bias;
};
CaseTensors makeTensors(const ConvolutionCase& test, uint64_t seed);

/// Bytes of the output tensor after a run; 0xCD where nothing was written. Throws shiftconv::Error.
std::vector<std::byte> runCase(const ConvolutionCase& test, const CaseTensors& tensors, const Device& device, const Plan& plan,
                               shiftconv_stream_t stream = nullptr);

/// "" or a description of the first wrong elements.
std::string judge(const ConvolutionCase& test, const reference::Expectation& expected, const std::vector<std::byte>& output);

/// Plans, runs on `device`, and judges. `seed` makes the operands.
std::string check(const ConvolutionCase& test, Device& device, uint64_t seed);

/// A random problem that shift_window accepts, small enough to be emulated in a fraction of a second.
ConvolutionCase randomCase(std::mt19937_64& generator);

}  // namespace shiftconv::tests
