// One tensor of an input: all of it, or its first or other channels or depth slices. Shared by planner and device code.
#pragma once

#include <cstdint>
#include <type_traits>

namespace shiftconv::kernels {

/// Image `image`'s slice `depth` of the input is slice image * depths + depth - firstDepth of the tensor, if that is one of the
/// image's `depths`; likewise the channels of a pixel.
struct InputPart {
  const uint8_t* address = nullptr;
  int64_t pixelBytes = 0;  ///< from pixel to pixel
  int32_t firstDepth = 0, depths = 0;
  int32_t firstChannel = 0, channels = 0;
};
static_assert(std::has_unique_object_representations_v<InputPart>);

}  // namespace shiftconv::kernels
