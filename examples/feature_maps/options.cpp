#include "examples/feature_maps/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "examples/feature_maps/exit_code.hpp"

namespace feature_maps {

CommandLine parseCommandLine(int argc, char** argv) {
  CommandLine line;
  Options& options = line.options;
  options.image = FEATURE_MAPS_PHOTOGRAPH;
  std::string crop;
  bool noVerify = false, noSheet = false;

  CLI::App app{
      "Runs a photograph through 120 image filters and 24 combinations of their maps, as convolutions on a Blackwell GPU or on\n"
      "the emulated device, checks every element against the exact result, and draws a contact sheet.\n"};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // scripts may put their own defaults first
  app.footer(
      "Exit codes: 0 all elements within the error bound; 1 some are not; 2 wrong options or picture; 3 the device or the library\n"
      "refused.");
  app.add_option("--image", options.image, "photograph, a PNG file")->capture_default_str();
  app.add_option("--size", options.size,
                 fmt::format("longest side in pixels that the picture is scaled to, {}..{}; default: {}, or the crop's own size",
                             kSmallestSize, kLargestSize, kDefaultSize));
  app.add_option("--crop", crop, "use only this part of the picture: WxH+X+Y, in pixels of the file");
  app.add_option("--output", options.output, "contact sheet to write, a PNG file")->capture_default_str();
  app.add_option("--dump", options.dump, "also write PREFIX.layer1.npy and PREFIX.layer2.npy")->type_name("PREFIX");
  app.add_option("--device", options.device, "auto takes a Blackwell GPU if there is one, else the emulated device")
      ->check(CLI::IsMember({"auto", "cuda", "emulated"}))
      ->capture_default_str();
  app.add_option("--policy", options.policy, "emulated device: when asynchronous operations complete")
      ->check(CLI::IsMember({"earliest", "latest", "random"}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "emulated device: seed of the random policy")->capture_default_str();
  app.add_option("--numerics", options.numerics, "emulated device: tensor-core sums bit by bit, or fast f32")
      ->check(CLI::IsMember({"hardware", "fast"}))
      ->capture_default_str();
  app.add_option("--semantics", options.semantics, "emulated device: alternative of an unproven behaviour, for example U3=1")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("U<n>=<alternative>");
  app.add_option("--producer", options.producer, "how activations enter Tensor Memory; default: the planner's choice")
      ->check(CLI::IsMember({"tensor_copy", "register_store"}));
  app.add_flag("--quick", options.quick, fmt::format("scale to {} pixels unless --size is given", kQuickSize));
  app.add_flag("--no-verify", noVerify, "skip the comparison with the exact result");
  app.add_flag("--no-sheet", noSheet, "draw nothing; for runs that only --dump");
  app.add_flag("--counters", options.counters, "emulated device: print all counters");

  try {
    app.parse(argc, argv);
    if (!crop.empty()) options.crop = parseRectangle(crop);
    if (options.size && (*options.size < kSmallestSize || *options.size > kLargestSize)) {
      throw ImageError(fmt::format("--size {} is outside {}..{} pixels.", *options.size, kSmallestSize, kLargestSize));
    }
    if (options.image.empty() || options.output.empty()) throw ImageError("--image and --output need a file name.");
  } catch (const CLI::ParseError& error) {
    line.exitCode = app.exit(error) == 0 ? ExitCode::Success : ExitCode::Usage;
  } catch (const ImageError& error) {
    fmt::print(stderr, "feature_maps: {}\n", error.what());
    line.exitCode = ExitCode::Usage;
  }
  options.verify = !noVerify;
  options.sheet = !noSheet;
  return line;
}

}  // namespace feature_maps
