// The filters are what their names say.
#include "examples/feature_maps/filter_bank.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "common/numerics/float16.hpp"
#include "examples/feature_maps/kernels_2d.hpp"
#include "examples/feature_maps/second_layer.hpp"

namespace feature_maps {
namespace {

constexpr double kExact = 1e-12;

double planeSum(const Filter& filter, int plane) {
  double sum = 0;
  for (int i = 0; i < filter.size * filter.size; ++i) sum += filter.weight(i / filter.size, i % filter.size, plane);
  return sum;
}

double totalSum(const Filter& filter) {
  double sum = 0;
  for (int plane = 0; plane < PlaneCount; ++plane) sum += planeSum(filter, plane);
  return sum;
}

const Filter& filterNamed(const FilterBank& bank, const char* name) { return bank.filters[static_cast<size_t>(bank.find(name))]; }

TEST(FilterBank, HasEnoughFiltersWithUniqueNames) {
  const FilterBank bank = makeFilterBank();
  std::set<std::string> names;
  for (const Filter& filter : bank.filters) names.insert(filter.name);
  EXPECT_EQ(names.size(), bank.filters.size());
  EXPECT_GE(bank.count(), 96);
  EXPECT_GT(bank.count(), 64) << "the second layer must span two chunks of 64 channels";
  EXPECT_THROW(bank.find("no such filter"), std::out_of_range);
}

TEST(FilterBank, BanksAreConvolutionsOfOneSize) {
  const FilterBank bank = makeFilterBank();
  size_t filters = 0;
  for (int size : {3, 5, 7}) {
    const std::span<const Filter> own = bank.ofSize(size);
    EXPECT_FALSE(own.empty());
    EXPECT_EQ(own.size() % 8, 0u) << "output channels come in eights";
    for (const Filter& filter : own) {
      EXPECT_EQ(filter.size, size) << filter.name;
      EXPECT_EQ(filter.weights.size(), static_cast<size_t>(size * size * PlaneCount)) << filter.name;
    }
    EXPECT_EQ(filterTensor(own).size(), own.size() * static_cast<size_t>(size * size * PlaneCount));
    filters += own.size();
  }
  EXPECT_EQ(filters, bank.filters.size());
}

TEST(FilterBank, SectionsAndEffectsCoverEveryMapOnce) {
  const FilterBank bank = makeFilterBank();
  std::vector<int> shown(bank.filters.size());
  for (const Section& section : bank.sections) {
    for (int i = section.firstMap; i < section.firstMap + section.maps; ++i) ++shown.at(static_cast<size_t>(i));
  }
  for (const ColourEffect& effect : bank.effects) {
    for (int i = effect.firstMap; i < effect.firstMap + 3; ++i) ++shown.at(static_cast<size_t>(i));
  }
  for (size_t i = 0; i < shown.size(); ++i) EXPECT_EQ(shown[i], 1) << bank.filters[i].name;
}

TEST(FilterBank, WeightsAddUpAsTheResponseSays) {
  for (const Filter& filter : makeFilterBank().filters) {
    SCOPED_TRACE(filter.name);
    double magnitude = 0;
    for (double weight : filter.weights) magnitude += std::fabs(weight);
    EXPECT_GT(magnitude, 0.5);
    switch (filter.response) {
      case Response::BandPass:
        for (int plane = 0; plane < PlaneCount; ++plane) EXPECT_NEAR(planeSum(filter, plane), 0, kExact);
        break;
      case Response::Opponent:
        EXPECT_NEAR(totalSum(filter), 0, kExact);
        break;
      case Response::Smoothing:
        EXPECT_NEAR(totalSum(filter), 1, kExact);
        for (double weight : filter.weights) EXPECT_GE(weight, 0);
        break;
      case Response::Enhancing:
        EXPECT_NEAR(totalSum(filter), 1, kExact);
        EXPECT_GT(magnitude, 1.1) << "has weights of both signs";
        break;
    }
  }
}

TEST(FilterBank, HalfPrecisionKeepsTheWeights) {
  const FilterBank bank = makeFilterBank();
  const std::vector<uint16_t> tensor = filterTensor(bank.filters);
  size_t i = 0;
  for (const Filter& filter : bank.filters) {
    for (double weight : filter.weights) {
      const double half = shiftconv::numerics::decodeF16(tensor[i++]);
      // Half a unit of 11 significant bits, or of the sub-normals' 2^-24; f32 in between adds next to nothing.
      EXPECT_NEAR(half, weight, std::max(std::fabs(weight) * 0x1.01p-11, 0x1.01p-25)) << filter.name;
    }
  }
  EXPECT_EQ(i, tensor.size());
}

TEST(FilterBank, TextbookMasks) {
  const FilterBank bank = makeFilterBank();
  const Filter& sobel = filterNamed(bank, "Sobel 0°");
  const double expected[9] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
  const double luma[3] = {0.299, 0.587, 0.114};
  for (int i = 0; i < 9; ++i) {
    for (int plane = 0; plane < PlaneCount; ++plane) {
      const double weight = plane < 3 ? expected[i] / 4 * luma[plane] : 0.0;
      EXPECT_NEAR(sobel.weight(i / 3, i % 3, plane), weight, kExact);
    }
  }
  const Filter& laplacian = filterNamed(bank, "Laplacian 4");
  EXPECT_NEAR(laplacian.weight(1, 1, Green), 0.587, kExact);
  EXPECT_NEAR(laplacian.weight(0, 1, Green), -0.587 / 4, kExact);
  EXPECT_NEAR(laplacian.weight(0, 0, Green), 0, kExact);
  const Filter& redGreen = filterNamed(bank, "Red-green 0°");
  EXPECT_NEAR(redGreen.weight(1, 2, Red), 0.25, kExact);
  EXPECT_NEAR(redGreen.weight(1, 2, Green), -0.25, kExact);
}

TEST(Kernels2d, GaborPhasesAreEvenAndOdd) {
  for (int size : {5, 7}) {
    for (double degrees : {0.0, 22.5, 45.0, 90.0, 157.5}) {
      const Mask even = gabor(size, 4, degrees, 0), odd = gabor(size, 4, degrees, 90);
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) {
          EXPECT_NEAR(even.at(y, x), even.at(size - 1 - y, size - 1 - x), kExact);
          EXPECT_NEAR(odd.at(y, x), -odd.at(size - 1 - y, size - 1 - x), kExact);
        }
      }
      EXPECT_GT(even.at(size / 2, size / 2), 0);
    }
  }
}

