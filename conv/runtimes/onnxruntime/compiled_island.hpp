// An island as ONNX Runtime runs it: programs for the shapes that have come, one run at a time.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <shiftconv/shiftconv.hpp>
#include <vector>

#include "conv/runtimes/onnxruntime/api.hpp"
#include "conv/runtimes/onnxruntime/constants.hpp"
#include "conv/runtimes/onnxruntime/program.hpp"

namespace shiftconv::runtimes::onnx {

/// What the islands of a session share. They outlive the provider that made them, if need be.
struct SessionDevice {
  explicit SessionDevice(const std::string& name) : device(name), stream(device) {}
  Device device;
  Stream stream;
  bool tf32 = false;
};

class CompiledIsland : public OrtNodeComputeInfo {
 public:
  CompiledIsland(Island island, std::shared_ptr<SessionDevice> session);

 private:
  static constexpr size_t kMostPrograms = 8;

  void compute(OrtKernelContext* context);
  Program& programFor(const std::vector<Shape>& shapes);

  std::shared_ptr<SessionDevice> session_;
  Island island_;
  Constants constants_;
  std::mutex mutex_;  ///< guards what follows, and runs: a program has one set of buffers
  std::list<std::pair<std::vector<Shape>, std::unique_ptr<Program>>> programs_;  ///< the latest first
};

}  // namespace shiftconv::runtimes::onnx
