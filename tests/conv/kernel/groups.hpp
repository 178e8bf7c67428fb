// Which of the kernels for one CTA and for a pair a problem is run by.
#pragma once

#include <bit>
#include <cstddef>
#include <tuple>
#include <vector>

namespace shiftconv::tests {

/// A problem's index, and whether a pair of CTAs runs it.
using ProblemAndGroup = std::tuple<size_t, bool>;

/// Every problem once, about half of them by pairs; `others`: by the group that it otherwise is not run by. The groups do not
/// follow any period of the list, so that a list of variants of problems has each variant in both.
inline std::vector<ProblemAndGroup> oneGroupEach(size_t problems, bool others = false) {
  std::vector<ProblemAndGroup> all;
  for (size_t problem = 0; problem < problems; ++problem) all.emplace_back(problem, (std::popcount(problem) % 2 != 0) != others);
  return all;
}

}  // namespace shiftconv::tests
