// The GEMM kernels of sm_100: which one, with which tile and budgets. Needs device properties, not a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/gemm/shape.hpp"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"

namespace shiftconv::gemm::sm100 {

/// Where operand A is when it is multiplied.
enum class Engine : uint8_t { SharedA, TensorA };
/// A CTA on its own, two that share loads of B, two that multiply together (cta_group::2).
enum class Grouping : uint8_t { Single, Sharing, Pair };
/// Tiles in turns, or by cluster launch control.
enum class Schedule : uint8_t { Static, LaunchControl };

/// What a caller decides instead of the planner.
struct GemmChoices {
  std::optional<Engine> engine;
  std::optional<Grouping> grouping;
  std::optional<Schedule> schedule;
  std::optional<int32_t> tileRows;  ///< of a CTA: 64 or 128
  std::optional<int32_t> tileN, stages, splits;
  std::optional<bool> residentWeights;
  std::optional<uint32_t> clusters;  ///< of a static schedule
};

/// Addresses are missing in maps and params; binding puts them in.
struct GemmPlan {
  GemmProblem problem;
  Engine engine = Engine::SharedA;
  Grouping grouping = Grouping::Single;
  Schedule schedule = Schedule::Static;
  std::string kernelName;
  layout::TiledMap mapA, mapB, mapScaleA, mapScaleB, mapOutput;  ///< rank 0: not used
  layout::Im2colMap windowA;                                     ///< in place of mapA where the problem has a window
  layout::Im2colMap windowSecond;                                ///< of its second tensor of pixels; rank 0: not used
  GemmParams params;
  LaunchConfig launch;
  uint64_t partialBytes = 0;  ///< workspace, 16-byte aligned, of any content
  uint64_t counterBytes = 0;  ///< workspace after it, zero before the first run
  double modelledClocks = 0;
  std::string_view modelledBound;

  /// The steps of the plan, a line each.
  std::string describe() const;
};

/// Empty and a plan, or one sentence that names the rule that stops it.
std::string planGemm(const GemmProblem& problem, const device::Properties& properties, const GemmChoices& choices, GemmPlan& plan);

}  // namespace shiftconv::gemm::sm100
