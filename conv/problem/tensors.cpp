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

/// What a pixel has of a tensor, and how far the next one is: in bytes, 0 where it does not lie in whole bytes pixel after pixel.
struct PixelBytes {
  uint64_t own = 0, pitch = 0;
};
PixelBytes pixelBytes(const Problem& p, TensorName tensor) {
  const auto of = [](int64_t channels, int64_t pitch, DataType type, Layout layout) -> PixelBytes {
    if (bitsOf(type) % 8 != 0 || layout != Layout::ChannelsLast) return {};
    return {static_cast<uint64_t>(channels * bytesOf(type)), static_cast<uint64_t>(pitch * bytesOf(type))};
  };
  if (tensor == TensorName::Input) return of(p.firstChannels(), p.inputPitch(), p.inputType, p.inputLayout);
  if (tensor == TensorName::SecondInput) return of(p.secondChannels(), p.secondPitch(), p.inputType, p.inputLayout);
  if (tensor == TensorName::Residual) return of(p.k, p.residualPitch(), p.residualType, p.outputLayout);
  if (tensor == TensorName::Output) return of(p.k, p.outputPitch(), p.outputType, p.outputLayout);
  return {};
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

bool meet(const Problem& problem, const TensorSpan& one, const TensorSpan& other) {
  if (one.address > other.address) return meet(problem, other, one);
  if (other.address >= one.address + one.bytes || other.bytes == 0) return false;
  const PixelBytes a = pixelBytes(problem, one.tensor), b = pixelBytes(problem, other.tensor);
  if (a.pitch == 0 || a.pitch != b.pitch) return true;
  const uint64_t apart = (other.address - one.address) % a.pitch;  // from a pixel of one to the next pixel of other
  return apart < a.own || apart + b.own > a.pitch;
}

}  // namespace shiftconv
