#include <fmt/format.h>

#include <numeric>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::last_block_sum {
namespace {

KernelTrial trial(uint32_t ctas, uint32_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> numbers(count);
  for (uint32_t& number : numbers) number = static_cast<uint32_t>(random()) | 1;
  const std::vector<uint32_t> expected = {std::accumulate(numbers.begin(), numbers.end(), 0u)};
  const auto run = [=](DeviceRun& device, const emulator::Options& options) {
    const uint64_t input = device.upload(numbers), partials = device.reserve(ctas * sizeof(uint32_t));
    const uint64_t finished = device.upload(std::vector<uint32_t>{0}), sum = device.reserve(sizeof(uint32_t));
    const void* arguments[] = {&input, &count, &partials, &finished, &sum};
    Observation seen = device.launch({{ctas}, {128}, {}, 0}, arguments, options);
    seen.difference = firstDifference(device.download<uint32_t>(sum, 1), expected, "sum");
    if (seen.difference.empty()) seen.difference = firstDifference(device.download<uint32_t>(finished, 1), {0}, "counter");
    return seen;
  };
  return {fmt::format("{} numbers, {} CTAs", count, ctas), run};
}

}  // namespace

Subject subject() { return makeSubject("last_block_sum", testKernelPtx("last_block_sum"), {trial(3, 1001, 661)}); }

}  // namespace shiftconv::tests::last_block_sum

namespace shiftconv::tests {
Subject lastBlockSumSubject() { return last_block_sum::subject(); }
}  // namespace shiftconv::tests
