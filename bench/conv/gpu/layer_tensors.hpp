// Operands of one layer on the GPU, and the check of an output there.
#pragma once

#include <span>
#include <string>

#include "bench/conv/gpu/cuda.hpp"
#include "bench/conv/gpu/layers.hpp"
#include "bench/conv/gpu/verification_params.hpp"

namespace shiftconv::gpu {

/// f16 or bf16, as the layer says; the bias is f32. Operands are uniform in [-1, 1).
class LayerTensors {
 public:
  /// `verification` is the module of verification.cu; it and `layer` must outlive this.
  LayerTensors(const Module& verification, const Layer& layer, uint64_t seed, CUstream stream);

  void poison() const;  ///< the output: NaN
  verification::CheckResult checkOutput() const;
  /// Bytes that a convolution has to move at least: every tensor once.
  size_t leastBytes() const { return input.bytes() + filter.bytes() + output.bytes() + (biasAddress() != 0 ? bias.bytes() : 0); }
  CUdeviceptr biasAddress() const { return layer_.problem.hasBias ? bias.address() : 0; }

 private:
  const Problem& p() const { return layer_.problem; }
  void launch(const std::string& kernel, uint32_t ctas, std::span<const void* const> arguments) const;
  void fill(const Buffer& buffer, const std::string& type, size_t elementBytes, uint64_t seed) const;

  const Module& verification_;
  const Layer& layer_;
  CUstream stream_;
  std::string type_;

 public:
  Buffer input, filter, transposed, bias, output, result;
};

}  // namespace shiftconv::gpu
