// cvt between scalar types (PTX ISA 9.0, 9.7.9.21). The packed and narrow types are in packed_conversion_forms.cpp.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/emulator/forms/scalar/conversion_ops.hpp"
#include "common/emulator/forms/scalar/half_ops.hpp"
#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/forms/scalar/packed_conversion_forms.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::ScalarType;

struct ConversionDetail : machine::InstructionDetail {
  Conversion conversion;
  size_t resultBytes = 0;  ///< of the registers, which may be wider than the types
  size_t sourceBytes = 0;
};

/// Any conversion: one lane after the other.
void convertLanes(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<ConversionDetail>();
  std::byte* const result = execution.frame + instruction.operand[0];
  const std::byte* const source = execution.frame + instruction.operand[1];
  forLanes(execution.mask, [&](unsigned lane) {
    uint64_t bits = 0;
    std::memcpy(&bits, source + lane * detail.sourceBytes, detail.sourceBytes);
    bits = convert(detail.conversion, bits);
    std::memcpy(result + lane * detail.resultBytes, &bits, detail.resultBytes);
  });
}

// The conversions that compilers emit all the time, vectorised. Each equals convert() for its types and modifiers.

template <class To, class From>
To cast(From value) {
  return static_cast<To>(value);
}

/// The NaN of f16 becomes the canonical one of f32. (From f64 the host keeps the payload, as it should, and from bf16 the
/// bits only move.)
inline float widenF16(uint16_t bits) {
  const float value = F16::toFloat(bits);
  return std::isnan(value) ? std::bit_cast<float>(0x7fff'ffffu) : value;
}
inline uint32_t widenBf16(uint16_t bits) { return uint32_t{bits} << 16; }

/// Values outside the range clamp to its ends, NaN becomes 0.
template <class Integer>
Integer truncate(float value) {
  constexpr auto kLimit = static_cast<float>(uint64_t{1} << (std::is_signed_v<Integer> ? 31 : 32));
  const float inRange = value < kLimit ? value : 0.0f;
  const float low = std::is_signed_v<Integer> ? (inRange >= -kLimit ? inRange : -kLimit) : (inRange > 0.0f ? inRange : 0.0f);
  const Integer converted = static_cast<Integer>(static_cast<std::conditional_t<std::is_signed_v<Integer>, int32_t, int64_t>>(low));
  const Integer high = value >= kLimit ? std::numeric_limits<Integer>::max() : converted;
  return std::isnan(value) ? Integer{0} : high;
}

template <class To>
Handler integerCast(size_t sourceBytes, bool isSigned) {
  switch (sourceBytes) {
    case 2:
      return isSigned ? bestLanewise<&cast<To, int16_t>>() : bestLanewise<&cast<To, uint16_t>>();
    case 4:
      return isSigned ? bestLanewise<&cast<To, int32_t>>() : bestLanewise<&cast<To, uint32_t>>();
    default:
      return bestLanewise<&cast<To, uint64_t>>();
  }
}

/// A fast handler for registers as wide as their types, or nullptr.
Handler fastHandler(const Conversion& conversion, ScalarType result, ScalarType source) {
  if (conversion.saturate || conversion.flush || conversion.relu || conversion.saturateFinite) return nullptr;
  const bool nearest = conversion.rounding == Rounding::NearestEven;
  const bool integers = conversion.source.kind != NumberKind::Float && conversion.result.kind != NumberKind::Float;
  if (integers && conversion.source.bits >= 16) {
    const bool isSigned = conversion.source.kind == NumberKind::Signed;
    const size_t bytes = conversion.source.bits / 8;
    if (conversion.result.bits == 16) return integerCast<uint16_t>(bytes, isSigned);
    if (conversion.result.bits == 32) return integerCast<uint32_t>(bytes, isSigned);
    if (conversion.result.bits == 64) return integerCast<uint64_t>(bytes, isSigned);
  }
  if (result == ScalarType::F32 && !conversion.roundsToInteger) {
    if (source == ScalarType::F16) return bestLanewise<&widenF16>();
    if (source == ScalarType::BF16) return bestLanewise<&widenBf16>();
    if (source == ScalarType::F64 && nearest) return bestLanewise<&cast<float, double>>();
    if (source == ScalarType::S32 && nearest) return bestLanewise<&cast<float, int32_t>>();
    if (source == ScalarType::U32 && nearest) return bestLanewise<&cast<float, uint32_t>>();
    if (source == ScalarType::S64 && nearest) return bestLanewise<&cast<float, int64_t>>();
    if (source == ScalarType::U64 && nearest) return bestLanewise<&cast<float, uint64_t>>();
  }
  if (result == ScalarType::F16 && source == ScalarType::F32 && nearest && !conversion.roundsToInteger)
    return bestLanewise<&F16::fromFloat>();
  if (result == ScalarType::BF16 && source == ScalarType::F32 && nearest && !conversion.roundsToInteger)
    return bestLanewise<&Bf16::fromFloat>();
  if (source == ScalarType::F32 && conversion.rounding == Rounding::TowardZero) {
    if (result == ScalarType::S32) return bestLanewise<&truncate<int32_t>>();
    if (result == ScalarType::U32) return bestLanewise<&truncate<uint32_t>>();
  }
  return nullptr;
}

Rounding parseRounding(std::string_view modifier) {
  const char kind = modifier.size() >= 2 ? modifier[1] : 'n';
  return kind == 'z' ? Rounding::TowardZero : kind == 'm' ? Rounding::Down : kind == 'p' ? Rounding::Up : Rounding::NearestEven;
}

/// Integer rounding for float to integer and for float to the same float, the other kind where precision is lost.
void checkRounding(DecodeContext& context, const Conversion& conversion, std::string_view modifier) {
  const bool integral = modifier.size() == 3;
  const bool fromFloat = conversion.source.kind == NumberKind::Float;
  const bool toFloat = conversion.result.kind == NumberKind::Float;
  if (fromFloat && !toFloat) {
    if (!integral) context.illegal("Conversion from floating point to integer needs .rni, .rzi, .rmi or .rpi.");
  } else if (!fromFloat && !toFloat) {
    if (!modifier.empty()) context.illegal("Conversion between integers takes no rounding modifier.");
  } else if (fromFloat && conversion.source.format == conversion.result.format) {
    if (!modifier.empty() && !integral)
      context.illegal("Conversion to the same type rounds to an integer only (.rni, .rzi, .rmi, .rpi).");
  } else if (integral) {
    context.illegal("Integer rounding applies to integer results and to conversions of a type to itself.");
  } else if (modifier.empty() && (!fromFloat || conversion.result.bits < conversion.source.bits)) {
    context.illegal("This conversion loses precision and needs .rn, .rz, .rm or .rp.");
  }
}

void decodeConversion(DecodeContext& context, const FormMatch& match) {
  const ScalarType source = match.type();
  const ScalarType result = *ptx::scalarType(match.group(match.groups_.size() - 2));
  const std::string_view modifier = match.group(0);
  auto detail = std::make_shared<ConversionDetail>();
  Conversion& conversion = detail->conversion;
  conversion.result = *numberType(result);
  conversion.source = *numberType(source);
  conversion.rounding = parseRounding(modifier);
  conversion.roundsToInteger = modifier.size() == 3 && conversion.result.kind == NumberKind::Float;
  conversion.flush = match.has("ftz");
  conversion.saturate = match.has("sat");
  conversion.relu = match.has("relu");
  conversion.saturateFinite = match.has("satfinite");
  checkRounding(context, conversion, modifier);
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  // Registers may be wider than the types: the source is read in its low bits, the result is extended.
  const auto registerType = [&](const ptx::Operand& operand, ScalarType type) {
    const ScalarType declared = context.declaredType(operand);
    return declared == ScalarType::Pred || sizeOf(declared) < sizeOf(type) ? type : declared;
  };
  const ScalarType sourceRegister = registerType(operands[1], source);
  const ScalarType resultRegister = registerType(operands[0], result);
  detail->sourceBytes = sizeOf(sourceRegister);
  detail->resultBytes = sizeOf(resultRegister);
  DecodedInstruction& out = context.out();
  out.operand[1] = context.source(operands[1], sourceRegister);
  out.operand[0] = context.destination(operands[0], resultRegister);
  const bool exactWidths = detail->sourceBytes == sizeOf(source) && detail->resultBytes == sizeOf(result);
  out.handler = exactWidths ? fastHandler(conversion, result, source) : nullptr;
  if (out.handler != nullptr) return;
  out.handler = convertLanes;
  out.detail = std::move(detail);
}

}  // namespace

FormFamily conversionForms() {
  FormFamily forms = {
      {"cvt{.(rn|rz|rm|rp|rni|rzi|rmi|rpi)}{.ftz}{.sat}.(u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64)"
       ".(u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64)",
       decodeConversion},
      {"cvt.(rn|rz){.relu}{.satfinite}.(f16|bf16).f32", decodeConversion},
  };
  const FormFamily packed = packedConversionForms();
  forms.insert(forms.end(), packed.begin(), packed.end());
  return forms;
}

}  // namespace shiftconv::emulator::isa
