// The `raw_rows` engine: few input channels, read as raw rows of pixels. See conv/algorithms/raw_rows/raw_rows.cu for the kernel.
// No device is needed here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "conv/algorithms/raw_rows/params.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

inline constexpr uint32_t kRawRowsMostRows = 256, kRawRowsMostColumns = 4096;

/// Overrides of the planner's own choices; nullopt lets it choose.
struct RawRowsChoices {
  std::optional<uint32_t> rows, columns;  ///< of the output, of a tile
  std::optional<uint32_t> channels;       ///< of the output, of a CTA: 32 or 64
  Dependence dependent = Dependence::Launch;
};

struct RawRowsPlan {
  kernels::raw_rows::Params params{};  ///< addresses are filled in per run
  LaunchConfig launch{};
  std::string kernelName;
  int32_t rows = 0, columns = 0, channels = 0;
  double modelledClocks = 0;
  Resource bound = Resource::TensorCore;

  std::string describe() const;
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string rawRowsRefusal(const Problem& problem, const device::Properties& properties);

/// The best tiles for each number of channels, fastest by the model first; none when what is chosen does not fit into shared
/// memory. Requires rawRowsRefusal(...) to be empty.
std::vector<RawRowsPlan> rawRowsCandidates(const Problem& problem, const device::Properties& properties,
                                           const RawRowsChoices& choices = {});

}  // namespace shiftconv::plan
