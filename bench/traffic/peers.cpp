#include "bench/traffic/peers.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "bench/traffic/peer_makers.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/planner/registry.hpp"

namespace shiftconv::bench {
namespace {

constexpr int64_t kWidthStep = 32;  ///< of tiles, in every peer

constexpr struct {
  std::string_view algorithm;
  std::span<const PeerMaker> (*makers)();
} kPeers[] = {
#define SHIFTCONV_PEERS(algorithm) {#algorithm, algorithm##Peers},
#include "peer_list.inc"
#undef SHIFTCONV_PEERS
};

size_t placeInRegistry(std::string_view name) {
  const auto all = plan::algorithms();
  const auto found = std::find_if(all.begin(), all.end(), [&](const plan::Algorithm* one) { return one->name() == name; });
  if (found == all.end()) throw std::logic_error("bench/traffic/peers: there is no algorithm " + std::string(name));
  return static_cast<size_t>(found - all.begin());
}

/// In the order of the planner's list of algorithms.
const std::vector<PeerMaker>& peerMakers() {
  static const std::vector<PeerMaker> makers = [] {
    std::map<size_t, std::span<const PeerMaker>> ofPlace;
    for (const auto& peers : kPeers) ofPlace[placeInRegistry(peers.algorithm)] = peers.makers();
    std::vector<PeerMaker> all;
    for (const auto& [place, ofAlgorithm] : ofPlace) all.insert(all.end(), ofAlgorithm.begin(), ofAlgorithm.end());
    return all;
  }();
  return makers;
}

}  // namespace

double Peer::busiestShare(const device::Properties& properties) const {
  const int64_t rows = passesAcross ? passes : 1, units = tiles * passes / rows;
  const int64_t waves = ceilDivide(clusters * rows, std::max<int64_t>(1, properties.multiprocessors / ctas()));
  return static_cast<double>(waves * ceilDivide(units, clusters)) / static_cast<double>(units * rows * ctas());
}

LaunchConfig Peer::oneTileForEachCluster() const {
  LaunchConfig config = launch.config;
  config.grid.x = static_cast<uint32_t>((passesAcross ? tiles : tiles * passes) * ctas());
  return config;
}

std::vector<uint64_t> Peer::clustersOf(int64_t tile) const {
  std::vector<uint64_t> clusters;
  for (int64_t pass = 0; pass < passes; ++pass)
    clusters.push_back(static_cast<uint64_t>(passesAcross ? tile + pass * tiles : tile * passes + pass));
  return clusters;
}

std::vector<std::string_view> peerNames() {
  std::vector<std::string_view> names;
  for (const PeerMaker& maker : peerMakers()) names.push_back(maker.name);
  return names;
}

Wish commonWish(const Problem& problem, const device::Properties& properties, bool pair) {
  constexpr int64_t kWidest = 256;
  for (const std::string_view name : peerNames()) {
    int64_t last = 0;
    for (int64_t passes = ceilDivide(problem.k, kWidest); passes <= ceilDivide(problem.k, kWidthStep); ++passes) {
      const int64_t width = ceilDivide(ceilDivide(problem.k, passes), kWidthStep) * kWidthStep;
      if (width == last) continue;
      last = width;
      Peer peer;
      const Wish wish{.pair = pair, .tileN = static_cast<uint32_t>(width), .resident = {}};
      if (makePeer(name, problem, properties, wish, peer).empty()) return peer.chosen;
    }
  }
  return {.pair = pair, .tileN = {}, .resident = {}};
}

std::string makePeer(std::string_view algorithm, const Problem& problem, const device::Properties& properties, const Wish& wish,
                     Peer& peer) {
  for (const PeerMaker& maker : peerMakers()) {
    if (maker.name != algorithm) continue;
    peer = {};
    peer.algorithm = maker.name;
    peer.problem = problem;
    return maker.make(problem, properties, wish, peer);
  }
  return "there is no such peer: " + std::string(algorithm);
}

}  // namespace shiftconv::bench
