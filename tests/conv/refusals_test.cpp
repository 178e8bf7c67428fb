// What algorithms refuse and what they just accept, line by line of refusals.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <regex>
#include <set>
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

std::vector<Line> readLines() {
  std::vector<Line> lines;
  std::ifstream file(REFUSALS_FILE);
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.empty() || text[0] == '#') continue;
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, '|');) parts.push_back(trimmed(part));
    Line line{number, "", "", "", "", "", ""};
    EXPECT_GE(parts.size(), 3u) << "line " << number;
    if (parts.size() < 3) continue;
    line.problem = parts[0], line.algorithm = parts[1], line.words = parts[2];
    for (size_t i = 3; i < parts.size(); ++i) {
      if (parts[i].starts_with("device "))
        line.device = parts[i].substr(7);
      else if (parts[i].starts_with("shared "))
        line.shared = parts[i].substr(7);
      else if (parts[i].starts_with("options "))
        line.options = parts[i].substr(8);
      else
        ADD_FAILURE() << "line " << number << ": " << parts[i];
    }
    lines.push_back(line);
  }
  return lines;
}

device::Properties propertiesOf(const Line& line) {
  const std::set<std::string> hopper{"halo", "resident", "grouped", "depthwise", "stem"};
  const std::string name = !line.device.empty() ? line.device : hopper.contains(line.algorithm) ? "H200" : "B200";
  for (const device::Preset& preset : device::presets()) {
    if (name != preset.name) continue;
    device::Properties properties = preset.properties;
    if (!line.shared.empty())
      std::from_chars(line.shared.data(), line.shared.data() + line.shared.size(), properties.sharedBytesPerBlock);
    return properties;
  }
  ADD_FAILURE() << "no device " << name;
  return {};
}

void check(const Line& line) {
  Problem problem;
  const Status parsed = parse(line.problem, problem);
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  const device::Properties properties = propertiesOf(line);
  const Algorithm* algorithm = nullptr;
  ASSERT_TRUE(findAlgorithm(line.algorithm, algorithm).ok());
  std::string refusal = refusalOf(*algorithm, problem, properties);
  if (line.words == kAccepts || !line.options.empty()) {
    ASSERT_EQ(refusal, "");
    std::shared_ptr<const Plan> plan;
    const Status planned = makePlan(problem, properties, {line.algorithm, line.options}, plan);
    refusal = planned.message();
    EXPECT_TRUE(!planned.ok() || !plan->details.empty()) << "nothing for --explain to show";
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

TEST(Refusals, AreThoseOfTheTable) {
  std::map<std::string, int> accepted, refused;
  for (const Line& line : readLines()) {
    SCOPED_TRACE("line " + std::to_string(line.number) + ": " + line.problem + " | " + line.algorithm + " | " + line.words);
    check(line);
    ++(line.words == kAccepts ? accepted : refused)[line.algorithm];
  }
  for (const Algorithm* algorithm : algorithms()) {
    const std::string name(algorithm->name());
    EXPECT_GT(accepted[name], 0) << name;
    EXPECT_GT(refused[name], 0) << name;
  }
}

}  // namespace
}  // namespace shiftconv::plan
