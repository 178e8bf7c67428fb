#include "tests/hazards/expected_hazards.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace shiftconv::tests {

using emulator::Hazard;

namespace {

std::string list(const std::vector<Hazard>& hazards) {
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
        << list(hazards);
}

}  // namespace shiftconv::tests
