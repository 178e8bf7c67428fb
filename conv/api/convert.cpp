#include "conv/api/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "conv/api/boundary.hpp"
#include "conv/plan/problem_checks.hpp"

namespace shiftconv::api {
namespace {

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

/// Size of each structure in the first release: smaller ones were never valid.
template <class Struct>
constexpr size_t kFirstSize = sizeof(Struct);

/// Reads a structure of another version of the header: missing fields keep their initial values, unknown ones must be 0.
template <class Struct>
Status readVersioned(const Struct* source, const char* name, Struct& target) {
  if (Status status = require(source, name); !status.ok()) return status;
  const size_t size = source->size;
  if (size < kFirstSize<Struct>)
    return invalid(
        fmt::format("{}.size is {}, but must be sizeof({}_t) = {}; start from its _INIT macro", name, size, name, sizeof(Struct)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(source);
  for (size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0)
      return invalid(
          fmt::format("{} sets a field that library version {} does not know (byte {})", name, shiftconv_version_string(), i));
  std::memcpy(static_cast<void*>(&target), source, std::min(size, sizeof(Struct)));
  return {};
}

}  // namespace

Status fromC(const shiftconv_problem_t* source, Problem& problem) {
  shiftconv_problem_t p = SHIFTCONV_PROBLEM_INIT;
  if (Status status = readVersioned(source, "shiftconv_problem", p); !status.ok()) return status;
  if (p.has_bias != 0 && p.has_bias != 1) return invalid(fmt::format("has_bias must be 0 or 1, but is {}", p.has_bias));
  problem.n = p.n;
  problem.h = p.h;
  problem.w = p.w;
  problem.c = p.c;
  problem.k = p.k;
  problem.r = p.r;
  problem.s = p.s;
  problem.padTop = p.pad_top;
  problem.padBottom = p.pad_bottom;
  problem.padLeft = p.pad_left;
  problem.padRight = p.pad_right;
  problem.strideH = p.stride_h;
  problem.strideW = p.stride_w;
  problem.dilationH = p.dilation_h;
  problem.dilationW = p.dilation_w;
  problem.inputPixelPitch = p.input_pixel_pitch;
  problem.outputPixelPitch = p.output_pixel_pitch;
  problem.inputType = static_cast<DataType>(p.input_type);
  problem.outputType = static_cast<DataType>(p.output_type);
  problem.hasBias = p.has_bias == 1;
  problem.activation = static_cast<Activation>(p.activation);
  return validate(problem);
}

Status fromC(const shiftconv_device_properties_t* source, device::Properties& properties) {
  shiftconv_device_properties_t p = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  if (Status status = readVersioned(source, "shiftconv_device_properties", p); !status.ok()) return status;
  if (p.kind != SHIFTCONV_DEVICE_CUDA && p.kind != SHIFTCONV_DEVICE_EMULATED)
    return invalid(
        fmt::format("properties.kind must be CUDA (1) or EMULATED (2), but is {}; let the library fill the properties", p.kind));
  if (p.multiprocessors == 0) return invalid("properties.multiprocessors must be at least 1, but is 0");
  properties.kind = p.kind == SHIFTCONV_DEVICE_CUDA ? device::Kind::Cuda : device::Kind::Emulated;
  properties.name.assign(p.name, strnlen(p.name, sizeof(p.name)));
  properties.computeMajor = p.compute_major;
  properties.computeMinor = p.compute_minor;
  properties.multiprocessors = p.multiprocessors;
  properties.sharedBytesPerBlock = p.shared_bytes_per_block;
  properties.l2Bytes = p.l2_bytes;
  properties.globalBytes = p.global_bytes;
  return {};
}

Status fromC(const shiftconv_plan_options_t* source, plan::PlanOptions& options) {
  if (!source) return {};
  shiftconv_plan_options_t o = SHIFTCONV_PLAN_OPTIONS_INIT;
  if (Status status = readVersioned(source, "shiftconv_plan_options", o); !status.ok()) return status;
  if (o.tile_n < 0) return invalid(fmt::format("tile_n must be 0 or positive, but is {}", o.tile_n));
  if (o.ctas < 0) return invalid(fmt::format("ctas must be 0 or positive, but is {}", o.ctas));
  if (o.resident_weights < -1 || o.resident_weights > 1)
    return invalid(fmt::format("resident_weights must be -1, 0 or 1, but is {}", o.resident_weights));
  if (o.reserved != 0) return invalid(fmt::format("reserved must be 0, but is {}", o.reserved));
  if (o.algorithm) options.algorithm = o.algorithm;
  if (o.producer) options.producer = o.producer;
  if (o.tile_n != 0) options.tileN = static_cast<uint32_t>(o.tile_n);
  if (o.ctas != 0) options.ctas = static_cast<uint32_t>(o.ctas);
  if (o.resident_weights >= 0) options.residentWeights = o.resident_weights == 1;
  return {};
}

Status toC(const device::Properties& properties, shiftconv_device_properties_t* target) {
  if (Status status = require(target, "properties"); !status.ok()) return status;
  if (target->size < kFirstSize<shiftconv_device_properties_t>)
    return invalid(
        fmt::format("properties.size is {}, but must be sizeof(shiftconv_device_properties_t) = {}; start from "
                    "SHIFTCONV_DEVICE_PROPERTIES_INIT",
                    target->size, sizeof(*target)));
  shiftconv_device_properties_t p = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  p.kind = properties.kind == device::Kind::Cuda ? SHIFTCONV_DEVICE_CUDA : SHIFTCONV_DEVICE_EMULATED;
  p.compute_major = properties.computeMajor;
  p.compute_minor = properties.computeMinor;
  p.multiprocessors = properties.multiprocessors;
  p.shared_bytes_per_block = properties.sharedBytesPerBlock;
  p.l2_bytes = properties.l2Bytes;
  p.global_bytes = properties.globalBytes;
  std::memcpy(p.name, properties.name.data(), std::min(properties.name.size(), sizeof(p.name) - 1));
  p.size = target->size;
  std::memcpy(target, &p, std::min(target->size, sizeof(p)));
  return {};
}

}  // namespace shiftconv::api
