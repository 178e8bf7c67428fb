// The 64-bit shared-memory matrix descriptor of tcgen05.mma and tcgen05.cp (PTX ISA 9.0, 9.7.16.4.1).
#pragma once

#include <cstdint>

#include "common/host_device.hpp"

namespace shiftconv::layout {

/// Values of bits 63:61.
enum class MatrixSwizzle : uint32_t { None = 0, B128Base32 = 1, B128 = 2, B64 = 4, B32 = 6 };

/// Bytes of one row of a 128-byte-swizzled K-major tile, and of the 8-row group that the pattern repeats over.
inline constexpr uint32_t kSwizzle128RowBytes = 128;
inline constexpr uint32_t kSwizzle128AtomBytes = 1024;

/// Bytes along K that one tcgen05.mma consumes per row, for every kind (PTX ISA 9.0, table 39: K * element size = 32).
inline constexpr uint32_t kMmaRowBytes = 32;

/// K-major operand in 128-byte swizzle. `sharedAddress`: byte address of the first row in the shared window, 16-byte
/// aligned, inside a tile whose 1024-byte atoms are 1024-byte aligned (so that the base offset is 0).
/// `groupStrideBytes`: distance between 8-row groups. The leading-dimension offset is unused in this mode.
SHIFTCONV_HOST_DEVICE constexpr uint64_t swizzle128KMajorDescriptor(uint32_t sharedAddress,
                                                                    uint32_t groupStrideBytes = kSwizzle128AtomBytes) {
  constexpr uint64_t kVersion = 0b001;  // bits 48:46, a constant of this descriptor
  return uint64_t{(sharedAddress & 0x3FFFFu) >> 4} | (uint64_t{1} << 16) | (uint64_t{groupStrideBytes >> 4} << 32) |
         (kVersion << 46) | (uint64_t{static_cast<uint32_t>(MatrixSwizzle::B128)} << 61);
}

/// MN-major operand in 128-byte swizzle: rows of 128 bytes along M or N, one for each element of K. `atomStrideBytes`: from one run
/// of 128 bytes along M or N to the next. 32-bit elements (tf32) are swizzled in atoms of 32 bytes, which TMA knows as
/// 128B_ATOM_32B, and their pattern repeats every 4 rows instead of 8 (PTX ISA 9.0, 9.7.16.3.3 and table 52).
SHIFTCONV_HOST_DEVICE constexpr uint64_t swizzle128MnMajorDescriptor(uint32_t sharedAddress, uint32_t atomStrideBytes,
                                                                     bool is32Bit) {
  constexpr uint64_t kVersion = 0b001;
  const uint64_t groupBytes = is32Bit ? kSwizzle128AtomBytes / 2 : kSwizzle128AtomBytes;
  return uint64_t{(sharedAddress & 0x3FFFFu) >> 4} | (uint64_t{atomStrideBytes >> 4} << 16) | ((groupBytes >> 4) << 32) |
         (kVersion << 46) | (uint64_t{static_cast<uint32_t>(is32Bit ? MatrixSwizzle::B128Base32 : MatrixSwizzle::B128)} << 61);
}

/// The descriptor of wgmma differs from tcgen05's in its high bits (PTX ISA 9.0, 9.7.15.5.1.2.2): swizzle in 63:62, no version.
/// K-major operand in 128-byte swizzle; rows may start at any 16-byte aligned address of a tile whose 1024-byte atoms are aligned,
/// because the swizzle follows the absolute address (observed on H200 for both operands and any group stride).
SHIFTCONV_HOST_DEVICE constexpr uint64_t wgmmaSwizzle128Descriptor(uint32_t sharedAddress,
                                                                   uint32_t groupStrideBytes = kSwizzle128AtomBytes) {
  return uint64_t{(sharedAddress & 0x3FFFFu) >> 4} | (uint64_t{1} << 16) | (uint64_t{groupStrideBytes >> 4} << 32) |
         (uint64_t{1} << 62);
}
/// K-major operand without swizzle: rows 16 bytes apart in groups of 8, `chunkStrideBytes` between the two 16-byte halves of a row.
SHIFTCONV_HOST_DEVICE constexpr uint64_t wgmmaPlainDescriptor(uint32_t sharedAddress, uint32_t chunkStrideBytes,
                                                              uint32_t groupStrideBytes) {
  return uint64_t{(sharedAddress & 0x3FFFFu) >> 4} | (uint64_t{chunkStrideBytes >> 4} << 16) |
         (uint64_t{groupStrideBytes >> 4} << 32);
}

/// Rows of 16 bytes that follow each other without gaps, 8 rows a group, no swizzle: how block scale factors lie for
/// tcgen05.cp. `sharedAddress`: 16-byte aligned.
SHIFTCONV_HOST_DEVICE constexpr uint64_t densePackedRowsDescriptor(uint32_t sharedAddress) {
  constexpr uint64_t kVersion = 0b001, kRowBytes = 16, kGroupBytes = 8 * kRowBytes;
  return uint64_t{(sharedAddress & 0x3FFFFu) >> 4} | (uint64_t{kRowBytes >> 4} << 16) | (uint64_t{kGroupBytes >> 4} << 32) |
         (kVersion << 46);
}

/// A descriptor that was made for shared address 0, for `sharedAddress`. A shared-window address may have bits above the 18 that a
/// descriptor has room for: those that tell the CTAs of a cluster apart.
SHIFTCONV_HOST_DEVICE constexpr uint64_t descriptorAt(uint64_t descriptor, uint32_t sharedAddress) {
  return descriptor | ((sharedAddress & 0x3FFFFu) >> 4);
}

/// Moves the start of a descriptor by a multiple of 16 bytes that stays inside the tile (no carry out of the field).
SHIFTCONV_HOST_DEVICE constexpr uint64_t advanceDescriptor(uint64_t descriptor, uint32_t bytes) {
  return descriptor + (bytes >> 4);
}

/// Where TMA's and the tensor core's 128-byte swizzle puts the byte at linear address `address`:
/// bits 6:4 are XORed with bits 9:7 of the absolute shared address.
SHIFTCONV_HOST_DEVICE constexpr uint32_t swizzle128(uint32_t address) { return address ^ ((address >> 3) & 0x70u); }

}  // namespace shiftconv::layout
