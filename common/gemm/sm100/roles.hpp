// The warps of a CTA in every kernel on tcgen05. Shared by planners and device code.
#pragma once

#include <cstdint>

#include "common/host_device.hpp"

namespace shiftconv::gemm::sm100 {

enum Warp : uint32_t {
  kOperandLoadWarp = 0,
  kMmaWarp = 1,  ///< owns the Tensor Memory allocation
  kFilterLoadWarp = 2,
  kTileWarp = 3,       ///< tells the others of tiles: which come next, or which lanes are masked
  kEpilogueWarps = 4,  ///< 4..7: warp w may touch Tensor Memory lanes 32*(w%4).. only (PTX ISA 9.7.16.8.1)
  kScaleWarps = 8,     ///< 8..11, of launches whose scale factors threads arrange
};
inline constexpr int32_t kEpilogueWarpCount = 4, kEpilogueThreads = 32 * kEpilogueWarpCount;
inline constexpr uint32_t kScaleWarpCount = 4;

inline constexpr uint32_t kMaximumThreads = 32 * (kScaleWarps + kScaleWarpCount);
SHIFTCONV_HOST_DEVICE constexpr uint32_t threadsOf(bool arrangesScales) {
  return arrangesScales ? kMaximumThreads : 32 * kScaleWarps;
}

}  // namespace shiftconv::gemm::sm100
