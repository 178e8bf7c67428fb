// Extents, once those of the inputs are known, and where elements lie.
//
// ONNX's axes are N, C and then the spatial ones. On the device the channels come last; the elements of neighbouring pixels are
// `pitch` elements apart. Tensors of one or two axes lie there as in ONNX.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "conv/runtimes/onnxruntime/graph.hpp"
#include "conv/runtimes/onnxruntime/steps.hpp"

namespace shiftconv::runtimes::onnx {

int64_t elementsOf(const Shape& shape);
int64_t channelsOf(const Shape& shape);
/// Of all images.
int64_t pixelsOf(const Shape& shape);
/// Extent of one of three spatial axes, counted from the last one; 1 where there are fewer.
int64_t spatialExtent(const Shape& shape, size_t fromLast);

/// Elements from one index of each axis to the next: in ONNX's order, and as on the device.
std::vector<int64_t> rowMajorStrides(const Shape& shape);
std::vector<int64_t> deviceStrides(const Shape& shape, int64_t pitch);
/// Whether both orders are the same for a dense tensor.
bool isSameOrder(const Shape& shape);

/// One axis of a window over an input of known extent.
struct PlacedAxis {
  int64_t taps = 1, stride = 1, dilation = 1, before = 0, after = 0, positions = 1;
};
/// Of the spatial axes, the last first; axes that there are not keep their initial values. Throws std::invalid_argument where the
/// output is empty.
std::array<PlacedAxis, 3> place(const Window& window, const Shape& input);

/// The output of a step with inputs of these shapes; `filter`: the shape of a convolution's filter or a normalisation's scale.
/// Throws std::invalid_argument where they do not fit together.
Shape outputShape(const Step& step, const std::vector<Shape>& inputs, const Shape& filter);

}  // namespace shiftconv::runtimes::onnx
