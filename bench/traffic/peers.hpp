// One algorithm's plan of a layer, tile by tile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/plan.hpp"
#include "conv/plan/traffic.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::bench {

/// What all peers of a comparison share; nothing: the algorithm's own choice.
struct Wish {
  std::optional<bool> pair;
  std::optional<uint32_t> tileN;
  std::optional<bool> resident;
  std::optional<uint32_t> blockRows{};  ///< output rows after one another in a tile; of shift_stream only, and never chosen
};

struct Peer {
  std::string algorithm;
  Problem problem;
  plan::PlannedLaunch launch;
  Wish chosen;               ///< all of them set
  std::string_view map;      ///< of lanes, of shift_stream
  int64_t tiles = 0;         ///< of output pixels; each is done once in every pass
  int64_t passes = 0;        ///< over the output channels
  bool passesAcross = true;  ///< a pass is a row of the grid; else the passes of a tile follow one another
  int64_t clusters = 0;      ///< of a row of the grid
  plan::Traffic total, ofCluster;
  std::function<plan::Traffic(int64_t tile)> ofTile;
  plan::Estimate estimate;

  int64_t ctas() const { return launch.config.cluster.x; }
  /// Share of all work that the busiest multiprocessor does.
  double busiestShare(const device::Properties& properties) const;
  /// The launch with a cluster for every tile, and which clusters of it do tile `tile`.
  LaunchConfig oneTileForEachCluster() const;
  std::vector<uint64_t> clustersOf(int64_t tile) const;
};

/// Group, width and residency that all peers share: the widest tile that the first peer that takes the layer has room for, in which
/// it keeps the filter if it can. Nothing decided besides the group when none takes it.
Wish commonWish(const Problem& problem, const device::Properties& properties, bool pair);

/// Those of makePeer.
std::vector<std::string_view> peerNames();

/// Empty, or why the algorithm cannot do it.
std::string makePeer(std::string_view algorithm, const Problem& problem, const device::Properties& properties, const Wish& wish,
                     Peer& peer);

}  // namespace shiftconv::bench
