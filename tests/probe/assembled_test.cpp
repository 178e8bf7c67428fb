// The probe kit's kernels as machine code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/probe/report.hpp"

namespace shiftconv::probe {
namespace {

/// What a GPU of each target can be asked is what its cubin holds, and all of it assembles.
TEST(AssembledProbe, KernelsAreThereForEveryTarget) {
  const std::pair<int, const char*> targets[] = {{100, PROBE_CUBIN_100}, {103, PROBE_CUBIN_103}, {110, PROBE_CUBIN_110}};
  for (const auto& [capability, path] : targets) {
    std::ifstream file(path, std::ios::binary);
    const std::string cubin(std::istreambuf_iterator<char>(file), {});
    ASSERT_EQ(cubin.substr(0, 4),
              "\x7f"
              "ELF")
        << path;
    for (const Experiment& experiment : experiments()) {
      const bool absent = std::count(experiment.absentOn.begin(), experiment.absentOn.end(), capability) != 0;
      // The name of the section of a kernel ends with a NUL.
      for (const Step& step : experiment.steps) {
        const char* kernel = step.pairKernel ? step.pairKernel : experiment.kernel;
        const std::string section = fmt::format(".text.{}", kernel) + std::string(1, '\0');
        EXPECT_EQ(cubin.find(section) != std::string::npos, !absent) << kernel << " on sm_" << capability << "a";
      }
    }
  }
}

}  // namespace
}  // namespace shiftconv::probe
