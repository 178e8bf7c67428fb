// Times of whole convolutions on devices that this project has not run on, as others published them.
#pragma once

#include <string>
#include <vector>

#include "conv/problem/problem.hpp"

namespace shiftconv::bench {

struct PublishedTime {
  int number = 0;                      ///< the publication's
  double patchShift = 0, cutlass = 0;  ///< seconds
  Problem problem;
};

/// Lines "<number> <PatchShift in ms> <CUTLASS in ms> <problem>"; # begins a comment. Throws std::runtime_error that names file and
/// line.
std::vector<PublishedTime> readPublishedTimes(const std::string& path);

}  // namespace shiftconv::bench
