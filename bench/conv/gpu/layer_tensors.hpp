// Operands of one layer on the GPU, and the check of an output there.
#pragma once

#include <span>
#include <string>

#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/cudnn_side.hpp"
#include "bench/conv/gpu/engines.hpp"
#include "bench/conv/gpu/layers.hpp"
#include "bench/conv/gpu/verification_params.hpp"

namespace shiftconv::gpu {

/// f16, bf16, e4m3 or s8 operands, outputs and residual, as the layer says; outputs and residual also f32; the bias as bias_type
/// says. All are uniform in [-1, 1), integers in [-127, 127].
class LayerTensors {
 public:
  /// `verification` is the module of verification.cu; it and `layer` must outlive this.
  /// `filterScale`: of the filter, which is uniform in [-filterScale, filterScale).
  LayerTensors(const Module& verification, const Layer& layer, uint64_t seed, CUstream stream, float filterScale = 1);

  void poison() const;  ///< the output: NaN, or what is seldom right; and no amax so far
  verification::CheckResult checkOutput() const;
  /// Bytes that a convolution has to move at least: every tensor once.
  size_t leastBytes() const;
  Tensors addresses() const;
  cudnn::Tensors cudnnAddresses() const;

 private:
  const Problem& p() const { return layer_.problem; }
  CUdeviceptr biasAddress() const { return p().hasBias ? bias.address() : 0; }
  CUdeviceptr channelScaleAddress() const { return p().hasChannelScale ? channelScale.address() : 0; }
  CUdeviceptr residualAddress() const { return p().hasResidual() ? residual.address() : 0; }
  void launch(const std::string& kernel, uint32_t ctas, std::span<const void* const> arguments) const;
  void fill(const Buffer& buffer, DataType type, uint64_t seed, float scale = 1) const;

  const Module& verification_;
  const Layer& layer_;
  CUstream stream_;

 public:
  /// Those that there are not have 16 bytes. `transposed`: RSCK, for the check; `exchanged`: CRSK, for cuDNN's gradient.
  Buffer input, filter, transposed, exchanged, bias, channelScale, residual, output, amax, result;
};

}  // namespace shiftconv::gpu
