// Sentences of what plans are made with, in the names of the fields that a caller knows.
#pragma once

#include <string>

namespace shiftconv::plan {

/// A sentence about parameters of epilogues, windows and tensor maps, as one about the problem's fields that they were made from.
std::string inNamesOfProblems(std::string sentence);

}  // namespace shiftconv::plan
