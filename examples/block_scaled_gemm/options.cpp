#include "examples/block_scaled_gemm/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "examples/block_scaled_gemm/contest.hpp"

namespace block_scaled_gemm {

CommandLine parseCommandLine(int argc, char** argv) {
  CommandLine line;
  Options& options = line.options;
  CLI::App app{
      "Quantises two random matrices to every block format, multiplies them on a Blackwell GPU or on the emulated device, and\n"
      "prints what each format costs: the error of its numbers, and that of the kernel beside it.\n"};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.footer("Exit codes: 0 every product within the kernel's error bound; 1 some are not; 2 wrong options; 3 the device refused.");
  const auto extent = CLI::Range(int64_t{1}, kLargestExtent);
  app.add_option("-m,--rows", options.m, "rows of A and of the product")->check(extent)->capture_default_str();
  app.add_option("-n,--columns", options.n, "rows of B, columns of the product")->check(extent)->capture_default_str();
  app.add_option("-k,--depth", options.k, "columns of A and B, along which blocks run")->check(extent)->capture_default_str();
  app.add_option(
         "--distribution", options.distribution,
         "of the elements: normal; uniform from -1 to 1; outliers, which is normal with one column in 64 thirty times as large")
      ->check(CLI::IsMember({"normal", "uniform", "outliers"}))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the random numbers")->capture_default_str();
  app.add_option("--scales", options.scales, "order of the scale factors in memory; both also compares the two products")
      ->check(CLI::IsMember({"rows", "interleaved", "both"}))
      ->capture_default_str();
  app.add_option("--device", options.device, "auto takes a Blackwell GPU if there is one, else the emulated device")
      ->check(CLI::IsMember({"auto", "emulated"}))
      ->capture_default_str();
  std::vector<std::string> names;
  for (const Contestant& contestant : contestants()) names.push_back(contestant.name);
  app.add_option("--format", options.formats, "only these formats")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::IsMember(names));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    line.exitCode = app.exit(error) == 0 ? ExitCode::Success : ExitCode::Usage;
  }
  return line;
}

}  // namespace block_scaled_gemm
