// The cost model beside the only public times of convolutions on a B200: CUTLASS's kernels as the model sees them, and what it says
// of the planner's own choices. Needs no device, and measures nothing.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <exception>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/published/cutlass.hpp"
#include "bench/published/times.hpp"
#include "common/command_line/command_line.hpp"
#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"

using namespace shiftconv;

namespace {

device::Properties propertiesOfB200() {
  for (const device::Preset& preset : device::presets())
    if (std::string_view(preset.name) == "B200") return preset.properties;
  throw std::runtime_error("no preset of a B200");
}

int run(const std::string& file) {
  const device::Properties properties = propertiesOfB200();
  fmt::print("published: measured by others on a B200; modelled: this cost model, in us\n");
  fmt::print("{:>3} {:<24} {:>10} {:>9} {:>6}  {:<9} {:<28} {:>10} {:>9} {:>9} {:<12}\n", "", "image, C -> K", "CUTLASS",
             "modelled", "ratio", "tile", "bound by", "PatchShift", "planner's", "im2col", "choice");
  int near = 0;
  const std::vector<bench::PublishedTime> times = bench::readPublishedTimes(file);
  for (const bench::PublishedTime& time : times) {
    const Problem& p = time.problem;
    const bench::CutlassChoice choice = bench::modelCutlass(p, properties);
    const double ratio = choice.estimate.seconds / time.cutlass;
    near += std::abs(ratio - 1) <= 0.25;
    plan::Candidates all, gathering;
    for (const auto& [algorithm, found] : {std::pair("", &all), std::pair("im2col", &gathering)})
      if (const Status status = plan::findCandidates(p, properties, {algorithm, ""}, *found); !status.ok())
        throw std::runtime_error(status.message());
    const plan::Candidate &best = all.all[all.best], &im2col = gathering.all[gathering.best];
    fmt::print("{:>3} {:<24} {:>10.1f} {:>9.1f} {:>6.2f}  {:<9} {:<28} {:>10.1f} {:>9.1f} {:>9.1f} {:<12}\n", time.number,
               fmt::format("{}x{}x{}x{}, {} -> {}", p.n, p.d, p.h, p.w, p.c, p.k), time.cutlass * 1e6,
               choice.estimate.seconds * 1e6, ratio, describe(choice.tile), nameOf(choice.estimate.bound), time.patchShift * 1e6,
               best.estimate.seconds * 1e6, im2col.estimate.seconds * 1e6, best.algorithm->name());
  }
  fmt::print("CUTLASS: modelled within 25 % of {} of {} published times\n", near, times.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file = "bench/published/times.txt";
  command_line::Parser parser("Compares the cost model with published times of convolutions on a B200.");
  parser.option("--times", file, "the published times").showDefault().existingFile();
  if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
  try {
    return run(file);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
