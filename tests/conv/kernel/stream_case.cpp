#include "tests/conv/kernel/stream_case.hpp"
#include "common/device/embedded_ptx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/problem/tensors.hpp"
#include "conv/reference/block_output.hpp"
#include "tests/conv/kernel/planned_launch.hpp"

namespace shiftconv::tests {
namespace {

constexpr uint8_t kPoison = 0xCD, kNanFactor = 0xFF;

struct Tensor {
  std::vector<uint8_t> bytes;
  std::vector<double> values;  ///< without what lies between pixels
};

Tensor randomTensor(DataType type, int64_t rows, int64_t columns, int64_t pitch, std::mt19937_64& random) {
  Tensor tensor;
  const auto number = numberType(type);
  tensor.bytes.assign(static_cast<size_t>(numerics::packedBytes(number, rows * pitch)), kPoison);
  tensor.values.reserve(static_cast<size_t>(rows * columns));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const uint64_t bits = random();
      const double magnitude = static_cast<double>(1 + bits % 4) * (isInteger(type) ? 1 : 0.5);
      const double value = (bits >> 32) % 2 != 0 && type != DataType::U8 ? -magnitude : magnitude;
      numerics::storePacked(number, reinterpret_cast<std::byte*>(tensor.bytes.data()), row * pitch + column,
                            numerics::encode(number, value));
      tensor.values.push_back(value);
    }
  return tensor;
}

/// Scale factors of rows of `columns` elements, 0.5 to 4; multiplies the tensor's values. Those of padding are NaN.
std::vector<uint8_t> randomScales(const BlockScale& scale, int64_t columns, Tensor& tensor, std::mt19937_64& random) {
  if (scale.blockSize == 0) return {};
  const auto rows = static_cast<int64_t>(tensor.values.size()) / columns,
             blocks = (columns + scale.blockSize - 1) / scale.blockSize;
  std::vector<uint8_t> factors(static_cast<size_t>(layout::scaleFactorBytes(layoutOf(scale.order), rows, blocks)), kNanFactor);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < blocks; ++block) {
      const double value = std::ldexp(0.5, static_cast<int>(random() % 4));
      factors[static_cast<size_t>(layout::scaleFactorOffset(layoutOf(scale.order), row, block, blocks))] =
          static_cast<uint8_t>(numerics::encode(numberType(scale.type), value));
      for (int64_t i = block * scale.blockSize; i < std::min(columns, (block + 1) * scale.blockSize); ++i)
        tensor.values[static_cast<size_t>(row * columns + i)] *= value;
    }
  return factors;
}

}  // namespace

device::Properties fewMultiprocessors() {
  device::Properties properties;
  properties.name = "emulated sm_100a";
  properties.computeMajor = 10;
  properties.multiprocessors = 4;
  properties.sharedBytesPerBlock = 227 * 1024;
  return properties;
}

Problem plain(int64_t n, int64_t h, int64_t w, int64_t c, int64_t k, int64_t r, int64_t s, int64_t pad) {
  Problem p;
  p.n = n, p.h = h, p.w = w, p.c = c, p.k = k, p.r = r, p.s = s;
  p.padTop = p.padBottom = p.padLeft = p.padRight = pad;
  p.outputType = DataType::F32;
  return p;
}

Problem typed(Problem p, DataType input, DataType filter, DataType output) {
  p.inputType = input, p.filterType = filter, p.outputType = output;
  if (input == DataType::F32) p.compute = Compute::TF32;
  return p;
}

std::vector<std::pair<std::string, Problem>> operandCases(const Problem& small) {
  std::vector<std::pair<std::string, Problem>> cases{{"bf16", typed(small, DataType::BF16, DataType::BF16, DataType::BF16)},
                                                     {"tf32", typed(small, DataType::F32, DataType::F32, DataType::F32)},
                                                     {"e4m3_e5m2", typed(small, DataType::E4M3, DataType::E5M2, DataType::F32)},
                                                     {"s8_s8", typed(small, DataType::S8, DataType::S8, DataType::F32)},
                                                     {"u8_s8", typed(small, DataType::U8, DataType::S8, DataType::F32)}};
  Problem p = typed(small, DataType::S8, DataType::S8, DataType::S8);
  p.inputZeroPoint = -7, p.outputZeroPoint = 5, p.outScale = 0.0625f, p.hasAmax = true;
  cases.emplace_back("s8_input_and_output_zero_points", p);
  p = typed(small, DataType::S8, DataType::U8, DataType::F32);
  p.filterZeroPoint = 200, p.inputPixelPitch = 112;
  cases.emplace_back("filter_zero_point", p);
  p = small;
  p.compute = Compute::F16, p.c = 8;  // sums stay within 11 bits
  cases.emplace_back("f16_sums", p);
  return cases;
}

