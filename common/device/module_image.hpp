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
  std::string_view name;              ///< for messages
  std::span<const PtxImage> ptx;      ///< at most one for each target; what the emulated device runs
  std::span<const std::byte> fatbin;  ///< SASS for GPUs; may be empty

  /// The text for exactly this target; empty when there is none.
  std::string_view ptxFor(std::string_view target) const {
    for (const PtxImage& image : ptx)
      if (image.target == target) return image.text;
    return {};
  }
};

}  // namespace shiftconv::device
