// What was observed, for people and for the emulator.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/probe/question.hpp"

namespace shiftconv::probe {

/// One line per observation: what was seen, and whether the emulator's default agrees.
std::string formatObservations(const std::vector<Observation>& observations);

/// Every question with its alternatives, and the reason where no experiment tells them apart.
std::string formatQuestions();

/// {"device": name, "semantics": {"U1": 0, ..}, "observations": [..]}. The emulator's option "semantics.file" takes the file;
/// "semantics" holds the questions that a known alternative answers conclusively.
nlohmann::json toJson(const std::string& device, const std::vector<Observation>& observations);

/// The observations in what toJson made.
std::vector<Observation> observationsFrom(const nlohmann::json& report);

}  // namespace shiftconv::probe
