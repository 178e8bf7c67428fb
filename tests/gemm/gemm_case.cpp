#include "tests/gemm/gemm_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "common/layout/ceil_divide.hpp"
#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"

namespace shiftconv::tests {
namespace {

using gemm::GemmProblem;
using gemm::NumberType;
using gemm::Operand;

constexpr std::byte kPoison{0xCD};

/// Packed 4- and 6-bit elements of kinds whose elements have a byte each in shared memory.
bool isExpanded(const GemmProblem& problem, const Operand& operand) {
  std::string why;
  const auto kind = gemm::kindOf(problem, why);
  return numerics::storageBits(operand.type) < 8 && kind != layout::MmaKind::MxF4 && kind != layout::MmaKind::NvF4;
}

double randomValue(NumberType type, std::mt19937_64& random) {
  const uint64_t bits = random();
  const double magnitude = static_cast<double>(1 + bits % 4);
  const bool negative = (bits >> 32) % 2 != 0;
  if (type == NumberType::U8) return magnitude;
  if (type == NumberType::S8) return negative ? -magnitude : magnitude;
  return (negative ? -0.5 : 0.5) * magnitude;
}

GemmOperand randomOperand(const GemmProblem& problem, const Operand& operand, int64_t rows, std::mt19937_64& random) {
  GemmOperand result;
  const int64_t lines = operand.mnMajor ? problem.k : rows;
  result.elements.resize(static_cast<size_t>(lines * operand.pitch));
  result.values.resize(static_cast<size_t>(rows * problem.k));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < problem.k; ++k) {
      const double value = randomValue(operand.type, random);
      const int64_t line = operand.mnMajor ? k : row, index = operand.mnMajor ? row : k;
      numerics::storePacked(operand.type, result.elements.data() + line * operand.pitch, index,
                            numerics::encode(operand.type, value));
      result.values[static_cast<size_t>(row * problem.k + k)] = value;
    }
  if (problem.blockSize == 0) return result;
  const int64_t blocks = (problem.k + problem.blockSize - 1) / problem.blockSize;
  result.scales.resize(static_cast<size_t>(layout::scaleFactorBytes(operand.scaleLayout, rows, blocks)));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < blocks; ++block) {
      const double scale = problem.scale == NumberType::UE4M3 ? 0.5 * static_cast<double>(1 + random() % 4)
                                                              : std::ldexp(0.5, static_cast<int>(random() % 3));
      const int64_t offset = layout::scaleFactorOffset(operand.scaleLayout, row, block, blocks);
      result.scales[static_cast<size_t>(offset)] = static_cast<std::byte>(numerics::encode(problem.scale, scale));
      for (int64_t k = block * problem.blockSize; k < std::min(problem.k, (block + 1) * problem.blockSize); ++k)
        result.values[static_cast<size_t>(row * problem.k + k)] *= scale;
    }
  return result;
}

}  // namespace

GemmProblem withPitches(GemmProblem problem) {
  for (const auto& [operand, rows] : {std::pair{&problem.a, problem.m}, std::pair{&problem.b, problem.n}}) {
    const int64_t elements = isExpanded(problem, *operand) ? roundUp(problem.k, 128) : operand->mnMajor ? rows : problem.k;
    operand->pitch = roundUp(numerics::packedBytes(operand->type, elements), isExpanded(problem, *operand) ? 32 : 16);
  }
  problem.outputPitch = roundUp(numerics::packedBytes(problem.output, problem.n), 16) + 16;
  return problem;
}

GemmCase::GemmCase(const GemmProblem& problem, uint64_t seed) : problem_(problem) {
  std::mt19937_64 random(seed);
  a_ = randomOperand(problem, problem.a, problem.m, random);
  b_ = randomOperand(problem, problem.b, problem.n, random);
  exact_.resize(static_cast<size_t>(problem.m * problem.n));
  for (int64_t i = 0; i < problem.m; ++i)
    for (int64_t j = 0; j < problem.n; ++j) {
      const double* const x = a_.values.data() + i * problem.k;
      const double* const y = b_.values.data() + j * problem.k;
      double sum = 0;
      for (int64_t k = 0; k < problem.k; ++k) sum += x[k] * y[k];
      exact_[static_cast<size_t>(i * problem.n + j)] = sum;
    }
}

size_t GemmCase::outputBytes() const { return static_cast<size_t>(problem_.m * problem_.outputPitch); }

std::string GemmCase::judge(const std::vector<std::byte>& output) const {
  const auto bytes = static_cast<size_t>(numerics::storageBits(problem_.output) / 8);
  for (int64_t row = 0; row < problem_.m; ++row)
    for (int64_t column = 0; column < problem_.outputPitch / static_cast<int64_t>(bytes); ++column) {
      const std::byte* const element =
          output.data() + static_cast<size_t>(row * problem_.outputPitch) + static_cast<size_t>(column) * bytes;
      if (column >= problem_.n) {
        for (size_t i = 0; i < bytes; ++i)
          if (element[i] != kPoison) return fmt::format("row {}: wrote past column N, at column {}", row, column);
        continue;
      }
      const double exact = exact_[static_cast<size_t>(row * problem_.n + column)];
      uint32_t expected = problem_.output == NumberType::F32 ? std::bit_cast<uint32_t>(static_cast<float>(exact))
                                                             : numerics::encode(problem_.output, exact);
      if (exact == 0) expected = 0;  // sums are never -0
      uint32_t computed = 0;
      std::memcpy(&computed, element, bytes);
      if (computed != expected)
        return fmt::format("row {} column {}: computed {:#x}, exact {} is {:#x}", row, column, computed, exact, expected);
    }
  return {};
}

}  // namespace shiftconv::tests
