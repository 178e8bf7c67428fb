// The first layer: 120 named image filters, each defined by a formula, in three banks of one filter size each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/feature_maps/input_planes.hpp"

namespace feature_maps {

/// What a filter answers to, which decides how its weights add up and how its map is shown.
enum class Response : uint8_t {
  BandPass,   ///< weights sum to 0 in every plane: flat regions give 0
  Opponent,   ///< one colour in the centre against another around it: all weights together sum to 0
  Smoothing,  ///< weights >= 0 that sum to 1
  Enhancing,  ///< weights of both signs that sum to 1: a picture with more contrast
};

struct Filter {
  std::string name;  ///< unique; also the label of the map
  Response response = Response::BandPass;
  int size = 0;                 ///< 3, 5 or 7
  std::vector<double> weights;  ///< [size][size][PlaneCount], row 0 on top

  double weight(int y, int x, int plane) const { return weights[static_cast<size_t>((y * size + x) * PlaneCount + plane)]; }
};

/// Twelve maps that are shown in a row under one heading.
struct Section {
  std::string heading;
  int firstMap = 0;
  int maps = 0;
};

/// Three filters (red, green, blue) that together make a picture.
struct ColourEffect {
  enum class Rendering : uint8_t {
    Picture,        ///< values plus the mean of planes Red..Blue
    LinearPicture,  ///< values plus the mean of planes LinearRed..LinearBlue, sRGB-encoded
    Relief,         ///< signed values around middle grey
    Glow,           ///< magnitudes on black
  };
  std::string name;
  int firstMap = 0;  ///< red; green and blue follow
  Rendering rendering = Rendering::Picture;
};

struct FilterBank {
  std::vector<Filter> filters;  ///< ordered by size
  std::vector<Section> sections;
  std::vector<ColourEffect> effects;

  int count() const { return static_cast<int>(filters.size()); }
  /// Index of the filter of that name; throws std::out_of_range naming it.
  int find(const std::string& name) const;
  /// The filters of one size: one convolution. Sizes are 3, 5 and 7.
  std::span<const Filter> ofSize(int size) const;
};

FilterBank makeFilterBank();

/// f16 [filters][size][size][PlaneCount]: the filter tensor of a convolution.
std::vector<uint16_t> filterTensor(std::span<const Filter> filters);

}  // namespace feature_maps
