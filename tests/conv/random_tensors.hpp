// Random tensors of a problem of any types, as bytes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/reference/convolution.hpp"

namespace shiftconv::tests {

struct TensorBytes {
  PerTensor<std::vector<std::byte>> bytes;
  reference::Operands operands() const {
    reference::Operands o;
    o.input = bytes[TensorName::Input], o.secondInput = bytes[TensorName::SecondInput], o.filter = bytes[TensorName::Filter],
    o.bias = bytes[TensorName::Bias];
    o.residual = bytes[TensorName::Residual], o.channelScale = bytes[TensorName::ChannelScale];
    o.inputScale = bytes[TensorName::InputScale], o.filterScale = bytes[TensorName::FilterScale];
    return o;
  }
};

/// Random codes for values of moderate size in all tensors that are read; scale factors between 1/8 and 8.
inline TensorBytes randomTensors(const Problem& p, std::mt19937_64& random) {
  TensorBytes tensors;
  const auto sizes = tensorBytes(p);
  const auto fill = [&](TensorName name, DataType type) {
    auto& bytes = tensors.bytes[name];
    bytes.resize(sizes[name]);
    const auto count = static_cast<int64_t>(bytes.size()) * 8 / bitsOf(type);
    for (int64_t i = 0; i < count; ++i) {
      const double range = isInteger(type) ? 100 : isScaleFactor(type) ? 1 : 4;
      const double value = std::uniform_real_distribution<double>(type == DataType::U8 ? 0 : -range, range)(random);
      const double drawn = isScaleFactor(type) ? std::exp2(std::floor(3 * value)) : value;
      numerics::storePacked(numberType(type), bytes.data(), i, numerics::encode(numberType(type), drawn));
    }
  };
  fill(TensorName::Input, p.inputType);
  fill(TensorName::SecondInput, p.inputType);
  fill(TensorName::Filter, p.filterType);
  fill(TensorName::Bias, p.biasType);
  fill(TensorName::Residual, p.residualType);
  fill(TensorName::ChannelScale, DataType::F32);
  fill(TensorName::InputScale, p.inputScale.blockSize ? p.inputScale.type : DataType::UE8M0);
  fill(TensorName::FilterScale, p.filterScale.blockSize ? p.filterScale.type : DataType::UE8M0);
  return tensors;
}

}  // namespace shiftconv::tests
