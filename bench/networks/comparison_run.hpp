// How programs that put layers of networks beside cuDNN on one GPU begin and end: common options, what they run on, rows as JSON.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/engines.hpp"
#include "common/command_line/command_line.hpp"

namespace shiftconv::bench {

struct ComparisonOptions {
  std::vector<uint32_t> batchNumbers;
  int rounds;
  std::string cudnnLibrary{}, json{}, planOptions{};
  int64_t cudnnPlans = 8;
  uint64_t seed = 0;

  /// Those above, for both sides and for the rows.
  void addTo(command_line::Parser& parser);
  std::vector<int64_t> batches() const { return {batchNumbers.begin(), batchNumbers.end()}; }
};

/// A stream of the GPU, ours, and cuDNN's library if any of its plans are asked for. Prints what they are.
class Sides {
 public:
  explicit Sides(const ComparisonOptions& options);

  CUstream stream = nullptr;
  gpu::Library library;
  const gpu::Module verification;
  const std::string cudnnVersion;
};

/// What an earlier run wrote; without such a file a report of no rows.
nlohmann::ordered_json readReport(const std::string& path);

/// True without a path. Says so where the file cannot be written.
bool writeJson(const std::string& path, const nlohmann::ordered_json& report);

/// The status of a program: reads its command line, finds a seed where none is given, and runs.
int runComparison(int argc, char** argv, command_line::Parser& parser, ComparisonOptions& options, const std::function<int()>& run);

}  // namespace shiftconv::bench
