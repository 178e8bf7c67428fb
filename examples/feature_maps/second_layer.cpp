#include "examples/feature_maps/second_layer.hpp"

#include <fmt/format.h>

#include "common/numerics/float16.hpp"
#include "examples/feature_maps/kernels_2d.hpp"

namespace feature_maps {

namespace {

class Builder {
 public:
  explicit Builder(const FilterBank& bank) : bank_(bank) {}

  void section(const std::string& heading) { layer_.sections.push_back({heading, layer_.count(), 0}); }
  /// Starts an output channel; sum() adds to it.
  Builder& channel(const std::string& name, double bias = 0) {
    layer_.combinations.push_back({name, bias, std::vector<double>(static_cast<size_t>(9 * bank_.count()))});
    ++layer_.sections.back().maps;
    return *this;
  }
  Builder& sum(const Mask& mask, double factor, const std::vector<std::string>& maps) {
    for (const std::string& map : maps) {
      const auto index = static_cast<size_t>(bank_.find(map));
      for (size_t tap = 0; tap < 9; ++tap) {
        layer_.combinations.back().weights[tap * static_cast<size_t>(bank_.count()) + index] += factor * mask.values[tap];
      }
    }
    return *this;
  }
  void markDirections(int count) {
    layer_.firstDirection = layer_.count();
    layer_.directions = count;
  }
  SecondLayer take() { return std::move(layer_); }

 private:
  const FilterBank& bank_;
  SecondLayer layer_;
};

/// "λ4 45° even" and "λ4 45° odd" for every direction.
std::vector<std::string> gaborPairs(int wavelength, const std::vector<int>& directions) {
  std::vector<std::string> names;
  for (int degrees : directions) {
    names.push_back(fmt::format("λ{} {}° even", wavelength, degrees));
    names.push_back(fmt::format("λ{} {}° odd", wavelength, degrees));
  }
  return names;
}

}  // namespace

SecondLayer makeSecondLayer(const FilterBank& bank) {
  const Mask pool = gaussian(3, 1.0), here = identity(3);
  const Mask acrossX(3, {-1, 0, 1, -2, 0, 2, -1, 0, 1}), acrossY(3, {-1, -2, -1, 0, 0, 0, 1, 2, 1});
  const std::vector<std::string> sobel{"Sobel 0°", "Sobel 45°", "Sobel 90°", "Sobel 135°"};
  const std::vector<std::string> lines{"Line 0°", "Line 45°", "Line 90°", "Line 135°"};
  const std::vector<std::string> ridges{"Ridge 0°", "Ridge 30°", "Ridge 60°", "Ridge 90°", "Ridge 120°", "Ridge 150°"};
  const std::vector<std::string> edges{"Edge 0°", "Edge 30°", "Edge 60°", "Edge 90°", "Edge 120°", "Edge 150°"};
  const std::vector<std::string> corners{"Corner top left", "Corner top right", "Corner low right", "Corner low left"};
  const std::vector<std::string> blobs{"LoG σ0.7", "LoG σ1.0", "DoG 0.6-1.2", "LoG σ1.2", "LoG σ1.6", "DoG 0.8-1.6"};
  const std::vector<std::string> texture{"Laws E5E5", "Laws S5S5", "Laws W5W5", "Laws R5R5"};
  const std::vector<std::string> colourEdges{"Red-green 0°", "Red-green 90°", "Blue-yellow 0°", "Blue-yellow 90°"};
  const std::vector<std::string> saturationEdges{"Saturation 0°", "Saturation 90°"};
  const std::vector<std::string> opponents{"Red on green", "Green on red", "Blue on yellow", "Yellow on blue"};
  const std::vector<std::string> fine = gaborPairs(3, {0, 45, 90, 135}), coarse = gaborPairs(6, {0, 45, 90, 135});

  Builder layer(bank);
  layer.section("Orientation energy: Gabor pairs rectified and pooled");
  layer.markDirections(8);
  for (int degrees : {0, 22, 45, 67, 90, 112, 135, 157}) {
    layer.channel(fmt::format("Stripes {}°", degrees)).sum(pool, 1, gaborPairs(4, {degrees}));
  }
  for (int degrees : {0, 45, 90, 135}) {
    layer.channel(fmt::format("Broad {}°", degrees)).sum(pool, 1, gaborPairs(6, {degrees}));
  }

  layer.section("Combinations of maps: structure, texture, colour");
  layer.channel("Edge strength").sum(pool, 0.25, sobel).sum(pool, 0.25, edges);
  // A straight edge excites two neighbouring corner masks as much as the Sobel pair; a corner excites one mask more.
  layer.channel("Corner strength").sum(pool, 1, corners).sum(pool, -0.9, {"Sobel 0°", "Sobel 90°"}).sum(pool, 1, {"Saddle"});
  layer.channel("Line strength").sum(pool, 0.5, lines).sum(pool, 0.5, ridges).sum(pool, -0.5, sobel);
  layer.channel("Blob strength").sum(pool, 0.5, blobs).sum(pool, 0.5, {"Ring r2", "Ring r3"});
  layer.channel("Fine texture").sum(pool, 1, texture).sum(pool, 0.25, fine);
  layer.channel("Fine over coarse").sum(pool, 1.5, fine).sum(pool, -0.5, coarse);
  layer.channel("Colour edges").sum(pool, 1, colourEdges).sum(pool, 0.5, saturationEdges);
  layer.channel("Colour, not light").sum(pool, 2, colourEdges).sum(pool, -0.5, {"Sobel 0°", "Sobel 90°"});
  layer.channel("Texture step 0°").sum(acrossX, 0.25, texture).sum(acrossX, 0.1, fine);
  layer.channel("Texture step 90°").sum(acrossY, -0.25, texture).sum(acrossY, -0.1, fine);
  layer.channel("Warm surfaces", 0.1)
      .sum(pool, 1, {"Gaussian blur, red"})
      .sum(pool, -1, {"Gaussian blur, blue"})
      .sum(pool, 0.5, opponents)
      .sum(pool, -0.5, edges);
  layer.channel("Smooth and bright", 0.5)
      .sum(here, 1, {"Gaussian blur"})
      .sum(pool, -1, edges)
      .sum(pool, -0.5, {"LoG of log light"});
  return layer.take();
}

std::vector<uint16_t> SecondLayer::filterTensor() const {
  std::vector<uint16_t> tensor;
  for (const Combination& combination : combinations) {
    for (double weight : combination.weights) tensor.push_back(shiftconv::numerics::encodeF16(static_cast<float>(weight)));
  }
  return tensor;
}

std::vector<float> SecondLayer::bias() const {
  std::vector<float> values;
  for (const Combination& combination : combinations) values.push_back(static_cast<float>(combination.bias));
  return values;
}

void rectify(const FilterBank& bank, std::vector<uint16_t>& maps) {
  const auto channels = static_cast<size_t>(bank.count());
  for (size_t i = 0; i < maps.size(); ++i) {
    const Response response = bank.filters[i % channels].response;
    if (response == Response::BandPass || response == Response::Opponent) maps[i] &= 0x7fffu;
  }
}

}  // namespace feature_maps
