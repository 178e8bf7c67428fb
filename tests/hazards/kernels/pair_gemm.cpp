#include <fmt/format.h>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::pair_gemm {
namespace {

constexpr uint32_t kDynamicSharedBytes = 64 * 1024;
constexpr size_t kRowsPerPair = 256;

KernelTrial trial(int32_t m, int32_t n, int32_t k, uint64_t seed) {
  std::mt19937_64 random(seed);
  const size_t rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), depth = static_cast<size_t>(k);
  const std::vector<float> a = smallFractions(rows * depth, random), b = smallFractions(columns * depth, random);
  std::vector<float> expected;
  for (const double sum : productOfRows(a, b, rows, columns, depth)) expected.push_back(static_cast<float>(sum));

  const auto run = [=, a = asF16(a), b = asF16(b)](DeviceRun& device, const emulator::Options& options) {
    const auto map = [](uint64_t address, uint64_t extent, uint64_t inner, uint32_t boxRows) {
      return swizzledMap(emulator::tma::DataType::F16, address, {inner, extent}, {64, boxRows});
    };
    const auto mapA = map(device.upload(a), rows, depth, 128), mapB = map(device.upload(b), columns, depth, 64);
    const uint64_t output = device.reserve(rows * columns * sizeof(float));
    const void* arguments[] = {&mapA, &mapB, &output, &m, &n, &k};
    const auto ctas = static_cast<uint32_t>((rows + kRowsPerPair - 1) / kRowsPerPair * 2);
    Observation seen = device.launch({{ctas}, {192}, {2}, kDynamicSharedBytes}, arguments, options);
    seen.difference = firstDifference(device.download<float>(output, rows * columns), expected, "output");
    return seen;
  };
  return {fmt::format("{}x{}x{}", m, n, k), run};
}

}  // namespace

Subject subject() {
  // Three tiles through two accumulators, nine chunks through two stages.
  return makeSubject("pair_gemm", testKernelPtx("pair_gemm"), {trial(437, 312, 136, 671)});
}

}  // namespace shiftconv::tests::pair_gemm

namespace shiftconv::tests {
Subject pairGemmSubject() { return pair_gemm::subject(); }
}  // namespace shiftconv::tests
