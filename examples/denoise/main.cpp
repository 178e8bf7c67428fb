// denoise: a photograph, noise, and a network of ten convolutions that takes it out again, in f16, mxfp8 and nvfp4.
//
// Block-scaled layers pass elements and scale factors from one to the next on the device. Layers whose form has no block scales
// stay f16 and are named.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "examples/denoise/device_network.hpp"
#include "examples/denoise/network.hpp"
#include "examples/denoise/options.hpp"
#include "examples/denoise/picture.hpp"
#include "examples/denoise/sheet.hpp"
#include "examples/feature_maps/exit_code.hpp"
#include "examples/feature_maps/image_io.hpp"
#include "examples/feature_maps/open_device.hpp"

namespace denoise {
namespace {

feature_maps::Image loadPicture(const Options& options, bool emulated) {
  feature_maps::Image picture = feature_maps::readPng(options.image);
  std::optional<feature_maps::Rectangle> part = options.crop;
  // Of other pictures as much of the default as there is.
  if (!part && emulated)
    part = feature_maps::Rectangle{std::min(kEmulatedCrop.width, picture.width), std::min(kEmulatedCrop.height, picture.height),
                                   std::clamp(picture.width - kEmulatedCrop.width, 0, kEmulatedCrop.x),
                                   std::clamp(picture.height - kEmulatedCrop.height, 0, kEmulatedCrop.y)};
  if (part) picture = feature_maps::crop(picture, *part);
  if (picture.width % 2 != 0 || picture.height % 2 != 0)
    throw feature_maps::ImageError(
        fmt::format("The picture has {} x {} pixels, but the network halves and doubles maps: give a --crop "
                    "of even width and height.",
                    picture.width, picture.height));
  return picture;
}

void printLayers(const DeviceNetwork& network) {
  for (size_t i = 0; i < kLayerCount; ++i) {
    const LayerReport& report = network.layers()[i];
    fmt::print("  {:>2}  {:25}  {:14}  {:12}  {}\n", i + 1, kLayers[i].name, report.form, report.algorithm,
               report.staysF16.empty() ? "" : fmt::format("stays f16: {}", report.staysF16));
  }
}

int run(const Options& options) {
  if (options.sheet) feature_maps::requireWritable(options.output);
  const Network weights = readNetwork(options.weights);
  shiftconv::Device device = feature_maps::openDevice(options.device);
  const shiftconv::DeviceProperties properties = device.properties();
  const feature_maps::Image picture = loadPicture(options, properties.emulated());
  const Maps clean = mapsOf(picture), noisy = withNoise(clean, options.sigma, options.seed);
  fmt::print("Device   {}\nPicture  {}, {} x {} pixels, noise of standard deviation {} (seed {})\n\n", properties.name,
             options.image, picture.width, picture.height, options.sigma, options.seed);

  std::vector<LabelledPicture> pictures{{"photograph", picture}};
  nlohmann::ordered_json figures{{"device", properties.name}, {"width", picture.width}, {"height", picture.height},
                                 {"sigma", options.sigma},    {"seed", options.seed},   {"runs", options.timedRuns}};
  const auto report = [&](const std::string& name, const Maps& maps, const std::string& how) {
    const double ratio = psnr(maps, clean);
    figures[name]["psnr"] = ratio;
    fmt::print("{:6}  {:6.2f} dB{}{}\n", name, ratio, how.empty() ? "" : "  ", how);
    pictures.push_back({fmt::format("{} {:.2f} dB", name, ratio), imageOf(maps)});
  };
  report("noisy", noisy, "");
  report("f32", denoisedInF32(weights, noisy), "on the host");
  for (const Precision& precision : kPrecisions) {
    if (!options.precisions.empty() &&
        std::find(options.precisions.begin(), options.precisions.end(), precision.name) == options.precisions.end())
      continue;
    DeviceNetwork network(device, weights, precision, clean.height, clean.width);
    if (network.inFormat() == 0) {
      fmt::print("{:6}  left out: {} multiplies no layer of this network with its block scales\n", precision.name, properties.name);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    const Maps denoised = network.run(noisy);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report(precision.name, denoised,
           fmt::format("{} of {} layers multiply {}; {:.3f} s with copies, first run", network.inFormat(), kLayerCount,
                       precision.name, seconds));
    printLayers(network);
    if (options.timedRuns > 0) {
      const double microseconds = network.timeOfARun(options.timedRuns) * 1e6;
      figures[precision.name]["us"] = microseconds;
      fmt::print("  {:.1f} us a picture: average of {} runs, one behind the other, without copies\n", microseconds,
                 options.timedRuns);
    }
  }
  if (!options.json.empty() && !(std::ofstream(options.json) << figures.dump(1) << '\n'))
    throw std::invalid_argument(fmt::format("--json: {} cannot be written.", options.json));
  if (options.sheet) {
    feature_maps::writePng(options.output, sheetOf(pictures));
    fmt::print("\nSheet    {}\n", options.output);
  }
  return feature_maps::ExitCode::Success;
}

}  // namespace
}  // namespace denoise

int main(int argc, char** argv) {
  using feature_maps::ExitCode;
  try {
    const denoise::CommandLine line = denoise::parseCommandLine(argc, argv);
    return line.exitCode ? *line.exitCode : denoise::run(line.options);
  } catch (const feature_maps::ImageError& error) {
    fmt::print(stderr, "denoise: {}\n", error.what());
    return ExitCode::Usage;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "denoise: {}\n", error.what());
    return ExitCode::Usage;
  } catch (const shiftconv::Error& error) {
    fmt::print(stderr, "denoise: {}: {}\n", shiftconv_status_string(error.status()), error.what());
    return ExitCode::DeviceFailure;
  } catch (const std::exception& error) {
    fmt::print(stderr, "denoise: {}\n", error.what());
    return ExitCode::DeviceFailure;
  }
}
