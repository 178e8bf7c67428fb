// Every line of the lists of shapes has a plan on the devices that run it, with the algorithm and the options that it names: also
// lines that only nightly tests and those on a GPU run, and the problems of compute-sanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/conv/convolution_case.hpp"
#include "tests/conv/sm90/shape_lists.hpp"

namespace shiftconv::tests::shape_lists_test {
namespace {

void everyLinePlans(const std::vector<ShapeLine>& lines, const char* device) {
  EXPECT_FALSE(lines.empty());
  for (const ShapeLine& line : lines) {
    try {
      const ConvolutionCase test = parseCase(line.text);
      EXPECT_EQ(planFor(test, DeviceProperties::preset(device)).algorithm(), test.algorithm) << line.name << " on " << device;
    } catch (const std::exception& error) {
      ADD_FAILURE() << line.name << " on " << device << ": " << error.what();
    }
  }
}

/// All files of a folder, so that none is forgotten.
std::vector<ShapeLine> linesOf(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".txt") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return readShapeFiles(folder, names);
}

TEST(ShapeLists, PlanOnTheEmulatedBlackwell) { everyLinePlans(linesOf(SHAPES_FOLDER), "emulated"); }
TEST(ShapeLists, PlanOnTheEmulatedHopper) { everyLinePlans(linesOf(SM90_SHAPES_FOLDER "/emulated"), "emulated_sm_90a"); }
TEST(ShapeLists, PlanOnTheEmulatedHopperAtNight) {
  everyLinePlans(readShapeFiles(SM90_SHAPES_FOLDER, kNightlyShapeFiles), "emulated_sm_90a");
}
TEST(ShapeLists, PlanTheProblemsOfTheSanitizer) {
  everyLinePlans(readShapeFiles(SANITIZER_FOLDER, std::array{"problems"}), "H200");
}
TEST(ShapeLists, PlanOnTheGpuOfTheGpuTests) { everyLinePlans(readShapeFiles(SM90_SHAPES_FOLDER, kGpuShapeFiles), "H200"); }

}  // namespace
}  // namespace shiftconv::tests::shape_lists_test
