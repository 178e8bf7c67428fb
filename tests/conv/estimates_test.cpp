// What the models say of the best candidate of each algorithm, and how it is cut, entry by entry of
// tests/algorithms/<algorithm>/estimates.txt. They are no truth: a change of a model or of a tiling is to show as a difference that
// somebody reads. With SHIFTCONV_UPDATE_ESTIMATES set, the test writes the entries anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

/// "problem | device", and after it, further in, what the library says.
struct EstimateEntry {
  std::string key, said;
};

std::string fileOf(const std::string& algorithm) { return ALGORITHM_TESTS "/" + algorithm + "/estimates.txt"; }

std::vector<EstimateEntry> readEstimates(const std::string& algorithm) {
  std::vector<EstimateEntry> entries;
  std::ifstream file(fileOf(algorithm));
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text[0] == '#') continue;
    if (text[0] != ' ')
      entries.push_back({text, ""});
    else if (!entries.empty())
      entries.back().said += text + "\n";
  }
  return entries;
}

/// Every line further in, as the file has them.
std::string indented(std::string_view text) {
  std::string result;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) result += "  " + line + "\n";
  return result;
}

std::string saidOf(const std::string& text, const std::string& algorithm, const std::string& device) {
  Problem problem;
  if (const Status status = parse(text, problem); !status.ok()) return indented(status.message());
  for (const device::Preset& preset : device::presets()) {
    if (device != preset.name) continue;
    Candidates candidates;
    if (Status status = findCandidates(problem, preset.properties, {algorithm, ""}, candidates); !status.ok())
      return indented(status.message());
    const Candidate& best = candidates.all[candidates.best];
    std::shared_ptr<const Plan> plan;
    if (Status status = makePlan(problem, preset.properties, best, "", plan); !status.ok()) return indented(status.message());
    return indented(fmt::format("best of {}: {}\n{:.4g} clocks; {}\n{}", candidates.all.size(), best.options(),
                                best.estimate.clocks, describe(best.estimate), plan->details));
  }
  return indented("no such device");
}

void writeEstimates(const std::string& algorithm, const std::vector<EstimateEntry>& entries) {
  std::string text;
  std::ifstream file(fileOf(algorithm));
  for (std::string line; std::getline(file, line) && (line.empty() || line[0] == '#');) text += line + "\n";
  for (const EstimateEntry& entry : entries) text += entry.key + "\n" + entry.said;
  std::ofstream(fileOf(algorithm)) << text;
}

TEST(Estimates, AreThoseOfTheTables) {
  const bool updates = std::getenv("SHIFTCONV_UPDATE_ESTIMATES") != nullptr;
  for (const Algorithm* algorithm : algorithms()) {
    const std::string name(algorithm->name());
    SCOPED_TRACE(name);
    std::vector<EstimateEntry> entries = readEstimates(name);
    EXPECT_GE(entries.size(), 2u);
    for (EstimateEntry& entry : entries) {
      const size_t device = entry.key.rfind(" | ");
      ASSERT_NE(device, std::string::npos) << entry.key;
      const std::string said = saidOf(entry.key.substr(0, device), name, entry.key.substr(device + 3));
      if (!updates) {
        EXPECT_EQ(said, entry.said) << entry.key;
      }
      EXPECT_EQ(said.substr(0, 9), "  best of") << entry.key << "\n" << said;
      entry.said = said;
    }
    if (updates) writeEstimates(name, entries);
  }
}

}  // namespace
}  // namespace shiftconv::plan
