// A window that moves over pixels (gemm::Window), for TMA and for kernels.
#pragma once

#include <string>

#include "common/gemm/shape.hpp"
#include "common/gemm/window.hpp"
#include "common/layout/tensor_map.hpp"

namespace shiftconv::gemm {

/// One direction of a window as the kernels read it.
WindowAxis axisParams(const Window::Axis& axis);

/// Turns a map of rows of channels into one of a window's positions, `positions` of which a copy loads, and says how a thread finds
/// its way. Of pixels in two tensors `channels` and `map` are those of the first. Empty, or the rule that stops it.
std::string planWindow(const Window& window, int64_t positions, const layout::TiledMap& channels, WindowParams& params,
                       layout::Im2colMap& map);
/// The map of the second tensor.
std::string secondWindowMap(const Window& window, int64_t positions, const layout::TiledMap& channels, layout::Im2colMap& map);
/// Where pixels have no depth, images can stand in its place and groups in that of images: then copies end with a group's channels.
/// False where elements are packed, or maps of five dimensions reach less far than the window does.
bool putGroupsOutside(const Window& window, WindowParams& params, layout::Im2colMap& map);
/// Of images that are single rows the images stand in the place of rows, and a map of four dimensions, which reaches farther,
/// suffices. False where they are not, or it does not.
bool putGroupsOutsideRows(const Window& window, WindowParams& params, layout::Im2colMap& map);
/// The same for the operand that has a row for each tap.
layout::TiledMap tapMap(const Window& window, const layout::TiledMap& channels);

}  // namespace shiftconv::gemm
