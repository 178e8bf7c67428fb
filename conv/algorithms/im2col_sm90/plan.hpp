// The `im2col_sm90` engine: pixels that the copy engine gathers, multiplied by wgmma, one tile a CTA. See
// conv/algorithms/im2col_sm90/sm90_im2col.cuh for the kernel. No device is needed here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/phase.hpp"
#include "conv/algorithms/im2col_sm90/rows.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/plan.hpp"
#include "conv/plan/rates.hpp"
#include "conv/plan/tiling.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm90 {

/// Operands that CTAs of a cluster share: those with neighbouring tiles of channels their pixels, those with neighbouring tiles of
/// pixels their filter. Where it says nothing else, two share an operand.
enum class Shared : uint8_t { None, Pixels, Filter, Both, PixelsOfFour, FilterOfFour, BothFourPixels, BothFourFilter };

/// Overrides of the planner's own choices; nullopt lets it choose.
struct Im2colChoices {
  std::optional<size_t> tile;     ///< an index of im2colTileNames()
  std::optional<int32_t> stages;  ///< of the ring
  std::optional<int32_t> split;   ///< CTAs that share the reduction of a tile: 1, 2 or 4
  std::optional<Shared> shared;
  std::optional<bool> inPieces;         ///< operands that threads copy
  std::optional<Dependence> dependent;  ///< Filter: where the planner lets the run start early
};

struct Im2colPlan {
  kernels::im2col::Params params{};  ///< addresses are filled in per run
  MapDescription input{};            ///< of a matrix of pixels where the filter has one tap and nothing is left out
  MapDescription second{};           ///< likewise of the second tensor of a split input
  layout::TiledMap filter{};         ///< globalAddress is 0
  std::shared_ptr<const kernels::im2col::Phases> phases;  ///< of a transposed convolution
  LaunchConfig launch{};
  std::string kind;  ///< "f16", "bf16", or input and filter: "e4m3_e4m3"
  size_t tile = 0;
  Shared shared = Shared::None;
  kernels::im2col::InCluster kernel{};  ///< what its kernel can do: kernels that share operands also run where nothing is shared
  bool dependsByDefault = false;        ///< programmatic dependent launch, unless the options say otherwise
  int32_t deepStages = 0;  ///< as many as a CTA has room for that has a multiprocessor alone, where that is more than usual; or 0
  double modelledClocks = 0;
  std::array<float, 4> modelParts{};  ///< loads over products, and device memory and the chain of one CTA over the work of all
  Resource bound = Resource::TensorCore;

  /// Threads copy operands, and none of the maps above is used.
  bool isInPieces() const { return params.pieces.bytes != 0; }
  bool shiftsWords() const { return isShifted(params.pieces.bytes); }
  bool isDeep() const { return deepStages != 0 && params.stages == deepStages; }
  std::string kernelName() const;
  Tiling tiling() const;
  std::string describe() const;
  std::vector<std::string> warpRoles() const;
};

/// "64x32", ...: output pixels x output channels
std::span<const std::string_view> im2colTileNames();

/// "none", "pixels", ...: in the order of Shared
std::span<const std::string_view> im2colSharedNames();

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string im2colRefusal(const Problem& problem, const device::Properties& properties);

/// Every tile that there is a kernel for, in every cluster, fastest by the model first. Requires im2colRefusal(...) to be empty.
std::vector<Im2colPlan> im2colCandidates(const Problem& problem, const device::Properties& properties,
                                         const Im2colChoices& choices = {});

}  // namespace shiftconv::plan::sm90
