#include "conv/algorithms/halo_sm100/plan.hpp"

#include <utility>

#include "bench/traffic/peer_makers.hpp"

namespace shiftconv::bench {
namespace {

std::string makeHalo(const Problem& problem, const device::Properties& properties, const Wish& wish, bool collector, Peer& peer) {
  if (std::string why = plan::sm100::haloRefusal(problem, properties); !why.empty()) return why;
  plan::sm100::HaloPlan made;
  plan::sm100::HaloChoices choices;
  choices.tileN = wish.tileN, choices.pair = wish.pair, choices.residentWeights = wish.resident, choices.collector = collector;
  if (std::string why = planHalo(problem, properties, choices, made); !why.empty()) return why;
  peer.passes = made.launch.grid.y;
  peer.chosen = {made.cut.pair, static_cast<uint32_t>(made.params.gemm.tileN), made.params.filter.resident};
  describePlan(std::move(made), peer);
  return {};
}

std::string makeHaloPatches(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  return makeHalo(problem, properties, wish, false, peer);
}
std::string makeHaloCollector(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  return makeHalo(problem, properties, wish, true, peer);
}

constexpr PeerMaker kMakers[] = {{"halo", makeHaloPatches}, {"halo_collector", makeHaloCollector}};

}  // namespace

std::span<const PeerMaker> halo_sm100Peers() { return kMakers; }

}  // namespace shiftconv::bench
