#include "common/gemm/sm100/role_names.hpp"

#include <fmt/format.h>

#include "common/gemm/sm100/roles.hpp"

namespace shiftconv::gemm::sm100 {

std::vector<std::string> warpRoles(bool arrangesScales) {
  std::vector<std::string> roles{"operand load", "mma", "filter load", "tiles"};
  for (int warp = 0; warp < kEpilogueWarpCount; ++warp) roles.push_back(fmt::format("epilogue {}", warp));
  for (uint32_t warp = 0; arrangesScales && warp < kScaleWarpCount; ++warp) roles.push_back(fmt::format("scales {}", warp));
  return roles;
}

}  // namespace shiftconv::gemm::sm100
