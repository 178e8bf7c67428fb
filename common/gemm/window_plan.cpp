#include "common/gemm/window_plan.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "common/layout/ceil_divide.hpp"

namespace shiftconv::gemm {
namespace {

constexpr int64_t kOffsetsOfCorners = 1 << 15;  // fit the fields; layout::refusal has the limits of each rank

/// Extents and offsets as the kernels and the tensor maps hold them.
int32_t narrow(int64_t value) { return static_cast<int32_t>(value); }

/// Planes of pixels that are split there, `planes` of each image in this tensor, as images of one plane.
Window ofPlanes(const Window& window, int64_t planes) {
  Window flat = window;
  flat.axes[2] = {};
  flat.images = window.images * planes;
  flat.firstPlanes = 0;
  return flat;
}

/// Whether rows of a map have the channels of all groups, and nothing else.
bool hasGroupsInRows(const Window& window, const layout::Im2colMap& map) {
  return !layout::isPadded(map.tensor.type) && map.tensor.dims[0] == static_cast<uint64_t>(window.channels * window.groups);
}
uint64_t groupStride(const Window& window, const layout::Im2colMap& map) {
  return static_cast<uint64_t>(window.channels * layout::elementBits(map.tensor.type) / 8);
}

}  // namespace

WindowAxis axisParams(const Window::Axis& axis) {
  return {narrow(axis.extent),  narrow(axis.positions), narrow(axis.taps),
          narrow(-axis.before), narrow(axis.stride),    narrow(axis.step)};
}

std::string planWindow(const Window& window, int64_t positions, const layout::TiledMap& channels, WindowParams& params,
                       layout::Im2colMap& map) {
  if (window.firstPlanes != 0) {
    if (std::string why = planWindow(ofPlanes(window, window.firstPlanes), positions, channels, params, map); !why.empty())
      return why;
    params.images = narrow(window.images);
    params.z = axisParams(window.axes[2]);
    params.split.planes = narrow(window.firstPlanes);
    params.split.secondPlanes = narrow(window.axes[2].extent - window.firstPlanes);
    params.split.nowhere = narrow(window.channels);
    return {};
  }
  params = {};
  params.isUsed = true;
  params.images = static_cast<int32_t>(window.images);
  if (window.firstChannels != 0) {
    params.split.chunks = narrow(ceilDivide(window.firstChannels, int64_t{channels.box[0]}));
    params.split.channels = narrow(window.firstChannels);
  }
  WindowAxis* const axes[] = {&params.x, &params.y, &params.z};
  constexpr std::array<char, 3> kNames{'x', 'y', 'z'};
  const Window::Axis& z = window.axes[2];
  // A single plane that is in front of the tensor is all padding.
  params.hasDepth = z.extent != 1 || z.positions != 1 || z.taps != 1 || z.before != 0;
  // Pixels between taps are offsets of a copy, with fewer bits the more dimensions there are (PTX ISA 5.5.4.1).
  const int64_t offsetLimit = params.hasDepth ? 32 : 256;
  constexpr int64_t kStrideLimit = 8;

  map = {};
  map.tensor = channels;
  map.tensor.rank = params.hasDepth ? 5 : 4;
  map.tensor.elementStrides = {1, 1, 1, 1, 1};
  uint64_t stride = channels.strides[0];
  for (uint32_t i = 0; i + 2 < map.tensor.rank; ++i) {
    const Window::Axis& axis = window.axes[i];
    *axes[i] = axisParams(axis);
    const int64_t reach = (axis.taps - 1) * axis.step;
    if (reach >= offsetLimit)
      return fmt::format("the taps of a window reach {} pixels along {}, but an im2col copy of {} dimensions at most {}", reach,
                         kNames[i], map.tensor.rank, offsetLimit - 1);
    if (axis.stride > kStrideLimit)
      return fmt::format("the stride along {} is {}, but an im2col map has at most {}", kNames[i], axis.stride, kStrideLimit);
    const int64_t last = (axis.positions - 1) * axis.stride - axis.before;  // of tap 0
    if (std::abs(axis.before) > kOffsetsOfCorners || std::abs(last - (axis.extent - 1)) > kOffsetsOfCorners)
      return fmt::format("a window begins {} pixels in front of the tensor along {}, which is too far for an im2col map",
                         axis.before, kNames[i]);
    map.pixels.lowerCorner[i] = narrow(-axis.before);
    map.pixels.upperCorner[i] = narrow(last - (axis.extent - 1));
    map.tensor.dims[i + 1] = static_cast<uint64_t>(axis.extent);
    map.tensor.elementStrides[i + 1] = static_cast<uint32_t>(axis.stride);
    map.tensor.strides[i] = stride;
    stride *= static_cast<uint64_t>(axis.extent);
  }
  map.tensor.dims[map.tensor.rank - 1] = static_cast<uint64_t>(window.images);
  map.tensor.strides[map.tensor.rank - 2] = stride;
  map.pixels.channelsPerPixel = channels.box[0];
  map.pixels.pixelsPerColumn = static_cast<uint32_t>(positions);
  return layout::refusal(map);
}

std::string secondWindowMap(const Window& window, int64_t positions, const layout::TiledMap& channels, layout::Im2colMap& map) {
  WindowParams params;
  if (window.firstPlanes == 0) return planWindow(window, positions, channels, params, map);
  return planWindow(ofPlanes(window, window.axes[2].extent - window.firstPlanes), positions, channels, params, map);
}

bool putGroupsOutside(const Window& window, WindowParams& params, layout::Im2colMap& map) {
  constexpr int64_t kReach = 32;  // pixels between taps are offsets of a copy (PTX ISA 5.5.4.1)
  const auto& [x, y, z] = window.axes;
  if (params.hasDepth || (x.taps - 1) * x.step >= kReach || (y.taps - 1) * y.step >= kReach) return false;
  if (!hasGroupsInRows(window, map)) return false;
  layout::Im2colMap outside = map;
  outside.tensor.rank = 5;
  outside.tensor.dims[0] = static_cast<uint64_t>(window.channels);
  outside.tensor.dims[4] = static_cast<uint64_t>(window.groups);
  outside.tensor.strides[3] = groupStride(window, map);
  outside.pixels.lowerCorner[2] = outside.pixels.upperCorner[2] = 0;
  if (!layout::refusal(outside).empty()) return false;
  map = outside;
  params.hasDepth = true;
  return true;
}

bool putGroupsOutsideRows(const Window& window, WindowParams& params, layout::Im2colMap& map) {
  const Window::Axis& y = window.axes[1];
  if (params.hasDepth || y.extent != 1 || y.positions != 1 || y.taps != 1 || y.before != 0 || !hasGroupsInRows(window, map))
    return false;
  layout::Im2colMap outside = map;
  outside.tensor.dims[0] = static_cast<uint64_t>(window.channels);
  outside.tensor.dims[2] = static_cast<uint64_t>(window.images);
  outside.tensor.dims[3] = static_cast<uint64_t>(window.groups);
  outside.tensor.strides[1] = map.tensor.strides[2];
  outside.tensor.strides[2] = groupStride(window, map);
  outside.tensor.elementStrides[2] = 1;
  outside.pixels.lowerCorner[1] = outside.pixels.upperCorner[1] = 0;
  if (!layout::refusal(outside).empty()) return false;
  map = outside;
  params.y = axisParams({.extent = window.images, .positions = window.images});
  return true;
}

layout::TiledMap tapMap(const Window& window, const layout::TiledMap& channels) {
  layout::TiledMap map = channels;
  const auto taps = static_cast<uint64_t>(window.taps());
  map.rank = 3;
  map.dims = {channels.dims[0], taps, channels.dims[1]};
  map.strides = {channels.strides[0], channels.strides[0] * taps};
  map.box = {channels.box[0], 1, channels.box[1]};
  return map;
}

}  // namespace shiftconv::gemm
