// The emulator's own CUtensorMap: same 128-byte size and alignment, own encoding, same argument rules as
// cuTensorMapEncodeTiled / cuTensorMapEncodeIm2col (CUDA driver API 13.0).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace shiftconv::emulator::tma {

struct alignas(128) TensorMapImage { std::array<uint64_t, 16> words{}; };
static_assert(sizeof(TensorMapImage) == 128, "CUtensorMap is 128 bytes (cuda.h)");

/// Enumerator values equal those of CUtensorMapDataType etc. in cuda.h.
enum class DataType : uint8_t { U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, F32Ftz, TF32, TF32Ftz, U4Align8, U4Align16, U6Align16 };
enum class Interleave : uint8_t { None, B16, B32 };
enum class Swizzle : uint8_t { None, B32, B64, B128, B128Atom32, B128Atom32Flip8, B128Atom64 };
enum class Fill : uint8_t { Zero, NanRequestZeroFma };

/// Dimensions innermost first, as the driver takes them.
struct TiledMap {
  DataType type = DataType::F16;
  uint32_t rank = 0;
  uint64_t globalAddress = 0;
  std::array<uint64_t, 5> dims{};
  std::array<uint64_t, 5> strides{};         ///< bytes; strides[i] belongs to dimension i+1, as in the driver API
  std::array<uint32_t, 5> box{};
  std::array<uint32_t, 5> elementStrides{1, 1, 1, 1, 1};
  Interleave interleave = Interleave::None;
  Swizzle swizzle = Swizzle::None;
  Fill fill = Fill::Zero;
};

/// Returns an empty string and fills `image`, or one sentence naming the argument and the limit it breaks.
std::string encodeTiled(const TiledMap& map, TensorMapImage& image);
/// False when the 128 bytes are not a map this emulator encoded.
bool decodeTiled(const TensorMapImage& image, TiledMap& map);

}  // namespace shiftconv::emulator::tma
