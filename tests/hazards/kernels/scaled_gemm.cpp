#include <fmt/format.h>

#include <cmath>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::scaled_gemm {
namespace {

constexpr uint32_t kDynamicSharedBytes = 64 * 1024;
constexpr size_t kColumns = 64, kBlock = 32, kTileM = 128, kTileK = 128, kScaleBytes = 512;
constexpr int kUe8m0Bias = 127;

/// e4m3 codes (sign, 4 bits of exponent with bias 7, 3 bits of fraction) of numbers from 1/2 to 3.
constexpr struct {
  uint8_t code;
  float value;
} kNumbers[] = {{0x30, 0.5f}, {0x34, 0.75f}, {0x38, 1.0f}, {0x3C, 1.5f}, {0x40, 2.0f}, {0x44, 3.0f}};

/// A row-major matrix in e4m3 with the scales of its blocks of 32 elements, and what it stands for.
struct ScaledMatrix {
  std::vector<uint8_t> codes, scales;  ///< scales as tcgen05.cp wants them, see scaled_gemm.cu
  std::vector<float> values;
};

ScaledMatrix randomMatrix(size_t rows, size_t columns, std::mt19937_64& random) {
  const size_t rowTiles = (rows + kTileM - 1) / kTileM, chunks = (columns + kTileK - 1) / kTileK;
  ScaledMatrix matrix{std::vector<uint8_t>(rows * columns), std::vector<uint8_t>(rowTiles * chunks * kScaleBytes, kUe8m0Bias),
                      std::vector<float>(rows * columns)};
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column) {
      const size_t tile = row / kTileM, r = row % kTileM, chunk = column / kTileK, block = column % kTileK / kBlock;
      uint8_t& scale = matrix.scales[(tile * chunks + chunk) * kScaleBytes + 16 * (r % 32) + 4 * (r / 32) + block];
      if (column % kBlock == 0) scale = static_cast<uint8_t>(kUe8m0Bias - 2 + random() % 4);
      const auto& [code, magnitude] = kNumbers[random() % std::size(kNumbers)];
      const bool negative = random() % 2 != 0;
      matrix.codes[row * columns + column] = static_cast<uint8_t>(code | (negative ? 0x80 : 0));
      matrix.values[row * columns + column] = std::ldexp(negative ? -magnitude : magnitude, scale - kUe8m0Bias);
    }
  return matrix;
}

KernelTrial trial(int32_t m, int32_t k, uint64_t seed) {
  std::mt19937_64 random(seed);
  const ScaledMatrix a = randomMatrix(static_cast<size_t>(m), static_cast<size_t>(k), random);
  const ScaledMatrix b = randomMatrix(kColumns, static_cast<size_t>(k), random);
  std::vector<float> expected;
  for (const double sum : productOfRows(a.values, b.values, static_cast<size_t>(m), kColumns, static_cast<size_t>(k)))
    expected.push_back(static_cast<float>(sum));

  const auto run = [=](DeviceRun& device, const emulator::Options& options) {
    const auto map = [&](const std::vector<uint8_t>& codes, uint64_t rows, uint32_t boxRows) {
      return swizzledMap(emulator::tma::DataType::U8, device.upload(codes), {static_cast<uint64_t>(k), rows}, {128, boxRows});
    };
    const auto mapA = map(a.codes, static_cast<uint64_t>(m), 128), mapB = map(b.codes, kColumns, 64);
    const uint64_t scaleA = device.upload(a.scales), scaleB = device.upload(b.scales);
    const uint64_t output = device.reserve(expected.size() * sizeof(float));
    const void* arguments[] = {&mapA, &mapB, &scaleA, &scaleB, &output, &m, &k};
    Observation seen = device.launch({{2}, {192}, {}, kDynamicSharedBytes}, arguments, options);
    seen.difference = firstDifference(device.download<float>(output, expected.size()), expected, "output");
    return seen;
  };
  return {fmt::format("{}x{}x{}", m, kColumns, k), run};
}

}  // namespace

Subject subject() { return makeSubject("scaled_gemm", testKernelPtx("scaled_gemm"), {trial(700, 608, 611)}); }

}  // namespace shiftconv::tests::scaled_gemm

namespace shiftconv::tests {
Subject scaledGemmSubject() { return scaled_gemm::subject(); }
}  // namespace shiftconv::tests
