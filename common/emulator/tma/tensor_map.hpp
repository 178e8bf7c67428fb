// The emulator's own CUtensorMap: same 128-byte size and alignment, own encoding of the descriptions in
// common/layout/tensor_map.hpp. L2 promotion is left out: it has no effect on what a copy moves.
#pragma once

#include <optional>
#include <string>

#include "common/layout/map_swizzle.hpp"
#include "common/layout/tensor_map.hpp"

namespace shiftconv::emulator::tma {

using layout::PixelBox;
using layout::TensorMapImage;
using layout::TiledMap;
using DataType = layout::MapType;
using Interleave = layout::MapInterleave;
using Swizzle = layout::MapSwizzle;
using Fill = layout::MapFill;
using layout::elementBits;
using layout::isPacked;
using layout::isPadded;
using layout::kMaximumRank;
using layout::SwizzlePattern;
using layout::swizzlePattern;
using layout::toString;

/// What a copy finds in the 128 bytes. The box of `tensor` is meaningless in an im2col map.
struct DecodedMap {
  TiledMap tensor;
  std::optional<PixelBox> pixels;  ///< present in im2col maps
};

/// Returns an empty string and fills `image`, or one sentence naming the argument and the limit it breaks.
std::string encodeTiled(const TiledMap& map, TensorMapImage& image);
/// The same for rank 3 to 5 tensors of layout NWC, NHWC, NDHWC; `tensor.box` is ignored.
std::string encodeIm2col(const TiledMap& tensor, const PixelBox& pixels, TensorMapImage& image);

/// Nothing when the 128 bytes are not a map this emulator encoded.
std::optional<DecodedMap> decode(const TensorMapImage& image);
/// False when the 128 bytes are not a tiled map this emulator encoded.
bool decodeTiled(const TensorMapImage& image, TiledMap& map);

}  // namespace shiftconv::emulator::tma
