#include "conv/algorithms/depthwise/algorithm.hpp"

#include "conv/algorithms/depthwise/plan.hpp"
#include "conv/plan/single_plan_algorithm.hpp"
#include "conv/plan/targets.hpp"
#include "depthwise_image.hpp"

namespace shiftconv::plan {

const Algorithm& depthwiseAlgorithm() {
  using namespace kernels::depthwise;
  static const SinglePlanAlgorithm<DepthwisePlan> algorithm({"depthwise", Accumulation::HalfTensorCore, isHopperOrBlackwell,
                                                             depthwiseRefusal, planDepthwise, images::depthwise, depthwiseWarpRoles,
                                                             [](const DepthwisePlan&) -> Tiling {
                                                               return {kTileRows * kTileColumns, kCtaChannels};
                                                             }});
  return algorithm;
}

}  // namespace shiftconv::plan
