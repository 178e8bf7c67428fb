// Which of the kernels for one CTA and for a pair a problem is run by.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

namespace shiftconv::tests {

/// A problem's index, and whether a pair of CTAs runs it.
using ProblemAndGroup = std::tuple<size_t, bool>;

/// Every problem once, about half of them by pairs; `others`: by the group that it otherwise is not run by. No period of the
/// list decides, so that of variants that take turns not all of one kind go to one group.
inline std::vector<ProblemAndGroup> oneGroupEach(size_t problems, bool others = false) {
  std::vector<ProblemAndGroup> all;
  for (size_t problem = 0; problem < problems; ++problem) all.emplace_back(problem, (std::popcount(problem) % 2 != 0) != others);
  return all;
}

/// `kProblems` returns the list of what has a name.
template <auto kProblems>
std::string nameOf(const testing::TestParamInfo<ProblemAndGroup>& info) {
  const auto& [problem, pair] = info.param;
  return kProblems()[problem].name + (pair ? "_pair" : "_single");
}

}  // namespace shiftconv::tests
