// The code of one kernel family, in the forms that devices want.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace shiftconv::device {

/// PTX for one target.
struct PtxImage {
  std::string_view target;  ///< as in its .target directive: "sm_100a"
  std::string_view text;
};

/// Views of memory that outlives every device, such as what shiftconv_add_kernels embeds.
struct ModuleImage {
  std::string_view name;              ///< for messages, and to find embedded PTX by
  std::span<const PtxImage> ptx;      ///< at most one for each target; instead of embedded texts
  std::span<const std::byte> fatbin;  ///< SASS for GPUs; may be empty
};

}  // namespace shiftconv::device
