#include "conv/problem/tensors.hpp"

namespace shiftconv {
namespace {

size_t span(int64_t rows, int64_t pitch, int64_t channels, DataType type) {
  return static_cast<size_t>(((rows - 1) * pitch + channels) * bitsOf(type) + 7) / 8;
}

size_t scaleBytes(const BlockScale& scale, int64_t rows, int64_t channels) {
  if (scale.blockSize == 0) return 0;
  return static_cast<size_t>(
      layout::scaleFactorBytes(layoutOf(scale.order), rows, (channels + scale.blockSize - 1) / scale.blockSize));
}

}  // namespace

std::string_view nameOf(TensorName tensor) {
  static constexpr std::array<std::string_view, kTensors> kNames{
      "input",        "filter", "bias",         "residual", "channel_scale", "input_scale",  "filter_scale",
      "second_input", "output", "output_scale", "amax",     "workspace",     "packed_filter"};
  return kNames[static_cast<size_t>(tensor)];
}

PerTensor<size_t> tensorBytes(const Problem& p) {
  const int64_t taps = p.k * p.t * p.r * p.s;
  const auto channels = static_cast<size_t>(p.k);
  PerTensor<size_t> bytes;
  bytes[TensorName::Input] = span(p.firstPixels(), p.inputPitch(), p.firstChannels(), p.inputType);
  if (p.isSplit()) bytes[TensorName::SecondInput] = span(p.secondPixels(), p.secondPitch(), p.secondChannels(), p.inputType);
  bytes[TensorName::Filter] = span(taps, p.groupChannels(), p.groupChannels(), p.filterType);
  bytes[TensorName::Bias] = p.hasBias ? channels * bytesOf(p.biasType) : 0;
  bytes[TensorName::Residual] = p.hasResidual() ? span(p.outputPixels(), p.residualPitch(), p.k, p.residualType) : 0;
  bytes[TensorName::ChannelScale] = p.hasChannelScale ? channels * sizeof(float) : 0;
  bytes[TensorName::InputScale] = scaleBytes(p.inputScale, p.inputPixels(), p.c);
  bytes[TensorName::FilterScale] = scaleBytes(p.filterScale, taps, p.groupChannels());
  bytes[TensorName::Output] = span(p.outputPixels(), p.outputPitch(), p.k, p.outputType);
  bytes[TensorName::OutputScale] = scaleBytes(p.outputScale, p.outputPixels(), p.k);
  bytes[TensorName::Amax] = p.hasAmax ? sizeof(float) : 0;
  return bytes;
}

}  // namespace shiftconv
