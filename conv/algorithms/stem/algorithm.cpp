#include "conv/algorithms/stem/algorithm.hpp"

#include "conv/algorithms/stem/plan.hpp"
#include "conv/plan/single_plan_algorithm.hpp"
#include "conv/plan/targets.hpp"
#include "stem_sm90_image.hpp"

namespace shiftconv::plan {

const Algorithm& stemAlgorithm() {
  static const SinglePlanAlgorithm<StemPlan> algorithm(
      {"stem", Accumulation::WgmmaTensorCore, isHopper, stemRefusal, planStem, images::stem_sm90, stemWarpRoles});
  return algorithm;
}

}  // namespace shiftconv::plan
