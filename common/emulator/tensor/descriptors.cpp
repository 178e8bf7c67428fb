#include "common/emulator/tensor/descriptors.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::tensor {

namespace {

template <class Word>
constexpr Word field(Word word, unsigned high, unsigned low) {
  return word >> low & ((Word{1} << (high - low + 1)) - 1);
}

template <class... Arguments>
[[noreturn]] void reject(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw EmulatorError(ErrorKind::Descriptor, fmt::format(format, std::forward<Arguments>(arguments)...));
}

constexpr uint32_t accumulators(std::initializer_list<AccumulatorType> types) {
  uint32_t bits = 0;
  for (AccumulatorType type : types) bits |= 1u << static_cast<unsigned>(type);
  return bits;
}

constexpr std::array<ElementType, 8> types(std::initializer_list<std::pair<unsigned, ElementType>> codes) {
  std::array<ElementType, 8> result{};
  for (ElementType& type : result) type = ElementType::Count;
  for (auto [code, type] : codes) result[code] = type;
  return result;
}

using enum ElementType;
using Acc = AccumulatorType;
constexpr auto kF8F6F4Types = types({{0, E4M3}, {1, E5M2}, {3, E2M3}, {4, E3M2}, {5, E2M1}});
constexpr auto kF4Types = types({{1, E2M1}});

constexpr std::array<MmaKindTraits, static_cast<size_t>(MmaKind::Count)> kKinds{{
    // name, K, accumulators, negate, transpose, block scaled, types
    {"kind::f16", 16, accumulators({Acc::F16, Acc::F32}), true, true, false, types({{0, F16}, {1, BF16}})},
    {"kind::tf32", 8, accumulators({Acc::F32}), true, true, false, types({{2, TF32}})},
    {"kind::f8f6f4", 32, accumulators({Acc::F16, Acc::F32}), true, true, false, kF8F6F4Types},
    {"kind::i8", 32, accumulators({Acc::S32}), false, true, false, types({{0, U8}, {1, S8}})},
    {"kind::mxf8f6f4", 32, accumulators({Acc::F32}), true, true, true, kF8F6F4Types},
    {"kind::mxf4", 64, accumulators({Acc::F32}), true, false, true, kF4Types},
    {"kind::mxf4nvf4", 64, accumulators({Acc::F32}), true, false, true, kF4Types},
}};

/// Table 39, .ws.
void requireWeightStationaryShape(const InstructionDescriptor& descriptor, MmaKind kind) {
  const auto require = [&](const char* name, uint32_t value, bool isLegal, const char* rule) {
    if (!isLegal)
      reject("Instruction descriptor: {} = {} is not legal for {} with .ws (legal: {}).", name, value, kindTraits(kind).name, rule);
  };
  const uint32_t m = descriptor.m, n = descriptor.n;
  require("M", m, m == 32 || m == 64 || m == 128, "32, 64, 128");
  require("N", n, n == 64 || n == 128 || n == 256, "64, 128, 256");
}

/// PTX ISA 9.7.16.2.1, table 39 (dense).
void requireShape(const InstructionDescriptor& descriptor, MmaKind kind, uint32_t ctaGroup) {
  const MmaKindTraits& traits = kindTraits(kind);
  const uint32_t m = descriptor.m;
  const uint32_t n = descriptor.n;
  const bool pair = ctaGroup == 2;
  const bool mLegal = pair ? m == 128 || m == 256 : m == 128 || (m == 64 && !traits.blockScaled);
  if (!mLegal) {
    reject("Instruction descriptor: M = {} is not legal for {} with cta_group::{} (legal: {}).", m, traits.name, ctaGroup,
           pair                 ? "128, 256"
           : traits.blockScaled ? "128"
                                : "64, 128");
  }
  bool nLegal = n >= (pair ? 16u : 8u) && n <= 256;
  const char* rule = pair ? "16..256 in steps of 16" : "8..256 in steps of 8";
  if (kind == MmaKind::I8) {
    nLegal = nLegal && (pair ? n % 32 == 0 : n == 8 || n == 24 || n % 16 == 0);
    rule = pair ? "32..256 in steps of 32" : "8, 16, 24, 32, then 48..256 in steps of 16";
  } else {
    nLegal = nLegal && n % (pair ? 16 : 8) == 0;
  }
  if (!nLegal)
    reject("Instruction descriptor: N = {} is not legal for {} with cta_group::{} (legal: {}).", n, traits.name, ctaGroup, rule);

  // Table 50: 8-bit elements are transposed in pairs of 8 columns.
  const bool bytes = elementFormat(descriptor.b).containerBits == 8;
  if (descriptor.transposeB && bytes && n % (pair ? 32 : 16) != 0) {
    reject("Instruction descriptor: N = {} with MN-major 8-bit B must be a multiple of {}.", n, pair ? 32 : 16);
  }
}

ElementType elementType(const MmaKindTraits& traits, uint32_t code, const char* who) {
  const ElementType type = traits.types[code];
  if (type == ElementType::Count) reject("Instruction descriptor: {} type code {} is reserved for {}.", who, code, traits.name);
  return type;
}

void requireZero(uint32_t value, const char* bits, std::string_view kind) {
  if (value != 0) reject("Instruction descriptor: bits {} are {} but must be 0 for {}.", bits, value, kind);
}

/// Table 42: f16, tf32, f8f6f4, i8.
InstructionDescriptor decodePlain(uint32_t word, MmaKind kind, MmaForm form) {
  const MmaKindTraits& traits = kindTraits(kind);
  // Metadata of 8-bit types fill both of the columns that the selector chooses from.
  const bool hasSelector = form.sparse && (kind == MmaKind::F16 || kind == MmaKind::TF32);
  requireZero(hasSelector ? field(word, 1, 1) : field(word, 1, 0), "1:0 (sparsity selector)", traits.name);
  if (field(word, 2, 2) && !form.sparse) reject("Instruction descriptor: bit 2 says sparse, but tcgen05.mma without .sp is dense.");
  if (!field(word, 2, 2) && form.sparse) reject("Instruction descriptor: bit 2 says dense, but tcgen05.mma.sp is sparse.");
  requireZero(field(word, 6, 6), "6", traits.name);
  requireZero(field(word, 23, 23), "23", traits.name);
  requireZero(field(word, 29, 29), "29", traits.name);
  if (!form.weightStationary) requireZero(field(word, 31, 30), "31:30 (maximum shift, .ws only)", traits.name);
  if (kind != MmaKind::I8) requireZero(field(word, 3, 3), "3 (saturate)", traits.name);

  InstructionDescriptor result;
  result.saturate = field(word, 3, 3) != 0;
  result.sparsitySelector = field(word, 1, 0);
  const uint32_t d = field(word, 5, 4);
  if (d > 2 || !(traits.allowedAccumulators >> d & 1)) {
    reject("Instruction descriptor: D type code {} is not legal for {}.", d, traits.name);
  }
  result.d = static_cast<AccumulatorType>(d);
  result.a = elementType(traits, field(word, 9, 7), "A");
  result.b = elementType(traits, field(word, 12, 10), "B");
  result.negateA = field(word, 13, 13) != 0;
  result.negateB = field(word, 14, 14) != 0;
  result.transposeA = field(word, 15, 15) != 0;
  result.transposeB = field(word, 16, 16) != 0;
  result.n = field(word, 22, 17) * 8;
  result.m = field(word, 28, 24) * 16;
  constexpr std::array<uint32_t, 4> kMaximumShifts{0, 8, 16, 32};
  result.maximumShift = kMaximumShifts[field(word, 31, 30)];
  return result;
}

/// Tables 43 and 44: mxf8f6f4, mxf4, mxf4nvf4.
InstructionDescriptor decodeBlockScaled(uint32_t word, MmaKind kind) {
  const MmaKindTraits& traits = kindTraits(kind);
  const bool fourBit = kind != MmaKind::MXF8F6F4;
  requireZero(field(word, 1, 0), "1:0", traits.name);
  if (field(word, 2, 2)) reject("Instruction descriptor: bit 2 says sparse, but tcgen05.mma without .sp is dense.");
  requireZero(field(word, 3, 3), "3", traits.name);
  requireZero(field(word, 6, 6), "6", traits.name);
  requireZero(field(word, 26, 24), "26:24", traits.name);
  if (fourBit) {
    requireZero(field(word, 12, 12), "12", traits.name);
    if (field(word, 31, 31)) reject("Instruction descriptor: bit 31 asks for K = 96, which sm_100a does not have.");
  } else {
    requireZero(field(word, 31, 31), "31", traits.name);
  }

  InstructionDescriptor result;
  result.d = AccumulatorType::F32;
  result.a = elementType(traits, field(word, 9, 7), "A");
  result.b = elementType(traits, field(word, fourBit ? 11 : 12, 10), "B");
  result.negateA = field(word, 13, 13) != 0;
  result.negateB = field(word, 14, 14) != 0;
  result.transposeA = field(word, 15, 15) != 0;
  result.transposeB = field(word, 16, 16) != 0;
  result.n = field(word, 22, 17) * 8;
  result.m = field(word, 28, 27) * 128;
  result.scaleIsUe8m0 = field(word, 23, 23) != 0;
  result.scaleIdB = static_cast<uint8_t>(field(word, 5, 4));
  result.scaleIdA = static_cast<uint8_t>(field(word, 30, 29));
  if (!result.scaleIsUe8m0 && kind != MmaKind::MXF4NVF4) {
    reject("Instruction descriptor: scale type ue4m3 (bit 23 = 0) is legal only for kind::mxf4nvf4, not {}.", traits.name);
  }
  return result;
}

}  // namespace

