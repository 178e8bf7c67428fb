#include "conv/runtimes/onnxruntime/program.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "conv/runtimes/onnxruntime/shapes.hpp"

namespace shiftconv::runtimes::onnx {
namespace {

constexpr size_t kTensorAlignment = 16;  // bytes, of what a binding takes
constexpr size_t kForEver = std::numeric_limits<size_t>::max();

/// A plan that packs the filter, and one that does the rest; nothing where a run makes nothing of its filter.
std::optional<std::pair<Plan, Plan>> separated(const Plan& plan) {
  if (plan.workspaceBytes() == 0) return std::nullopt;  // most plans
  try {
    return plan.separatePacking();
  } catch (const Error& error) {
    if (error.status() != SHIFTCONV_STATUS_UNSUPPORTED) throw;
    return std::nullopt;
  }
}

}  // namespace

Program::Program(const Island& island, const Constants& constants, Device& device, const std::vector<Shape>& inputShapes, bool tf32)
    : island_(island), constants_(constants), device_(device), tf32_(tf32) {
  check(shiftconv_helpers_prepare(device.handle()));
  inferShapes(inputShapes);
  placeValues();
  placeInConcats();
  findLastUses();
  addInputs();
  for (size_t i = 0; i < island.steps.size(); ++i) {
    const Step& step = island.steps[i];
    try {
      std::visit([&](const auto& what) { add(step, what); }, step.what);
    } catch (const Error& error) {
      throw Error(error.status(), "node '" + step.name + "': " + error.what());
    }
    releaseAfter(i);
  }
  addOutputs();
}

// ---- What there is, and where ----

void Program::inferShapes(const std::vector<Shape>& inputShapes) {
  for (size_t i = 0; i < inputShapes.size(); ++i) {
    if (elementsOf(inputShapes[i]) == 0)
      throw std::invalid_argument("the input '" + island_.graph.value(island_.inputs[i]).name + "' has no elements");
    shapes_[island_.inputs[i]] = inputShapes[i];
  }
  for (const Step& step : island_.steps) {
    std::vector<Shape> inputs;
    for (const int input : step.inputs) inputs.push_back(shapeOf(input));
    const int constant = constantOf(step);
    try {
      shapes_[step.output] = onnx::outputShape(step, inputs, constant == kAbsent ? Shape() : island_.graph.value(constant).shape);
      if (std::holds_alternative<Reshape>(step.what) && elementsOf(shapeOf(step.output)) != elementsOf(inputs[0]))
        throw std::invalid_argument("the input has not as many elements as the tensor whose shape it is to have");
    } catch (const std::exception& error) {
      throw std::invalid_argument("node '" + step.name + "': " + error.what());
    }
  }
}

/// Whether the elements of a reshaped tensor need not move.
bool Program::isAlias(const Step& step) const {
  return std::holds_alternative<Reshape>(step.what) && isSameOrder(shapeOf(step.inputs[0])) && isSameOrder(shapeOf(step.output));
}

void Program::placeValues() {
  for (const int input : island_.inputs) places_[input] = {input, 0, channelsOf(shapeOf(input))};
  for (const Step& step : island_.steps) {
    const int root = isAlias(step) ? places_.at(step.inputs[0]).root : step.output;
    places_[step.output] = {root, 0, channelsOf(shapeOf(step.output))};
  }
}

/// Whether a step would read and write in the memory of `root` if the value lay there, too. Convolutions may, as they write other
/// channels than they read.
bool Program::meetsNeighbour(int value, int root) const {
  return std::any_of(island_.steps.begin(), island_.steps.end(), [&](const Step& step) {
    if (std::holds_alternative<Concat>(step.what) || std::holds_alternative<Convolution>(step.what)) return false;
    const auto isThere = [&](int other) { return other == value || places_.at(other).root == root; };
    const bool reads = std::any_of(step.inputs.begin(), step.inputs.end(), isThere);
    const bool isConcerned = step.output == value || std::find(step.inputs.begin(), step.inputs.end(), value) != step.inputs.end();
    return isConcerned && reads && isThere(step.output);
  });
}

/// What is concatenated is written where the result will be, if only one concatenation wants it and alignment allows it.
void Program::placeInConcats() {
  std::set<int> own;  // what steps write into memory of their own
  for (const Step& step : island_.steps)
    if (!isAlias(step) && !std::holds_alternative<Concat>(step.what)) own.insert(step.output);
  for (const Step& step : island_.steps)
    if (isAlias(step)) own.erase(step.inputs[0]);  // has to stay dense
  for (const Step& step : island_.steps) {
    if (!std::holds_alternative<Concat>(step.what)) continue;
    const auto element = static_cast<int64_t>(elementBytes(typeOf(step.output)));
    const auto aligned = [&](int64_t elements) { return elements * element % static_cast<int64_t>(kTensorAlignment) == 0; };
    const int64_t pitch = channelsOf(shapeOf(step.output));
    int64_t channel = 0;
    for (const int input : step.inputs) {
      if (aligned(pitch) && aligned(channel) && !meetsNeighbour(input, step.output) && own.erase(input) == 1)
        places_[input] = {step.output, channel, pitch};
      channel += channelsOf(shapeOf(input));
    }
  }
}

void Program::findLastUses() {
  for (size_t i = 0; i < island_.steps.size(); ++i) {
    for (const int input : island_.steps[i].inputs) lastUses_[places_.at(input).root] = i;
    lastUses_[places_.at(island_.steps[i].output).root] = i;
  }
  for (const int output : island_.outputs) lastUses_[places_.at(output).root] = kForEver;
}

size_t Program::bytesOf(int value) const { return static_cast<size_t>(elementsOf(shapeOf(value))) * elementBytes(typeOf(value)); }

std::vector<int64_t> Program::stridesOf(int value) const { return deviceStrides(shapeOf(value), pitchOf(value)); }

/// The smallest free block that is large enough, or a new one.
size_t Program::takeBlock(size_t bytes) {
  auto best = freeBlocks_.end();
  for (auto at = freeBlocks_.begin(); at != freeBlocks_.end(); ++at)
    if (blocks_[*at].bytes() >= bytes && (best == freeBlocks_.end() || blocks_[*at].bytes() < blocks_[*best].bytes())) best = at;
  if (best == freeBlocks_.end()) {
    blocks_.emplace_back(device_, bytes);
    return blocks_.size() - 1;
  }
  const size_t block = *best;
  freeBlocks_.erase(best);
  return block;
}

void* Program::addressOf(int value) {
  const Place& place = places_.at(value);
  auto block = blockOf_.find(place.root);
  if (block == blockOf_.end()) block = blockOf_.emplace(place.root, takeBlock(bytesOf(place.root))).first;
  return static_cast<std::byte*>(blocks_[block->second].get()) + static_cast<size_t>(place.channel) * elementBytes(typeOf(value));
}

/// Launches follow one another in one stream, so memory may serve again as soon as its last reader is enqueued.
void Program::releaseAfter(size_t step) {
  for (auto at = blockOf_.begin(); at != blockOf_.end();) {
    const auto last = lastUses_.find(at->first);
    const bool done = last != lastUses_.end() && last->second <= step;
    if (done) freeBlocks_.push_back(at->second);
    at = done ? blockOf_.erase(at) : std::next(at);
  }
}

// ---- Launches ----

void Program::add(const Step& step, const Convolution& conv) {
  const int x = step.inputs[0], y = step.output;
  const Shape& input = shapeOf(x);
  const Shape& filter = island_.graph.value(conv.filter).shape;
  shiftconv::Convolution problem;
  problem.c = channelsOf(input), problem.k = channelsOf(shapeOf(y)), problem.groups = conv.groups;
  if (conv.matrix) {
    problem.n = problem.h = problem.r = problem.s = 1, problem.w = input[0];
  } else {
    problem.n = input[0], problem.d = spatialExtent(input, 2), problem.h = spatialExtent(input, 1),
    problem.w = spatialExtent(input, 0);
    problem.t = spatialExtent(filter, 2), problem.r = spatialExtent(filter, 1), problem.s = spatialExtent(filter, 0);
    const auto [w, h, d] = place(conv.window, input);
    problem.pad_front = d.before, problem.pad_back = d.after, problem.stride_d = d.stride, problem.dilation_d = d.dilation;
    problem.pad_top = h.before, problem.pad_bottom = h.after, problem.stride_h = h.stride, problem.dilation_h = h.dilation;
    problem.pad_left = w.before, problem.pad_right = w.after, problem.stride_w = w.stride, problem.dilation_w = w.dilation;
  }
  problem.input_pixel_pitch = pitchOf(x) == problem.c ? 0 : pitchOf(x);
  problem.output_pixel_pitch = pitchOf(y) == problem.k ? 0 : pitchOf(y);
  problem.input_type = problem.filter_type = problem.output_type = typeOf(x);
  if (tf32_ && typeOf(x) == SHIFTCONV_TYPE_F32) problem.compute = SHIFTCONV_COMPUTE_TF32;
  problem.alpha = conv.alpha;
  problem.activation = conv.activation.kind, problem.activation_a = conv.activation.a, problem.activation_b = conv.activation.b;
  Tensors tensors;
  tensors.input = addressOf(x), tensors.filter = constants_.filter(conv), tensors.output = addressOf(y);
  if (conv.bias != kAbsent) problem.has_bias = 1, problem.bias_type = typeOf(x), tensors.bias = constants_.bias(conv);
  if (step.inputs.size() == 2) {
    const int residual = step.inputs[1];
    problem.beta = 1, problem.residual_last = conv.residualLast, problem.residual_type = typeOf(residual),
    tensors.residual = addressOf(residual);
    problem.residual_pixel_pitch = pitchOf(residual) == problem.k ? 0 : pitchOf(residual);
  }
  addRuns(Plan(problem, device_.properties()), tensors);
}

/// What a run makes of the filter is made now: it is constant.
void Program::addRuns(Plan plan, Tensors tensors) {
  if (std::optional<std::pair<Plan, Plan>> parts = separated(plan)) {
    auto& [packing, rest] = *parts;
    own_.emplace_back(device_, packing.packedFilterBytes());
    tensors.packed_filter = own_.back().get();
    packing.run(device_, tensors);
    device_.synchronize();
    plan = std::move(rest);
  }
  if (const size_t bytes = plan.workspaceBytes(); bytes != 0) {
    const size_t block = takeBlock(bytes);
    tensors.workspace = blocks_[block].get();
    freeBlocks_.push_back(block);  // for the steps after this one
  }
  bindings_.emplace_back(plan, device_, tensors);
  launches_.emplace_back([this, i = bindings_.size() - 1](shiftconv_stream_t stream) { bindings_[i].run(stream); });
}

void Program::add(const Step& step, const Pool& pool) {
  const int x = step.inputs[0], y = step.output;
  const Shape& input = shapeOf(x);
  shiftconv_pool_t p = SHIFTCONV_POOL_INIT;
  p.n = input[0], p.h = spatialExtent(input, 2) * spatialExtent(input, 1), p.w = spatialExtent(input, 0), p.c = channelsOf(input);
  p.r = p.h, p.s = p.w;
  if (!pool.whole) {
    const auto [w, h, d] = place(pool.window, input);
    p.r = h.taps, p.pad_top = h.before, p.pad_bottom = h.after, p.stride_h = h.stride, p.dilation_h = h.dilation;
    p.s = w.taps, p.pad_left = w.before, p.pad_right = w.after, p.stride_w = w.stride, p.dilation_w = w.dilation;
  }
  p.input_pixel_pitch = pitchOf(x), p.output_pixel_pitch = pitchOf(y);
  p.type = typeOf(x), p.kind = pool.average ? SHIFTCONV_POOL_AVERAGE : SHIFTCONV_POOL_MAXIMUM, p.count_padding = pool.countPadding;
  launches_.emplace_back([device = device_.handle(), p, from = addressOf(x), to = addressOf(y)](shiftconv_stream_t stream) {
    check(shiftconv_pool_run(device, &p, from, to, stream));
  });
}

void Program::addPointwise(const shiftconv_pointwise_t& pointwise, const void* a, const void* b, void* output) {
  launches_.emplace_back([device = device_.handle(), pointwise, a, b, output](shiftconv_stream_t stream) {
    check(shiftconv_pointwise_run(device, &pointwise, a, b, output, stream));
  });
}

const void* Program::numbers(const std::vector<float>& ofChannels) {
  own_.emplace_back(device_, ofChannels.size() * sizeof(float));
  device_.copyToDevice(own_.back().get(), ofChannels.data(), own_.back().bytes());
  device_.synchronize();
  return own_.back().get();
}

/// Two launches, with f32 between them, so that nothing is rounded twice.
void Program::add(const Step& step, const HardSigmoid& hardSigmoid) {
  const int x = step.inputs[0], y = step.output;
  const auto channels = static_cast<size_t>(channelsOf(shapeOf(y)));
  shiftconv_pointwise_t p = SHIFTCONV_POINTWISE_INIT;
  p.rows = pixelsOf(shapeOf(y)), p.c = channelsOf(shapeOf(y)), p.rows_of_b = p.rows;
  p.a_type = typeOf(x), p.b_type = p.output_type = SHIFTCONV_TYPE_F32;
  p.operation = SHIFTCONV_OPERATION_MULTIPLY, p.a_pitch = pitchOf(x);
  own_.emplace_back(device_, static_cast<size_t>(elementsOf(shapeOf(y))) * sizeof(float));
  void* const product = own_.back().get();
  addPointwise(p, addressOf(x), numbers(std::vector<float>(channels, hardSigmoid.factor)), product);
  p.a_type = SHIFTCONV_TYPE_F32, p.output_type = typeOf(y);
  p.operation = SHIFTCONV_OPERATION_ADD, p.a_pitch = 0, p.output_pitch = pitchOf(y);
  p.activation = SHIFTCONV_ACTIVATION_CLAMP, p.activation_a = 0, p.activation_b = 1;
  addPointwise(p, product, numbers(std::vector<float>(channels, hardSigmoid.summand)), addressOf(y));
}

/// A factor and a summand for each channel, the second in place: of f16, products are rounded, too.
void Program::add(const Step& step, const BatchNorm& norm) {
  const int x = step.inputs[0], y = step.output;
  shiftconv_pointwise_t p = SHIFTCONV_POINTWISE_INIT;
  p.rows = pixelsOf(shapeOf(y)), p.c = channelsOf(shapeOf(y)), p.rows_of_b = p.rows;
  p.a_type = p.output_type = typeOf(y), p.b_type = SHIFTCONV_TYPE_F32;
  p.operation = SHIFTCONV_OPERATION_MULTIPLY, p.a_pitch = pitchOf(x), p.output_pitch = pitchOf(y);
  const void* const from = addressOf(x);
  void* const to = addressOf(y);
  addPointwise(p, from, constants_.factors(step), to);
  p.operation = SHIFTCONV_OPERATION_ADD, p.a_pitch = pitchOf(y);
  p.activation = norm.activation.kind, p.activation_a = norm.activation.a, p.activation_b = norm.activation.b;
  addPointwise(p, to, constants_.summands(step), to);
}

void Program::add(const Step& step, const Slice& slice) {
  const int x = step.inputs[0], y = step.output;
  const auto* const from = static_cast<const std::byte*>(addressOf(x)) + static_cast<size_t>(slice.begin) * elementBytes(typeOf(x));
  addRelayout(shapeOf(y), stridesOf(x), stridesOf(y), typeOf(x), typeOf(y), from, addressOf(y));
}

void Program::add(const Step& step, const Pointwise& pointwise) {
  const int a = step.inputs[0], y = step.output;
  shiftconv_pointwise_t p = SHIFTCONV_POINTWISE_INIT;
  p.rows = pixelsOf(shapeOf(y)), p.c = channelsOf(shapeOf(y));
  p.a_pitch = pitchOf(a), p.output_pitch = pitchOf(y), p.a_type = typeOf(a), p.output_type = typeOf(y);
  p.activation = pointwise.activation.kind, p.activation_a = pointwise.activation.a, p.activation_b = pointwise.activation.b;
  p.operation = pointwise.operation;
  const void* other = nullptr;
  if (step.inputs.size() == 2) {
    const int b = step.inputs[1];
    p.b_pitch = pitchOf(b), p.b_type = typeOf(b), p.rows_of_b = p.rows / pixelsOf(shapeOf(b));
    other = addressOf(b);
  } else if (pointwise.constant != kAbsent) {
    p.b_type = typeOf(pointwise.constant), p.rows_of_b = p.rows;
    other = constants_.vector(pointwise.constant);
  }
  const void* const first = addressOf(a);
  addPointwise(p, first, other, addressOf(y));
}

void Program::add(const Step& step, const Normalize& normalize) {
  const int x = step.inputs[0], y = step.output;
  shiftconv_normalize_t p = SHIFTCONV_NORMALIZE_INIT;
  p.n = shapeOf(x)[0], p.c = channelsOf(shapeOf(x)), p.pixels = pixelsOf(shapeOf(x)) / p.n;
  p.groups = normalize.groups == 0 ? p.c : normalize.groups, p.epsilon = normalize.epsilon;
  p.input_pixel_pitch = pitchOf(x), p.output_pixel_pitch = pitchOf(y);
  p.type = p.parameter_type = typeOf(x);  // stepOf has seen to it
  p.activation = normalize.activation.kind, p.activation_a = normalize.activation.a, p.activation_b = normalize.activation.b;
  const void* const from = addressOf(x);
  launches_.emplace_back([device = device_.handle(), p, from, to = addressOf(y), scale = constants_.vector(normalize.scale),
                          bias = constants_.vector(normalize.bias)](shiftconv_stream_t stream) {
    check(shiftconv_normalize_run(device, &p, from, scale, bias, to, stream));
  });
}

void Program::add(const Step& step, const Cast&) { add(step, Pointwise{}); }

void Program::addRelayout(const Shape& shape, const std::vector<int64_t>& fromStrides, const std::vector<int64_t>& toStrides,
                          int32_t fromType, int32_t toType, const void* from, void* to) {
  // Axes by their strides in the destination, so that neighbouring threads write neighbours.
  std::vector<size_t> axes(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = i;
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return toStrides[a] > toStrides[b]; });
  shiftconv_relayout_t r = SHIFTCONV_RELAYOUT_INIT;
  const size_t first = std::size(r.extent) - axes.size();
  for (size_t i = 0; i < axes.size(); ++i)
    r.extent[first + i] = shape[axes[i]], r.source_stride[first + i] = fromStrides[axes[i]],
                     r.destination_stride[first + i] = toStrides[axes[i]];
  r.source_type = fromType, r.destination_type = toType;
  launches_.emplace_back([device = device_.handle(), r, from, to](shiftconv_stream_t stream) {
    check(shiftconv_relayout_run(device, &r, from, to, stream));
  });
}

