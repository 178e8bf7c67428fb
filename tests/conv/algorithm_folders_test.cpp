// Every algorithm of the registry has its folder of tests/algorithms, and in it what tests of all algorithms look for there. They
// find files by folder: without this test, an algorithm that has none would pass them all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/registry.hpp"
#include "conv/planner/registry.hpp"
#include "tests/conv/property_rows.hpp"
#include "tests/conv/shape_files.hpp"

namespace shiftconv::plan {
namespace {

namespace fs = std::filesystem;
using tests::readShapes, tests::ShapeFile, tests::shapeFiles;

fs::path folderOf(const Algorithm& algorithm) { return fs::path(ALGORITHM_TESTS) / algorithm.name(); }

bool isBuiltFor(const Algorithm& algorithm, std::string_view preset) {
  const auto presets = device::presets();
  const auto found = std::find_if(presets.begin(), presets.end(), [&](const device::Preset& one) { return one.name == preset; });
  return found != presets.end() && algorithm.isBuiltFor(found->properties);
}

std::vector<std::string> linesOf(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  return lines;
}

TEST(AlgorithmFolders, AreThoseOfTheRegistry) {
  std::set<std::string> registered, folders;
  for (const Algorithm* algorithm : algorithms()) registered.emplace(algorithm->name());
  for (const auto& folder : fs::directory_iterator(ALGORITHM_TESTS)) folders.insert(folder.path().filename().string());
  EXPECT_EQ(folders, registered);
}

/// docs/kernels.md leads to the page of each.
TEST(AlgorithmFolders, HaveARowInTheIndex) {
  std::ifstream file(ALGORITHM_TESTS "/../../docs/kernels.md");
  const std::string index{std::istreambuf_iterator<char>(file), {}};
  for (const Algorithm* algorithm : algorithms()) {
    const std::string name(algorithm->name());
    const std::string path = fmt::format("conv/algorithms/{}/README.md", name);
    EXPECT_NE(index.find(fmt::format("\n| [{}](../{}) |", name, path)), std::string::npos) << name;
    EXPECT_TRUE(fs::exists(fs::path(ALGORITHM_TESTS) / "../.." / path)) << path;
  }
}

/// Cases that ordinary tests run, for exactly the architectures that it is built for.
TEST(AlgorithmFolders, HaveShapesForEveryArchitecture) {
  for (const auto& [architecture, preset] : {std::pair{"sm_90a", "H200"}, {"sm_100a", "B200"}}) {
    std::set<std::string> tested, built;
    for (const ShapeFile& file : shapeFiles(architecture))
      if (!file.isLarge() && !readShapes(file.path).empty()) tested.insert(file.algorithm);
    for (const Algorithm* algorithm : algorithms())
      if (isBuiltFor(*algorithm, preset)) built.emplace(algorithm->name());
    EXPECT_EQ(tested, built) << architecture;
  }
}

/// Kernels that mutants are made of, or why there are none: "none | a sentence". What plans by means of others has no kernels.
TEST(AlgorithmFolders, HaveMutantsOrSayWhyNot) {
  for (const Algorithm* algorithm : algorithms()) {
    const fs::path path = folderOf(*algorithm) / "mutation.txt";
    if (!algorithm->accumulation()) {
      EXPECT_FALSE(exists(path)) << path << ": other algorithms multiply for it";
      continue;
    }
    constexpr std::string_view kNone = "none | ";
    constexpr size_t kSentence = 40;
    size_t kernels = 0, reasons = 0;
    for (const std::string& line : linesOf(path)) {
      kernels += line.starts_with("kernel | ");
      reasons += line.starts_with(kNone) && line.size() > kNone.size() + kSentence;
    }
    EXPECT_TRUE(kernels > 0 ? reasons == 0 : reasons == 1) << path << ": " << kernels << " kernels, " << reasons << " reasons";
  }
}

/// Kernels are named after their algorithm. Whether an entry covers a mutant is for the mutation score to say, which has one set of
/// kernels at a time: an entry about none at all would be in no set.
TEST(AlgorithmFolders, ProveOnlyMutantsOfTheirOwnKernels) {
  for (const Algorithm* algorithm : algorithms())
    for (const std::string& line : linesOf(folderOf(*algorithm) / "equivalent.txt"))
      EXPECT_TRUE(line.starts_with(std::string(algorithm->name()) + "_")) << algorithm->name() << ": " << line;
}

/// Where kernels sum in the algorithm's own way: problems for each of these tests, or why there are none.
TEST(AlgorithmFolders, HaveProblemsForEveryPropertyOrSayWhyNot) {
  for (const char* property : {"divided work", "amax", "images", "far pixels"}) {
    std::set<std::string> tested;
    for (const tests::PropertyRow& row : tests::propertyRows(property)) tested.insert(row.algorithm);
    for (const Algorithm* algorithm : algorithms())
      if (algorithm->accumulation()) {
        EXPECT_NE(tested.contains(std::string(algorithm->name())), tests::saysWhyNot(algorithm->name(), property))
            << algorithm->name() << ": " << property;
      }
  }
}

/// compute-sanitizer watches every algorithm of sm_90a that multiplies.
TEST(AlgorithmFolders, HaveProblemsForTheSanitizer) {
  for (const Algorithm* algorithm : algorithms()) {
    const fs::path path = folderOf(*algorithm) / "sanitizer.txt";
    const bool isWatched = algorithm->accumulation() && isBuiltFor(*algorithm, "H200");
    EXPECT_EQ(isWatched || exists(path), !linesOf(path).empty()) << path;
  }
}

}  // namespace
}  // namespace shiftconv::plan
