// The 32-bit instruction descriptor of tcgen05.mma (PTX ISA 9.0, tables 42 to 44).
#pragma once

#include <cstdint>

#include "common/host_device.hpp"
#include "common/numerics/number_types.hpp"

namespace shiftconv::layout {

using numerics::NumberType;

/// NvF4 is mxf4nvf4 with a scale for every 16 elements; with one for every 32 that kind computes what MxF4 does.
enum class MmaKind : uint8_t { F16, TF32, F8F6F4, I8, MxF8F6F4, MxF4, NvF4 };
enum class MmaAccumulator : uint32_t { F16 = 0, F32 = 1, S32 = 2 };

SHIFTCONV_HOST_DEVICE constexpr bool isBlockScaled(MmaKind kind) { return kind >= MmaKind::MxF8F6F4; }

/// What a matrix instruction multiplies.
struct MmaTypes {
  MmaKind kind = MmaKind::F16;
  NumberType a = NumberType::F16, b = NumberType::F16;
  MmaAccumulator accumulator = MmaAccumulator::F32;
  NumberType scale = NumberType::UE8M0;     ///< of block-scaled kinds: UE8M0 or, for NvF4, UE4M3
  bool mnMajorA = false, mnMajorB = false;  ///< transposed: M or N is the contiguous dimension of the operand
};

/// The code of an element type in the kind's descriptor; the fourth column of the tables.
SHIFTCONV_HOST_DEVICE constexpr uint32_t typeCode(MmaKind kind, NumberType type) {
  if (kind == MmaKind::MxF4 || kind == MmaKind::NvF4) return 1;
  switch (type) {
    case NumberType::BF16:
    case NumberType::E5M2:
    case NumberType::S8:
      return 1;
    case NumberType::TF32:
      return 2;
    case NumberType::E2M3:
      return 3;
    case NumberType::E3M2:
      return 4;
    case NumberType::E2M1:
      return 5;
    default:
      return 0;
  }
}

/// Dense, nothing negated, no saturation. `m`: 64 or 128 (256 for a CTA pair); `n`: a multiple of 8 (16 for m = 128 and for pairs),
/// at most 256. Block-scaled kinds have 0 as the byte of a Tensor Memory cell that holds the scale factors; see selectScaleByte.
SHIFTCONV_HOST_DEVICE constexpr uint32_t instructionDescriptor(const MmaTypes& types, uint32_t m, uint32_t n) {
  const uint32_t codes = (typeCode(types.kind, types.a) << 7) | (typeCode(types.kind, types.b) << 10) | ((n >> 3) << 17);
  const uint32_t majorA = types.mnMajorA ? 1 : 0, majorB = types.mnMajorB ? 1 : 0;
  if (isBlockScaled(types.kind))
    return codes | (majorA << 15) | (majorB << 16) | ((types.scale == NumberType::UE8M0 ? 1u : 0u) << 23) | ((m >> 7) << 27);
  return codes | (static_cast<uint32_t>(types.accumulator) << 4) | (majorA << 15) | (majorB << 16) | ((m >> 4) << 24);
}

/// Adds which byte of a cell holds the first scale factor of an instruction, the same for both operands: 0..3, even for MxF4.
SHIFTCONV_HOST_DEVICE constexpr uint32_t selectScaleByte(uint32_t instructionDescriptor, uint32_t byte) {
  return instructionDescriptor | (byte << 4) | (byte << 29);
}

/// kind::f16 with two operands of one type, both K-major.
SHIFTCONV_HOST_DEVICE constexpr uint32_t instructionDescriptorF16(NumberType input, MmaAccumulator accumulator, uint32_t m,
                                                                  uint32_t n) {
  return instructionDescriptor({MmaKind::F16, input, input, accumulator}, m, n);
}

}  // namespace shiftconv::layout
