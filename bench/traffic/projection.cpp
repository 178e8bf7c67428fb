#include "bench/traffic/projection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

namespace shiftconv::bench {
namespace {

using plan::Traffic;

constexpr std::array kCounted{&Traffic::mmas,          &Traffic::shifts,          &Traffic::multiplyReadBytes,
                              &Traffic::copyReadBytes, &Traffic::activationBytes, &Traffic::filterBytes,
                              &Traffic::writtenBytes};

Traffic operator-(Traffic a, const Traffic& b) {
  a += b * -1;
  return a;
}

/// Indices of the classes to run.
std::vector<size_t> chosen(const std::vector<TileClass>& classes, int64_t most) {
  const auto least = [&](auto field) {
    const auto found = std::min_element(classes.begin(), classes.end(), [&](const TileClass& a, const TileClass& b) {
      return a.planned.*field < b.planned.*field;
    });
    return static_cast<size_t>(found - classes.begin());
  };
  std::vector<size_t> order{0, least(&Traffic::activationBytes), least(&Traffic::storedRows)};
  for (size_t i = 0; i < classes.size(); ++i) order.push_back(i);
  std::vector<size_t> result;
  for (const size_t i : order)
    if (std::find(result.begin(), result.end(), i) == result.end() && static_cast<int64_t>(result.size()) < most)
      result.push_back(i);
  return result;
}

}  // namespace

std::vector<TileClass> tileClasses(const Peer& peer) {
  std::map<Traffic, TileClass> found;
  for (int64_t tile = 0; tile < peer.tiles; ++tile) {
    const Traffic planned = peer.ofTile(tile);
    TileClass& one = found.try_emplace(planned, TileClass{planned, 0, tile}).first->second;
    ++one.tiles;
  }
  std::vector<TileClass> classes;
  for (auto& [planned, one] : found) classes.push_back(one);
  std::stable_sort(classes.begin(), classes.end(), [](const TileClass& a, const TileClass& b) { return a.tiles > b.tiles; });
  return classes;
}

Projection project(const Peer& peer, Measurement& measurement, int64_t mostClasses) {
  const std::vector<TileClass> classes = tileClasses(peer);
  const std::vector<size_t> run = chosen(classes, mostClasses);
  Projection projection;
  projection.classes = static_cast<int64_t>(classes.size());
  projection.classesRun = static_cast<int64_t>(run.size());
  std::map<size_t, Traffic> error;  // counted less planned
  double threadReads = 0;
  for (const size_t i : run) {
    const Run seen = measurement.tile(peer, classes[i].example);
    error[i] = seen.counted - peer.ofCluster - classes[i].planned;
    projection.checkedPixels += seen.checkedPixels;
    projection.tilesOfRunClasses += classes[i].tiles;
    threadReads += static_cast<double>(seen.threadReadBytes);
  }
  projection.tilesRun = projection.classesRun;
  projection.threadReadBytes =
      static_cast<int64_t>(threadReads / static_cast<double>(run.size()) * static_cast<double>(peer.tiles));
  for (size_t i = 0; i < classes.size(); ++i) {
    const auto nearest = std::min_element(run.begin(), run.end(), [&](size_t a, size_t b) {
      const auto distance = [&](size_t j) {
        return std::pair(std::abs(classes[i].planned.mmas - classes[j].planned.mmas),
                         std::abs(classes[i].planned.activationBytes - classes[j].planned.activationBytes));
      };
      return distance(a) < distance(b);
    });
    projection.counted += classes[i].planned * classes[i].tiles;
    projection.counted += error.at(*nearest) * classes[i].tiles;
  }
  projection.counted += peer.ofCluster * peer.clusters;
  return projection;
}

double difference(const Traffic& counted, const Traffic& planned) {
  double worst = 0;
  for (const auto field : kCounted) {
    if (counted.*field == planned.*field) continue;
    const double most = static_cast<double>(std::max(std::abs(counted.*field), std::abs(planned.*field)));
    worst = std::max(worst, std::abs(static_cast<double>(counted.*field - planned.*field)) / most);
  }
  return worst;
}

}  // namespace shiftconv::bench
