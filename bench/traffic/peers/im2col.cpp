#include "conv/algorithms/im2col/plan.hpp"

#include <utility>

#include "bench/traffic/peer_makers.hpp"

namespace shiftconv::bench {
namespace {

std::string makeIm2col(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  if (std::string why = plan::im2colRefusal(problem, properties); !why.empty()) return why;
  plan::Im2colPlan made;
  plan::Im2colChoices choices;
  choices.tileN = wish.tileN, choices.pair = wish.pair, choices.residentWeights = wish.resident;
  if (std::string why = planIm2col(problem, properties, choices, made); !why.empty()) return why;
  peer.passes = made.gemm.params.tilesAcross;
  peer.passesAcross = made.gemm.params.weightsResident;
  peer.chosen = {made.pair(), static_cast<uint32_t>(made.gemm.params.tileN), made.gemm.params.weightsResident};
  describePlan(std::move(made), peer);
  return {};
}

constexpr PeerMaker kMakers[] = {{"im2col", makeIm2col}};

}  // namespace

std::span<const PeerMaker> im2colPeers() { return kMakers; }

}  // namespace shiftconv::bench
