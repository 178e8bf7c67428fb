#include <fmt/format.h>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::shift_refill {
namespace {

constexpr uint32_t kDynamicSharedBytes = 64 * 1024;
constexpr size_t kTaps = 3, kChannels = 64, kOutputs = 32, kWindowRows = 32;

/// `windows` windows of 32 rows of x, and two rows less of output.
KernelTrial trial(size_t windows, uint64_t seed) {
  std::mt19937_64 random(seed);
  const size_t inputRows = windows * kWindowRows, outputRows = inputRows - (kTaps - 1);
  const std::vector<float> x = smallFractions(inputRows * kChannels, random);
  const std::vector<float> filter = smallFractions(kTaps * kOutputs * kChannels, random);
  std::vector<float> expected(outputRows * kOutputs);
  for (size_t row = 0; row < outputRows; ++row)
    for (size_t s = 0; s < kTaps; ++s)
      for (size_t o = 0; o < kOutputs; ++o)
        for (size_t c = 0; c < kChannels; ++c)
          expected[row * kOutputs + o] += x[(row + s) * kChannels + c] * filter[(s * kOutputs + o) * kChannels + c];

  const auto run = [=, x = asF16(x), filter = asF16(filter)](DeviceRun& device, const emulator::Options& options) {
    using emulator::tma::DataType;
    const uint64_t input = device.upload(x);
    const auto mapX = swizzledMap(DataType::F16, input, {kChannels, inputRows}, {64, 128});
    const auto mapWindows = swizzledMap(DataType::F16, input, {kChannels, kWindowRows, windows}, {64, 1, 4});
    const auto mapFilter = swizzledMap(DataType::F16, device.upload(filter), {kChannels, kTaps * kOutputs}, {64, 32});
    const uint64_t output = device.reserve(expected.size() * sizeof(float));
    const auto rows = static_cast<int32_t>(outputRows);
    const void* arguments[] = {&mapX, &mapWindows, &mapFilter, &output, &rows};
    Observation seen = device.launch({{2}, {192}, {}, kDynamicSharedBytes}, arguments, options);
    seen.difference = firstDifference(device.download<float>(output, expected.size()), expected, "output");
    return seen;
  };
  return {fmt::format("{} rows", outputRows), run};
}

}  // namespace

Subject subject() { return makeSubject("shift_refill", testKernelPtx("shift_refill"), {trial(37, 631)}); }

}  // namespace shiftconv::tests::shift_refill

namespace shiftconv::tests {
Subject shiftRefillSubject() { return shift_refill::subject(); }
}  // namespace shiftconv::tests
