#include "conv/runtimes/onnxruntime/shapes.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

namespace shiftconv::runtimes::onnx {
namespace {

int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

std::string textOf(const Shape& shape) {
  std::string text;
  for (const int64_t extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

[[noreturn]] void mismatch(const std::string& sentence) { throw std::invalid_argument(sentence); }

PlacedAxis placeAxis(const Window& window, size_t axis, int64_t extent) {
  const size_t axes = window.taps.size();
  PlacedAxis placed{window.taps[axis], window.strides[axis],     window.dilations[axis],
                    window.pads[axis], window.pads[axes + axis], 1};
  const int64_t reach = (placed.taps - 1) * placed.dilation + 1;
  if (window.autoPad != AutoPad::Explicit) {
    placed.positions = (extent + placed.stride - 1) / placed.stride;
    const int64_t total = std::max<int64_t>(0, (placed.positions - 1) * placed.stride + reach - extent);
    placed.before = window.autoPad == AutoPad::SameUpper ? total / 2 : total - total / 2;
    placed.after = total - placed.before;
    return placed;
  }
  const int64_t room = extent + placed.before + placed.after - reach;
  if (room < 0) mismatch("a window of " + std::to_string(reach) + " is larger than the padded input, so that the output is empty");
  placed.positions = room / placed.stride + 1;
  if (!window.ceil) return placed;
  // One window more that begins inside of the input; the padding grows to hold it.
  if (room % placed.stride != 0 && placed.positions * placed.stride < extent + placed.before) ++placed.positions;
  placed.after = std::max<int64_t>(0, (placed.positions - 1) * placed.stride + reach - extent - placed.before);
  return placed;
}

Shape windowed(const std::array<PlacedAxis, 3>& axes, const Shape& input, int64_t channels) {
  Shape output{input[0], channels};
  for (size_t axis = 2; axis < input.size(); ++axis) output.push_back(axes[input.size() - 1 - axis].positions);
  return output;
}

struct Infer {
  const std::vector<Shape>& inputs;
  const Shape& filter;

  Shape operator()(const Convolution& conv) const {
    const Shape& x = inputs[0];
    if (conv.matrix) {
      const int64_t rows = filter[conv.transposed ? 0 : 1], columns = filter[conv.transposed ? 1 : 0];
      if (x.size() != 2 || x[1] != rows) mismatch("the input " + textOf(x) + " does not fit to the matrix " + textOf(filter));
      return {x[0], columns};
    }
    if (x.size() != filter.size() || x[1] != filter[1] * conv.groups)
      mismatch("the input " + textOf(x) + " does not fit to the filter " + textOf(filter));
    Shape output = windowed(place(conv.window, x), x, filter[0]);
    if (inputs.size() == 2 && inputs[1] != output)
      mismatch("the sum's other operand is " + textOf(inputs[1]) + ", but the convolution's output " + textOf(output));
    return output;
  }
  Shape operator()(const Pool& pool) const {
    if (!pool.whole) return windowed(place(pool.window, inputs[0]), inputs[0], inputs[0][1]);
    if (pool.flat) return {inputs[0][0], inputs[0][1]};
    Shape output(inputs[0].size(), 1);
    output[0] = inputs[0][0], output[1] = inputs[0][1];
    return output;
  }
  Shape operator()(const HardSigmoid&) const { return inputs[0]; }
  Shape operator()(const Pointwise& pointwise) const {
    if (pointwise.constant != kAbsent && elementsOf(filter) != channelsOf(inputs[0]))
      mismatch("the input is " + textOf(inputs[0]) + ", but the constant " + textOf(filter));
    if (inputs.size() == 2 && inputs[0] != inputs[1]) {
      Shape onePixel = inputs[0];
      std::fill(onePixel.begin() + std::min<int64_t>(2, static_cast<int64_t>(onePixel.size())), onePixel.end(), 1);
      if (inputs[1] != onePixel) mismatch("the operands are " + textOf(inputs[0]) + " and " + textOf(inputs[1]));
    }
    return inputs[0];
  }
  Shape operator()(const BatchNorm&) const {
    if (inputs[0].at(1) != elementsOf(filter))
      mismatch("the input is " + textOf(inputs[0]) + ", but the constants " + textOf(filter));
    return inputs[0];
  }
  Shape operator()(const Slice& slice) const {
    if (inputs[0].at(1) < slice.end) mismatch("the input " + textOf(inputs[0]) + " has fewer channels than are taken of it");
    Shape output = inputs[0];
    output[1] = slice.end - slice.begin;
    return output;
  }
  Shape operator()(const Normalize& normalize) const {
    if (normalize.scale != kAbsent && inputs[0].at(1) != elementsOf(filter))
      mismatch("the input is " + textOf(inputs[0]) + ", but scale and bias are " + textOf(filter));
    return inputs[0];
  }
  Shape operator()(const Resize& resize) const {
    Shape output = inputs[0];
    for (size_t i = 0; i < resize.factors.size(); ++i) output[i + 2] *= resize.factors[i];
    return output;
  }
  Shape operator()(const Transpose& transpose) const {
    Shape output;
    for (const int64_t axis : transpose.permutation) output.push_back(inputs[0].at(static_cast<size_t>(axis)));
    return output;
  }
  Shape operator()(const Cast&) const { return inputs[0]; }
  Shape operator()(const Reshape& reshape) const {
    const Shape& x = inputs[0];
    if (reshape.like != kAbsent) return inputs[1];
    if (reshape.flattenFrom) {
      const auto middle = x.begin() + *reshape.flattenFrom;
      return {product(x.begin(), middle), product(middle, x.end())};
    }
    Shape output = reshape.shape;
    int64_t known = 1;
    for (size_t i = 0; i < output.size(); ++i) {
      if (output[i] == 0) output[i] = x.at(i);
      if (output[i] > 0) known *= output[i];
    }
    for (int64_t& extent : output)
      if (extent == -1) extent = elementsOf(x) / known;
    if (elementsOf(output) != elementsOf(x)) mismatch(textOf(x) + " cannot become " + textOf(reshape.shape));
    return output;
  }
  Shape operator()(const Extents&) const { return inputs[0]; }
  Shape operator()(const Concat&) const {
    Shape output = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) {
      output[1] += inputs[i].at(1);
      Shape rest = inputs[i];
      rest[1] = inputs[0][1];
      if (rest != inputs[0]) mismatch(textOf(inputs[0]) + " and " + textOf(inputs[i]) + " differ in more than their channels");
    }
    return output;
  }
};

}  // namespace

int64_t elementsOf(const Shape& shape) { return product(shape.begin(), shape.end()); }
int64_t channelsOf(const Shape& shape) { return shape.size() == 1 ? shape[0] : shape[1]; }
int64_t pixelsOf(const Shape& shape) { return elementsOf(shape) / channelsOf(shape); }
int64_t spatialExtent(const Shape& shape, size_t fromLast) {
  return fromLast + 2 < shape.size() ? shape[shape.size() - 1 - fromLast] : 1;
}

std::vector<int64_t> rowMajorStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

std::vector<int64_t> deviceStrides(const Shape& shape, int64_t pitch) {
  std::vector<int64_t> strides(shape.size(), 1);
  if (shape.size() < 2) return strides;
  int64_t stride = pitch;
  for (size_t axis = shape.size() - 1; axis >= 2; --axis) strides[axis] = stride, stride *= shape[axis];
  strides[0] = stride;
  return strides;
}

bool isSameOrder(const Shape& shape) { return shape.size() <= 2 || shape[1] == 1 || product(shape.begin() + 2, shape.end()) == 1; }

std::array<PlacedAxis, 3> place(const Window& window, const Shape& input) {
  std::array<PlacedAxis, 3> axes;
  const size_t count = window.taps.size();
  if (count + 2 != input.size())
    mismatch("a window of " + std::to_string(count) + " axes does not fit to the input " + textOf(input));
  for (size_t axis = 0; axis < count; ++axis) axes[count - 1 - axis] = placeAxis(window, axis, input[axis + 2]);
  return axes;
}

Shape outputShape(const Step& step, const std::vector<Shape>& inputs, const Shape& filter) {
  return std::visit(Infer{inputs, filter}, step.what);
}

}  // namespace shiftconv::runtimes::onnx
