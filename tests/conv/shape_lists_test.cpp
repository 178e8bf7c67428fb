// Every line of the algorithms' shapes has a plan on the devices that run it, by the algorithm in whose folder it is, with the
// options that it names: also lines that only nightly tests and those on a GPU run, and the problems of compute-sanitizer.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/conv/convolution_case.hpp"
#include "tests/conv/shape_files.hpp"

namespace shiftconv::tests::shape_lists_test {
namespace {

void everyLinePlans(const std::string& path, const std::string& algorithm, const char* device) {
  const std::vector<ShapeLine> lines = readShapes(path);
  EXPECT_FALSE(lines.empty()) << path;
  for (const ShapeLine& line : lines) try {
      const ConvolutionCase test = parseCase(line.text);
      EXPECT_EQ(test.algorithm, algorithm) << path << ": " << line.text;
      EXPECT_EQ(planFor(test, DeviceProperties::preset(device)).algorithm(), algorithm) << line.name << " on " << device;
    } catch (const std::exception& error) {
      ADD_FAILURE() << path << ": " << line.name << " on " << device << ": " << error.what();
    }
}

void everyShapePlans(const char* architecture, Sizes sizes, const char* device) {
  for (const ShapeFile& file : shapeFiles(architecture))
    if (sizes == Sizes::All || !file.isLarge()) everyLinePlans(file.path, file.algorithm, device);
}

TEST(ShapeLists, PlanOnTheEmulatedBlackwell) { everyShapePlans("sm_100a", Sizes::All, "emulated"); }
TEST(ShapeLists, PlanOnTheEmulatedHopper) { everyShapePlans("sm_90a", Sizes::All, "emulated_sm_90a"); }
TEST(ShapeLists, PlanOnTheGpuOfTheGpuTests) { everyShapePlans("sm_90a", Sizes::All, "H200"); }
TEST(ShapeLists, PlanTheProblemsOfTheSanitizer) {
  for (const auto& folder : std::filesystem::directory_iterator(ALGORITHM_TESTS))
    if (const auto file = folder.path() / "sanitizer.txt"; exists(file))
      everyLinePlans(file.string(), folder.path().filename().string(), "H200");
}

}  // namespace
}  // namespace shiftconv::tests::shape_lists_test
