#include "examples/feature_maps/options.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "common/command_line/command_line.hpp"
#include "examples/feature_maps/exit_code.hpp"

namespace feature_maps {

CommandLine parseCommandLine(int argc, char** argv) {
  CommandLine line;
  Options& options = line.options;
  options.image = FEATURE_MAPS_PHOTOGRAPH;
  std::string crop;
  bool noVerify = false, noSheet = false;

  shiftconv::command_line::Parser parser(
      "Runs a photograph through 120 image filters and 24 combinations of their maps, as convolutions on a GPU or on\n"
      "the emulated device, checks every element against the exact result, and draws a contact sheet.\n");
  parser.lastValueWins();  // scripts may put their own defaults first
  parser.footer(
      "Exit codes: 0 all elements within the error bound; 1 some are not; 2 wrong options or picture; 3 the device or the library\n"
      "refused.");
  parser.option("--image", options.image, "photograph, a PNG file").showDefault();
  parser.option("--size", options.size,
                fmt::format("longest side in pixels that the picture is scaled to, {}..{}; default: {}, or the crop's own size",
                            kSmallestSize, kLargestSize, kDefaultSize));
  parser.option("--crop", crop, "use only this part of the picture: WxH+X+Y, in pixels of the file");
  parser.option("--output", options.output, "contact sheet to write, a PNG file").showDefault();
  parser.option("--dump", options.dump, "also write PREFIX.layer1.npy and PREFIX.layer2.npy").typeName("PREFIX");
  parser.device(options.device);
  parser.option("--policy", options.policy, "emulated device: when asynchronous operations complete")
      .oneOf({"earliest", "latest", "random"})
      .showDefault();
  parser.option("--seed", options.seed, "emulated device: seed of the random policy").showDefault();
  parser.option("--numerics", options.numerics, "emulated device: tensor-core sums bit by bit, or fast f32")
      .oneOf({"hardware", "fast"})
      .showDefault();
  parser.option("--semantics", options.semantics, "emulated device: alternative of an unproven behaviour, for example U3=1")
      .takeAll()
      .typeName("U<n>=<alternative>");
  parser.flag("--quick", options.quick, fmt::format("scale to {} pixels unless --size is given", kQuickSize));
  parser.flag("--no-verify", noVerify, "skip the comparison with the exact result");
  parser.flag("--no-sheet", noSheet, "draw nothing; for runs that only --dump");
  parser.flag("--counters", options.counters, "emulated device: print all counters");

  if (const std::optional<int> status = parser.parse(argc, argv)) {
    line.exitCode = *status == 0 ? ExitCode::Success : ExitCode::Usage;
    return line;
  }
  try {
    if (!crop.empty()) options.crop = parseRectangle(crop);
    if (options.size && (*options.size < kSmallestSize || *options.size > kLargestSize)) {
      throw ImageError(fmt::format("--size {} is outside {}..{} pixels.", *options.size, kSmallestSize, kLargestSize));
    }
    if (options.image.empty() || options.output.empty()) throw ImageError("--image and --output need a file name.");
  } catch (const ImageError& error) {
    fmt::print(stderr, "feature_maps: {}\n", error.what());
    line.exitCode = ExitCode::Usage;
  }
  options.verify = !noVerify;
  options.sheet = !noSheet;
  return line;
}

}  // namespace feature_maps
