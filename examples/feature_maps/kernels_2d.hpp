// Spatial filter masks by formula. x grows to the right, y downwards; angles are counter-clockwise in degrees and
// give the direction across the stripes or edges that the mask answers to.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace feature_maps {

/// Square mask, [size][size], row 0 on top.
struct Mask {
  int size = 0;
  std::vector<double> values;

  Mask() = default;
  explicit Mask(int maskSize) : size(maskSize), values(static_cast<size_t>(maskSize * maskSize)) {}
  Mask(int maskSize, std::initializer_list<double> numbers) : size(maskSize), values(numbers) {}
  double& at(int y, int x) { return values[static_cast<size_t>(y * size + x)]; }
  double at(int y, int x) const { return values[static_cast<size_t>(y * size + x)]; }
  double sum() const;
};

Mask operator+(const Mask& a, const Mask& b);
Mask operator-(const Mask& a, const Mask& b);
Mask operator*(double factor, const Mask& mask);

/// 1 in the centre.
Mask identity(int size);
/// Sums to 1.
Mask box(int size);
Mask gaussian(int size, double sigma);
/// Filled circle of that radius, edges weighted by area; sums to 1. A lens out of focus.
Mask disc(int size, double radius);
/// Straight line through the centre; sums to 1. A camera that moves in that direction.
Mask motion(int size, double degrees);

/// The masks below sum to 0; balanced() gives them positive weights that sum to 1 and negative ones that sum to -1.
Mask balanced(const Mask& mask);
/// First and second derivative of a Gaussian along a direction.
Mask gaussianDerivative(int size, double sigma, double degrees);
Mask gaussianSecondDerivative(int size, double sigma, double degrees);
/// Negative Laplacian of a Gaussian: positive centre.
Mask laplacianOfGaussian(int size, double sigma);
Mask differenceOfGaussians(int size, double centreSigma, double surroundSigma);
/// Bright circle of that radius on a dark ground.
Mask ring(int size, double radius);
/// Gaussian-windowed wave; phase 0 is even (a stripe), 90 is odd (an edge).
Mask gabor(int size, double wavelength, double degrees, double phaseDegrees);
/// Outer product of two one-dimensional masks. Laws' texture masks are made so.
Mask separable(const std::array<double, 5>& vertical, const std::array<double, 5>& horizontal);

}  // namespace feature_maps
