#include "conv/runtimes/onnxruntime/graph.hpp"

#include <shiftconv/shiftconv.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace shiftconv::runtimes::onnx {
namespace {

// TensorProto.DataType of onnx.proto.
constexpr int32_t kFloat = 1, kFloat16 = 10, kBfloat16 = 16;

double fromF16(uint16_t code) {
  const int exponent = (code >> 10) & 31, fraction = code & 1023;
  const double sign = code & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

template <class Element, class Convert>
std::vector<double> decoded(const std::vector<std::byte>& data, Convert&& convert) {
  std::vector<double> numbers(data.size() / sizeof(Element));
  for (size_t i = 0; i < numbers.size(); ++i) {
    Element element;
    std::memcpy(&element, data.data() + i * sizeof(Element), sizeof(Element));
    numbers[i] = convert(element);
  }
  return numbers;
}

}  // namespace

std::optional<int32_t> libraryType(int32_t onnxType) {
  switch (onnxType) {
    case kFloat:
      return SHIFTCONV_TYPE_F32;
    case kFloat16:
      return SHIFTCONV_TYPE_F16;
    case kBfloat16:
      return SHIFTCONV_TYPE_BF16;
    default:
      return std::nullopt;
  }
}

size_t elementBytes(int32_t libraryType) { return libraryType == SHIFTCONV_TYPE_F32 ? 4 : 2; }

std::vector<size_t> Graph::consumers(int value) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (std::find(nodes[i].inputs.begin(), nodes[i].inputs.end(), value) != nodes[i].inputs.end()) found.push_back(i);
  return found;
}

std::optional<std::vector<double>> numbersOf(const Value& value) {
  if (!value.isConstant || value.data.empty()) return std::nullopt;
  if (!value.type) return decoded<int64_t>(value.data, [](int64_t x) { return static_cast<double>(x); });
  if (*value.type == SHIFTCONV_TYPE_F32) return decoded<float>(value.data, [](float x) { return static_cast<double>(x); });
  if (*value.type == SHIFTCONV_TYPE_F16) return decoded<uint16_t>(value.data, fromF16);
  return std::nullopt;
}

}  // namespace shiftconv::runtimes::onnx
