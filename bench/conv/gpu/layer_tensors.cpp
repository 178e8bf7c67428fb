#include "bench/conv/gpu/layer_tensors.hpp"

namespace shiftconv::gpu {

LayerTensors::LayerTensors(const Module& verification, const Layer& layer, uint64_t seed, CUstream stream)
    : verification_(verification),
      layer_(layer),
      stream_(stream),
      input(bytesOf(p().inputType) * static_cast<size_t>(p().inputPixels() * p().c)),
      filter(bytesOf(p().filterType) * static_cast<size_t>(p().k * p().t * p().r * p().s * p().groupChannels())),
      transposed(filter.bytes()),
      bias(4 * static_cast<size_t>(p().k)),
      residual(p().hasResidual() ? bytesOf(p().residualType) * static_cast<size_t>(p().outputPixels() * p().k) : 16),
      output(bytesOf(p().outputType) * static_cast<size_t>(p().outputPixels() * p().k)),
      result(sizeof(verification::CheckResult)) {
  fill(input, p().inputType, seed * 4 + 1);
  fill(filter, p().filterType, seed * 4 + 2);
  fill(bias, DataType::F32, seed * 4 + 3);
  fill(residual, p().residualType, seed * 4 + 4);
  uint32_t k = static_cast<uint32_t>(p().k), perChannel = static_cast<uint32_t>(filter.bytes() / bytesOf(p().filterType) / k);
  const CUdeviceptr from = filter.address(), to = transposed.address();
  const void* arguments[] = {&from, &to, &k, &perChannel};
  launch("transpose_" + std::string(nameOf(p().filterType)), 1024, arguments);
}

size_t LayerTensors::leastBytes() const {
  return input.bytes() + filter.bytes() + output.bytes() + (p().hasBias ? bias.bytes() : 0) +
         (p().hasResidual() ? residual.bytes() : 0);
}

void LayerTensors::poison() const { SHIFTCONV_GPU(cuMemsetD8Async(output.address(), 0xFF, output.bytes(), stream_)); }

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
  params.relu = p().activation == Activation::Relu;
  params.silu = p().activation == Activation::Silu;
  verification::setOutputBounds(params, p().outputType == DataType::BF16, p().inputType == DataType::E4M3);
  SHIFTCONV_GPU(cuMemsetD8Async(result.address(), 0, result.bytes(), stream_));
  const CUdeviceptr x = input.address(), w = transposed.address(), b = biasAddress(), z = residualAddress(), y = output.address(),
                    r = result.address();
  const void* arguments[] = {&params, &x, &w, &b, &z, &y, &r};
  launch("check_" + std::string(nameOf(p().inputType)), 132 * 16, arguments);
  SHIFTCONV_GPU(cuStreamSynchronize(stream_));
  verification::CheckResult found;
  SHIFTCONV_GPU(cuMemcpyDtoH(&found, result.address(), sizeof found));
  return found;
}

void LayerTensors::launch(const std::string& kernel, uint32_t ctas, std::span<const void* const> arguments) const {
  LaunchConfig config;
  config.grid.x = ctas;
  config.block.x = 256;
  gpu::launch(verification_.kernel(kernel), config, arguments, stream_);
}

void LayerTensors::fill(const Buffer& buffer, DataType type, uint64_t seed) const {
  const CUdeviceptr data = buffer.address();
  uint64_t count = buffer.bytes() / bytesOf(type);
  float scale = 1;
  const void* arguments[] = {&data, &count, &seed, &scale};
  launch("fill_" + std::string(nameOf(type)), 1024, arguments);
}

}  // namespace shiftconv::gpu
