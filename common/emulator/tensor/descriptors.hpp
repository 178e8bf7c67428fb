// The shared-memory matrix descriptor (PTX ISA 9.7.16.4.1) and the instruction descriptor (9.7.16.4.2), decoded and
// checked. Every rule that is broken is an EmulatorError of kind Descriptor naming field, value and rule.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/emulator/tensor/element_types.hpp"

namespace shiftconv::emulator::tensor {

enum class Swizzle : uint8_t {
  None = 0,
  Bytes128Atom32 = 1,  ///< 128-byte rows, 32-byte units permuted: tf32 operands that are MN-major
  Bytes128 = 2,
  Bytes64 = 4,
  Bytes32 = 6,
};
std::string_view toString(Swizzle swizzle);

/// All offsets in bytes.
struct MatrixDescriptor {
  uint32_t start = 0;
  uint32_t leadingOffset = 0;
  uint32_t strideOffset = 0;
  uint8_t baseOffset = 0;
  Swizzle swizzle = Swizzle::None;

  friend bool operator==(const MatrixDescriptor&, const MatrixDescriptor&) = default;
};
/// `who` names the operand in messages ("operand B").
MatrixDescriptor decodeMatrixDescriptor(uint64_t word, std::string_view who);

enum class MmaKind : uint8_t { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4, Count };
enum class AccumulatorType : uint8_t { F16, F32, S32 };

/// What a kind can do: one row per kind (PTX ISA 9.7.16.2, tables 39, 42-44, 52).
struct MmaKindTraits {
  std::string_view name;         ///< "kind::f16"
  uint32_t depth;                ///< K of one dense instruction
  uint32_t allowedAccumulators;  ///< bit per AccumulatorType
  bool allowsNegate;
  bool allowsTranspose;
  bool blockScaled;
  /// Element type of each code of the A/B type fields; Count where the code is reserved.
  std::array<ElementType, 8> types;
};
const MmaKindTraits& kindTraits(MmaKind kind);

struct InstructionDescriptor {
  ElementType a = ElementType::Count;
  ElementType b = ElementType::Count;
  AccumulatorType d = AccumulatorType::F32;
  bool negateA = false, negateB = false;
  bool transposeA = false, transposeB = false;  ///< true: MN-major
  bool saturate = false;                        ///< kind::i8
  uint32_t m = 0, n = 0;
  uint32_t sparsitySelector = 0;  ///< .sp: which of two columns has the metadata
  uint32_t maximumShift = 0;      ///< .ws: columns by which B may be shifted while the collector keeps it
  // Block-scaled kinds only.
  bool scaleIsUe8m0 = true;
  uint8_t scaleIdA = 0, scaleIdB = 0;
};
/// Which forms of tcgen05.mma an instruction descriptor is for.
struct MmaForm {
  bool weightStationary = false;  ///< .ws
  bool sparse = false;            ///< .sp
};
/// Checks every field against the kind and the shape table. `ctaGroup` is 1 or 2.
InstructionDescriptor decodeInstructionDescriptor(uint32_t word, MmaKind kind, uint32_t ctaGroup, MmaForm form = {});

/// "f16", "f32", "s32".
std::string_view toString(AccumulatorType type);

}  // namespace shiftconv::emulator::tensor
