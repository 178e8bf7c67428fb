#include "examples/feature_maps/kernels_2d.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

namespace feature_maps {

namespace {

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

/// Samples f(x, y) at pixel centres, (0, 0) being the middle of the mask.
Mask sample(int size, const std::function<double(double, double)>& f) {
  Mask mask(size);
  const int middle = size / 2;
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) mask.at(y, x) = f(x - middle, y - middle);
  }
  return mask;
}

Mask normalised(const Mask& mask) { return (1 / mask.sum()) * mask; }

/// Takes the mean out under the mask's own window, so that sampling and cutting off leave no answer to flat regions.
Mask withoutMean(const Mask& mask, const Mask& window) { return mask - (mask.sum() / window.sum()) * window; }

/// Mean of f over a grid of 8 x 8 points in each pixel: coverage of a shape with a hard edge.
Mask coverage(int size, const std::function<bool(double, double)>& inside) {
  return sample(size, [&](double x, double y) {
    int hits = 0;
    for (int i = 0; i < 64; ++i) hits += inside(x + (i % 8 - 3.5) / 8, y + (i / 8 - 3.5) / 8);
    return hits / 64.0;
  });
}

}  // namespace

double Mask::sum() const { return std::accumulate(values.begin(), values.end(), 0.0); }

Mask operator+(const Mask& a, const Mask& b) {
  Mask result(a);
  std::transform(a.values.begin(), a.values.end(), b.values.begin(), result.values.begin(), std::plus<>());
  return result;
}

Mask operator-(const Mask& a, const Mask& b) { return a + (-1.0) * b; }

Mask operator*(double factor, const Mask& mask) {
  Mask result(mask);
  for (double& value : result.values) value *= factor;
  return result;
}

Mask identity(int size) {
  return sample(size, [](double x, double y) { return x == 0 && y == 0 ? 1.0 : 0.0; });
}

Mask box(int size) {
  return normalised(sample(size, [](double, double) { return 1.0; }));
}

Mask gaussian(int size, double sigma) {
  return normalised(sample(size, [=](double x, double y) { return std::exp(-(x * x + y * y) / (2 * sigma * sigma)); }));
}

Mask disc(int size, double radius) {
  return normalised(coverage(size, [=](double x, double y) { return x * x + y * y <= radius * radius; }));
}

Mask motion(int size, double degrees) {
  const double cosine = std::cos(radians(degrees)), sine = -std::sin(radians(degrees)), half = size / 2.0;
  return normalised(coverage(size, [=](double x, double y) {
    return std::fabs(x * cosine + y * sine) <= half && std::fabs(y * cosine - x * sine) <= 0.5;
  }));
}

Mask balanced(const Mask& mask) {
  double magnitude = 0;
  for (double value : mask.values) magnitude += std::fabs(value);
  return (2 / magnitude) * mask;
}

Mask gaussianDerivative(int size, double sigma, double degrees) {
  const double cosine = std::cos(radians(degrees)), sine = -std::sin(radians(degrees));
  return balanced(
      sample(size, [=](double x, double y) { return (x * cosine + y * sine) * std::exp(-(x * x + y * y) / (2 * sigma * sigma)); }));
}

Mask gaussianSecondDerivative(int size, double sigma, double degrees) {
  const double cosine = std::cos(radians(degrees)), sine = -std::sin(radians(degrees));
  const Mask raw = sample(size, [=](double x, double y) {
    const double u = x * cosine + y * sine;
    return (1 - u * u / (sigma * sigma)) * std::exp(-(x * x + y * y) / (2 * sigma * sigma));
  });
  return balanced(withoutMean(raw, gaussian(size, sigma)));
}

Mask laplacianOfGaussian(int size, double sigma) {
  const Mask raw = sample(size, [=](double x, double y) {
    const double r2 = (x * x + y * y) / (2 * sigma * sigma);
    return (1 - r2) * std::exp(-r2);
  });
  return balanced(withoutMean(raw, gaussian(size, sigma)));
}

Mask differenceOfGaussians(int size, double centreSigma, double surroundSigma) {
  return balanced(gaussian(size, centreSigma) - gaussian(size, surroundSigma));
}

Mask ring(int size, double radius) {
  const Mask bright = sample(size, [=](double x, double y) {
    const double distance = std::hypot(x, y) - radius;
    return std::exp(-2 * distance * distance);
  });
  return balanced(withoutMean(bright, gaussian(size, radius)));
}

Mask gabor(int size, double wavelength, double degrees, double phaseDegrees) {
  const double cosine = std::cos(radians(degrees)), sine = -std::sin(radians(degrees)), phase = radians(phaseDegrees);
  // One octave of bandwidth needs sigma of about 0.56 wavelengths; the window must also fade out inside the mask.
  const double sigma = std::min(0.5 * wavelength, size / 3.5);
  const Mask raw = sample(size, [=](double x, double y) {
    const double along = x * cosine + y * sine;
    return std::exp(-(x * x + y * y) / (2 * sigma * sigma)) * std::cos(2 * std::numbers::pi * along / wavelength - phase);
  });
  return balanced(withoutMean(raw, gaussian(size, sigma)));
}

Mask separable(const std::array<double, 5>& vertical, const std::array<double, 5>& horizontal) {
  return sample(5,
                [&](double x, double y) { return vertical[static_cast<size_t>(y + 2)] * horizontal[static_cast<size_t>(x + 2)]; });
}

}  // namespace feature_maps
