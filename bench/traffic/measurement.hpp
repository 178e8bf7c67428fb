// Runs tiles of a layer, or all of it, in the emulator, and checks what they store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/traffic/peers.hpp"
#include "bench/traffic/reference.hpp"
#include "common/device/emulated_device.hpp"
#include "conv/planner/kernel_cache.hpp"

namespace shiftconv::bench {

/// What the emulator counted. The fields that it does not count (products, rows) are the plan's.
struct Run {
  plan::Traffic counted;
  int64_t threadReadBytes = 0;  ///< of global memory by threads: scale factors
  int64_t checkedPixels = 0;
};

/// The tensors of a layer on a device of its own.
class Measurement {
 public:
  Measurement(const Problem& problem, uint64_t seed);

  /// One tile, with what its cluster does once. Throws std::runtime_error when an output is wrong, or when the tile stores other
  /// than as many pixels as the plan says.
  Run tile(const Peer& peer, int64_t tile);
  /// Everything, as it would be launched.
  Run all(const Peer& peer);

 private:
  Run run(const Peer& peer, const LaunchConfig& config, std::vector<uint64_t> clusters, const plan::Traffic& planned);
  int64_t checkOutputs(const Peer& peer);

  Problem problem_;
  Reference reference_;
  device::EmulatedDevice device_;
  plan::KernelCache kernels_;
  PerTensor<device::Address> tensors_;
  size_t outputBytes_ = 0;
};

}  // namespace shiftconv::bench
