#include "conv/tools/convolve/operands.hpp"

#include <cmath>
#include <random>

#include "common/layout/scale_factor_layout.hpp"
#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"

namespace shiftconv::judged {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  double between(double low, double high) { return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53; }
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 random_;
};

/// A normal number of a narrow float: four binades from the smallest normal, or all there are.
double narrow(Dice& dice, int smallestExponent, int binades, int fractionBits) {
  const double significand = 1 + static_cast<double>(dice.integer(0, (1 << fractionBits) - 1)) / (1 << fractionBits);
  const double magnitude = std::ldexp(significand, smallestExponent + static_cast<int>(dice.integer(0, binades - 1)));
  return dice.integer(0, 1) != 0 ? magnitude : -magnitude;
}

double randomValue(Dice& dice, DataType type) {
  switch (type) {
    case DataType::E4M3:
      return narrow(dice, -3, 4, 3);
    case DataType::E5M2:
      return narrow(dice, -3, 4, 2);
    case DataType::E3M2:
      return narrow(dice, -2, 4, 2);
    case DataType::E2M3:
      return narrow(dice, 0, 2, 3);
    case DataType::E2M1:
      return narrow(dice, 0, 2, 1);
    case DataType::S8:
      return static_cast<double>(dice.integer(-128, 127));
    case DataType::U8:
      return static_cast<double>(dice.integer(0, 255));
    default:
      return dice.between(-1, 1);
  }
}

void store(DataType type, std::vector<std::byte>& bytes, int64_t index, double value) {
  if (type == DataType::F32) value = std::ldexp(std::trunc(std::ldexp(value, 10)), -10);  // tf32 holds it exactly
  numerics::storePacked(numberType(type), bytes.data(), index, numerics::encode(numberType(type), value));
}

double load(DataType type, const std::vector<std::byte>& bytes, int64_t index) {
  return numerics::decode(numberType(type), numerics::loadPacked(numberType(type), bytes.data(), index));
}

/// Rows of channels of the input or the filter.
struct Rows {
  DataType type;
  int64_t count, channels;
  const BlockScale& scale;
  TensorName scales;
};
Rows rowsOf(const Problem& p, TensorName which) {
  if (which == TensorName::Input) return {p.inputType, p.inputPixels(), p.c, p.inputScale, TensorName::InputScale};
  const int64_t channels = p.groupChannels();
  return {p.filterType, p.k * p.t * p.r * p.s, channels, p.filterScale, TensorName::FilterScale};
}

/// Where an element of such rows is.
struct Place {
  TensorName tensor;
  int64_t index;
};
Place placeOf(const Problem& p, TensorName which, int64_t row, int64_t channel) {
  if (which == TensorName::Filter) return {which, row * p.groupChannels() + channel};
  const Problem::InputPlace place = p.inputPlace(row, channel);
  return {place.isSecond ? TensorName::SecondInput : which, place.index};
}

}  // namespace

reference::Operands HostTensors::operands() const {
  reference::Operands operands;
  operands.input = bytes[TensorName::Input], operands.secondInput = bytes[TensorName::SecondInput];
  operands.filter = bytes[TensorName::Filter];
  operands.bias = bytes[TensorName::Bias], operands.residual = bytes[TensorName::Residual];
  operands.channelScale = bytes[TensorName::ChannelScale];
  operands.inputScale = bytes[TensorName::InputScale], operands.filterScale = bytes[TensorName::FilterScale];
  return operands;
}

HostTensors randomOperands(const Problem& p, uint64_t seed) {
  Dice dice(seed);
  HostTensors tensors;
  const auto sizes = tensorBytes(p);
  const auto resize = [&](TensorName name, std::byte value) -> std::vector<std::byte>& {
    tensors.bytes[name].assign(sizes[name], value);
    return tensors.bytes[name];
  };
  resize(TensorName::SecondInput, std::byte{0xFF});
  for (const TensorName name : {TensorName::Input, TensorName::Filter}) {
    const Rows rows = rowsOf(p, name);
    resize(name, std::byte{0xFF});
    for (int64_t row = 0; row < rows.count; ++row)
      for (int64_t c = 0; c < rows.channels; ++c) {
        const Place place = placeOf(p, name, row, c);
        store(rows.type, tensors.bytes[place.tensor], place.index, randomValue(dice, rows.type));
      }
    auto& scales = resize(rows.scales, std::byte{0});
    for (size_t i = 0; i < scales.size(); ++i)
      store(rows.scale.type, scales, static_cast<int64_t>(i),
            rows.scale.type == DataType::UE8M0 ? std::ldexp(1.0, static_cast<int>(dice.integer(-2, 2)))
                                               : std::abs(narrow(dice, -1, 2, 3)));
  }
  auto& bias = resize(TensorName::Bias, std::byte{0});
  auto& channelScale = resize(TensorName::ChannelScale, std::byte{0});
  for (int64_t k = 0; k < p.k; ++k) {
    if (p.hasBias) store(p.biasType, bias, k, dice.between(-2, 2));
    if (p.hasChannelScale) store(DataType::F32, channelScale, k, dice.between(0.5, 1.5));
  }
  auto& residual = resize(TensorName::Residual, std::byte{0xFF});
  for (int64_t pixel = 0; p.hasResidual() && pixel < p.outputPixels(); ++pixel)
    for (int64_t k = 0; k < p.k; ++k)
      store(p.residualType, residual, p.residualIndex(pixel, k),
            isInteger(p.residualType) ? randomValue(dice, p.residualType) : dice.between(-2, 2));
  return tensors;
}

std::vector<float> dequantised(const Problem& p, const HostTensors& tensors, TensorName which) {
  const Rows rows = rowsOf(p, which);
  const int64_t blocks = rows.scale.blockSize == 0 ? 0 : (rows.channels + rows.scale.blockSize - 1) / rows.scale.blockSize;
  const auto layout =
      rows.scale.order == ScaleOrder::Plain ? layout::ScaleFactorLayout::RowMajor : layout::ScaleFactorLayout::Interleaved128x4;
  std::vector<float> values;
  values.reserve(static_cast<size_t>(rows.count * rows.channels));
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t c = 0; c < rows.channels; ++c) {
      const Place place = placeOf(p, which, row, c);
      double value = load(rows.type, tensors.bytes[place.tensor], place.index);
      if (blocks != 0)
        value *= load(rows.scale.type, tensors.bytes[rows.scales],
                      layout::scaleFactorOffset(layout, row, c / rows.scale.blockSize, blocks));
      values.push_back(static_cast<float>(value));
    }
  return values;
}

std::vector<std::byte> encodeOutput(const Problem& p, const std::vector<float>& values, std::byte gap) {
  std::vector<std::byte> bytes(tensorBytes(p)[TensorName::Output], gap);
  for (int64_t pixel = 0; pixel < p.outputPixels(); ++pixel)
    for (int64_t k = 0; k < p.k; ++k)
      numerics::storePacked(
          numberType(p.outputType), bytes.data(), p.outputIndex(pixel, k),
          numerics::encode(numberType(p.outputType), static_cast<double>(values[static_cast<size_t>(pixel * p.k + k)])));
  return bytes;
}

}  // namespace shiftconv::judged
