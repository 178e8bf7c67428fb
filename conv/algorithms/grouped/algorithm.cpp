#include "conv/algorithms/grouped/algorithm.hpp"

#include "conv/algorithms/grouped/plan.hpp"
#include "conv/plan/single_plan_algorithm.hpp"
#include "conv/plan/targets.hpp"
#include "grouped_image.hpp"

namespace shiftconv::plan {

const Algorithm& groupedAlgorithm() {
  static const SinglePlanAlgorithm<GroupedPlan> algorithm(
      {"grouped", Accumulation::HalfTensorCore, isHopperOrBlackwell, groupedRefusal, planGrouped, images::grouped, groupedWarpRoles,
       [](const GroupedPlan& made) -> Tiling {
         return {made.params.tilePixels, static_cast<int32_t>(made.input.box[0])};
       }});
  return algorithm;
}

}  // namespace shiftconv::plan
