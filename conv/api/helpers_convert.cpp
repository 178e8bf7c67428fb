// The structures of helpers from the C API's.
#include <fmt/format.h>

#include "conv/api/convert.hpp"
#include "conv/api/versioned.hpp"

namespace shiftconv::api {

template <>
constexpr size_t kFirstSize<shiftconv_relayout_t> = SHIFTCONV_RELAYOUT_SIZE_0_3;
template <>
constexpr size_t kFirstSize<shiftconv_pool_t> = SHIFTCONV_POOL_SIZE_0_3;
template <>
constexpr size_t kFirstSize<shiftconv_pointwise_t> = SHIFTCONV_POINTWISE_SIZE_0_3;
template <>
constexpr size_t kFirstSize<shiftconv_normalize_t> = SHIFTCONV_NORMALIZE_SIZE_0_3;

namespace {

Status readType(const char* field, int32_t value, DataType& type) {
  if (value < 0 || value >= kDataTypes)
    return {StatusCode::InvalidArgument, fmt::format("{} must be in 0..{}, but is {}", field, kDataTypes - 1, value)};
  type = static_cast<DataType>(value);
  return {};
}

Status mustBeZero(const char* field, int32_t value) {
  if (value == 0) return {};
  return {StatusCode::InvalidArgument, fmt::format("{} must be 0, but is {}", field, value)};
}

}  // namespace

Status fromC(const shiftconv_relayout_t* source, helpers::Relayout& relayout) {
  shiftconv_relayout_t r = SHIFTCONV_RELAYOUT_INIT;
  if (Status status = readVersioned(source, "shiftconv_relayout", r); !status.ok()) return status;
  for (size_t axis = 0; axis < helpers::kAxes; ++axis) {
    relayout.extent[axis] = r.extent[axis];
    relayout.sourceStride[axis] = r.source_stride[axis], relayout.destinationStride[axis] = r.destination_stride[axis];
  }
  if (Status status = readType("source_type", r.source_type, relayout.sourceType); !status.ok()) return status;
  return readType("destination_type", r.destination_type, relayout.destinationType);
}

Status fromC(const shiftconv_pool_t* source, helpers::Pool& pool) {
  shiftconv_pool_t p = SHIFTCONV_POOL_INIT;
  if (Status status = readVersioned(source, "shiftconv_pool", p); !status.ok()) return status;
  if (Status status = readType("type", p.type, pool.type); !status.ok()) return status;
  if (Status status = mustBeZero("reserved", p.reserved); !status.ok()) return status;
  if (p.count_padding != 0 && p.count_padding != 1)
    return {StatusCode::InvalidArgument, fmt::format("count_padding must be 0 or 1, but is {}", p.count_padding)};
  pool.n = p.n, pool.h = p.h, pool.w = p.w, pool.c = p.c, pool.r = p.r, pool.s = p.s;
  pool.padTop = p.pad_top, pool.padBottom = p.pad_bottom, pool.padLeft = p.pad_left, pool.padRight = p.pad_right;
  pool.strideH = p.stride_h, pool.strideW = p.stride_w, pool.dilationH = p.dilation_h, pool.dilationW = p.dilation_w;
  pool.inputPixelPitch = p.input_pixel_pitch, pool.outputPixelPitch = p.output_pixel_pitch;
  pool.kind = static_cast<helpers::PoolKind>(p.kind);
  pool.countPadding = p.count_padding == 1;
  return {};
}

Status fromC(const shiftconv_pointwise_t* source, helpers::Pointwise& pointwise) {
  shiftconv_pointwise_t p = SHIFTCONV_POINTWISE_INIT;
  if (Status status = readVersioned(source, "shiftconv_pointwise", p); !status.ok()) return status;
  if (Status status = readType("a_type", p.a_type, pointwise.aType); !status.ok()) return status;
  if (Status status = readType("b_type", p.b_type, pointwise.bType); !status.ok()) return status;
  if (Status status = readType("output_type", p.output_type, pointwise.outputType); !status.ok()) return status;
  if (Status status = mustBeZero("reserved", p.reserved); !status.ok()) return status;
  pointwise.rows = p.rows, pointwise.c = p.c, pointwise.rowsOfB = p.rows_of_b;
  pointwise.aPitch = p.a_pitch, pointwise.bPitch = p.b_pitch, pointwise.outputPitch = p.output_pitch;
  pointwise.operation = static_cast<helpers::Operation>(p.operation);
  pointwise.activation = static_cast<Activation>(p.activation);
  pointwise.activationA = p.activation_a, pointwise.activationB = p.activation_b;
  return {};
}

Status fromC(const shiftconv_normalize_t* source, helpers::Normalize& normalize) {
  shiftconv_normalize_t p = SHIFTCONV_NORMALIZE_INIT;
  if (Status status = readVersioned(source, "shiftconv_normalize", p); !status.ok()) return status;
  if (Status status = readType("type", p.type, normalize.type); !status.ok()) return status;
  if (Status status = readType("parameter_type", p.parameter_type, normalize.parameterType); !status.ok()) return status;
  normalize.n = p.n, normalize.pixels = p.pixels, normalize.c = p.c, normalize.groups = p.groups;
  normalize.inputPixelPitch = p.input_pixel_pitch, normalize.outputPixelPitch = p.output_pixel_pitch;
  normalize.epsilon = p.epsilon;
  normalize.activation = static_cast<Activation>(p.activation);
  normalize.activationA = p.activation_a, normalize.activationB = p.activation_b;
  return {};
}

}  // namespace shiftconv::api
