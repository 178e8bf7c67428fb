#include <fmt/format.h>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::scalar_exchange {
namespace {

constexpr size_t kChunk = 256;

KernelTrial trial(uint32_t ctas, uint32_t chunks, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> input(ctas * chunks * kChunk), expected;
  uint32_t sum = 0;
  for (uint32_t& value : input) {
    value = static_cast<uint32_t>(random()) | 1;
    expected.push_back(sum += value);
  }
  const auto run = [=](DeviceRun& device, const emulator::Options& options) {
    const uint64_t source = device.upload(input), output = device.reserve(input.size() * sizeof(uint32_t));
    const uint64_t totals = device.reserve(ctas * sizeof(uint32_t)), published = device.upload(std::vector<uint32_t>(ctas));
    const void* arguments[] = {&source, &output, &totals, &published, &chunks};
    Observation seen = device.launch({{ctas}, {128}, {}, 0}, arguments, options);
    seen.difference = firstDifference(device.download<uint32_t>(output, expected.size()), expected, "output");
    return seen;
  };
  return {fmt::format("{} CTAs, {} chunks", ctas, chunks), run};
}

}  // namespace

Subject subject() { return makeSubject("scalar_exchange", testKernelPtx("scalar_exchange"), {trial(3, 5, 641)}); }

}  // namespace shiftconv::tests::scalar_exchange

namespace shiftconv::tests {
Subject scalarExchangeSubject() { return scalar_exchange::subject(); }
}  // namespace shiftconv::tests
