// Layers of a network, from a shape file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conv/problem/problem.hpp"

namespace shiftconv::bench {

struct Layer {
  int64_t count = 1;  ///< how often the network has it
  std::string name;
  Problem problem;
};

/// Operand types that replace those of a file.
enum class Operands { AsWritten, F16, MxFp8 };

/// Lines "<count> x <problem> | <name>", the problem in the library's notation; # begins a comment. Throws std::runtime_error that
/// names file and line.
std::vector<Layer> readLayers(const std::string& path, Operands operands);

/// A problem with other operands. Block-scaled ones have f16 outputs.
Problem withOperands(Problem problem, Operands operands);

}  // namespace shiftconv::bench
