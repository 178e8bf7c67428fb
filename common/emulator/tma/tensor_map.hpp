// The emulator's own CUtensorMap: same 128-byte size and alignment, own encoding, same argument rules as
// cuTensorMapEncodeTiled / cuTensorMapEncodeIm2col (CUDA driver API 13.0).
//
// L2 promotion is not part of the description: it has no effect on what a copy moves.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shiftconv::emulator::tma {

struct alignas(128) TensorMapImage {
  std::array<uint64_t, 16> words{};
};
static_assert(sizeof(TensorMapImage) == 128, "CUtensorMap is 128 bytes (cuda.h)");

/// Enumerator values equal those of CUtensorMapDataType etc. in cuda.h.
enum class DataType : uint8_t {
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
enum class Interleave : uint8_t { None, B16, B32 };
enum class Swizzle : uint8_t { None, B32, B64, B128, B128Atom32, B128Atom32Flip8, B128Atom64 };
enum class Fill : uint8_t { Zero, NanRequestZeroFma };

inline constexpr uint32_t kMaximumRank = 5;

/// Dimensions innermost first, as the driver takes them.
struct TiledMap {
  DataType type = DataType::F16;
  uint32_t rank = 0;
  uint64_t globalAddress = 0;
  std::array<uint64_t, 5> dims{};
  std::array<uint64_t, 5> strides{};  ///< bytes; strides[i] belongs to dimension i+1, as in the driver API
  std::array<uint32_t, 5> box{};
  std::array<uint32_t, 5> elementStrides{1, 1, 1, 1, 1};
  Interleave interleave = Interleave::None;
  Swizzle swizzle = Swizzle::None;
  Fill fill = Fill::Zero;
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

/// What a copy finds in the 128 bytes. The box of `tensor` is meaningless in an im2col map.
struct DecodedMap {
  TiledMap tensor;
  std::optional<PixelBox> pixels;  ///< present in im2col maps
};

/// Bits of one element in global memory: 4 and 6 for the packed types.
uint32_t elementBits(DataType type);
/// 4-bit and 6-bit types, whose elements are not addressable bytes.
bool isPacked(DataType type);
/// The two packed types whose 16 elements fill 16 bytes of shared memory, with padding behind or between them.
bool isPadded(DataType type);
/// "FLOAT16", "128B" ...: the driver's enumerator names without their common prefix.
std::string_view toString(DataType type);
std::string_view toString(Swizzle swizzle);

/// Returns an empty string and fills `image`, or one sentence naming the argument and the limit it breaks.
std::string encodeTiled(const TiledMap& map, TensorMapImage& image);
/// The same for rank 3 to 5 tensors of layout NWC, NHWC, NDHWC; `tensor.box` is ignored.
std::string encodeIm2col(const TiledMap& tensor, const PixelBox& pixels, TensorMapImage& image);

/// Nothing when the 128 bytes are not a map this emulator encoded.
std::optional<DecodedMap> decode(const TensorMapImage& image);
/// False when the 128 bytes are not a tiled map this emulator encoded.
bool decodeTiled(const TensorMapImage& image, TiledMap& map);

}  // namespace shiftconv::emulator::tma