TEST(Kernels2d, GaborAnswersToItsOwnDirectionAndWavelength) {
  // Energy of the pair on a wave of wavelength 4 that varies along `degrees`.
  const auto energy = [](double filterDegrees, double waveDegrees) {
    const double angle = waveDegrees * std::numbers::pi / 180;
    double even = 0, odd = 0;
    const Mask evenMask = gabor(7, 4, filterDegrees, 0), oddMask = gabor(7, 4, filterDegrees, 90);
    for (int y = 0; y < 7; ++y) {
      for (int x = 0; x < 7; ++x) {
        const double wave = std::cos(2 * std::numbers::pi / 4 * ((x - 3) * std::cos(angle) - (y - 3) * std::sin(angle)) + 0.7);
        even += wave * evenMask.at(y, x);
        odd += wave * oddMask.at(y, x);
      }
    }
    return even * even + odd * odd;
  };
  for (double degrees : {0.0, 45.0, 90.0, 135.0}) EXPECT_GT(energy(degrees, degrees), 5 * energy(degrees, degrees + 90)) << degrees;
}

TEST(Kernels2d, DerivativesPointWhereTheAngleSays) {
  // Angles are counter-clockwise, rows run downwards.
  const Mask right = gaussianDerivative(5, 1, 0), up = gaussianDerivative(5, 1, 90), upRight = gaussianDerivative(5, 1, 45);
  EXPECT_GT(right.at(2, 3), 0);
  EXPECT_NEAR(right.at(1, 2), 0, kExact);
  EXPECT_GT(up.at(1, 2), 0);
  EXPECT_GT(upRight.at(1, 3), 0);
  EXPECT_NEAR(upRight.at(1, 1), 0, kExact);
  const Mask ridge = gaussianSecondDerivative(5, 1, 0);
  EXPECT_GT(ridge.at(2, 2), 0);
  EXPECT_GT(ridge.at(0, 2), ridge.at(2, 0)) << "a ridge at 0 degrees is a vertical line";
}

TEST(Kernels2d, BlursAreSymmetricAndSumToOne) {
  for (const Mask& mask : {box(3), gaussian(5, 1.2), gaussian(7, 1.8), disc(7, 3.2), motion(7, 30)}) {
    EXPECT_NEAR(mask.sum(), 1, kExact);
    for (size_t i = 0; i < mask.values.size(); ++i) EXPECT_NEAR(mask.values[i], mask.values[mask.values.size() - 1 - i], kExact);
  }
  EXPECT_NEAR(gaussian(5, 1.0).at(2, 3) / gaussian(5, 1.0).at(2, 2), std::exp(-0.5), kExact);
  const Mask horizontal = motion(7, 0);
  for (int x = 0; x < 7; ++x) EXPECT_NEAR(horizontal.at(3, x), 1.0 / 7, kExact);
}

