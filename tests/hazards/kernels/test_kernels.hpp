// The correct kernels that the hazard tests use besides shift_window. What each does stands in its .cu file.
//
// Operands are random multiples of powers of two, never zero and so few that every sum is exact in f32, whatever its order: results
// are compared bit for bit with a sum computed in double.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/subject.hpp"

namespace shiftconv::tests {

Subject pipelinedGemmSubject();
Subject scaledGemmSubject();
Subject clusterPairSubject();
Subject pairGemmSubject();
Subject shiftRefillSubject();
Subject scalarExchangeSubject();
Subject lastBlockSumSubject();
Subject epilogueTileSubject();

/// The PTX of tests/hazards/kernels/<kernel>.cu, as built.
std::string testKernelPtx(std::string_view kernel);

/// What the program around the kernel may do wrong.
enum class HostMistake : uint8_t {
  None,
  WorkspaceFreed,
  InputFreed,
  InputUnwritten,   ///< its memory has been given to somebody who has not written it yet
  WorkspaceShared,  ///< by launches in two streams
};
Subject tensormapEditSubject(HostMistake mistake = HostMistake::None);

/// All of the above.
std::vector<Subject> testKernelSubjects();

/// ±1/4, ±1/2, ±3/4 or ±1: their products are multiples of 1/16.
std::vector<float> smallFractions(size_t count, std::mt19937_64& random);
std::vector<uint16_t> asF16(const std::vector<float>& values);
/// sums[i][j] = sum over l of a[i][l] * b[j][l], exact for smallFractions.
std::vector<double> productOfRows(const std::vector<float>& a, const std::vector<float>& b, size_t m, size_t n, size_t k);

}  // namespace shiftconv::tests