std::string_view toString(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::None:
      return "no swizzle";
    case Swizzle::Bytes128Atom32:
      return "128-byte swizzle with 32-byte atoms";
    case Swizzle::Bytes128:
      return "128-byte swizzle";
    case Swizzle::Bytes64:
      return "64-byte swizzle";
    case Swizzle::Bytes32:
      return "32-byte swizzle";
  }
  return "invalid swizzle";
}

std::string_view toString(AccumulatorType type) {
  switch (type) {
    case AccumulatorType::F16:
      return "f16";
    case AccumulatorType::F32:
      return "f32";
    case AccumulatorType::S32:
      return "s32";
  }
  return "invalid type";
}

const MmaKindTraits& kindTraits(MmaKind kind) { return kKinds[static_cast<size_t>(kind)]; }

MatrixDescriptor decodeMatrixDescriptor(uint64_t word, std::string_view who) {
  const auto requireField = [&](unsigned high, unsigned low, uint64_t value) {
    const uint64_t found = field(word, high, low);
    if (found != value)
      reject("Descriptor {:#018x} of {}: bits {}:{} are {:#x} but must be {:#x}.", word, who, high, low, found, value);
  };
  requireField(15, 14, 0);
  requireField(31, 30, 0);
  requireField(48, 46, 0b001);
  requireField(60, 53, 0);
  if (field(word, 52, 52)) {
    reject("Descriptor {:#018x} of {}: bit 52 asks for the absolute leading-dimension mode, which sm_100a does not have.", word,
           who);
  }
  const auto swizzle = static_cast<unsigned>(field(word, 63, 61));
  if (swizzle == 3 || swizzle == 5 || swizzle == 7) {
    reject("Descriptor {:#018x} of {}: swizzle mode {} is invalid (0 none, 1 128B with 32B atoms, 2 128B, 4 64B, 6 32B).", word,
           who, swizzle);
  }
  MatrixDescriptor result;
  result.start = static_cast<uint32_t>(field(word, 13, 0) << 4);
  result.leadingOffset = static_cast<uint32_t>(field(word, 29, 16) << 4);
  result.strideOffset = static_cast<uint32_t>(field(word, 45, 32) << 4);
  result.baseOffset = static_cast<uint8_t>(field(word, 51, 49));
  result.swizzle = static_cast<Swizzle>(swizzle);
  return result;
}

