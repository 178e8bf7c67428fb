// The options of all algorithms: what they are called and take, and what they leave of the candidates.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conv/planner/candidates.hpp"
#include "conv/planner/refusals.hpp"
#include "conv/planner/registry.hpp"
#include "tests/conv/planned_problem.hpp"
#include "tests/conv/shape_files.hpp"

namespace shiftconv::plan {
namespace {

/// What --explain and errors list.
TEST(AlgorithmOptions, HaveNamesValuesAndMeanings) {
  for (const Algorithm* algorithm : algorithms()) {
    std::set<std::string_view> names;
    for (const OptionDescription& option : algorithm->options()) {
      ASSERT_FALSE(option.name.empty()) << algorithm->name();
      EXPECT_EQ(option.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << algorithm->name();
      EXPECT_TRUE(names.insert(option.name).second) << algorithm->name() << " has " << option.name << " twice";
      EXPECT_FALSE(option.range.empty() || option.meaning.empty()) << algorithm->name() << ": " << option.name;
    }
  }
}

/// The first problem that tests run for an algorithm, and a device that they run it on.
std::pair<Problem, device::Properties> acceptedBy(const Algorithm& algorithm) {
  for (const auto& [architecture, device] : {std::pair{"sm_100a", "B200"}, {"sm_90a", "H200"}})
    for (const tests::ShapeFile& file : tests::shapeFiles(architecture)) {
      if (file.algorithm != algorithm.name()) continue;
      for (const tests::ShapeLine& line : tests::readShapes(file.path))
        if (refusalOf(algorithm, problemOf(line.problem()), preset(device)).empty())
          return {problemOf(line.problem()), preset(device)};
    }
  ADD_FAILURE() << algorithm.name() << " accepts none of the problems in its folder";
  return {};
}

std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(", "), text.size());
    words.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 2, text.size()));
  }
  return words;
}

/// Every option takes what its description says, and nothing beside it. "1 to 8", "multiples of 16 from 16 to 192" and "single,
/// pair" are what descriptions look like.
TEST(AlgorithmOptions, TakeWhatTheyDescribe) {
  static const std::regex range("(?:multiples of (\\d+) from )?(\\d+) to (\\d+)");
  int ranges = 0, choices = 0;
  for (const Algorithm* algorithm : algorithms()) {
    const auto [problem, properties] = acceptedBy(*algorithm);
    const auto said = [&](const std::string& options) {
      std::vector<Candidate> candidates;
      const Status status = algorithm->candidates(problem, properties, options, candidates);
      EXPECT_TRUE(!status.ok() || !candidates.empty()) << options;
      return status;
    };
    for (const OptionDescription& option : algorithm->options()) {
      const std::string name(option.name), described(option.range), start = "option " + name + " must be ";
      SCOPED_TRACE(std::string(algorithm->name()) + ": " + name + ", " + described);
      const auto expectRefused = [&](const std::string& value, const std::string& words) {
        const Status status = said(name + "=" + value);
        EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << value;
        EXPECT_EQ(status.message(), start + words + ", but is \"" + value + "\"");
      };
      // The value may still be one that no plan of this problem has.
      const auto expectKnown = [&](const std::string& value) {
        EXPECT_EQ(said(name + "=" + value).message().find(start), std::string::npos) << said(name + "=" + value).message();
      };
      if (std::smatch found; std::regex_match(described, found, range)) {
        ++ranges;
        const uint64_t step = found[1].matched ? std::stoull(found[1]) : 1, low = std::stoull(found[2]),
                       high = std::stoull(found[3]);
        const std::string words = (found[1].matched ? "a multiple of " + found[1].str() + " " : "a number ") + "from " +
                                  found[2].str() + " to " + found[3].str();
        for (const uint64_t value : {low, low + step, high - step, high}) expectKnown(std::to_string(value));
        for (const uint64_t value : {low - step, low + step / 2, high + 1, high + step})
          if (value < low || value > high || value % step != 0) expectRefused(std::to_string(value), words);
        expectRefused("few", words);
      } else if (described.find(" to ") == std::string::npos) {
        ++choices;
        for (const std::string& value : listed(described)) expectKnown(value);
        // Algorithms that plan by means of others look for them by name.
        const bool isAlgorithm = name == "algorithm";
        const Status none = said(name + "=few_" + name);
        EXPECT_EQ(none.code(), isAlgorithm ? StatusCode::NotFound : StatusCode::InvalidArgument);
        const std::string words = isAlgorithm ? "there is no algorithm \"few_algorithm\"; known are " : start;
        EXPECT_EQ(none.message().substr(0, words.size()), words);
      }
      EXPECT_EQ(said(name).code(), StatusCode::InvalidArgument) << "no value";
      EXPECT_NE(said(name + "=1," + name + "=1").message().find("option " + name + " is set twice"), std::string::npos);
    }
    const Status unknown = said("colour=red");
    EXPECT_EQ(unknown.code(), StatusCode::NotFound) << algorithm->name();
    EXPECT_NE(unknown.message().find("there is no option \"colour\"; known are"), std::string::npos) << unknown.message();
  }
  EXPECT_GT(ranges, 15);
  EXPECT_GT(choices, 25);
}