TEST(Kernels2d, LaplacianOfGaussianCrossesZeroAtItsRadius) {
  // 1 - r^2 / (2 sigma^2) changes sign at r = sigma * sqrt(2); sigma 1.6 puts that between 2 and 3.
  const Mask mask = laplacianOfGaussian(7, 1.6);
  EXPECT_GT(mask.at(3, 3), 0);
  EXPECT_GT(mask.at(3, 5), 0);
  EXPECT_LT(mask.at(3, 6), 0);
}

TEST(InputPlanes, SrgbAndLinearLightAreInverse) {
  for (double value : {0.0, 0.01, 0.04045, 0.2, 0.5, 1.0}) EXPECT_NEAR(srgbFromLinear(linearFromSrgb(value)), value, 1e-6);
  EXPECT_NEAR(linearFromSrgb(0.5), 0.21404, 1e-5);
}

TEST(InputPlanes, AreCentredOnTheMean) {
  Image image(2, 1);
  image.set(0, 0, {255, 0, 0});
  image.set(1, 0, {0, 0, 0});
  const InputPlanes planes = inputPlanes(image);
  const auto value = [&](int x, int plane) {
    return shiftconv::numerics::decodeF16(planes.nhwc[static_cast<size_t>(x * PlaneCount + plane)]);
  };
  EXPECT_NEAR(planes.mean[Red], 0.5, kExact);
  EXPECT_FLOAT_EQ(value(0, Red), 0.5f);
  EXPECT_FLOAT_EQ(value(1, Red), -0.5f);
  EXPECT_FLOAT_EQ(value(0, Green), 0.0f);
  EXPECT_FLOAT_EQ(value(0, Saturation), 0.5f);
  EXPECT_GT(value(0, LogLuminance), 0.0f);
  EXPECT_FLOAT_EQ(value(0, LogLuminance), -value(1, LogLuminance));
}

TEST(SecondLayer, CombinesNamedMaps) {
  const FilterBank bank = makeFilterBank();
  const SecondLayer layer = makeSecondLayer(bank);
  EXPECT_EQ(layer.count() % 8, 0);
  std::set<std::string> names;
  for (const Combination& combination : layer.combinations) {
    names.insert(combination.name);
    EXPECT_EQ(combination.weights.size(), static_cast<size_t>(9 * bank.count()));
  }
  EXPECT_EQ(names.size(), layer.combinations.size());

  const Combination& stripes = layer.combinations[static_cast<size_t>(layer.firstDirection)];
  EXPECT_EQ(stripes.name, "Stripes 0°");
  for (int map = 0; map < bank.count(); ++map) {
    double sum = 0;
    for (int tap = 0; tap < 9; ++tap) sum += stripes.weights[static_cast<size_t>(tap * bank.count() + map)];
    const std::string& name = bank.filters[static_cast<size_t>(map)].name;
    EXPECT_NEAR(sum, name == "λ4 0° even" || name == "λ4 0° odd" ? 1 : 0, kExact) << name;
  }
}

TEST(SecondLayer, UsesMapsOfBothChannelChunks) {
  const FilterBank bank = makeFilterBank();
  const SecondLayer layer = makeSecondLayer(bank);
  int low = 0, high = 0;
  for (const Combination& combination : layer.combinations) {
    for (size_t i = 0; i < combination.weights.size(); ++i) {
      if (combination.weights[i] != 0) ++(i % static_cast<size_t>(bank.count()) < 64 ? low : high);
    }
  }
  EXPECT_GT(low, 100);
  EXPECT_GT(high, 100);
}

TEST(SecondLayer, RectifyTakesMagnitudesOfBandPassMapsOnly) {
  const FilterBank bank = makeFilterBank();
  const uint16_t minusOne = shiftconv::numerics::encodeF16(-1.0f);
  std::vector<uint16_t> maps(static_cast<size_t>(bank.count()), minusOne);
  rectify(bank, maps);
  EXPECT_EQ(shiftconv::numerics::decodeF16(maps[static_cast<size_t>(bank.find("Sobel 0°"))]), 1.0f);
  EXPECT_EQ(shiftconv::numerics::decodeF16(maps[static_cast<size_t>(bank.find("Red on green"))]), 1.0f);
  EXPECT_EQ(shiftconv::numerics::decodeF16(maps[static_cast<size_t>(bank.find("Box blur"))]), -1.0f);
}

}  // namespace
}  // namespace feature_maps
