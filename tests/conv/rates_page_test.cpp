// docs/performance/rates.md is what the tables of rates say, and models have no rates beside those tables. With
// SHIFTCONV_UPDATE_RATES set, the test writes the page anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "conv/plan/algorithm_rates.hpp"

namespace shiftconv::plan {
namespace {

namespace fs = std::filesystem;

std::string readText(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string page() {
  std::string text =
      "# Rates of the cost model\n\n"
      "A test makes this page from [rates.cpp](../../conv/plan/rates.cpp) and "
      "[algorithm_rates.inc](../../conv/plan/algorithm_rates.inc); do not edit it. What they are for: [planner](../planner.md).\n\n"
      "- **measured**: by this project, on an H200.\n"
      "- **published**: by others, on the device.\n"
      "- **assumed**: carried over from another device, or a guess.\n"
      "- **fitted**: to times of whole kernels. Where the row says no more, to recorded times on an H200.\n\n"
      "## Devices\n\nWhat one multiprocessor, or the whole device, moves and multiplies in a clock.\n\n```text\n";
  for (const Rates& rates : allRates()) text += describe(rates);
  text +=
      "```\n\n## Algorithms\n\nWhat one algorithm's model knows besides. Clocks are of a multiprocessor. Figures are of an H200, "
      "and "
      "assumed to hold on other devices. A\ncorrection has three numbers: constant, slope and curvature of a logarithm, over that "
      "of "
      "the modelled time.\n\n```text\n";
  for (const AlgorithmRates& rates : allAlgorithmRates()) text += describe(rates);
  return text + "```\n";
}

TEST(RatesPage, IsWhatTheTablesSay) {
  const fs::path path = fs::path(SHIFTCONV_SOURCES) / "docs/performance/rates.md";
  if (std::getenv("SHIFTCONV_UPDATE_RATES") != nullptr) std::ofstream(path) << page();
  EXPECT_EQ(readText(path), page());
}

TEST(RatesPage, EveryAlgorithmsRowSaysHowItIsKnown) {
  std::set<std::string> algorithms;
  for (const AlgorithmRates& rates : allAlgorithmRates()) {
    EXPECT_TRUE(algorithms.emplace(rates.algorithm).second) << rates.algorithm;
    EXPECT_TRUE(fs::exists(fs::path(SHIFTCONV_SOURCES) / "conv/algorithms" / rates.algorithm)) << rates.algorithm;
    std::set<std::string_view> names;
    for (const AlgorithmRate& row : rates.rows) {
      EXPECT_TRUE(names.insert(row.name).second) << rates.algorithm << " " << row.name;
      EXPECT_FALSE(row.rate.source.empty()) << rates.algorithm << " " << row.name;
      EXPECT_EQ(row.isCorrection, row.name == "kCorrection") << rates.algorithm;
      EXPECT_TRUE(row.isCorrection || row.rate.perClock != 0) << rates.algorithm << " " << row.name;
    }
  }
  EXPECT_EQ(*algorithms.begin(), "channelwise");
  EXPECT_EQ(rates::thin::kStartClocks, 2600);
}

/// Rates and corrections of models are `double`s and `Correction`s with a name; what was counted in code is a whole number.
TEST(RatesPage, HasWhatModelsUse) {
  const std::regex own(R"(constexpr (double|Correction|std::array<double)[^=;{]*(=|\{) *-?[0-9.{])");
  EXPECT_TRUE(std::regex_search("  constexpr Correction kCorrection{0.55, -0.199, 0.022};", own));
  EXPECT_TRUE(std::regex_search("constexpr double kStartClocks = 6000;  // launch", own));
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SHIFTCONV_SOURCES) / "conv/algorithms")) {
    if (entry.path().extension() != ".cpp") continue;
    ++files;
    std::smatch match;
    const std::string text = readText(entry.path());
    EXPECT_FALSE(std::regex_search(text, match, own))
        << entry.path() << ": " << match.str() << ": its place is algorithm_rates.inc";
  }
  EXPECT_GT(files, 30u);
}

}  // namespace
}  // namespace shiftconv::plan
