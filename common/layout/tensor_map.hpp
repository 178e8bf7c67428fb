// Tensor-map descriptions: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col are asked for, and the rules they apply
// (CUDA driver API 13.0). Each device encodes a description into 128 bytes of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace shiftconv::layout {

struct alignas(128) TensorMapImage {
  std::array<uint64_t, 16> words{};
};
static_assert(sizeof(TensorMapImage) == 128, "CUtensorMap is 128 bytes (cuda.h)");

/// Enumerator values equal those of CUtensorMapDataType etc. in cuda.h.
enum class MapType : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
  U4Align8,
  U4Align16,
  U6Align16
};
enum class MapInterleave : uint8_t { None, B16, B32 };
enum class MapSwizzle : uint8_t { None, B32, B64, B128, B128Atom32, B128Atom32Flip8, B128Atom64 };
enum class MapFill : uint8_t { Zero, NanRequestZeroFma };
enum class MapL2Promotion : uint8_t { None, B64, B128, B256 };

inline constexpr uint32_t kMaximumRank = 5;

/// Dimensions innermost first, as the driver takes them.
struct TiledMap {
  MapType type = MapType::F16;
  uint32_t rank = 0;
  uint64_t globalAddress = 0;
  std::array<uint64_t, 5> dims{};
  std::array<uint64_t, 5> strides{};  ///< bytes; strides[i] belongs to dimension i+1, as in the driver API
  std::array<uint32_t, 5> box{};
  std::array<uint32_t, 5> elementStrides{1, 1, 1, 1, 1};
  MapInterleave interleave = MapInterleave::None;
  MapSwizzle swizzle = MapSwizzle::None;
  MapFill fill = MapFill::Zero;
  MapL2Promotion l2Promotion = MapL2Promotion::B128;  ///< no effect on what a copy moves
};

/// What an im2col map has in place of a box. Corners are given innermost first, {W, H, D}, as CUTLASS passes them
/// (the prose of cuda.h says {D, H, W}); they bound the position of filter tap 0, relative to the first (lower) and
/// the last (upper) pixel of the tensor.
struct PixelBox {
  std::array<int32_t, 3> lowerCorner{};
  std::array<int32_t, 3> upperCorner{};
  uint32_t channelsPerPixel = 0;
  uint32_t pixelsPerColumn = 0;
};

/// Tensors of rank 3 to 5 in layout NWC, NHWC, NDHWC; `tensor.box` is ignored.
struct Im2colMap {
  TiledMap tensor;
  PixelBox pixels;
};

/// Bits of one element in global memory: 4 and 6 for the packed types.
uint32_t elementBits(MapType type);
/// 4-bit and 6-bit types, whose elements are not addressable bytes.
bool isPacked(MapType type);
/// The two packed types whose 16 elements fill 16 bytes of shared memory, with padding after or between them.
bool isPadded(MapType type);
/// "FLOAT16", "128B" ...: the driver's enumerator names without their common prefix.
std::string_view toString(MapType type);
std::string_view toString(MapSwizzle swizzle);

/// Empty when the driver accepts the description, else one sentence naming the argument and the limit it breaks.
std::string refusal(const TiledMap& map);
std::string refusal(const Im2colMap& map);

}  // namespace shiftconv::layout
