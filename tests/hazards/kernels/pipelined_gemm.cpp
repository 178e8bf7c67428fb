#include <fmt/format.h>

#include "common/numerics/float16.hpp"
#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::pipelined_gemm {
namespace {

constexpr uint32_t kDynamicSharedBytes = 96 * 1024;

KernelTrial trial(int32_t m, int32_t n, int32_t k, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto extent = [](int32_t size) { return static_cast<size_t>(size); };
  const std::vector<float> a = smallFractions(extent(m * k), random), b = smallFractions(extent(n * k), random);
  std::vector<uint16_t> expected;
  for (const double sum : productOfRows(a, b, extent(m), extent(n), extent(k)))
    expected.push_back(numerics::encodeF16(static_cast<float>(sum)));

  const auto run = [=, a = asF16(a), b = asF16(b)](DeviceRun& device, const emulator::Options& options) {
    const uint64_t output = device.reserve(expected.size() * 2);
    const auto map = [](uint64_t address, int32_t rows, int32_t columns, uint32_t boxRows) {
      return swizzledMap(emulator::tma::DataType::F16, address, {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows)},
                         {64, boxRows});
    };
    const auto mapA = map(device.upload(a), m, k, 128), mapB = map(device.upload(b), n, k, 64), mapC = map(output, m, n, 128);
    const void* arguments[] = {&mapA, &mapB, &mapC, &m, &n, &k};
    Observation seen = device.launch({{2}, {192}, {}, kDynamicSharedBytes}, arguments, options);
    seen.difference = firstDifference(device.download<uint16_t>(output, expected.size()), expected, "output");
    return seen;
  };
  return {fmt::format("{}x{}x{}", m, n, k), run};
}

}  // namespace

Subject subject() {
  // Seven tiles for two CTAs, 35 and 45 chunks through three stages: every ring turns over; ragged in all extents.
  return makeSubject("pipelined_gemm", testKernelPtx("pipelined_gemm"), {trial(900, 56, 264, 601)});
}

}  // namespace shiftconv::tests::pipelined_gemm

namespace shiftconv::tests {
Subject pipelinedGemmSubject() { return pipelined_gemm::subject(); }
}  // namespace shiftconv::tests