InstructionDescriptor decodeInstructionDescriptor(uint32_t word, MmaKind kind, uint32_t ctaGroup, MmaForm form) {
  const MmaKindTraits& traits = kindTraits(kind);
  const InstructionDescriptor result = traits.blockScaled ? decodeBlockScaled(word, kind) : decodePlain(word, kind, form);
  if (!traits.allowsNegate && (result.negateA || result.negateB)) {
    reject("Instruction descriptor: negate of A or B (bits 14:13) is not legal for {}.", traits.name);
  }
  if (!traits.allowsTranspose && (result.transposeA || result.transposeB)) {
    reject("Instruction descriptor: MN-major operands (bits 16:15) are not legal for {}.", traits.name);
  }
  // Table 52: only 8-, 16- and 32-bit types can be MN-major.
  const auto requireTransposable = [](bool transposed, ElementType type, const char* who) {
    const ElementFormat& format = elementFormat(type);
    if (transposed && format.packedBits < 8) reject("Instruction descriptor: {} of type {} cannot be MN-major.", who, format.name);
  };
  requireTransposable(result.transposeA, result.a, "A");
  requireTransposable(result.transposeB, result.b, "B");
  if (form.weightStationary)
    requireWeightStationaryShape(result, kind);
  else
    requireShape(result, kind, ctaGroup);
  return result;
}

}  // namespace shiftconv::emulator::tensor
