// The convolutions of networks, from text lists: "3 x Nx56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", N standing for the batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "conv/problem/problem.hpp"

namespace shiftconv::bench {

struct NetworkLayer {
  std::string text;  ///< of the problem, in the library's notation
  int64_t batch = 0;
  Problem problem;
  std::map<std::string, int> occurrences;  ///< in each network, by the name of its list
};

/// Every distinct layer of the lists (*.txt of the folder, in the order of their names) with each batch. Lists whose lines begin
/// with a number instead of N keep that batch, whatever is asked for, and come once. What follows " | " is a note. `suffix` is
/// appended to each problem: "bias relu", for example. Throws std::runtime_error that names file and line.
std::vector<NetworkLayer> readNetworks(const std::string& folder, const std::vector<int64_t>& batches, const std::string& suffix);

/// Layers that read what the ones before them wrote.
struct Chain {
  std::string name;  ///< of its list
  int64_t batch = 0;
  std::vector<Problem> layers;
};

/// Each list of a folder (*.txt, in the order of their names), a layer a line, with each batch. Throws std::runtime_error that
/// names file and line; also for a layer whose input is not the output of the line before it.
std::vector<Chain> readChains(const std::string& folder, const std::vector<int64_t>& batches);

/// Whether the output of `before` can be the input of `layer`.
bool reads(const Problem& layer, const Problem& before);

/// Of a filter, uniform in [-scale, scale), that makes outputs of nearly the same distribution as the inputs, so that no sequence
/// of layers leaves f16.
float steadyFilterScale(const Problem& problem);

/// The problem with operands and output of another type, or `outputs` of a third; "tf32" sums f32 operands into f32. A residual of
/// f16 gets the type of the outputs. Sums of s8 are scaled so that outputs of operands that are uniform in [-127, 127] mostly lie
/// within [-120, 120].
Problem inType(Problem problem, const std::string& type, const std::string& outputs = {});

/// "depthwise", "grouped", "stem", "1x1", "3-D", "strided", "dilated" or "dense": by what a layer is hard for.
std::string classOf(const Problem& problem);

}  // namespace shiftconv::bench
