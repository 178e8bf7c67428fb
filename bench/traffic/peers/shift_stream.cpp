#include "conv/algorithms/shift_stream/plan.hpp"

#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>

#include "bench/traffic/peer_makers.hpp"

namespace shiftconv::bench {
namespace {

/// The fastest of these lane maps, of equals the one with the fewest products.
std::string makeShiftStream(const Problem& problem, const device::Properties& properties, const Wish& wish,
                            std::initializer_list<plan::StreamMap> maps, Peer& peer) {
  if (std::string why = plan::shiftStreamRefusal(problem, properties); !why.empty()) return why;
  std::optional<plan::ShiftStreamPlan> best;
  std::string refusal;
  for (const plan::StreamMap map : maps) {
    plan::ShiftStreamPlan made;
    plan::ShiftStreamChoices choices;
    choices.map = map, choices.tileN = wish.tileN, choices.pair = wish.pair, choices.residentWeights = wish.resident,
    choices.blockRows = wish.blockRows;
    if (std::string why = planShiftStream(problem, properties, choices, made); !why.empty()) {
      refusal = std::move(why);
    } else if (!best || std::tuple(made.estimate.clocks, made.traffic.products) <
                            std::tuple(best->estimate.clocks, best->traffic.products)) {
      best = std::move(made);
    }
  }
  if (!best) return refusal;
  peer.passes = best->launch.grid.y;
  peer.chosen = {best->cut.pair, static_cast<uint32_t>(best->params.tileN), best->params.filter.resident};
  peer.map = plan::kStreamMapNames[static_cast<size_t>(best->cut.map)];
  describePlan(std::move(*best), peer);
  return {};
}
std::string makeShiftStreamUnrefilled(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  return makeShiftStream(problem, properties, wish, {plan::StreamMap::Strips, plan::StreamMap::Packed}, peer);
}
std::string makeShiftStreamRefilled(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  return makeShiftStream(problem, properties, wish, {plan::StreamMap::StripsRefill, plan::StreamMap::FlatRefill}, peer);
}
std::string makeShiftStreamMasked(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  return makeShiftStream(problem, properties, wish, {plan::StreamMap::FlatMasked}, peer);
}

constexpr PeerMaker kMakers[] = {{"shift_stream", makeShiftStreamUnrefilled},
                                 {"shift_stream_refill", makeShiftStreamRefilled},
                                 {"shift_stream_masked", makeShiftStreamMasked}};

}  // namespace

std::span<const PeerMaker> shift_streamPeers() { return kMakers; }

}  // namespace shiftconv::bench
