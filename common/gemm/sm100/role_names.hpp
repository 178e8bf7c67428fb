// Names of a CTA's warps (roles.hpp), for counters, profiles and hazard reports.
#pragma once

#include <string>
#include <vector>

namespace shiftconv::gemm::sm100 {

std::vector<std::string> warpRoles(bool arrangesScales);

}  // namespace shiftconv::gemm::sm100
