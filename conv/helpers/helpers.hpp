// What inference runtimes need between convolutions, as single launches: layouts and types, pooling, pointwise operations,
// normalisation. Fields and their meaning are those of the C API's structures (shiftconv.h).
#pragma once

#include <array>
#include <cstdint>

#include "common/device/device.hpp"
#include "common/device/status.hpp"
#include "conv/planner/kernel_cache.hpp"
#include "conv/problem/types.hpp"

namespace shiftconv::helpers {

inline constexpr size_t kAxes = 5;

struct Relayout {
  std::array<int64_t, kAxes> extent{1, 1, 1, 1, 1}, sourceStride{}, destinationStride{};
  DataType sourceType = DataType::F16, destinationType = DataType::F16;
};

enum class PoolKind : int32_t { Maximum = 0, Average = 1 };

struct Pool {
  int64_t n = 0, h = 0, w = 0, c = 0, r = 0, s = 0;
  int64_t padTop = 0, padBottom = 0, padLeft = 0, padRight = 0;
  int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  int64_t inputPixelPitch = 0, outputPixelPitch = 0;  ///< 0: c
  DataType type = DataType::F16;
  PoolKind kind = PoolKind::Maximum;
  bool countPadding = false;
};

enum class Operation : int32_t { None = 0, Add = 1, Multiply = 2 };

struct Pointwise {
  int64_t rows = 0, c = 0;
  int64_t aPitch = 0, bPitch = 0, outputPitch = 0;  ///< 0: c
  int64_t rowsOfB = 1;
  DataType aType = DataType::F16, bType = DataType::F16, outputType = DataType::F16;
  Operation operation = Operation::None;
  Activation activation = Activation::None;
  float activationA = 0, activationB = 0;
};

struct Normalize {
  int64_t n = 0, pixels = 0, c = 0, groups = 1;
  int64_t inputPixelPitch = 0, outputPixelPitch = 0;  ///< 0: c
  float epsilon = 0;
  DataType type = DataType::F16, parameterType = DataType::F32;
  Activation activation = Activation::None;
  float activationA = 0, activationB = 0;
};

/// Loads the kernels, so that the runs need not.
Status prepare(plan::KernelCache& kernels);

// Each checks its arguments and enqueues one launch. Once the kernels are loaded, it allocates nothing unless it fails.
Status run(const Relayout& relayout, plan::KernelCache& kernels, device::Address source, device::Address destination,
           device::Stream stream);
Status run(const Pool& pool, plan::KernelCache& kernels, device::Address input, device::Address output, device::Stream stream);
Status run(const Pointwise& pointwise, plan::KernelCache& kernels, device::Address a, device::Address b, device::Address output,
           device::Stream stream);

/// scale and bias may be 0.
Status run(const Normalize& normalize, plan::KernelCache& kernels, device::Address input, device::Address scale,
           device::Address bias, device::Address output, device::Stream stream);

}  // namespace shiftconv::helpers
