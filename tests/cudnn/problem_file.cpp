#include "tests/cudnn/problem_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace shiftconv::referee {

std::vector<ProblemLine> readProblems(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<ProblemLine> problems;
  for (const auto& path : files) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      line = line.substr(0, line.find('#'));
      const size_t last = line.find_last_not_of(" \t\r");
      if (last != std::string::npos) problems.push_back({path.stem().string(), line.substr(0, last + 1)});
    }
  }
  if (problems.empty()) throw std::invalid_argument("no problems in " + folder);
  return problems;
}

}  // namespace shiftconv::referee
