// Where the phases' filters, outputs and residuals lie, and the launches that move them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "conv/algorithms/phases/forms.hpp"
#include "conv/plan/plan.hpp"

namespace shiftconv::plan::phases {

/// The longest of 16, 8, 4, 2 and 1 bytes that divides both: what a thread copies of rows of `bytes`, `pitch` bytes apart.
int32_t vectorBytes(int64_t bytes, int64_t pitch);

struct Places {
  std::vector<kernels::phases::PhasePlace> phases;  ///< of united ones the first, which the others follow
  kernels::phases::PhasePlace step;
  /// Of outputs, residuals and repeated numbers, after which lies the workspace of those that compute; of filters.
  size_t bytes = 0, packedBytes = 0;
  uint64_t bias = 0, channelScale = 0;  ///< of united phases, in the workspace
};

Places placesApart(const Problem& p, const std::vector<Phase>& phases);
/// Of outputs and residuals in the tensors, of filters and repeated numbers where they are packed and repeated.
Places placesOfRows(const Problem& p, const Rows& rows);
Places placesUnited(const Problem& p, const United& united);
/// Byte offsets in the tensors themselves.
Places placesDirect(const Problem& p, const std::vector<Phase>& phases);

/// What the kernels are told of the phases.
class Moves {
 public:
  Moves(const Problem& p, const std::vector<Phase>& phases, const Places& places);
  Moves(const Problem& p, const Rows& rows, const Places& places);
  Moves(const Problem& p, const United& united, const Places& places);

  PlannedLaunch gatherFilters() const;
  PlannedLaunch splitResidual() const;
  PlannedLaunch mergeOutputs() const;
  /// Of a bias or channel scales, for united phases.
  PlannedLaunch repeat(TensorName tensor, DataType type, uint64_t place) const;

 private:
  explicit Moves(const Problem& p);
  void tell(size_t axis, int64_t rest, const AxisPhase& own);
  void tell(size_t axis, const UnitedAxis& all);
  int32_t firstTap(size_t axis, const AxisPhase& own) const;
  PlannedLaunch move(const char* kernel, TensorName tensor, int64_t pitch, DataType type) const;

  const Problem& p_;
  kernels::phases::Params common_;
  int64_t pixelPitch_;  ///< of the phases' outputs, in elements
};

}  // namespace shiftconv::plan::phases