/// "name=value" of a candidate's options.
std::vector<std::string> pairsOf(const std::string& options) {
  std::vector<std::string> pairs;
  std::istringstream words(options);
  for (std::string pair; std::getline(words, pair, ',');) pairs.push_back(pair);
  return pairs;
}

/// The value of an option in a candidate's options, empty where it is not among them.
std::string valueIn(const std::string& options, const std::string& name) {
  for (const std::string& pair : pairsOf(options))
    if (pair.rfind(name + "=", 0) == 0) return pair.substr(name.size() + 1);
  return {};
}

/// Of clusters there are as many as are asked for, or as there is work for; a lag is as long as a reduction has chunks for.
bool isMost(const std::string& option) { return option == "clusters" || option == "ctas" || option == "lag"; }

/// Asks for an option's value and expects that all candidates have it.
void expectChosen(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties, const std::string& name,
                  const std::string& value) {
  SCOPED_TRACE(shiftconv::describe(problem) + " | " + std::string(algorithm.name()) + " | " + name + "=" + value);
  std::vector<Candidate> some;
  const Status status = algorithm.candidates(problem, properties, name + "=" + value, some);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_FALSE(some.empty());
  for (const Candidate& one : some) {
    const std::string said = valueIn(one.options(), name);
    if (isMost(name))
      EXPECT_LE(std::stoi(said), std::stoi(value)) << one.options();
    else
      EXPECT_EQ(said, value) << one.options();
  }
}

/// What some candidate says of itself can be asked for, and all that are offered then say it.
TEST(AlgorithmOptions, AreThoseOfEveryCandidateThatTheyLeave) {
  std::set<std::string> asked;
  for (const Algorithm* algorithm : algorithms())
    for (const int64_t times : {1, 40}) {
      auto [problem, properties] = acceptedBy(*algorithm);
      (problem.n > 1 ? problem.n : problem.w) *= times;
      if (!refusalOf(*algorithm, problem, properties).empty()) continue;
      std::vector<Candidate> all;
      ASSERT_TRUE(algorithm->candidates(problem, properties, {}, all).ok()) << algorithm->name();
      std::set<std::string> pairs;
      for (const Candidate& one : all)
        for (const std::string& pair : pairsOf(one.options())) pairs.insert(pair);
      for (const std::string& pair : pairs) {
        const std::string name = pair.substr(0, pair.find('=')), value = pair.substr(name.size() + 1);
        expectChosen(*algorithm, problem, properties, name, value);
        if (isMost(name)) expectChosen(*algorithm, problem, properties, name, std::to_string((std::stoi(value) + 1) / 2));
        asked.insert(std::string(algorithm->name()) + " " + name);
      }
    }
  EXPECT_GT(asked.size(), 40u);
}

/// The sentence names the options that were set, and no other.
TEST(AlgorithmOptions, OfShiftStreamAreNamedWhereTheyLeaveNoRoom) {
  const Problem problem = problemOf("1x28x28x512 f16 * 256x7x7x512 pad 3,3,3,3 -> f16");
  const std::string start = "shift_stream finds no room for ";
  for (const auto& [options, causes] : {std::pair{"resident_weights=yes", " with resident_weights = yes"},
                                        {"resident_weights=yes,tile_n=256", " with tile_n = 256 with resident_weights = yes"},
                                        {"resident_weights=yes,map=strips", " with resident_weights = yes with map = strips"},
                                        {"resident_weights=yes,group=pair", " with resident_weights = yes with group = pair"},
                                        {"resident_weights=yes,group=single", " with resident_weights = yes with group = single"},
                                        {"tile_n=256", " with tile_n = 256"},
                                        {"tile_n=256,resident_weights=no", " with tile_n = 256 with resident_weights = no"}}) {
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(problem, preset("B200"), {"shift_stream", options}, plan);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << options;
    EXPECT_EQ(status.message().substr(0, start.size()), start) << status.message();
    EXPECT_TRUE(status.message().ends_with(std::string("filter taps of C = 512") + causes)) << status.message();
  }
}

}  // namespace
}  // namespace shiftconv::plan
