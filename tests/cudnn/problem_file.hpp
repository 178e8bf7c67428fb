// Files of problems, a line each in the library's notation; # starts a comment.
#pragma once

#include <string>
#include <vector>

namespace shiftconv::referee {

struct ProblemLine {
  std::string file;  ///< without folder and extension: what is asked there
  std::string text;
};

/// Of every .txt file of a folder, in the order of names and lines. Throws std::invalid_argument when there is none.
std::vector<ProblemLine> readProblems(const std::string& folder);

}  // namespace shiftconv::referee
