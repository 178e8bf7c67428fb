#include <fmt/format.h>

#include <stdexcept>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/kernel_trials.hpp"

namespace shiftconv::tests::tensormap_edit {
namespace {

constexpr size_t kRows = 32, kColumns = 64, kWords = kRows * kColumns / 2;

emulator::tma::TensorMapImage mapOfOneMatrix(uint64_t address) {
  emulator::tma::TiledMap map;
  map.type = emulator::tma::DataType::F16;
  map.rank = 2;
  map.globalAddress = address;
  map.dims = {kColumns, kRows};
  map.strides = {kColumns * 2};
  map.box = {kColumns, kRows};
  emulator::tma::TensorMapImage image;
  if (const std::string why = emulator::tma::encodeTiled(map, image); !why.empty()) throw std::invalid_argument(why);
  return image;
}

/// Two launches in streams that nothing orders. The emulator runs one behind the other; a GPU may run both at once.
Observation launchInTwoStreams(DeviceRun& device, const emulator::machine::LaunchConfig& config, std::span<const void* const> first,
                               std::span<const void* const> second, emulator::Options options) {
  emulator::hazards::StreamOrder order;
  options.place = order.enqueue(1);
  Observation seen = device.launch(config, first, options);
  options.place = order.enqueue(2);
  const Observation seenInSecond = device.launch(config, second, options);
  seen.hazards.insert(seen.hazards.end(), seenInSecond.hazards.begin(), seenInSecond.hazards.end());
  return seen;
}

KernelTrial trial(uint32_t ctas, uint32_t count, uint64_t seed, HostMistake mistake) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> expected(count * kWords);
  for (uint32_t& value : expected) value = static_cast<uint32_t>(random());
  const auto run = [=](DeviceRun& device, const emulator::Options& options) {
    std::vector<uint64_t> matrices;
    for (uint32_t i = 0; i < count; ++i)
      matrices.push_back(device.upload(std::vector<uint32_t>(expected.begin() + i * kWords, expected.begin() + (i + 1) * kWords)));
    if (mistake == HostMistake::InputUnwritten) matrices.back() = device.reserve(kWords * sizeof(uint32_t));
    const auto map = mapOfOneMatrix(matrices[0]);
    const uint64_t addresses = device.upload(matrices), workspace = device.reserve(ctas * sizeof map);
    const uint64_t output = device.reserve(expected.size() * sizeof(uint32_t));
    const void* arguments[] = {&map, &addresses, &workspace, &output, &count};
    const emulator::machine::LaunchConfig config{{ctas}, {128}, {}, 0};
    if (mistake == HostMistake::WorkspaceFreed) device.release(workspace);
    if (mistake == HostMistake::InputFreed) device.release(matrices.back());
    Observation seen;
    if (mistake == HostMistake::WorkspaceShared) {
      const uint64_t otherOutput = device.reserve(expected.size() * sizeof(uint32_t));
      const void* otherArguments[] = {&map, &addresses, &workspace, &otherOutput, &count};
      seen = launchInTwoStreams(device, config, arguments, otherArguments, options);
    } else {
      seen = device.launch(config, arguments, options);
    }
    seen.difference = firstDifference(device.download<uint32_t>(output, expected.size()), expected, "output");
    return seen;
  };
  return {fmt::format("{} matrices, {} CTAs", count, ctas), run};
}

}  // namespace

Subject subject(HostMistake mistake) {
  return makeSubject("tensormap_edit", testKernelPtx("tensormap_edit"), {trial(2, 5, 651, mistake)});
}

}  // namespace shiftconv::tests::tensormap_edit

namespace shiftconv::tests {
Subject tensormapEditSubject(HostMistake mistake) { return tensormap_edit::subject(mistake); }
}  // namespace shiftconv::tests
