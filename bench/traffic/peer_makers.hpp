// What the files of `peers` contribute, one for each algorithm that takes part in the comparison:
// bench/traffic/peers/<algorithm>.cpp defines <algorithm>Peers().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "bench/traffic/peers.hpp"

namespace shiftconv::bench {

/// One way in which an algorithm takes part.
struct PeerMaker {
  std::string_view name;
  /// As makePeer().
  std::string (*make)(const Problem&, const device::Properties&, const Wish&, Peer&);
};

/// What plans that know the traffic of every tile have in common.
template <class Plan>
void describePlan(Plan made, Peer& peer) {
  peer.launch = made.planned();
  peer.tiles = made.tiles();
  peer.clusters = made.clusters();
  peer.total = made.traffic;
  peer.ofCluster = made.ofCluster();
  if constexpr (requires { made.estimate; }) peer.estimate = made.estimate;
  const auto plan = std::make_shared<const Plan>(std::move(made));
  peer.ofTile = [plan](int64_t tile) { return plan->ofTile(tile); };
}

/// Declares <algorithm>Peers() for every such file, and lists them; see peer_list.inc.
#define SHIFTCONV_PEERS(algorithm) std::span<const PeerMaker> algorithm##Peers();
#include "peer_list.inc"
#undef SHIFTCONV_PEERS

}  // namespace shiftconv::bench
