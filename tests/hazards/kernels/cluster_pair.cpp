#include <fmt/format.h>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::cluster_pair {
namespace {

constexpr uint32_t kDynamicSharedBytes = 64 * 1024;
constexpr size_t kTileM = 128;

KernelTrial trial(int32_t m, int32_t n, int32_t k, uint64_t seed) {
  std::mt19937_64 random(seed);
  const size_t rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), depth = static_cast<size_t>(k);
  const std::vector<float> a = smallFractions(rows * depth, random), b = smallFractions(columns * depth, random);
  std::vector<float> expected, expectedPairSum(rows);
  for (const double sum : productOfRows(a, b, rows, columns, depth)) expected.push_back(static_cast<float>(sum));
  for (size_t row = 0; row < rows; ++row)
    for (const size_t other : {row, row ^ kTileM})
      for (size_t column = 0; other < rows && column < columns; ++column)
        expectedPairSum[row] += expected[other * columns + column];

  const auto run = [=, a = asF16(a), b = asF16(b)](DeviceRun& device, const emulator::Options& options) {
    const auto map = [](uint64_t address, uint64_t extent, uint64_t inner, uint32_t boxRows) {
      return swizzledMap(emulator::tma::DataType::F16, address, {inner, extent}, {64, boxRows});
    };
    const auto mapA = map(device.upload(a), rows, depth, 128), mapB = map(device.upload(b), columns, depth, 32);
    const uint64_t output = device.reserve(rows * columns * sizeof(float)), pairSum = device.reserve(rows * sizeof(float));
    const void* arguments[] = {&mapA, &mapB, &output, &pairSum, &m, &n, &k};
    const auto ctas = static_cast<uint32_t>((rows + 2 * kTileM - 1) / (2 * kTileM) * 2);
    Observation seen = device.launch({{ctas}, {192}, {2}, kDynamicSharedBytes}, arguments, options);
    seen.difference = firstDifference(device.download<float>(output, rows * columns), expected, "output");
    if (seen.difference.empty())
      seen.difference = firstDifference(device.download<float>(pairSum, rows), expectedPairSum, "pair sum");
    return seen;
  };
  return {fmt::format("{}x{}x{}", m, n, k), run};
}

}  // namespace

Subject subject() { return makeSubject("cluster_pair", testKernelPtx("cluster_pair"), {trial(473, 136, 264, 621)}); }

}  // namespace shiftconv::tests::cluster_pair

namespace shiftconv::tests {
Subject clusterPairSubject() { return cluster_pair::subject(); }
}  // namespace shiftconv::tests
