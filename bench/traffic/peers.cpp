#include "bench/traffic/peers.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/halo_sm100/plan.hpp"
#include "conv/algorithms/im2col/plan.hpp"
#include "conv/algorithms/shift_stream/plan.hpp"
#include "conv/algorithms/shift_window/plan.hpp"

namespace shiftconv::bench {
namespace {

constexpr int64_t kWidthStep = 32;  ///< of tiles, in every peer

/// What every kind of plan has.
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
  peer.chosen = {best->pair, static_cast<uint32_t>(best->params.tileN), best->params.filter.resident};
  peer.map = plan::kStreamMapNames[static_cast<size_t>(best->map)];
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

std::string makeHalo(const Problem& problem, const device::Properties& properties, const Wish& wish, bool collector, Peer& peer) {
  if (std::string why = plan::sm100::haloRefusal(problem, properties); !why.empty()) return why;
  plan::sm100::HaloPlan made;
  plan::sm100::HaloChoices choices;
  choices.tileN = wish.tileN, choices.pair = wish.pair, choices.residentWeights = wish.resident, choices.collector = collector;
  if (std::string why = planHalo(problem, properties, choices, made); !why.empty()) return why;
  peer.passes = made.launch.grid.y;
  peer.chosen = {made.pair, static_cast<uint32_t>(made.params.gemm.tileN), made.params.filter.resident};
  describePlan(std::move(made), peer);
  return {};
}

std::string makeHaloPatches(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  return makeHalo(problem, properties, wish, false, peer);
}
std::string makeHaloCollector(const Problem& problem, const device::Properties& properties, const Wish& wish, Peer& peer) {
  return makeHalo(problem, properties, wish, true, peer);
}

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

constexpr struct {
  std::string_view name;
  std::string (*make)(const Problem&, const device::Properties&, const Wish&, Peer&);
} kMakers[] = {{"shift_stream", makeShiftStreamUnrefilled},
               {"shift_stream_refill", makeShiftStreamRefilled},
               {"shift_stream_masked", makeShiftStreamMasked},
               {"shift_window", makeShiftWindow},
               {"halo", makeHaloPatches},
               {"halo_collector", makeHaloCollector},
               {"im2col", makeIm2col}};

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
  for (const auto& maker : kMakers) names.push_back(maker.name);
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
  for (const auto& maker : kMakers) {
    if (maker.name != algorithm) continue;
    peer = {};
    peer.algorithm = maker.name;
    peer.problem = problem;
    return maker.make(problem, properties, wish, peer);
  }
  return "there is no such peer: " + std::string(algorithm);
}

}  // namespace shiftconv::bench
