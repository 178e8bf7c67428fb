// From a few tiles to a whole layer: tiles that cost the same are a class.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/traffic/measurement.hpp"
#include "bench/traffic/peers.hpp"

namespace shiftconv::bench {

struct TileClass {
  plan::Traffic planned;  ///< of one tile
  int64_t tiles = 0;
  int64_t example = 0;  ///< its first tile
};
/// The most frequent one first.
std::vector<TileClass> tileClasses(const Peer& peer);

struct Projection {
  plan::Traffic counted;  ///< of the whole layer
  int64_t classes = 0, classesRun = 0;
  int64_t tilesRun = 0, tilesOfRunClasses = 0;
  int64_t checkedPixels = 0;
  int64_t threadReadBytes = 0;
};

/// Runs a tile of at most `mostClasses` classes: the most frequent one (interior), the one with the fewest activations (border) and
/// the one with the fewest outputs (ragged) first. A class that is not run costs what its plan says, more or less by what the
/// nearest class that was run cost.
Projection project(const Peer& peer, Measurement& measurement, int64_t mostClasses);

/// The largest relative difference of a field that the emulator counts.
double difference(const plan::Traffic& counted, const plan::Traffic& planned);

}  // namespace shiftconv::bench
