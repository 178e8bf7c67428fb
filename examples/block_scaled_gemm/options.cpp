#include "examples/block_scaled_gemm/options.hpp"

#include <fmt/format.h>

#include "common/command_line/command_line.hpp"
#include "examples/block_scaled_gemm/contest.hpp"

namespace block_scaled_gemm {

CommandLine parseCommandLine(int argc, char** argv) {
  CommandLine line;
  Options& options = line.options;
  shiftconv::command_line::Parser parser(
      "Quantises two random matrices to every block format, multiplies them on a Blackwell GPU or on the emulated device, and\n"
      "prints what each format costs: the error of its numbers, and that of the kernel beside it.\n");
  parser.lastValueWins();
  parser.footer(
      "Exit codes: 0 every product within the kernel's error bound; 1 some are not; 2 wrong options; 3 the device refused.");
  parser.option("-m,--rows", options.m, "rows of A and of the product").range(int64_t{1}, kLargestExtent).showDefault();
  parser.option("-n,--columns", options.n, "rows of B, columns of the product").range(int64_t{1}, kLargestExtent).showDefault();
  parser.option("-k,--depth", options.k, "columns of A and B, along which blocks run")
      .range(int64_t{1}, kLargestExtent)
      .showDefault();
  parser
      .option(
          "--distribution", options.distribution,
          "of the elements: normal; uniform from -1 to 1; outliers, which is normal with one column in 64 thirty times as large")
      .oneOf({"normal", "uniform", "outliers"})
      .showDefault();
  parser.option("--seed", options.seed, "of the random numbers").showDefault();
  parser.option("--scales", options.scales, "order of the scale factors in memory; both also compares the two products")
      .oneOf({"rows", "interleaved", "both"})
      .showDefault();
  parser.device(options.device);
  std::vector<std::string> names;
  for (const Contestant& contestant : contestants()) names.push_back(contestant.name);
  parser.option("--format", options.formats, "only these formats").takeAll().oneOf(names);
  if (const std::optional<int> status = parser.parse(argc, argv))
    line.exitCode = *status == 0 ? ExitCode::Success : ExitCode::Usage;
  return line;
}

}  // namespace block_scaled_gemm
