// Words that a kernel wants to be zero, such as counters in a workspace. Shared by host and device.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

struct ZeroedWordsParams {
  uint32_t* words = nullptr;
  uint32_t count = 0;
};

}  // namespace shiftconv::kernels
