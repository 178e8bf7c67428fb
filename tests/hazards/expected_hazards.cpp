#include "tests/hazards/expected_hazards.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace shiftconv::tests {

using emulator::Hazard;

namespace {

std::string reported(const std::vector<Hazard>& hazards) {
  std::string text = "reported:\n";
  for (const Hazard& hazard : hazards) text += describe(hazard) + "\n";
  return text;
}

}  // namespace

void expectHazards(const std::vector<Hazard>& hazards, const std::vector<ExpectedHazard>& expected) {
  const auto matches = [](const Hazard& hazard, const ExpectedHazard& one) {
    return hazard.kind == one.kind && hazard.severity == one.severity && hazard.question == one.question;
  };
  for (const Hazard& hazard : hazards)
    EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [&](const ExpectedHazard& one) { return matches(hazard, one); }))
        << "unexpected " << describe(hazard);
  for (const ExpectedHazard& one : expected)
    EXPECT_TRUE(std::any_of(hazards.begin(), hazards.end(), [&](const Hazard& hazard) { return matches(hazard, one); }))
        << "missing: " << toString(one.kind) << ", " << toString(one.severity) << "\n"
        << reported(hazards);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

}  // namespace shiftconv::tests