Problem scaled(Problem p, DataType input, DataType filter, int64_t block, DataType scale) {
  p.inputType = input, p.filterType = filter;
  p.inputScale = p.filterScale = {block, scale, ScaleOrder::Plain};
  return p;
}

Problem quantised(Problem p, DataType output, int64_t block, ScaleOrder order) {
  p.outputType = output;
  p.outputScale = {block, block == 16 ? DataType::UE4M3 : DataType::UE8M0, order};
  return p;
}

StreamCase::StreamCase(const Problem& problem, uint64_t seed) : problem_(problem) {
  const Problem& p = problem_;
  std::mt19937_64 random(seed);
  Tensor x = randomTensor(p.inputType, p.inputPixels(), p.c, p.inputPitch(), random);
  const int64_t channels = p.groupChannels();
  Tensor w = randomTensor(p.filterType, p.k * p.t * p.r * p.s, channels, channels, random);
  inputScales_ = randomScales(p.inputScale, p.c, x, random);
  filterScales_ = randomScales(p.filterScale, channels, w, random);
  if (p.hasBias)
    for (int64_t k = 0; k < p.k; ++k) bias_.push_back(static_cast<float>(static_cast<int>(random() % 17) - 8));
  input_ = x.bytes;
  filter_ = w.bytes;

  const auto number = numberType(p.outputType);
  output_.assign(static_cast<size_t>(numerics::packedBytes(number, p.outputPixels() * p.outputPitch())), kPoison);
  int64_t pixel = 0;
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t z = 0; z < p.z(); ++z)
      for (int64_t row = 0; row < p.p(); ++row)
        for (int64_t column = 0; column < p.q(); ++column, ++pixel)
          for (int64_t k = 0; k < p.k; ++k) {
            const int64_t firstChannel = k / (p.k / p.groups) * channels;
            double sum = 0;
            for (int64_t t = 0; t < p.t; ++t)
              for (int64_t r = 0; r < p.r; ++r)
                for (int64_t s = 0; s < p.s; ++s) {
                  const int64_t d = z * p.strideD + t * p.dilationD - p.padFront;
                  const int64_t y = row * p.strideH + r * p.dilationH - p.padTop;
                  const int64_t xx = column * p.strideW + s * p.dilationW - p.padLeft;
                  if (d < 0 || d >= p.d || y < 0 || y >= p.h || xx < 0 || xx >= p.w) continue;
                  const double* a = x.values.data() + (((n * p.d + d) * p.h + y) * p.w + xx) * p.c + firstChannel;
                  const double* b = w.values.data() + (((k * p.t + t) * p.r + r) * p.s + s) * channels;
                  for (int64_t c = 0; c < channels; ++c) sum += (a[c] - p.inputZeroPoint) * (b[c] - p.filterZeroPoint);
                }
            double value = sum + (p.hasBias ? static_cast<double>(bias_[static_cast<size_t>(k)]) : 0.0);
            if (p.activation == Activation::Relu) value = std::max(value, 0.0);
            largest_ = std::max(largest_, static_cast<float>(std::abs(value)));
            value *= static_cast<double>(p.outScale);
            exact_.value.push_back(value);
            if (p.outputScale.blockSize != 0) continue;
            if (isInteger(p.outputType)) value = std::nearbyint(value) + p.outputZeroPoint;
            numerics::storePacked(number, reinterpret_cast<std::byte*>(output_.data()), pixel * p.outputPitch() + k,
                                  numerics::encode(number, value));
          }
  exact_.bound.assign(exact_.value.size(), 0);
}

void StreamCase::fillWithInfinity(int64_t group) {
  infinite_ = group;
  const int64_t channels = problem_.groupChannels();
  constexpr uint16_t kInfinity = 0x7c00;
  for (int64_t pixel = 0; pixel < problem_.inputPixels(); ++pixel)
    for (int64_t c = group * channels; c < (group + 1) * channels; ++c)
      std::memcpy(input_.data() + 2 * (pixel * problem_.inputPitch() + c), &kInfinity, sizeof(kInfinity));
}

void StreamCase::keepProductsAcrossGroups() {
  const Problem& p = problem_;
  const int64_t channels = p.groupChannels();
  for (int64_t pixel = 0; pixel < p.inputPixels(); ++pixel)
    std::fill_n(input_.begin() + 2 * (pixel * p.inputPitch() + channels), 2 * (p.c - channels), uint8_t{0});
  std::fill_n(filter_.begin(), 2 * (p.k / p.groups * p.t * p.r * p.s * channels), uint8_t{0});
  for (int64_t pixel = 0; pixel < p.outputPixels(); ++pixel)
    std::fill_n(output_.begin() + 4 * pixel * p.outputPitch(), 4 * p.k, uint8_t{0});
  largest_ = 0;
}

