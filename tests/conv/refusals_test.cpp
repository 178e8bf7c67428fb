// What algorithms refuse and what they just accept, line by line of tests/algorithms/<algorithm>/refusals.txt:
// problem | words of the refusal, or "accepts". More parts may name a device (device H200), its shared memory (shared 49152), or
// options of a plan of an accepted problem (options split=2). Without a device: a B200, or an H200 where that has no kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::string_view kAccepts = "accepts";

struct Line {
  int number;
  std::string problem, algorithm, words, device, shared, options;
};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<Line> readLines(const std::string& algorithm) {
  std::vector<Line> lines;
  std::ifstream file(ALGORITHM_TESTS "/" + algorithm + "/refusals.txt");
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.empty() || text[0] == '#') continue;
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, '|');) parts.push_back(trimmed(part));
    Line line{number, "", algorithm, "", "", "", ""};
    EXPECT_GE(parts.size(), 2u) << "line " << number;
    if (parts.size() < 2) continue;
    line.problem = parts[0], line.words = parts[1];
    for (size_t i = 2; i < parts.size(); ++i) {
      if (parts[i].starts_with("device "))
        line.device = parts[i].substr(7);
      else if (parts[i].starts_with("shared "))
        line.shared = parts[i].substr(7);
      else if (parts[i].starts_with("options "))
        line.options = parts[i].substr(8);
      else
        ADD_FAILURE() << algorithm << ", line " << number << ": " << parts[i];
    }
    lines.push_back(line);
  }
  return lines;
}

device::Properties presetNamed(const std::string& name) {
  for (const device::Preset& preset : device::presets())
    if (name == preset.name) return preset.properties;
  ADD_FAILURE() << "no device " << name;
  return {};
}

device::Properties propertiesOf(const Line& line, const Algorithm& algorithm) {
  const char* const usual = algorithm.isBuiltFor(presetNamed("B200")) ? "B200" : "H200";
  device::Properties properties = presetNamed(line.device.empty() ? usual : line.device);
  if (!line.shared.empty())
    std::from_chars(line.shared.data(), line.shared.data() + line.shared.size(), properties.sharedBytesPerBlock);
  return properties;
}

void check(const Line& line, const Algorithm& algorithm) {
  Problem problem;
  const Status parsed = parse(line.problem, problem);
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  const device::Properties properties = propertiesOf(line, algorithm);
  std::string refusal = refusalOf(algorithm, problem, properties);
  if (line.words == kAccepts || !line.options.empty()) {
    ASSERT_EQ(refusal, "");
    std::shared_ptr<const Plan> plan;
    const Status planned = makePlan(problem, properties, {line.algorithm, line.options}, plan);
    refusal = planned.message();
    EXPECT_TRUE(!planned.ok() || plan->details.ends_with('\n')) << "no lines for --explain to show";
  }
  if (line.words == kAccepts) {
    EXPECT_EQ(refusal, "");
    return;
  }
  EXPECT_NE(refusal.find(line.words), std::string::npos) << "refusal: " << refusal;
  EXPECT_EQ(refusal.substr(0, line.algorithm.size()), line.algorithm) << refusal;
  EXPECT_EQ(refusal.find('\n'), std::string::npos) << refusal;
  // Fields have the names of shiftconv.h. Those of tensor maps are the driver's.
  static const std::regex kInternalName("\\b(?!globalStrides|boxDim)[a-z]+[A-Z]");
  EXPECT_FALSE(std::regex_search(refusal, kInternalName)) << refusal;
}

TEST(Refusals, AreThoseOfTheTables) {
  for (const Algorithm* algorithm : algorithms()) {
    int accepted = 0, refused = 0;
    for (const Line& line : readLines(std::string(algorithm->name()))) {
      SCOPED_TRACE(line.algorithm + ", line " + std::to_string(line.number) + ": " + line.problem + " | " + line.words);
      check(line, *algorithm);
      ++(line.words == kAccepts ? accepted : refused);
    }
    EXPECT_GT(accepted, 0) << algorithm->name();
    EXPECT_GT(refused, 0) << algorithm->name();
  }
}

}  // namespace
}  // namespace shiftconv::plan
