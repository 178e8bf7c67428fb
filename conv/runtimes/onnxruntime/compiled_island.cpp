#include "conv/runtimes/onnxruntime/compiled_island.hpp"

#include <algorithm>
#include <utility>

#include "conv/runtimes/onnxruntime/boundary.hpp"

namespace shiftconv::runtimes::onnx {

CompiledIsland::CompiledIsland(Island island, std::shared_ptr<SessionDevice> session)
    : OrtNodeComputeInfo{},
      session_(std::move(session)),
      island_(std::move(island)),
      constants_(island_.graph, island_.steps, session_->device) {
  for (Value& value : island_.graph.values) value.data = {};  // they are on the device now
  ort_version_supported = ORT_API_VERSION;
  CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
    *state = self;
    return nullptr;
  };
  Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) -> OrtStatus* {
    return boundary([&] { static_cast<CompiledIsland*>(static_cast<OrtNodeComputeInfo*>(state))->compute(context); });
  };
  ReleaseState = [](OrtNodeComputeInfo*, void*) {};
}

Program& CompiledIsland::programFor(const std::vector<Shape>& shapes) {
  const auto found = std::find_if(programs_.begin(), programs_.end(), [&](const auto& known) { return known.first == shapes; });
  if (found != programs_.end()) {
    programs_.splice(programs_.begin(), programs_, found);
  } else {
    auto program = std::make_unique<Program>(island_, constants_, session_->device, shapes, session_->tf32);
    if (programs_.size() == kMostPrograms) programs_.pop_back();
    programs_.emplace_front(shapes, std::move(program));
  }
  return *programs_.front().second;
}

void CompiledIsland::compute(OrtKernelContext* raw) {
  Ort::KernelContext context(raw);
  std::vector<Shape> shapes;
  std::vector<const void*> inputs;
  for (size_t i = 0; i < island_.inputs.size(); ++i) {
    const Ort::ConstValue value = context.GetInput(i);
    shapes.push_back(value.GetTensorTypeAndShapeInfo().GetShape());
    inputs.push_back(value.GetTensorRawData());
  }
  const std::lock_guard lock(mutex_);
  Program& program = programFor(shapes);
  std::vector<void*> outputs;
  for (size_t i = 0; i < island_.outputs.size(); ++i)
    outputs.push_back(context.GetOutput(i, program.outputShape(i)).GetTensorMutableRawData());
  program.run(inputs, outputs, session_->stream.get());
}

}  // namespace shiftconv::runtimes::onnx
