#include <fmt/format.h>

#include <algorithm>

#include "common/layout/quantized_matrix.hpp"
#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::epilogue_tile {
namespace {

constexpr uint32_t kTileRows = 128, kTileColumns = 32;

std::vector<uint8_t> asBytes(const std::vector<std::byte>& bytes) {
  std::vector<uint8_t> numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<uint8_t>(byte));
  return numbers;
}

KernelTrial trial(int32_t rows, int32_t columns, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto m = static_cast<size_t>(rows), n = static_cast<size_t>(columns);
  const std::vector<float> accumulators = smallFractions(m * n, random), bias = smallFractions(n, random);
  std::vector<float> activated;
  for (size_t i = 0; i < m * n; ++i) activated.push_back(std::max(accumulators[i] + bias[i % n], 0.0f));
  const layout::QuantizedMatrix quantized =
      layout::quantize(*numerics::blockFormatNamed("mxfp8_e4m3"), rows, columns, activated,
                       {.scaleLayout = layout::ScaleFactorLayout::Interleaved128x4, .pitchAlignment = 16});
  const std::vector<uint8_t> expected = asBytes(quantized.elements), expectedScales = asBytes(quantized.scales);
  const float expectedLargest = *std::max_element(activated.begin(), activated.end());

  const auto run = [=](DeviceRun& device, const emulator::Options& options) {
    const uint64_t output = device.reserve(expected.size()), scales = device.reserve(expectedScales.size());
    const uint64_t source = device.upload(accumulators), biases = device.upload(bias);
    const uint64_t largest = device.upload(std::vector<float>{0.0f});
    const auto map = swizzledMap(emulator::tma::DataType::U8, output, {n, m}, {kTileColumns, kTileRows});
    const void* arguments[] = {&map, &source, &biases, &scales, &largest, &rows, &columns};
    Observation seen =
        device.launch({{(static_cast<uint32_t>(rows) + kTileRows - 1) / kTileRows}, {kTileRows}, {}, 0}, arguments, options);
    seen.difference = firstDifference(device.download<uint8_t>(output, expected.size()), expected, "output");
    if (seen.difference.empty())
      seen.difference = firstDifference(device.download<uint8_t>(scales, expectedScales.size()), expectedScales, "scale factors");
    if (seen.difference.empty())
      seen.difference = firstDifference(device.download<float>(largest, 1), std::vector<float>{expectedLargest}, "largest");
    return seen;
  };
  return {fmt::format("{}x{}", rows, columns), run};
}

}  // namespace

Subject subject() {
  // Two CTAs, five tiles through two buffers, rows and scale factors ragged; rows are whole multiples of 16 bytes, because
  // tensor-map stores overwrite up to there.
  return makeSubject("epilogue_tile", testKernelPtx("epilogue_tile"), {trial(150, 144, 691)});
}

}  // namespace shiftconv::tests::epilogue_tile

namespace shiftconv::tests {
Subject epilogueTileSubject() { return epilogue_tile::subject(); }
}  // namespace shiftconv::tests
