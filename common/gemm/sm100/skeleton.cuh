// The skeleton of a kernel on tcgen05: what each warp of a CTA does, from the first barrier to the last.
//
// A kernel has a context, a struct with what all its roles share: `Group`, `control` in shared memory, where its stages lie, and
// `tensorMemory`. Its roles are functions over the context, which stand beside it:
//
//   initialiseBarriers(cta)      one thread
//   clearOperands(cta)           the warps of the epilogue, before anything is loaded; if the kernel has it
//   loadOperands(cta)            a whole warp
//   multiply(cta)                one thread, of the CTA that leads
//   loadFilter(cta)              one thread; if the kernel loads filters on their own
//   announceTiles(cta)           a whole warp; if there is something to tell of tiles
//   drain(cta, window)           four warps, each its window of 32 lanes of the accumulators
//   arrangeScales(cta)           four warps, of launches that have them; if the kernel has it
#pragma once

#include <cstdint>

#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/roles.hpp"
#include "common/ptx/warp.cuh"

namespace shiftconv::gemm::sm100 {

template <class Cta>
__device__ __forceinline__ void runRoles(Cta& cta) {
  using Group = typename Cta::Group;
  const uint32_t warp = threadIdx.x / 32;
  const bool isEpilogue = warp >= kEpilogueWarps && warp < kScaleWarps;
  if (warp == kOperandLoadWarp && ptx::electOne()) initialiseBarriers(cta);
  if constexpr (requires { clearOperands(cta); })
    if (isEpilogue) clearOperands(cta);
  cta.tensorMemory = enter<Group>(cta.control->tensorMemory, cta.allocatedColumns(), warp == kMmaWarp);
  if (warp == kOperandLoadWarp) {
    loadOperands(cta);
  } else if (warp == kMmaWarp) {
    if (Group::isLeader() && ptx::electOne()) multiply(cta);
  } else if (warp == kFilterLoadWarp) {
    if constexpr (requires { loadFilter(cta); })
      if (ptx::electOne()) loadFilter(cta);
  } else if (warp == kTileWarp) {
    if constexpr (requires { announceTiles(cta); }) announceTiles(cta);
  } else if (isEpilogue) {
    drain(cta, warp % 4);
  } else {
    if constexpr (requires { arrangeScales(cta); }) arrangeScales(cta);
  }
  leave<Group>(cta.tensorMemory, cta.allocatedColumns(), warp == kMmaWarp);  // site: leave
}

}  // namespace shiftconv::gemm::sm100
