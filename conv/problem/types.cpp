#include "conv/problem/types.hpp"

#include <array>

namespace shiftconv {
namespace {

using numerics::NumberType;

constexpr std::array<NumberType, kDataTypes> kNumberTypes{
    NumberType::F16,  NumberType::BF16, NumberType::F32, NumberType::E4M3, NumberType::E5M2,  NumberType::E3M2, NumberType::E2M3,
    NumberType::E2M1, NumberType::S8,   NumberType::U8,  NumberType::S32,  NumberType::UE8M0, NumberType::UE4M3};
constexpr std::array<std::string_view, kDataTypes> kTypeNames{"f16",  "bf16", "f32", "e4m3", "e5m2",  "e3m2", "e2m3",
                                                              "e2m1", "s8",   "u8",  "s32",  "ue8m0", "ue4m3"};
constexpr std::array<std::string_view, kComputes> kComputeNames{"default", "tf32", "f16"};
constexpr std::array<std::string_view, kActivations> kActivationNames{"none",      "relu", "leaky_relu", "clamp",   "gelu_erf",
                                                                      "gelu_tanh", "silu", "hard_swish", "sigmoid", "tanh"};

template <size_t Count, class Value>
std::string_view nameIn(const std::array<std::string_view, Count>& names, Value value) {
  const auto index = static_cast<int>(value);
  return index < 0 || index >= static_cast<int>(Count) ? "?" : names[static_cast<size_t>(index)];
}

}  // namespace

NumberType numberType(DataType type) { return kNumberTypes[static_cast<size_t>(type)]; }
std::string_view nameOf(DataType type) { return nameIn(kTypeNames, type); }
std::string_view nameOf(Compute compute) { return nameIn(kComputeNames, compute); }
std::string_view nameOf(Activation activation) { return nameIn(kActivationNames, activation); }

std::optional<DataType> dataTypeNamed(std::string_view name) {
  for (int i = 0; i < kDataTypes; ++i)
    if (kTypeNames[static_cast<size_t>(i)] == name) return static_cast<DataType>(i);
  return std::nullopt;
}

}  // namespace shiftconv
