// The execution provider of one session: claims nodes, and compiles the islands that it was given.
//
// Options of a session, as provider options:
//   device    what shiftconv_device_open_named takes; "auto" unless it is set
//   use_tf32  1: f32 convolutions round their operands to tf32, on tensor cores; 0, the initial value: they are exact products in
//   f32
#pragma once

#include <memory>
#include <string>

#include "conv/runtimes/onnxruntime/api.hpp"
#include "conv/runtimes/onnxruntime/compiled_island.hpp"

namespace shiftconv::runtimes::onnx {

inline constexpr const char* kProviderName = "ShiftConvExecutionProvider";

class Provider : public OrtEp {
 public:
  /// Throws where an option is wrong, or the device cannot be opened.
  Provider(const OrtSessionOptions* options, const OrtLogger* logger);

 private:
  void getCapability(const OrtGraph* graph, OrtEpGraphSupportInfo* support);
  std::unique_ptr<CompiledIsland> compile(const OrtGraph* graph, const OrtNode* fused);

  std::shared_ptr<SessionDevice> session_;
  Ort::Logger logger_;
};

}  // namespace shiftconv::runtimes::onnx
