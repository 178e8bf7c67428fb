#include "examples/feature_maps/filter_bank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "common/numerics/float16.hpp"
#include "examples/feature_maps/kernels_2d.hpp"

namespace feature_maps {

namespace {

/// How much of each plane a filter looks at.
using Projection = std::array<double, PlaneCount>;

Projection plane(int index) {
  Projection projection{};
  projection[static_cast<size_t>(index)] = 1;
  return projection;
}

const Projection kLuma{0.299, 0.587, 0.114};  // Rec. 601, on the encoded planes
const Projection kRedGreen{0.5, -0.5, 0};
const Projection kBlueYellow{-0.25, -0.25, 0.5};
const Projection kSaturation = plane(Saturation);
const Projection kLogLuminance = plane(LogLuminance);

std::vector<double> outer(const Mask& mask, const Projection& projection) {
  std::vector<double> weights;
  for (double value : mask.values) {
    for (double part : projection) weights.push_back(value * part);
  }
  return weights;
}

class Builder {
 public:
  void section(const std::string& heading) { bank_.sections.push_back({heading, bank_.count(), 0}); }

  void add(const std::string& name, const Mask& mask, const Projection& projection = kLuma,
           Response response = Response::BandPass) {
    bank_.filters.push_back({name, response, mask.size, outer(mask, projection)});
    ++bank_.sections.back().maps;
  }
  /// One colour in the centre, another around it.
  void addOpponent(const std::string& name, int size, const Projection& centre, const Projection& surround) {
    std::vector<double> weights = outer(gaussian(size, 0.7), centre);
    const std::vector<double> around = outer(gaussian(size, 1.6), surround);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] -= around[i];
    bank_.filters.push_back({name, Response::Opponent, size, std::move(weights)});
    ++bank_.sections.back().maps;
  }
  /// The same mask on three planes from `firstPlane`.
  void addEffect(const std::string& name, const Mask& mask, Response response, ColourEffect::Rendering rendering,
                 int firstPlane = Red) {
    bank_.effects.push_back({name, bank_.count(), rendering});
    const char* const colours[] = {"red", "green", "blue"};
    for (int c = 0; c < 3; ++c) {
      bank_.filters.push_back({fmt::format("{}, {}", name, colours[c]), response, mask.size, outer(mask, plane(firstPlane + c))});
    }
  }
  FilterBank take() { return std::move(bank_); }

