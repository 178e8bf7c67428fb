// From numbers to colours: one picture per feature map.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "examples/feature_maps/filter_bank.hpp"
#include "examples/feature_maps/image_io.hpp"
#include "examples/feature_maps/second_layer.hpp"

namespace feature_maps {

/// All maps of one layer as floats, [height][width][channels].
struct Maps {
  int width = 0, height = 0, channels = 0;
  std::vector<float> values;

  float at(int y, int x, int channel) const {
    return values[(static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * static_cast<size_t>(channels) +
                  static_cast<size_t>(channel)];
  }
};

/// Cold colours below zero, dark at zero, warm above; t in [-1, 1].
Rgb divergingColour(double t);
/// Dark violet over red to pale yellow; t in [0, 1].
Rgb heatColour(double t);
/// Hue in turns, saturation and brightness in [0, 1].
Rgb hueColour(double hue, double saturation, double value);

/// One map, `longest` pixels on its longer side unless it is smaller. Strength is scaled by a high percentile of the map,
/// so that a few extreme pixels do not darken it.
Image renderSigned(const Maps& maps, int channel, int longest);
Image renderPositive(const Maps& maps, int channel, int longest);
/// Grey, from the darkest to the lightest percentile.
Image renderGrey(const Maps& maps, int channel);
/// A first-layer map in the manner that suits its filter.
Image renderFilterMap(const Maps& maps, int channel, Response response, int longest);
/// Three maps as red, green and blue. `mean` is InputPlanes::mean.
Image renderEffect(const Maps& maps, const ColourEffect& effect, const std::array<double, PlaneCount>& mean);
/// Hue: the direction across the strongest stripes at each pixel; brightness: how strong they are.
Image renderDirections(const Maps& maps, int firstDirection, int directions);

}  // namespace feature_maps
