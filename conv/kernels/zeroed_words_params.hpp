// Words that a kernel wants to be zero, such as counters in a workspace. Shared by host and device.
#pragma once

#include <cstdint>
#include <type_traits>

namespace shiftconv::kernels {

struct ZeroedWordsParams {
  uint32_t* words = nullptr;
  uint32_t count = 0;
  uint32_t padding = 0;  ///< named, so that it is 0: equal plans have equal bytes
};
static_assert(std::has_unique_object_representations_v<ZeroedWordsParams>);

}  // namespace shiftconv::kernels