 private:
  FilterBank bank_;
};

void addBank3x3(Builder& bank) {
  const Mask sobel0(3, {-1, 0, 1, -2, 0, 2, -1, 0, 1}), sobel90(3, {1, 2, 1, 0, 0, 0, -1, -2, -1});
  bank.section("Gradients of light and of colour, 3x3");
  bank.add("Sobel 0°", balanced(sobel0));
  bank.add("Sobel 45°", balanced(Mask(3, {0, 1, 2, -1, 0, 1, -2, -1, 0})));
  bank.add("Sobel 90°", balanced(sobel90));
  bank.add("Sobel 135°", balanced(Mask(3, {2, 1, 0, 1, 0, -1, 0, -1, -2})));
  bank.add("Scharr 0°", balanced(Mask(3, {-3, 0, 3, -10, 0, 10, -3, 0, 3})));
  bank.add("Scharr 90°", balanced(Mask(3, {3, 10, 3, 0, 0, 0, -3, -10, -3})));
  bank.add("Prewitt 0°", balanced(Mask(3, {-1, 0, 1, -1, 0, 1, -1, 0, 1})));
  bank.add("Prewitt 90°", balanced(Mask(3, {1, 1, 1, 0, 0, 0, -1, -1, -1})));
  bank.add("Red-green 0°", balanced(sobel0), kRedGreen);
  bank.add("Red-green 90°", balanced(sobel90), kRedGreen);
  bank.add("Blue-yellow 0°", balanced(sobel0), kBlueYellow);
  bank.add("Blue-yellow 90°", balanced(sobel90), kBlueYellow);

  bank.section("Points, lines and corners, 3x3");
  bank.add("Laplacian 4", balanced(Mask(3, {0, -1, 0, -1, 4, -1, 0, -1, 0})));
  bank.add("Laplacian 8", balanced(Mask(3, {-1, -1, -1, -1, 8, -1, -1, -1, -1})));
  bank.add("Line 0°", balanced(Mask(3, {-1, 2, -1, -1, 2, -1, -1, 2, -1})));
  bank.add("Line 45°", balanced(Mask(3, {2, -1, -1, -1, 2, -1, -1, -1, 2})));
  bank.add("Line 90°", balanced(Mask(3, {-1, -1, -1, 2, 2, 2, -1, -1, -1})));
  bank.add("Line 135°", balanced(Mask(3, {-1, -1, 2, -1, 2, -1, 2, -1, -1})));
  bank.add("Corner top left", balanced(Mask(3, {-4, -4, -4, -4, 5, 5, -4, 5, 5})));
  bank.add("Corner top right", balanced(Mask(3, {-4, -4, -4, 5, 5, -4, 5, 5, -4})));
  bank.add("Corner low right", balanced(Mask(3, {5, 5, -4, 5, 5, -4, -4, -4, -4})));
  bank.add("Corner low left", balanced(Mask(3, {-4, 5, 5, -4, 5, 5, -4, -4, -4})));
  bank.add("Saddle", balanced(Mask(3, {1, 0, -1, 0, 0, 0, -1, 0, 1})));
  bank.add("Box blur", box(3), kLuma, Response::Smoothing);
}

void addBank5x5(Builder& bank) {
  bank.section("Oriented derivatives of a Gaussian, 5x5");
  for (int degrees = 0; degrees < 180; degrees += 30)
    bank.add(fmt::format("Edge {}°", degrees), gaussianDerivative(5, 1.0, degrees));
  for (int degrees = 0; degrees < 180; degrees += 30) {
    bank.add(fmt::format("Ridge {}°", degrees), gaussianSecondDerivative(5, 1.0, degrees));
  }

  bank.section("Laws' texture masks and small blobs, 5x5");
  const std::array<double, 5> level{1, 4, 6, 4, 1}, edge{-1, -2, 0, 2, 1}, spot{-1, 0, 2, 0, -1}, wave{-1, 2, 0, -2, 1},
      ripple{1, -4, 6, -4, 1};
  bank.add("Laws L5E5", balanced(separable(level, edge)));
  bank.add("Laws E5L5", balanced(separable(edge, level)));
  bank.add("Laws E5E5", balanced(separable(edge, edge)));
  bank.add("Laws L5S5", balanced(separable(level, spot)));
  bank.add("Laws S5L5", balanced(separable(spot, level)));
  bank.add("Laws S5S5", balanced(separable(spot, spot)));
  bank.add("Laws W5W5", balanced(separable(wave, wave)));
  bank.add("Laws R5R5", balanced(separable(ripple, ripple)));
  bank.add("LoG σ0.7", laplacianOfGaussian(5, 0.7));
  bank.add("LoG σ1.0", laplacianOfGaussian(5, 1.0));
  bank.add("DoG 0.6-1.2", differenceOfGaussians(5, 0.6, 1.2));
  bank.add("LoG of log light", laplacianOfGaussian(5, 1.0), kLogLuminance);

  bank.section("Fine Gabor pairs and colour opponents, 5x5");
  for (int degrees = 0; degrees < 180; degrees += 45) {
    bank.add(fmt::format("λ3 {}° even", degrees), gabor(5, 3, degrees, 0));
    bank.add(fmt::format("λ3 {}° odd", degrees), gabor(5, 3, degrees, 90));
  }
  const Projection yellow{0.5, 0.5, 0};
  bank.addOpponent("Red on green", 5, plane(Red), plane(Green));
  bank.addOpponent("Green on red", 5, plane(Green), plane(Red));
  bank.addOpponent("Blue on yellow", 5, plane(Blue), yellow);
  bank.addOpponent("Yellow on blue", 5, yellow, plane(Blue));

  using enum ColourEffect::Rendering;
  bank.addEffect("Sharpen", identity(5) + 1.5 * (identity(5) - gaussian(5, 1.0)), Response::Enhancing, Picture);
  bank.addEffect("Emboss", identity(5) + 2.0 * gaussianDerivative(5, 0.8, 315), Response::Enhancing, Picture);
  bank.addEffect("Gaussian blur", gaussian(5, 1.2), Response::Smoothing, LinearPicture, LinearRed);
  bank.addEffect("Colour contours", laplacianOfGaussian(5, 0.9), Response::BandPass, Glow);
}

void addBank7x7(Builder& bank) {
  bank.section("Gabor pairs in eight directions, even, 7x7");
  // Tenths of degrees: the directions are 22.5 apart, labels are rounded.
  for (int tenths = 0; tenths < 1800; tenths += 225)
    bank.add(fmt::format("λ4 {}° even", tenths / 10), gabor(7, 4, tenths / 10.0, 0));
  for (int degrees = 0; degrees < 180; degrees += 45) bank.add(fmt::format("λ6 {}° even", degrees), gabor(7, 6, degrees, 0));
  bank.section("Gabor pairs in eight directions, odd, 7x7");
  for (int tenths = 0; tenths < 1800; tenths += 225)
    bank.add(fmt::format("λ4 {}° odd", tenths / 10), gabor(7, 4, tenths / 10.0, 90));
  for (int degrees = 0; degrees < 180; degrees += 45) bank.add(fmt::format("λ6 {}° odd", degrees), gabor(7, 6, degrees, 90));

  bank.section("Blobs, rings, colour and scale, 7x7");
  bank.add("LoG σ1.2", laplacianOfGaussian(7, 1.2));
  bank.add("LoG σ1.6", laplacianOfGaussian(7, 1.6));
  bank.add("DoG 0.8-1.6", differenceOfGaussians(7, 0.8, 1.6));
  bank.add("DoG 1.2-2.4", differenceOfGaussians(7, 1.2, 2.4));
  bank.add("Ring r2", ring(7, 2.0));
  bank.add("Ring r3", ring(7, 3.0));
  bank.add("Red-green LoG", laplacianOfGaussian(7, 1.5), kRedGreen);
  bank.add("Blue-yellow LoG", laplacianOfGaussian(7, 1.5), kBlueYellow);
  bank.add("Saturation 0°", gaussianDerivative(7, 1.4, 0), kSaturation);
  bank.add("Saturation 90°", gaussianDerivative(7, 1.4, 90), kSaturation);
  bank.add("Log light LoG", laplacianOfGaussian(7, 1.6), kLogLuminance);
  bank.add("Gaussian blur", gaussian(7, 1.8), kLuma, Response::Smoothing);

  using enum ColourEffect::Rendering;
  bank.addEffect("Motion blur", motion(7, 30), Response::Smoothing, LinearPicture, LinearRed);
  bank.addEffect("Out of focus", disc(7, 3.2), Response::Smoothing, LinearPicture, LinearRed);
  bank.addEffect("Clarity", identity(7) + 1.2 * (identity(7) - gaussian(7, 2.0)), Response::Enhancing, Picture);
  bank.addEffect("Relief", gaussianDerivative(7, 1.2, 315), Response::BandPass, Relief);
}

}  // namespace

int FilterBank::find(const std::string& name) const {
  const auto found = std::find_if(filters.begin(), filters.end(), [&](const Filter& filter) { return filter.name == name; });
  if (found == filters.end()) throw std::out_of_range(fmt::format("There is no filter named '{}'.", name));
  return static_cast<int>(found - filters.begin());
}

std::span<const Filter> FilterBank::ofSize(int size) const {
  const auto isSize = [size](const Filter& filter) { return filter.size == size; };
  const auto first = std::find_if(filters.begin(), filters.end(), isSize);
  return {first, std::find_if_not(first, filters.end(), isSize)};
}

FilterBank makeFilterBank() {
  Builder bank;
  addBank3x3(bank);
  addBank5x5(bank);
  addBank7x7(bank);
  return bank.take();
}

std::vector<uint16_t> filterTensor(std::span<const Filter> filters) {
  std::vector<uint16_t> tensor;
  for (const Filter& filter : filters) {
    for (double weight : filter.weights) tensor.push_back(shiftconv::numerics::encodeF16(static_cast<float>(weight)));
  }
  return tensor;
}

}  // namespace feature_maps
