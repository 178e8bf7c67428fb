#include "examples/block_scaled_gemm/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <stdexcept>

#include "common/gemm/reference/product_reference.hpp"
#include "common/gemm/sm100/gemm.hpp"
#include "common/layout/quantized_matrix.hpp"
#include "common/numerics/codec.hpp"

namespace block_scaled_gemm {
namespace {

namespace device = shiftconv::device;
namespace gemm = shiftconv::gemm;
namespace numerics = shiftconv::numerics;
using numerics::BlockFormat;
using numerics::NumberType;
using shiftconv::layout::QuantizedMatrix;
using shiftconv::layout::ScaleFactorLayout;

BlockFormat plain(NumberType type) { return {numerics::name(type), type, 0, type}; }

void check(const shiftconv::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

/// Device memory of one product.
class DeviceMemory {
 public:
  explicit DeviceMemory(device::Device& device) : device_(device) {}
  ~DeviceMemory() {
    for (const device::Address address : addresses_) static_cast<void>(device_.release(address));
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// 0 for no bytes.
  device::Address allocate(size_t bytes) {
    if (bytes == 0) return 0;
    device::Address address = 0;
    check(device_.allocate(bytes, address));
    addresses_.push_back(address);
    return address;
  }
  device::Address upload(const std::vector<std::byte>& bytes) {
    const device::Address address = allocate(bytes.size());
    if (address != 0) check(device_.copyToDevice(address, bytes.data(), bytes.size(), 0));
    return address;
  }

 private:
  device::Device& device_;
  std::vector<device::Address> addresses_;
};

/// Tensor maps expand 4- and 6-bit elements to bytes where the instruction wants bytes; they load 128 elements at a time.
int64_t pitchAlignment(const Contestant& contestant, const BlockFormat& format) {
  const bool packed = format.blockSize != 0 && contestant.a.element == NumberType::E2M1 && contestant.b.element == NumberType::E2M1;
  return packed || numerics::storageBits(format.element) >= 8 ? 16 : numerics::packedBytes(format.element, 128);
}

QuantizedMatrix quantized(const Contestant& contestant, const BlockFormat& format, int64_t rows, int64_t k,
                          const std::vector<float>& values, ScaleFactorLayout layout) {
  const shiftconv::layout::QuantizeOptions options{layout, pitchAlignment(contestant, format)};
  return format.blockSize == 0 ? shiftconv::layout::convert(format.element, rows, k, values, options)
                               : shiftconv::layout::quantize(format, rows, k, values, options);
}

double bitsPerElement(const BlockFormat& format) {
  return numerics::storageBits(format.element) + (format.blockSize == 0 ? 0 : 8.0 / format.blockSize);
}

/// nvfp4's factors of the whole tensors.
gemm::EpilogueParams epilogueOf(const QuantizedMatrix& a, const QuantizedMatrix& b) {
  gemm::EpilogueParams epilogue;
  epilogue.alpha = a.tensorScale * b.tensorScale;
  return epilogue;
}

/// What the device may make of a * b.
std::vector<gemm::Bounded> reference(const QuantizedMatrix& a, const QuantizedMatrix& b) {
  std::vector<gemm::Bounded> product = gemm::referenceProduct(gemm::referenceOperand(a), gemm::referenceOperand(b));
  for (gemm::Bounded& element : product) element = gemm::epilogueReference(epilogueOf(a, b), 0, 0, element).scaled;
  return product;
}

std::vector<float> multiply(const QuantizedMatrix& a, const QuantizedMatrix& b, device::Device& device) {
  gemm::GemmProblem problem;
  problem.m = a.rows, problem.n = b.rows, problem.k = a.columns;
  problem.a = {a.format.element, false, a.pitch, a.scaleLayout};
  problem.b = {b.format.element, false, b.pitch, b.scaleLayout};
  problem.blockSize = a.format.blockSize;
  if (problem.blockSize != 0) problem.scale = a.format.scale;
  problem.outputPitch = problem.n * static_cast<int64_t>(sizeof(float));
  gemm::sm100::GemmPlan plan;
  if (const std::string why = gemm::sm100::planGemm(problem, device.properties(), {}, plan); !why.empty())
    throw std::runtime_error(why);

  DeviceMemory memory(device);
  std::vector<float> product(static_cast<size_t>(a.rows * b.rows));
  const size_t productBytes = product.size() * sizeof(float);
  gemm::sm100::GemmTensors tensors;
  tensors.a = memory.upload(a.elements), tensors.b = memory.upload(b.elements);
  tensors.scaleA = memory.upload(a.scales), tensors.scaleB = memory.upload(b.scales);
  tensors.output = memory.allocate(productBytes);
  tensors.epilogue = epilogueOf(a, b);
  tensors.workspace = memory.upload(std::vector<std::byte>(plan.partialBytes + plan.counterBytes));

  gemm::sm100::Gemm bound;
  check(gemm::sm100::Gemm::bind(device, plan, tensors, bound));
  check(bound.run(0));
  check(device.copyToHost(product.data(), tensors.output, productBytes, 0));
  check(device.synchronize(0));
  return product;
}

}  // namespace

const std::vector<Contestant>& contestants() {
  static const std::vector<Contestant> list = [] {
    std::vector<Contestant> all;
    for (const NumberType type : {NumberType::F16, NumberType::BF16, NumberType::E4M3, NumberType::E5M2})
      all.push_back({std::string(numerics::name(type)), plain(type), plain(type)});
    for (const BlockFormat& format : numerics::kBlockFormats) all.push_back({std::string(format.name), format, format});
    all.push_back({"mxfp8_e4m3*mxfp4", *numerics::blockFormatNamed("mxfp8_e4m3"), *numerics::blockFormatNamed("mxfp4")});
    return all;
  }();
  return list;
}

Matrices randomMatrices(int64_t m, int64_t n, int64_t k, const std::string& distribution, uint32_t seed) {
  constexpr int64_t kOutlierPeriod = 64;
  constexpr float kOutlierFactor = 30;
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform(-1, 1);
  Matrices matrices{m, n, k, {}, {}};
  for (const auto& [target, rows] : {std::pair{&matrices.a, m}, std::pair{&matrices.b, n}})
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < k; ++column) {
        float value = distribution == "uniform" ? uniform(generator) : normal(generator);
        if (distribution == "outliers" && column % kOutlierPeriod == 0) value *= kOutlierFactor;
        target->push_back(value);
      }
  return matrices;
}

std::vector<double> exactProduct(const Matrices& matrices) {
  std::vector<double> product;
  product.reserve(static_cast<size_t>(matrices.m * matrices.n));
  for (int64_t i = 0; i < matrices.m; ++i)
    for (int64_t j = 0; j < matrices.n; ++j) {
      const float* const x = matrices.a.data() + i * matrices.k;
      const float* const y = matrices.b.data() + j * matrices.k;
      double sum = 0;
      for (int64_t l = 0; l < matrices.k; ++l) sum += double{x[l]} * double{y[l]};
      product.push_back(sum);
    }
  return product;
}

Measurement measure(const Contestant& contestant, const Matrices& matrices, const std::vector<double>& exact,
                    const std::vector<ScaleFactorLayout>& layouts, device::Device& device) {
  Measurement result;
  std::vector<float> first;
  std::vector<gemm::Bounded> allowed;
  for (const ScaleFactorLayout layout : layouts) {
    const QuantizedMatrix a = quantized(contestant, contestant.a, matrices.m, matrices.k, matrices.a, layout);
    const QuantizedMatrix b = quantized(contestant, contestant.b, matrices.n, matrices.k, matrices.b, layout);
    const std::vector<float> product = multiply(a, b, device);
    if (first.empty()) {
      first = product;
      allowed = reference(a, b);
      result.bitsPerElement = (bitsPerElement(contestant.a) + bitsPerElement(contestant.b)) / 2;
    }
    for (size_t i = 0; i < product.size(); ++i)
      if (std::bit_cast<uint32_t>(product[i]) != std::bit_cast<uint32_t>(first[i])) result.layoutsAgree = false;
    if (contestant.a.blockSize == 0) break;  // no factors, no orders
  }

  double squares = 0, formatSquares = 0, kernelSquares = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const auto [quantised, bound] = allowed[i];
    const double formatDifference = quantised - exact[i], kernelDifference = double{first[i]} - quantised;
    squares += exact[i] * exact[i];
    formatSquares += formatDifference * formatDifference;
    kernelSquares += kernelDifference * kernelDifference;
    result.worstError = std::max(result.worstError, std::fabs(formatDifference));
    const bool isExact = kernelDifference == 0;
    result.ofBound = std::max(result.ofBound, isExact ? 0 : std::fabs(kernelDifference) / bound);
    if (std::isnan(kernelDifference)) result.ofBound = INFINITY;
  }
  const auto count = static_cast<double>(exact.size());
  const double magnitude = std::sqrt(squares / count);
  result.formatError = std::sqrt(formatSquares / count) / magnitude;
  result.worstError /= magnitude;
  result.kernelError = std::sqrt(kernelSquares / count) / magnitude;
  return result;
}

}  // namespace block_scaled_gemm
