// Element types and activations of a problem, and their names in texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/numerics/number_types.hpp"

namespace shiftconv {

/// Values equal shiftconv_type_t of the C API.
enum class DataType : int {
  F16 = 0,
  BF16 = 1,
  F32 = 2,
  E4M3 = 3,
  E5M2 = 4,
  E3M2 = 5,
  E2M3 = 6,
  E2M1 = 7,
  S8 = 8,
  U8 = 9,
  S32 = 10,
  UE8M0 = 11,  ///< block-scale factors only
  UE4M3 = 12,  ///< block-scale factors only
};
inline constexpr int kDataTypes = 13;

/// The type's codec and width. Requires a value of the enumeration.
numerics::NumberType numberType(DataType type);
inline int bitsOf(DataType type) { return numerics::storageBits(numberType(type)); }
/// Of types that fill whole bytes.
inline uint32_t bytesOf(DataType type) { return static_cast<uint32_t>(bitsOf(type)) / 8; }
inline bool isInteger(DataType type) { return type == DataType::S8 || type == DataType::U8 || type == DataType::S32; }
inline bool isScaleFactor(DataType type) { return type == DataType::UE8M0 || type == DataType::UE4M3; }

/// "f16", "e4m3", ...; "?" for values outside the enumeration.
std::string_view nameOf(DataType type);
std::optional<DataType> dataTypeNamed(std::string_view name);

/// How products are made and summed. Values equal shiftconv_compute_t.
enum class Compute : int {
  Default = 0,  ///< exact products, f32 sums; integers: s32 sums
  TF32 = 1,     ///< f32 operands lose their 13 low bits first
  F16 = 2,      ///< f16 sums
};
inline constexpr int kComputes = 3;
std::string_view nameOf(Compute compute);

/// Order of a tensor of pixels in memory. Values equal shiftconv_layout_t.
enum class Layout : int {
  ChannelsLast = 0,   ///< NHWC
  ChannelsFirst = 1,  ///< NCHW
};
inline constexpr int kLayouts = 2;

/// Where values after the sum are rounded to the output's type. Values equal shiftconv_rounding_t.
enum class Rounding : int {
  Once = 0,      ///< where they are stored
  Separate = 1,  ///< after every step, as where each is an operation of its own
};
inline constexpr int kRoundings = 2;

/// Values equal shiftconv_activation_t. a and b are activation_a and activation_b.
enum class Activation : int {
  None = 0,
  Relu = 1,       ///< max(x, 0)
  LeakyRelu = 2,  ///< x < 0 ? a * x : x
  Clamp = 3,      ///< min(max(x, a), b)
  GeluErf = 4,    ///< x/2 * (1 + erf(x / sqrt 2))
  GeluTanh = 5,   ///< x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
  Silu = 6,       ///< x / (1 + exp(-x))
  HardSwish = 7,  ///< x * min(max(x + 3, 0), 6) / 6
  Sigmoid = 8,    ///< 1 / (1 + exp(-x))
  Tanh = 9,
};
inline constexpr int kActivations = 10;
std::string_view nameOf(Activation activation);
/// How many of activation_a, activation_b it reads.
inline int parameterCount(Activation activation) {
  return activation == Activation::LeakyRelu ? 1 : activation == Activation::Clamp ? 2 : 0;
}

}  // namespace shiftconv
