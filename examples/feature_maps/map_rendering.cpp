#include "examples/feature_maps/map_rendering.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>

namespace feature_maps {

namespace {

struct Stop {
  double position;
  std::array<double, 3> colour;
};

// Zero is a little lighter than the sheet, so that quiet maps still show their frame.
constexpr Stop kCold[] = {{0, {19, 21, 28}}, {0.3, {24, 66, 118}}, {0.65, {44, 158, 196}}, {1, {208, 246, 244}}};
constexpr Stop kWarm[] = {{0, {19, 21, 28}}, {0.3, {122, 44, 34}}, {0.65, {238, 128, 42}}, {1, {255, 240, 190}}};
constexpr Stop kHeat[] = {{0, {15, 13, 27}},     {0.2, {58, 22, 96}},    {0.42, {148, 38, 112}},
                          {0.65, {230, 88, 70}}, {0.84, {252, 180, 84}}, {1, {252, 250, 208}}};

Rgb interpolate(std::span<const Stop> stops, double t) {
  t = std::clamp(t, 0.0, 1.0);
  size_t i = 1;
  while (i + 1 < stops.size() && t > stops[i].position) ++i;
  const Stop &a = stops[i - 1], &b = stops[i];
  const double fraction = (t - a.position) / (b.position - a.position);
  Rgb colour;
  for (size_t c = 0; c < 3; ++c) {
    colour[c] = static_cast<uint8_t>(std::lround(a.colour[c] + fraction * (b.colour[c] - a.colour[c])));
  }
  return colour;
}

/// One channel at the size it will be shown: where several values fall on one pixel, the strongest keeps its place. Means
/// would cancel the light and dark sides of fine detail, which is what most filters answer to.
struct Plate {
  int width = 0, height = 0;
  std::vector<double> values;
};

Plate strongest(const Maps& maps, int channel, int longest) {
  const double ratio = std::max(1.0, static_cast<double>(std::max(maps.width, maps.height)) / longest);
  Plate plate{std::max(1, static_cast<int>(std::lround(maps.width / ratio))),
              std::max(1, static_cast<int>(std::lround(maps.height / ratio))),
              {}};
  plate.values.resize(static_cast<size_t>(plate.width) * static_cast<size_t>(plate.height));
  for (int y = 0; y < maps.height; ++y) {
    for (int x = 0; x < maps.width; ++x) {
      const auto place = static_cast<size_t>(y * plate.height / maps.height) * static_cast<size_t>(plate.width) +
                         static_cast<size_t>(x * plate.width / maps.width);
      const double value = maps.at(y, x, channel);
      if (std::fabs(value) > std::fabs(plate.values[place])) plate.values[place] = value;
    }
  }
  return plate;
}

template <typename Colour>
Image paint(const Plate& plate, Colour colour) {
  Image image(plate.width, plate.height);
  for (int y = 0; y < plate.height; ++y) {
    for (int x = 0; x < plate.width; ++x) {
      image.set(x, y, colour(plate.values[static_cast<size_t>(y) * static_cast<size_t>(plate.width) + static_cast<size_t>(x)]));
    }
  }
  return image;
}

template <typename Colour>
Image paint(const Maps& maps, Colour colour) {
  Image image(maps.width, maps.height);
  for (int y = 0; y < maps.height; ++y) {
    for (int x = 0; x < maps.width; ++x) image.set(x, y, colour(y, x));
  }
  return image;
}

/// The value that `fraction` of `values` do not exceed; at least a tiny positive number, to be divided by.
double percentile(std::vector<double> values, double fraction) {
  const auto place = values.begin() + static_cast<ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

std::vector<double> channelValues(const Maps& maps, int channel) {
  std::vector<double> values;
  for (int y = 0; y < maps.height; ++y) {
    for (int x = 0; x < maps.width; ++x) values.push_back(maps.at(y, x, channel));
  }
  return values;
}

std::vector<double> magnitudes(std::vector<double> values) {
  for (double& value : values) value = std::fabs(value);
  return values;
}

/// A divisor for strengths that is never 0.
double fullScale(const std::vector<double>& strengths) { return std::max(percentile(strengths, 0.99), 1e-9); }

/// Lifts weak answers, which carry most of a picture's detail, but leaves the film grain below 3% dark.
double lifted(double t) { return std::pow(std::clamp((t - 0.03) / 0.97, 0.0, 1.0), 0.75); }

uint8_t byteOf(double value) { return static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0))); }

}  // namespace

