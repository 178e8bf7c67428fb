// feature_maps: a photograph through two convolution layers, and a contact sheet of what they saw.
//
//   photograph -> 8 planes -> 120 filters (three convolutions: 3x3, 5x5, 7x7) -> magnitudes -> 24 combinations (one more)
//
// Every convolution runs through the public API of ShiftConv, on a GPU or on the emulated device, and every output
// element is compared with the exact sum.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "common/numerics/float16.hpp"
#include "examples/feature_maps/contact_sheet.hpp"
#include "examples/feature_maps/convolution_runner.hpp"
#include "examples/feature_maps/exit_code.hpp"
#include "examples/feature_maps/filter_bank.hpp"
#include "examples/feature_maps/image_io.hpp"
#include "examples/feature_maps/input_planes.hpp"
#include "examples/feature_maps/map_rendering.hpp"
#include "examples/feature_maps/npy.hpp"
#include "examples/feature_maps/options.hpp"
#include "examples/feature_maps/progress.hpp"
#include "examples/feature_maps/report.hpp"
#include "examples/feature_maps/second_layer.hpp"
#include "examples/feature_maps/verification.hpp"

namespace feature_maps {

namespace {

constexpr std::array<int, 3> kFilterSizes{3, 5, 7};

/// A multiply-add of the exact reference takes about this much of the time of an emulated one.
constexpr double kVerificationCost = 0.1;

Image loadPhotograph(const Options& options) {
  Image photograph = readPng(options.image);
  if (options.crop) photograph = crop(photograph, *options.crop);
  const int longest = std::max(photograph.width, photograph.height);
  int size = options.crop ? longest : kDefaultSize;
  if (options.quick) size = kQuickSize;
  if (options.size) size = *options.size;
  if (size > kLargestSize) {
    throw ImageError(fmt::format("The crop is {} pixels long; at most {} are processed, give a --size.", size, kLargestSize));
  }
  return size == longest ? photograph : resize(photograph, size);
}

/// The filters of one size, as a convolution over the planes.
Layer bankLayer(const FilterBank& bank, int size, const InputPlanes& planes) {
  const std::span<const Filter> filters = bank.ofSize(size);
  Layer layer;
  layer.name = fmt::format("Layer 1, {} filters {}x{}", filters.size(), size, size);
  layer.problem = samePadding(planes.height, planes.width, PlaneCount, static_cast<int>(filters.size()), size);
  layer.problem.output_pixel_pitch = bank.count();  // the banks share one tensor of all maps
  layer.filter = filterTensor(filters);
  return layer;
}

Layer combinationLayer(const SecondLayer& second, const FilterBank& bank, const InputPlanes& planes) {
  Layer layer;
  layer.name = fmt::format("Layer 2, {} combinations of {} maps", second.count(), bank.count());
  layer.problem = samePadding(planes.height, planes.width, bank.count(), second.count(), 3);
  layer.problem.output_type = SHIFTCONV_TYPE_F32;
  layer.problem.has_bias = 1;
  layer.problem.activation = SHIFTCONV_ACTIVATION_RELU;
  layer.filter = second.filterTensor();
  layer.bias = second.bias();
  return layer;
}

int firstMapOf(const FilterBank& bank, int size) { return static_cast<int>(bank.ofSize(size).data() - bank.filters.data()); }

Verification check(const Layer& layer, const std::vector<uint16_t>& input, const void* output, const Options& options,
                   const ConvolutionRunner& runner, Progress& progress) {
  if (!options.verify) return {};
  progress.begin("checking " + layer.name, kVerificationCost * layer.multiplyAdds());
  const Verification result = verify(layer, input, output, runner.fastNumerics());
  progress.end();
  return result;
}

SheetContent sheetContent(const Image& photograph, const InputPlanes& planes, const FilterBank& bank, const Maps& first,
                          const SecondLayer& second, const Maps& combined) {
  SheetContent content;
  content.title = "Feature maps";
  content.subtitle = fmt::format("{} filters, then {} combinations of their maps, {} x {} pixels", bank.count(), second.count(),
                                 photograph.width, photograph.height);
  content.heroes = {
      {"Photograph", photograph},
      {"Directions of stripes: hue, and how strong", renderDirections(combined, second.firstDirection, second.directions)}};
  for (const ColourEffect& effect : bank.effects)
    content.effects.push_back({effect.name, renderEffect(first, effect, planes.mean)});
  for (const Section& section : bank.sections) {
    TileRow& row = content.rows.emplace_back(TileRow{section.heading, {}});
    for (int i = section.firstMap; i < section.firstMap + section.maps; ++i) {
      const Filter& filter = bank.filters[static_cast<size_t>(i)];
      row.tiles.push_back({filter.name, renderFilterMap(first, i, filter.response, kTileWidth)});
    }
  }
  for (const Section& section : second.sections) {
    TileRow& row = content.rows.emplace_back(TileRow{section.heading, {}});
    for (int i = section.firstMap; i < section.firstMap + section.maps; ++i) {
      row.tiles.push_back({second.combinations[static_cast<size_t>(i)].name, renderPositive(combined, i, kTileWidth)});
    }
  }
  return content;
}

int run(const Options& options) {
  const Image photograph = loadPhotograph(options);
  if (options.sheet) requireWritable(options.output);
  if (!options.dump.empty()) requireWritable(options.dump + ".layer1.npy");
  const InputPlanes planes = inputPlanes(photograph);
  const FilterBank bank = makeFilterBank();
  const SecondLayer second = makeSecondLayer(bank);
  const size_t pixels = static_cast<size_t>(planes.width) * static_cast<size_t>(planes.height);

  ConvolutionRunner runner(options);
  fmt::print("Device     {}\nPicture    {}, {} x {} pixels\n", deviceLine(runner, options), options.image, planes.width,
             planes.height);

  std::vector<Layer> banks;
  for (int size : kFilterSizes) banks.push_back(bankLayer(bank, size, planes));
  const Layer combination = combinationLayer(second, bank, planes);
  double multiplyAdds = combination.multiplyAdds();
  for (const Layer& layer : banks) multiplyAdds += layer.multiplyAdds();
  Progress progress(multiplyAdds * (options.verify ? 1 + kVerificationCost : 1));
  std::vector<CheckedLayer> layers;

  // Layer 1: three banks write their maps next to each other into one tensor.
  const shiftconv::Memory input = runner.upload(planes.nhwc);
  shiftconv::Memory maps = runner.poisoned(pixels * static_cast<size_t>(bank.count()) * sizeof(uint16_t));
  for (size_t i = 0; i < banks.size(); ++i) {
    progress.begin(banks[i].name, banks[i].multiplyAdds());
    layers.push_back({runner.run(banks[i], input, maps, firstMapOf(bank, kFilterSizes[i])), {}});
    progress.end();
  }
  std::vector<uint16_t> firstMaps = runner.download<uint16_t>(maps);
  for (size_t i = 0; i < banks.size(); ++i) {
    const uint16_t* const own = firstMaps.data() + firstMapOf(bank, kFilterSizes[i]);
    layers[i].check = check(banks[i], planes.nhwc, own, options, runner, progress);
  }
  Maps first{planes.width, planes.height, bank.count(), {}};
  std::transform(firstMaps.begin(), firstMaps.end(), std::back_inserter(first.values), shiftconv::numerics::decodeF16);

  // Layer 2, over magnitudes.
  std::vector<uint16_t> magnitudes = firstMaps;
  rectify(bank, magnitudes);
  const shiftconv::Memory secondInput = runner.upload(magnitudes);
  shiftconv::Memory combinedMaps = runner.poisoned(pixels * static_cast<size_t>(second.count()) * sizeof(float));
  progress.begin(combination.name, combination.multiplyAdds());
  layers.push_back({runner.run(combination, secondInput, combinedMaps, 0), {}});
  progress.end();
  const Maps combined{planes.width, planes.height, second.count(), runner.download<float>(combinedMaps)};
  layers.back().check = check(combination, magnitudes, combined.values.data(), options, runner, progress);

  if (options.sheet) {
    SheetContent content = sheetContent(photograph, planes, bank, first, second, combined);
    content.footer = footerLines(layers, deviceLine(runner, options));
    writePng(options.output, render(layOut(content)));
  }
  if (!options.dump.empty()) {
    writeNpy(options.dump + ".layer1.npy", firstMaps, {planes.height, planes.width, bank.count()});
    writeNpy(options.dump + ".layer2.npy", combined.values, {planes.height, planes.width, second.count()});
  }

  printLayers(layers);
  printCounters(runner, options.counters);
  return printVerdict(layers, options);
}

}  // namespace

}  // namespace feature_maps

int main(int argc, char** argv) {
  using namespace feature_maps;
  try {
    const CommandLine line = parseCommandLine(argc, argv);
    return line.exitCode ? *line.exitCode : run(line.options);
  } catch (const ImageError& error) {
    fmt::print(stderr, "feature_maps: {}\n", error.what());
    return ExitCode::Usage;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "feature_maps: {}\n", error.what());
    return ExitCode::Usage;
  } catch (const shiftconv::Error& error) {
    fmt::print(stderr, "feature_maps: {}: {}\n", shiftconv_status_string(error.status()), error.what());
    return ExitCode::DeviceFailure;
  } catch (const std::exception& error) {
    fmt::print(stderr, "feature_maps: {}\n", error.what());
    return ExitCode::DeviceFailure;
  }
}
