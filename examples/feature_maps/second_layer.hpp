// The second layer: 24 named combinations of first-layer maps, each 3x3 in space.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/feature_maps/filter_bank.hpp"

namespace feature_maps {

/// One output channel: bias + sum of masks over rectified first-layer maps, and ReLU after it.
struct Combination {
  std::string name;  ///< unique; also the label of the map
  double bias = 0;
  std::vector<double> weights;  ///< [3][3][first-layer maps]
};

struct SecondLayer {
  std::vector<Combination> combinations;
  std::vector<Section> sections;
  /// The combinations that measure how strongly the picture is striped in eight directions, 0 to 157.5 degrees.
  int firstDirection = 0;
  int directions = 0;

  int count() const { return static_cast<int>(combinations.size()); }
  /// f16 [count][3][3][first-layer maps].
  std::vector<uint16_t> filterTensor() const;
  std::vector<float> bias() const;
};

SecondLayer makeSecondLayer(const FilterBank& bank);

/// Between the layers: magnitudes of the maps whose sign only tells polarity (light on dark or dark on light), as in
/// energy models of texture; smoothed and enhanced pictures stay as they are.
/// @param maps f16 [pixels][bank.count()], changed in place
void rectify(const FilterBank& bank, std::vector<uint16_t>& maps);

}  // namespace feature_maps