Rgb divergingColour(double t) { return t < 0 ? interpolate(kCold, -t) : interpolate(kWarm, t); }

Rgb heatColour(double t) { return interpolate(kHeat, t); }

Rgb hueColour(double hue, double saturation, double value) {
  Rgb colour;
  for (int c = 0; c < 3; ++c) {
    const double phase = hue - c / 3.0;
    // A raised cosine instead of HSV's trapezium: neighbouring hues stay distinguishable and none glares.
    const double wave = 0.5 + 0.5 * std::cos(2 * std::numbers::pi * phase);
    colour[static_cast<size_t>(c)] = byteOf(value * (1 - saturation + saturation * wave));
  }
  return colour;
}

Image renderSigned(const Maps& maps, int channel, int longest) {
  const Plate plate = strongest(maps, channel, longest);
  const double full = fullScale(magnitudes(plate.values));
  return paint(plate, [&](double value) { return divergingColour(std::copysign(lifted(std::fabs(value) / full), value)); });
}

Image renderPositive(const Maps& maps, int channel, int longest) {
  const Plate plate = strongest(maps, channel, longest);
  const double full = fullScale(plate.values);
  return paint(plate, [&](double value) { return heatColour(lifted(value / full)); });
}

Image renderGrey(const Maps& maps, int channel) {
  const std::vector<double> values = channelValues(maps, channel);
  const double dark = percentile(values, 0.005), range = std::max(percentile(values, 0.995) - dark, 1e-9);
  return paint(maps, [&](int y, int x) {
    const uint8_t level = byteOf((maps.at(y, x, channel) - dark) / range);
    return Rgb{level, level, level};
  });
}

Image renderFilterMap(const Maps& maps, int channel, Response response, int longest) {
  const bool isPicture = response == Response::Smoothing || response == Response::Enhancing;
  return isPicture ? renderGrey(maps, channel) : renderSigned(maps, channel, longest);
}

Image renderEffect(const Maps& maps, const ColourEffect& effect, const std::array<double, PlaneCount>& mean) {
  using enum ColourEffect::Rendering;
  double full = 0;
  for (int c = 0; c < 3; ++c) full = std::max(full, fullScale(magnitudes(channelValues(maps, effect.firstMap + c))));
  return paint(maps, [&](int y, int x) {
    Rgb colour;
    for (size_t c = 0; c < 3; ++c) {
      const double value = maps.at(y, x, effect.firstMap + static_cast<int>(c));
      switch (effect.rendering) {
        case Picture:
          colour[c] = byteOf(value + mean[Red + c]);
          break;
        case LinearPicture:
          colour[c] = byteOf(srgbFromLinear(std::max(0.0, value + mean[LinearRed + c])));
          break;
        case Relief:
          colour[c] = byteOf(0.5 + 0.5 * std::copysign(lifted(std::fabs(value) / full), value));
          break;
        case Glow:
          colour[c] = byteOf(lifted(std::fabs(value) / full));
          break;
      }
    }
    return colour;
  });
}

Image renderDirections(const Maps& maps, int firstDirection, int directions) {
  // Directions are axes: 0 and 180 degrees are the same, so angles are doubled before they are averaged.
  std::vector<std::complex<double>> mean;
  std::vector<double> strengths;
  for (int y = 0; y < maps.height; ++y) {
    for (int x = 0; x < maps.width; ++x) {
      std::complex<double> sum = 0;
      for (int d = 0; d < directions; ++d) {
        sum += std::polar<double>(maps.at(y, x, firstDirection + d), 2 * std::numbers::pi * d / directions);
      }
      mean.push_back(sum);
      strengths.push_back(std::abs(sum));
    }
  }
  const double full = fullScale(strengths);
  return paint(maps, [&](int y, int x) {
    const std::complex<double> m = mean[static_cast<size_t>(y) * static_cast<size_t>(maps.width) + static_cast<size_t>(x)];
    return hueColour(std::arg(m) / (2 * std::numbers::pi), 0.85, 0.06 + 0.94 * lifted(std::abs(m) / full));
  });
}

}  // namespace feature_maps
