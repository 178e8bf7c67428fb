#include "bench/traffic/measurement.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "conv/planner/binding.hpp"

namespace shiftconv::bench {
namespace {

/// No output: sums of quarters and sixteenths are none of it in any type.
constexpr uint8_t kPoison = 0xCD;

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

int64_t bytesOf(const emulator::Counters& counters, emulator::Engine engine, emulator::Traffic traffic) {
  return static_cast<int64_t>(counters.bytes[static_cast<size_t>(engine)][static_cast<size_t>(traffic)]);
}

}  // namespace

Measurement::Measurement(const Problem& problem, uint64_t seed) : problem_(problem), reference_(problem, seed), kernels_(device_) {
  require(device_.setOption("numerics", "fast"));
  const PerTensor<size_t> sizes = tensorBytes(problem);
  for (const TensorName tensor : {TensorName::Input, TensorName::Filter, TensorName::InputScale, TensorName::FilterScale}) {
    const std::vector<uint8_t> bytes = reference_.bytes(tensor);
    if (bytes.size() != sizes[tensor]) throw std::logic_error(fmt::format("{} has {} bytes", nameOf(tensor), sizes[tensor]));
    if (bytes.empty()) continue;
    require(device_.allocate(bytes.size(), tensors_[tensor]));
    require(device_.copyToDevice(tensors_[tensor], bytes.data(), bytes.size(), 0));
  }
  outputBytes_ = sizes[TensorName::Output];
  require(device_.allocate(outputBytes_, tensors_[TensorName::Output]));
}

Run Measurement::tile(const Peer& peer, int64_t tile) {
  plan::Traffic planned = peer.ofTile(tile);
  planned += peer.ofCluster;
  return run(peer, peer.oneTileForEachCluster(), peer.clustersOf(tile), planned);
}

Run Measurement::all(const Peer& peer) { return run(peer, peer.launch.config, {}, peer.total); }

Run Measurement::run(const Peer& peer, const LaunchConfig& config, std::vector<uint64_t> clusters, const plan::Traffic& planned) {
  auto plan = std::make_shared<plan::Plan>();
  plan->problem = problem_;
  plan->properties = device_.properties();
  plan->launches = {peer.launch};
  plan->launches[0].config = config;
  std::unique_ptr<plan::Binding> binding;
  require(plan::Binding::make(plan, kernels_, tensors_, binding));
  require(device_.fill(tensors_[TensorName::Output], kPoison, outputBytes_, 0));
  device_.resetCounters();
  device_.runOnly(std::move(clusters));
  require(binding->run(0));

  const emulator::Counters counters = device_.counters().at(0).counters;
  using emulator::Engine;
  Run seen;
  plan::Traffic& counted = seen.counted = planned;
  counted.mmas = counted.shifts = 0;
  for (const auto& [name, count] : counters.mma) counted.mmas += static_cast<int64_t>(count);
  for (const auto& [name, count] : counters.operations)
    if (name.starts_with("tcgen05.shift")) counted.shifts += static_cast<int64_t>(count);
  counted.multiplyReadBytes = bytesOf(counters, Engine::TensorCore, emulator::Traffic::SharedRead);
  counted.copyReadBytes = bytesOf(counters, Engine::TensorCopy, emulator::Traffic::SharedRead);
  counted.writtenBytes = bytesOf(counters, Engine::BulkCopy, emulator::Traffic::SharedWrite);
  const auto readsOf = [&](TensorName tensor) {
    const auto found = counters.tensorReads.find(tensors_[tensor]);
    return found == counters.tensorReads.end() ? 0 : static_cast<int64_t>(found->second);
  };
  counted.activationBytes = readsOf(TensorName::Input);
  counted.filterBytes = readsOf(TensorName::Filter);
  seen.threadReadBytes = bytesOf(counters, Engine::Threads, emulator::Traffic::GlobalRead);
  seen.checkedPixels = checkOutputs(peer);
  if (seen.checkedPixels * peer.passes != planned.storedRows)
    throw std::runtime_error(fmt::format("{} stored {} pixels, but its plan says {}", peer.algorithm, seen.checkedPixels,
                                         planned.storedRows / peer.passes));
  return seen;
}

int64_t Measurement::checkOutputs(const Peer& peer) {
  std::vector<uint8_t> output(outputBytes_);
  require(device_.copyToHost(output.data(), tensors_[TensorName::Output], output.size(), 0));
  const auto width = static_cast<size_t>(shiftconv::bytesOf(problem_.outputType));
  const size_t pixelBytes = width * static_cast<size_t>(problem_.k);
  const std::vector<uint8_t> untouched(pixelBytes, kPoison);
  int64_t pixels = 0;
  for (int64_t pixel = 0; pixel < problem_.outputPixels(); ++pixel) {
    const uint8_t* const stored = &output[static_cast<size_t>(pixel) * pixelBytes];
    if (std::memcmp(stored, untouched.data(), pixelBytes) == 0) continue;
    ++pixels;
    const std::vector<uint32_t> expected = reference_.pixel(pixel);
    for (size_t k = 0; k < expected.size(); ++k) {
      uint32_t bits = 0;
      std::memcpy(&bits, stored + k * width, width);
      if (bits != expected[k])
        throw std::runtime_error(
            fmt::format("{}: output pixel {}, channel {} is {:#x} instead of {:#x}", peer.algorithm, pixel, k, bits, expected[k]));
    }
  }
  return pixels;
}

}  // namespace shiftconv::bench