void Program::add(const Step& step, const Resize& resize) {
  const int x = step.inputs[0], y = step.output;
  const Shape& input = shapeOf(x);
  const int64_t rows = input[0] * input[2], width = input[3], down = resize.factors[0], across = resize.factors[1];
  const int64_t from = pitchOf(x), to = pitchOf(y), line = width * across * to;
  addRelayout({rows, down, width, across, input[1]}, {width * from, 0, from, 0, 1}, {down * line, line, across * to, to, 1},
              typeOf(x), typeOf(y), addressOf(x), addressOf(y));
}

void Program::add(const Step& step, const Transpose& transpose) {
  const int x = step.inputs[0], y = step.output;
  std::vector<int64_t> from;
  for (const int64_t axis : transpose.permutation) from.push_back(stridesOf(x)[static_cast<size_t>(axis)]);
  const void* const source = addressOf(x);
  addRelayout(shapeOf(y), from, stridesOf(y), typeOf(x), typeOf(y), source, addressOf(y));
}

void Program::add(const Step& step, const Reshape&) {
  if (isAlias(step)) return;
  const int x = step.inputs[0], y = step.output;
  const void* const source = addressOf(x);
  const auto fromStrides = stridesOf(x);
  if (isSameOrder(shapeOf(y))) {
    addRelayout(shapeOf(x), fromStrides, rowMajorStrides(shapeOf(x)), typeOf(x), typeOf(y), source, addressOf(y));
    return;
  }
  // Through ONNX's order, in memory that nothing else uses meanwhile.
  edges_.push_back({Memory(device_, bytesOf(x)), bytesOf(x)});
  void* const between = edges_.back().memory.get();
  addRelayout(shapeOf(x), fromStrides, rowMajorStrides(shapeOf(x)), typeOf(x), typeOf(x), source, between);
  addRelayout(shapeOf(y), rowMajorStrides(shapeOf(y)), stridesOf(y), typeOf(x), typeOf(y), between, addressOf(y));
}

