// Random problems of a run, cut into parts that run side by side.
#pragma once

#include <cstdint>
#include <vector>

namespace shiftconv::tests {

struct FuzzPart {
  uint64_t seed;  ///< of its first problem; the next ones count on
  int problems;
};

/// `count` parts, one behind the other.
inline std::vector<FuzzPart> fuzzParts(uint64_t seed, int count, int problems) {
  std::vector<FuzzPart> parts;
  for (int i = 0; i < count; ++i) parts.push_back({seed + static_cast<uint64_t>(i * problems), problems});
  return parts;
}

}  // namespace shiftconv::tests
