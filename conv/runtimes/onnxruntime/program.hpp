// An island with the extents of its inputs known: device memory, bound plans and helpers, in the order in which they run.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <shiftconv/shiftconv.hpp>
#include <vector>

#include "conv/runtimes/onnxruntime/constants.hpp"
#include "conv/runtimes/onnxruntime/graph.hpp"
#include "conv/runtimes/onnxruntime/steps.hpp"

namespace shiftconv::runtimes::onnx {

/// What an island is made of; outlives its programs.
struct Island {
  Graph graph;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;  ///< values, in the order of a run's tensors
};

class Program {
 public:
  /// Throws shiftconv::Error or std::exception with a sentence that names the node.
  Program(const Island& island, const Constants& constants, Device& device, const std::vector<Shape>& inputShapes, bool tf32);

  const Shape& outputShape(size_t i) const { return shapes_.at(island_.outputs[i]); }
  /// Host memory in ONNX's layout. Returns when the outputs are there. Not from two threads at once.
  void run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs, shiftconv_stream_t stream);

 private:
  /// Where a value lies in the device memory of its root.
  struct Place {
    int root = kAbsent;
    int64_t channel = 0, pitch = 0;
  };
  struct Edge {
    Memory memory;  ///< as on the host
    size_t bytes;
  };

  void inferShapes(const std::vector<Shape>& inputShapes);
  void placeValues();
  void placeInConcats();
  bool meetsNeighbour(int value, int root) const;
  void findLastUses();
  void build(const Step& step);
  void add(const Step& step, const Convolution& convolution);
  void add(const Step& step, const Pool& pool);
  void add(const Step& step, const HardSigmoid& hardSigmoid);
  void add(const Step& step, const Pointwise& pointwise);
  void add(const Step& step, const BatchNorm& norm);
  void add(const Step& step, const Normalize& normalize);
  void add(const Step& step, const Slice& slice);
  void add(const Step& step, const Resize& resize);
  void add(const Step& step, const Transpose& transpose);
  void add(const Step& step, const Cast& cast);
  void add(const Step& step, const Reshape& reshape);
  void add(const Step&, const Extents&) {}  // lowering leaves none
  void add(const Step& step, const Concat& concat);
  void addRuns(Plan plan, Tensors tensors);
  void addInputs();
  void addOutputs();
  /// Numbers of channels, as f32 on the device.
  const void* numbers(const std::vector<float>& ofChannels);
  void addPointwise(const shiftconv_pointwise_t& pointwise, const void* a, const void* b, void* output);
  void addRelayout(const Shape& shape, const std::vector<int64_t>& fromStrides, const std::vector<int64_t>& toStrides,
                   int32_t fromType, int32_t toType, const void* from, void* to);

  int32_t typeOf(int value) const { return *island_.graph.value(value).type; }
  const Shape& shapeOf(int value) const { return shapes_.at(value); }
  int64_t pitchOf(int value) const { return places_.at(value).pitch; }
  std::vector<int64_t> stridesOf(int value) const;
  size_t bytesOf(int value) const;
  bool isAlias(const Step& step) const;
  void* addressOf(int value);
  size_t takeBlock(size_t bytes);
  void releaseAfter(size_t step);

  const Island& island_;
  const Constants& constants_;
  Device& device_;
  bool tf32_;
  std::map<int, Shape> shapes_;
  std::map<int, Place> places_;
  std::map<int, size_t> lastUses_;  ///< of roots: the last step that reads or writes something in them
  std::vector<Memory> blocks_;      ///< of device memory
  std::map<int, size_t> blockOf_;   ///< of live roots
  std::vector<size_t> freeBlocks_;
  std::vector<Memory> own_;  ///< of steps: packed filters, numbers, what lies between two launches
  std::vector<Edge> edges_;  ///< of the inputs, then of the outputs
  std::vector<Binding> bindings_;
  std::vector<std::function<void(shiftconv_stream_t)>> launches_;
};

}  // namespace shiftconv::runtimes::onnx