void Program::add(const Step& step, const Concat&) {
  const int y = step.output;
  int64_t channel = 0;
  for (const int x : step.inputs) {
    const Place& place = places_.at(x);
    if (place.root != y || place.channel != channel) {
      const void* const source = addressOf(x);
      auto* const to = static_cast<std::byte*>(addressOf(y)) + static_cast<size_t>(channel) * elementBytes(typeOf(y));
      addRelayout(shapeOf(x), stridesOf(x), deviceStrides(shapeOf(x), pitchOf(y)), typeOf(x), typeOf(y), source, to);
    }
    channel += channelsOf(shapeOf(x));
  }
}

// ---- The edges ----

void Program::addInputs() {
  for (const int input : island_.inputs) {
    edges_.push_back({Memory(device_, bytesOf(input)), bytesOf(input)});
    const void* const from = edges_.back().memory.get();
    addRelayout(shapeOf(input), rowMajorStrides(shapeOf(input)), stridesOf(input), typeOf(input), typeOf(input), from,
                addressOf(input));
  }
}

void Program::addOutputs() {
  for (const int output : island_.outputs) {
    edges_.push_back({Memory(device_, bytesOf(output)), bytesOf(output)});
    addRelayout(shapeOf(output), stridesOf(output), rowMajorStrides(shapeOf(output)), typeOf(output), typeOf(output),
                addressOf(output), edges_.back().memory.get());
  }
}

void Program::run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs, shiftconv_stream_t stream) {
  for (size_t i = 0; i < inputs.size(); ++i) device_.copyToDevice(edges_[i].memory.get(), inputs[i], edges_[i].bytes, stream);
  for (const auto& launch : launches_) launch(stream);
  const size_t first = edges_.size() - outputs.size();
  for (size_t i = 0; i < outputs.size(); ++i)
    device_.copyToHost(outputs[i], edges_[first + i].memory.get(), edges_[first + i].bytes, stream);
  device_.synchronize(stream);
}

}  // namespace shiftconv::runtimes::onnx
