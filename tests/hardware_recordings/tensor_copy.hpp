// Cases that move tiles with tensor maps.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/hardware_recordings/case.hpp"
#include "tests/hardware_recordings/operands.hpp"

namespace shiftconv::recordings {

// Enumerators of cuda.h.
enum MapType : uint32_t { kU8, kU16, kU32, kS32, kU64, kS64, kF16, kF32, kF64, kBF16, kF32Ftz, kTF32, kTF32Ftz, kMapTypes };
enum MapSwizzle : uint32_t { kNone, k32B, k64B, k128B, k128BAtom32, k128BAtom32Flip8, k128BAtom64 };

/// Why cases with a swizzle beyond 128B are not compared.
inline constexpr const char* kAtomsAreNewer =
    "the driver refuses the 128B_ATOM swizzles for sm_90; they came with Blackwell, which the emulator models";

uint32_t elementBytes(uint32_t type);
/// Bytes of a row that the pattern covers; 0 without swizzle.
uint32_t swizzleSpan(uint32_t swizzle);

struct CopyStart {
  std::array<int32_t, 5> coordinates{};
  std::array<uint16_t, 3> offsets{};  ///< im2col
  uint32_t shared = 0;                ///< byte offset of the tile in its slot, a multiple of 128
};

/// Bytes of the tile in shared memory.
uint32_t tileBytes(const TensorMap& map);
/// Bytes from the start of the tensor to its end.
uint64_t tensorBytes(const TensorMap& map);
/// Values that suit the type: floats with edge values, everything else noise.
std::vector<std::byte> tensorContents(uint32_t type, uint64_t bytes, uint64_t seed);

/// One copy after another, each into its own poisoned slot of shared memory (aligned to 1024 bytes), on one barrier that
/// expects all bytes. The result is every slot, then two words: phase completed, and not one byte more than expected.
Case tensorLoad(const TensorMap& map, const std::vector<CopyStart>& starts, const std::string& space = "shared::cluster");
/// From noise in shared memory to a poisoned tensor. `operation`, if any, makes it a reduction on typed contents.
Case tensorStore(const TensorMap& map, const std::vector<CopyStart>& starts, const std::string& operation = "");

/// The operand list of coordinates, "{c0, c1}".
std::string coordinateList(const TensorMap& map, const CopyStart& start);

}  // namespace shiftconv::recordings
