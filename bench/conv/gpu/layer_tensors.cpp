#include "bench/conv/gpu/layer_tensors.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "conv/problem/types.hpp"

namespace shiftconv::gpu {

namespace {

/// Fills the bounds of f32, f16, bf16, e4m3 or s8 outputs whose sums have t*r*s filter taps of c/groups channels, of f16, bf16,
/// e4m3 or s8 operands.
///
/// Derivation. A is the sum of |x*w| over the taps of the element, of |bias| and of |residual|. A matrix instruction adds 16
/// products to an accumulator: the 17 terms are cut to multiples of 2^(E-25), E the largest exponent among them, and their sum to
/// 24 bits. 2^E <= A and no partial sum exceeds A, so one instruction errs by less than 16 * 2^-25 A + 2^-23 A = 5 * 2^-23 A in
/// the worst case. The cut terms point towards zero and are at most 1 ulp of a partial sum in what was observed; the bound asks
/// for the tighter one unit of 2^-23 A for each instruction, and 8 such units beside: the additions of a split reduction (at most
/// 3), of bias and residual (2), the products with alpha and a channel's scale (1), and the f32 sum of magnitudes that A itself is
/// taken from.
/// Of e4m3 an instruction adds 32 products, and wgmma keeps 13 bits: the 33 terms lose less than 2^-13 T each and their sum as
/// much, T = max(A, 2^-6), because a subnormal operand of magnitude below 1 counts with the exponent -6 and the other is below 2^0.
/// Sums of integers are exact; what is after them errs by a unit of f32's each, 2^-24 of the value.
/// The output's rounding to nearest adds half a unit in its last place, 2^-11 (f16), 2^-8 (bf16) or 2^-4 (e4m3) of the value, and
/// half the smallest subnormal, at most 2^-24 or 2^-10; to an integer half of 1; to f32 nothing, as sums are f32.
void setOutputBounds(verification::CheckParams& p, DataType output, DataType operands) {
  struct Rounding {
    double relative, absolute, least, most;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Rounding rounding = output == DataType::S8     ? Rounding{0, 0.5, -128, 127}
                            : output == DataType::E4M3 ? Rounding{0x1p-4, 0x1p-10, -448, 448}
                            : output == DataType::BF16 ? Rounding{0x1p-8, 0x1p-24, -kInfinity, kInfinity}
                            : output == DataType::F16  ? Rounding{0x1p-11, 0x1p-24, -kInfinity, kInfinity}
                                                       : Rounding{0, 0x1p-149, -kInfinity, kInfinity};
  p.relativeBound = rounding.relative, p.absoluteBound = rounding.absolute, p.least = rounding.least, p.most = rounding.most;
  if (operands == DataType::S8) {
    p.accumulationBound = 8 * 0x1p-24;
    return;
  }
  const bool e4m3 = operands == DataType::E4M3;
  const double channels = static_cast<double>(p.c / p.groups), products = e4m3 ? 32 : 16;
  const double instructions =
      static_cast<double>(p.t * p.r * p.s) * static_cast<double>(static_cast<int64_t>((channels + products - 1) / products));
  p.accumulationBound = e4m3 ? instructions * 34 * 0x1p-13 + 8 * 0x1p-23 : (instructions + 8) * 0x1p-23;
  if (e4m3) p.absoluteBound += p.accumulationBound * 0x1p-6;
}

}  // namespace

LayerTensors::LayerTensors(const Module& verification, const Layer& layer, uint64_t seed, CUstream stream, float filterScale)
    : verification_(verification),
      layer_(layer),
      stream_(stream),
      input(bytesOf(p().inputType) * static_cast<size_t>(p().inputPixels() * p().c)),
      filter(bytesOf(p().filterType) * static_cast<size_t>(p().k * p().t * p().r * p().s * p().groupChannels())),
      transposed(filter.bytes()),
      exchanged(p().transposed ? filter.bytes() : 16),
      bias(bytesOf(p().biasType) * static_cast<size_t>(p().k)),
      channelScale(sizeof(float) * static_cast<size_t>(p().k)),
      residual(p().hasResidual() ? bytesOf(p().residualType) * static_cast<size_t>(p().outputPixels() * p().k) : 16),
      output(bytesOf(p().outputType) * static_cast<size_t>(p().outputPixels() * p().k)),
      amax(sizeof(float)),
      result(sizeof(verification::CheckResult)) {
  fill(input, p().inputType, seed * 4 + 1);
  fill(filter, p().filterType, seed * 4 + 2, filterScale);
  fill(bias, p().biasType, seed * 4 + 3);
  fill(channelScale, DataType::F32, seed * 4 + 3);
  fill(residual, p().residualType, seed * 4 + 4);
  uint32_t k = static_cast<uint32_t>(p().k), perChannel = static_cast<uint32_t>(filter.bytes() / bytesOf(p().filterType) / k);
  const CUdeviceptr from = filter.address(), to = transposed.address();
  const void* arguments[] = {&from, &to, &k, &perChannel};
  launch("transpose_" + std::string(nameOf(p().filterType)), 1024, arguments);
  if (!p().transposed) return;
  const CUdeviceptr gradient = exchanged.address();
  uint32_t groups = static_cast<uint32_t>(p().groups), ownK = k / groups, taps = static_cast<uint32_t>(p().taps()),
           ownC = static_cast<uint32_t>(p().groupChannels());
  const void* ofExchange[] = {&from, &gradient, &groups, &ownK, &taps, &ownC};
  launch("exchange_" + std::string(nameOf(p().filterType)), 1024, ofExchange);
}

size_t LayerTensors::leastBytes() const {
  return input.bytes() + filter.bytes() + output.bytes() + (p().hasBias ? bias.bytes() : 0) +
         (p().hasChannelScale ? channelScale.bytes() : 0) + (p().hasResidual() ? residual.bytes() : 0);
}

Tensors LayerTensors::addresses() const {
  return {.input = input.address(),
          .filter = filter.address(),
          .bias = biasAddress(),
          .channelScale = channelScaleAddress(),
          .residual = residualAddress(),
          .output = output.address(),
          .amax = p().hasAmax ? amax.address() : 0};
}

cudnn::Tensors LayerTensors::cudnnAddresses() const {
  cudnn::Tensors addresses;
  addresses.input = input.address(), addresses.output = output.address();
  addresses.filter = p().transposed ? exchanged.address() : filter.address();
  addresses.bias = biasAddress(), addresses.channelScale = channelScaleAddress(), addresses.residual = residualAddress();
  return addresses;
}

void LayerTensors::poison() const {
  // -91 for bytes: one in 256 outputs is right by chance.
  SHIFTCONV_GPU(cuMemsetD8Async(output.address(), p().outputType == DataType::S8 ? 0xA5 : 0xFF, output.bytes(), stream_));
  SHIFTCONV_GPU(cuMemsetD8Async(amax.address(), 0, amax.bytes(), stream_));
}

verification::CheckResult LayerTensors::checkOutput() const {
  verification::CheckParams params;
  params.n = static_cast<uint32_t>(p().n);
  params.c = static_cast<uint32_t>(p().c);
  params.k = static_cast<uint32_t>(p().k);
  params.groups = static_cast<uint32_t>(p().groups);
  params.d = static_cast<int32_t>(p().d);
  params.h = static_cast<int32_t>(p().h);
  params.w = static_cast<int32_t>(p().w);
  params.t = static_cast<int32_t>(p().t);
  params.r = static_cast<int32_t>(p().r);
  params.s = static_cast<int32_t>(p().s);
  params.outputDepth = static_cast<int32_t>(p().z());
  params.outputHeight = static_cast<int32_t>(p().p());
  params.outputWidth = static_cast<int32_t>(p().q());
  params.padFront = static_cast<int32_t>(p().padFront);
  params.padTop = static_cast<int32_t>(p().padTop);
  params.padLeft = static_cast<int32_t>(p().padLeft);
  params.strideD = static_cast<int32_t>(p().strideD);
  params.strideH = static_cast<int32_t>(p().strideH);
  params.strideW = static_cast<int32_t>(p().strideW);
  params.dilationD = static_cast<int32_t>(p().dilationD);
  params.dilationH = static_cast<int32_t>(p().dilationH);
  params.dilationW = static_cast<int32_t>(p().dilationW);
  params.transposed = p().transposed;
  params.activation = static_cast<gemm::Activation>(p().activation);
  params.activationA = p().activationA;
  params.activationB = p().activationB;
  params.biasType = numberType(p().biasType), params.residualType = numberType(p().residualType);
  params.outputType = numberType(p().outputType);
  params.alpha = p().alpha, params.beta = p().beta, params.outScale = p().outScale;
  params.residualLast = p().addsResidualLast();
  setOutputBounds(params, p().outputType, p().inputType);
  SHIFTCONV_GPU(cuMemsetD8Async(result.address(), 0, result.bytes(), stream_));
  const CUdeviceptr x = input.address(), w = transposed.address(), r = result.address();
  const CUdeviceptr others[] = {channelScaleAddress(), biasAddress(), residualAddress(), output.address()};
  static_assert(sizeof others == sizeof(verification::CheckTensors));
  const void* arguments[] = {&params, &x, &w, &others, &r};
  launch("check_" + std::string(nameOf(p().inputType)), 132 * 16, arguments);
  SHIFTCONV_GPU(cuStreamSynchronize(stream_));
  verification::CheckResult found;
  SHIFTCONV_GPU(cuMemcpyDtoH(&found, result.address(), sizeof found));
  if (p().hasAmax) {
    float largest = 0;
    SHIFTCONV_GPU(cuMemcpyDtoH(&largest, amax.address(), sizeof largest));
    const bool isRight =
        largest >= std::bit_cast<float>(found.leastLargestBits) && largest <= std::bit_cast<float>(found.mostLargestBits);
    if (!isRight) ++found.wrong;
  }
  return found;
}

void LayerTensors::launch(const std::string& kernel, uint32_t ctas, std::span<const void* const> arguments) const {
  LaunchConfig config;
  config.grid.x = ctas;
  config.block.x = 256;
  gpu::launch(verification_.kernel(kernel), config, arguments, stream_);
}

void LayerTensors::fill(const Buffer& buffer, DataType type, uint64_t seed, float scale) const {
  const CUdeviceptr data = buffer.address();
  uint64_t count = buffer.bytes() / bytesOf(type);
  const void* arguments[] = {&data, &count, &seed, &scale};
  launch("fill_" + std::string(nameOf(type)), 1024, arguments);
}

}  // namespace shiftconv::gpu
