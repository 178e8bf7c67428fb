#include "examples/denoise/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "common/command_line/command_line.hpp"
#include "examples/denoise/device_network.hpp"
#include "examples/feature_maps/exit_code.hpp"

namespace denoise {

using feature_maps::ExitCode;

CommandLine parseCommandLine(int argc, char** argv) {
  CommandLine line;
  Options& options = line.options;
  options.image = DENOISE_PHOTOGRAPH;
  options.weights = DENOISE_WEIGHTS;
  std::string crop;
  bool noSheet = false;
  shiftconv::command_line::Parser parser(
      "Adds noise to a photograph, and takes it out again with a network of ten convolutions, in f16, mxfp8 and nvfp4, on a GPU\n"
      "or on the emulated device; beside the same network in f32 on the host.\n");
  parser.lastValueWins();  // scripts may put their own defaults first
  parser.footer(
      "Exit codes: 0 the network ran in every precision that the device has; 2 wrong options or picture; 3 the device or the\n"
      "library refused.");
  parser.option("--image", options.image, "photograph, a PNG file of even width and height").showDefault();
  parser.option("--weights", options.weights, "of the network, as train.py writes them").showDefault();
  parser.option("--crop", crop,
                fmt::format("use only this part of the picture: WxH+X+Y, even width and height; default: all of it, on emulated "
                            "devices {}x{}+{}+{}",
                            kEmulatedCrop.width, kEmulatedCrop.height, kEmulatedCrop.x, kEmulatedCrop.y));
  parser.option("--sigma", options.sigma, "standard deviation of the noise, of 255; the network was trained with 25").showDefault();
  parser.option("--seed", options.seed, "of the noise").showDefault();
  std::vector<std::string> names;
  for (const Precision& precision : kPrecisions) names.push_back(precision.name);
  parser.option("--precision", options.precisions, "f16, mxfp8, nvfp4; default: all three").oneOf(names).takeAll();
  parser.option("--output", options.output, "sheet of the pictures before and after, a PNG file").showDefault();
  parser.device(options.device);
  parser.option("--time", options.timedRuns, "average time of so many more runs of each precision, without copies; 0: none")
      .showDefault();
  parser.option("--json", options.json, "file for the figures");
  parser.flag("--no-sheet", noSheet, "draw nothing");
  if (const std::optional<int> status = parser.parse(argc, argv)) {
    line.exitCode = *status == 0 ? ExitCode::Success : ExitCode::Usage;
    return line;
  }
  try {
    if (!crop.empty()) options.crop = feature_maps::parseRectangle(crop);
    if (!(options.sigma >= 0 && options.sigma <= 255))
      throw feature_maps::ImageError(fmt::format("--sigma {} is outside 0..255.", options.sigma));
  } catch (const feature_maps::ImageError& error) {
    fmt::print(stderr, "denoise: {}\n", error.what());
    line.exitCode = ExitCode::Usage;
  }
  options.sheet = !noSheet;
  return line;
}

}  // namespace denoise
