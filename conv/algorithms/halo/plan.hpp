// The `halo` engine of sm_90a: which problems it takes, how it cuts them, and what its kernels are told. See
// conv/algorithms/halo/sm90_halo.cuh for the kernel. No device is needed here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/algorithms/halo/cut.hpp"
#include "conv/algorithms/halo/kernels.hpp"
#include "conv/algorithms/halo/params.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Overrides of the planner's own choices; nullopt lets it choose.
struct HaloChoices {
  std::optional<HaloCut> cut;
  std::optional<std::string> shape;  ///< a name of halo_shapes.hpp
  std::optional<int32_t> split;      ///< CTAs that share the reduction of a tile: 1, 2 or 4
  std::optional<int32_t> lag;        ///< taps between the warpgroups, bounded by what the rings hold
  std::optional<bool> sharesBoxes;   ///< whether two CTAs load boxes for each other
  Dependence dependent = Dependence::Launch;
};

struct HaloPlan {
  kernels::halo::Params params{};  ///< addresses are filled in per run
  sm90::halo::InputTileMaps inputs{};
  layout::TiledMap filter{}, output{}, residual{};  ///< globalAddress is 0
  LaunchConfig launch{};
  /// Plain and Pixels: bias and ReLU. Activated...: an activation and what goes with it. Converted: another type and what goes with
  /// it, too. Residual...: bias, ReLU and that. The others have the whole epilogue, without `output` and `residual`.
  HaloModule module = HaloModule::Plain;
  std::string kernelName;
  std::string_view shape;  ///< a name of halo_shapes.hpp
  HaloCut cut = HaloCut::Columns;
  double validFraction = 0;   ///< of the positions that are multiplied, those that are outputs
  double waves = 0;           ///< tiles of the busiest multiprocessor
  double modelledClocks = 0;  ///< device memory included
  /// Loads over products, device memory over both and the epilogue, the epilogue over products; KiB of what both rings load again.
  std::array<float, 4> modelParts{};
  Resource bound = Resource::TensorCore;

  /// The copy engine stores the output.
  bool storesTiles() const { return module != HaloModule::Half && module != HaloModule::Float && module != HaloModule::Integer; }
  /// As the copy engine brings it.
  bool addsResidual() const {
    return module == HaloModule::Residual || module == HaloModule::ResidualPixels || addsResidualOfBytes();
  }
  bool addsResidualOfBytes() const { return module == HaloModule::ResidualFloat || module == HaloModule::ResidualInteger; }
  std::string describe() const;
  std::vector<std::string> warpRoles() const;
};

/// A plan as a candidate: what makes it again, and what it would take.
struct HaloOffer {
  std::string_view shape;
  HaloCut cut;
  int32_t split, lag;
  bool sharesBoxes;
  int32_t tilePixels, tileChannels;
  bool pixelsAreA, weightsStay;
  Dependence dependent;
  double modelledClocks;
  Resource bound;
  std::array<float, 4> modelParts;  ///< those of the plan
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string haloRefusal(const Problem& problem, const device::Properties& properties);

/// Every way to cut the problem that fits, fastest by the model first. Requires haloRefusal(...) to be empty.
std::vector<HaloOffer> haloOffers(const Problem& problem, const device::Properties& properties, const HaloChoices& choices = {});
/// The plans of these offers, in their order.
std::vector<HaloPlan> haloCandidates(const Problem& problem, const device::Properties& properties, const HaloChoices& choices = {});

}  // namespace shiftconv::plan
