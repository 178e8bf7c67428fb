#include "conv/algorithms/shift_window/plan.hpp"

#include <utility>

#include "bench/traffic/peer_makers.hpp"

namespace shiftconv::bench {
namespace {

std::string makeShiftWindow(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  if (std::string why = plan::shiftWindowRefusal(problem, properties); !why.empty()) return why;
  plan::ShiftWindowPlan made;
  plan::ShiftWindowChoices choices;
  choices.tileN = wish.tileN, choices.pair = wish.pair, choices.residentWeights = wish.resident;
  if (std::string why = planShiftWindow(problem, properties, choices, made); !why.empty()) return why;
  peer.passes = made.launch.grid.y;
  peer.chosen = {made.cut.pair, static_cast<uint32_t>(made.cut.tileN), made.cut.resident};
  peer.estimate = estimate(problem, plan::ratesOf(properties), made.cut.clocks, made.cut.bound, made.cut.clocksAround);
  describePlan(std::move(made), peer);
  return {};
}

constexpr PeerMaker kMakers[] = {{"shift_window", makeShiftWindow}};

}  // namespace

std::span<const PeerMaker> shift_windowPeers() { return kMakers; }

}  // namespace shiftconv::bench
