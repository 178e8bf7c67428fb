// The layers of a benchmark, from a file.
#pragma once

#include <string>
#include <vector>

#include "conv/problem/problem.hpp"

namespace shiftconv::gpu {

struct Layer {
  std::string name, kind;
  Problem problem;
};

/// Lines of "name class N H=W C K R=S stride pad groups [bf16 | e4m3] [bias] [relu] [residual]"; # starts a comment. Outputs of
/// e4m3 operands, and every residual beside f16 or e4m3, are f16. `only`: names separated by commas, or empty for all. Ends the
/// program with a message for a line that it cannot read.
std::vector<Layer> readLayers(const std::string& path, const std::string& only, bool allBf16);

}  // namespace shiftconv::gpu