std::string StreamCase::differenceOutsideOfInfinity(const std::vector<uint8_t>& stored) const {
  const Problem& p = problem_;
  const int64_t columns = p.k / p.groups;
  bool isSeen = false;
  for (int64_t pixel = 0; pixel < p.outputPixels(); ++pixel)
    for (int64_t k = 0; k < p.k; ++k) {
      const auto place = static_cast<size_t>(4 * (pixel * p.outputPitch() + k));
      float value = 0, expected = 0;
      std::memcpy(&value, stored.data() + place, sizeof(value));
      std::memcpy(&expected, output_.data() + place, sizeof(expected));
      const bool isOfGroup = k / columns == *infinite_;
      isSeen |= isOfGroup && !std::isfinite(value);
      if (!isOfGroup && value != expected) return fmt::format("pixel {}, channel {}: {} instead of {}", pixel, k, value, expected);
    }
  return isSeen ? "" : "the outputs of the infinite group are finite";
}

std::string StreamCase::difference(const std::vector<uint8_t>& stored, const std::vector<uint8_t>& scales) const {
  if (infinite_) return differenceOutsideOfInfinity(stored);
  const Problem& p = problem_;
  if (p.outputScale.blockSize != 0) {
    // All elements and factors; then nothing but poison is left between pixels.
    std::string wrong =
        reference::blockOutputDifference(p, exact_, std::as_bytes(std::span(stored)), std::as_bytes(std::span(scales)));
    const int64_t used = numerics::packedBytes(numberType(p.outputType), p.k);
    const int64_t pitch = numerics::packedBytes(numberType(p.outputType), p.outputPitch());
    for (int64_t byte = 0; byte < static_cast<int64_t>(stored.size()) && wrong.empty(); ++byte)
      if (byte % pitch >= used && stored[static_cast<size_t>(byte)] != kPoison)
        wrong = fmt::format("byte {} behind the channels of pixel {} was written", byte % pitch, byte / pitch);
    return wrong;
  }
  const auto [mine, theirs] = std::mismatch(stored.begin(), stored.end(), output_.begin());
  if (mine == stored.end()) return {};
  const int64_t element = (mine - stored.begin()) / bytesOf(p.outputType);
  const int64_t pixel = element / p.outputPitch(), row = pixel / p.q();
  return fmt::format("plane {}, row {}, column {}, channel {}: byte {:#04x} instead of {:#04x}", row / p.p(), row % p.p(),
                     pixel % p.q(), element % p.outputPitch(), *mine, *theirs);
}

Observation StreamCase::run(DeviceRun& device, const plan::PlannedLaunch& launch, const emulator::Options& options) const {
  PerTensor<uint64_t> tensors{};
  const auto upload = [&](TensorName name, const auto& values) {
    if (!values.empty()) tensors[name] = device.upload(values);
  };
  upload(TensorName::Input, input_);
  upload(TensorName::Filter, filter_);
  upload(TensorName::InputScale, inputScales_);
  upload(TensorName::FilterScale, filterScales_);
  upload(TensorName::Bias, bias_);
  upload(TensorName::Output, std::vector<uint8_t>(output_.size(), kPoison));
  const size_t scaleBytes = tensorBytes(problem_)[TensorName::OutputScale];
  upload(TensorName::OutputScale, std::vector<uint8_t>(scaleBytes, kNanFactor));
  if (problem_.hasAmax) upload(TensorName::Amax, std::vector<float>{0});
  plan::Plan prepared;
  plan::addPreparation(problem_, prepared);
  if (prepared.workspaceBytes != 0) tensors[TensorName::Workspace] = device.reserve(prepared.workspaceBytes);
  if (prepared.packedBytes != 0) tensors[TensorName::PackedFilter] = device.reserve(prepared.packedBytes);
  std::vector<emulator::Hazard> hazards;
  for (const plan::PlannedLaunch& before : prepared.launches) {
    const auto module = device.emulator().load(device::ptxFor(before.image, "sm_100a"), "preparation");
    DeviceRun preparation(device.emulator(), *module, before.kernel);
    const Observation seen = launchPlanned(preparation, before, tensors, options);
    hazards.insert(hazards.end(), seen.hazards.begin(), seen.hazards.end());
  }
  Observation seen = launchPlanned(device, launch, tensors, options);
  seen.hazards.insert(seen.hazards.begin(), hazards.begin(), hazards.end());
  std::vector<uint8_t> scales;
  if (scaleBytes != 0) scales = device.download<uint8_t>(tensors[TensorName::OutputScale], scaleBytes);
  seen.difference = difference(device.download<uint8_t>(tensors[TensorName::Output], output_.size()), scales);
  if (problem_.hasAmax && seen.difference.empty())
    if (const float largest = device.download<float>(tensors[TensorName::Amax], 1).front(); largest != largest_)
      seen.difference = fmt::format("amax is {} instead of {}", largest, largest_);
  return seen;
}

}  // namespace shiftconv::tests
