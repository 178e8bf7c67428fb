#include "bench/published/times.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "conv/problem/text.hpp"

namespace shiftconv::bench {

std::vector<PublishedTime> readPublishedTimes(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  std::vector<PublishedTime> times;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    PublishedTime& time = times.emplace_back();
    words >> time.number >> time.patchShift >> time.cutlass;
    if (!words || time.patchShift <= 0 || time.cutlass <= 0)
      throw std::runtime_error(fmt::format("{}:{}: expected a number, two times in ms and a problem", path, number));
    time.patchShift *= 1e-3, time.cutlass *= 1e-3;
    std::string problem;
    std::getline(words >> std::ws, problem);
    if (const Status status = parse(problem, time.problem); !status.ok())
      throw std::runtime_error(fmt::format("{}:{}: {}", path, number, status.message()));
  }
  return times;
}

}  // namespace shiftconv::bench
