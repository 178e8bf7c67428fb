// Names and sizes of the PTX scalar types.
#include <array>

#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::ptx {
namespace {

struct TypeInfo {
  std::string_view name;
  ScalarType type;
  uint8_t bytes;
};

constexpr std::array kTypes = {
    TypeInfo{"none", ScalarType::None, 0},     TypeInfo{"pred", ScalarType::Pred, 0},   TypeInfo{"b8", ScalarType::B8, 1},
    TypeInfo{"b16", ScalarType::B16, 2},       TypeInfo{"b32", ScalarType::B32, 4},     TypeInfo{"b64", ScalarType::B64, 8},
    TypeInfo{"b128", ScalarType::B128, 16},    TypeInfo{"u8", ScalarType::U8, 1},       TypeInfo{"u16", ScalarType::U16, 2},
    TypeInfo{"u32", ScalarType::U32, 4},       TypeInfo{"u64", ScalarType::U64, 8},     TypeInfo{"s8", ScalarType::S8, 1},
    TypeInfo{"s16", ScalarType::S16, 2},       TypeInfo{"s32", ScalarType::S32, 4},     TypeInfo{"s64", ScalarType::S64, 8},
    TypeInfo{"f16", ScalarType::F16, 2},       TypeInfo{"f16x2", ScalarType::F16x2, 4}, TypeInfo{"bf16", ScalarType::BF16, 2},
    TypeInfo{"bf16x2", ScalarType::BF16x2, 4}, TypeInfo{"f32", ScalarType::F32, 4},     TypeInfo{"f64", ScalarType::F64, 8},
};
static_assert([] {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  return true;
}());

}  // namespace

size_t sizeOf(ScalarType type) { return kTypes[static_cast<size_t>(type)].bytes; }

std::optional<ScalarType> scalarType(std::string_view text) {
  for (const TypeInfo& info : kTypes)
    if (info.type != ScalarType::None && info.name == text) return info.type;
  return std::nullopt;
}

std::string_view toString(ScalarType type) { return kTypes[static_cast<size_t>(type)].name; }

const Function* Module::find(std::string_view functionName) const {
  const Function* declaration = nullptr;
  for (const Function& function : functions) {
    if (function.name != functionName) continue;
    if (!function.isDeclaration) return &function;
    declaration = &function;
  }
  return declaration;
}

}  // namespace shiftconv::emulator::ptx
