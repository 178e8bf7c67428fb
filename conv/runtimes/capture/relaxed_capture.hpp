// Modules may be loaded while a stream is captured.
#pragma once

namespace shiftconv::runtimes {

/// While this lives, the calling thread may load modules even if a stream is being captured in a graph: loading enqueues nothing.
/// Does nothing where there is no CUDA driver. (CUDA driver API, cuThreadExchangeStreamCaptureMode.)
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_;
};

}  // namespace shiftconv::runtimes
