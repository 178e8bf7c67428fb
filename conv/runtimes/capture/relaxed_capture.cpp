#include "conv/runtimes/capture/relaxed_capture.hpp"

#include <dlfcn.h>

namespace shiftconv::runtimes {
namespace {

using ExchangeCaptureMode = int (*)(int* mode);
constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

ExchangeCaptureMode exchangeCaptureMode() {
  static const auto function = [] {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver ? reinterpret_cast<ExchangeCaptureMode>(dlsym(driver, "cuThreadExchangeStreamCaptureMode")) : nullptr;
  }();
  return function;
}

}  // namespace

RelaxedCapture::RelaxedCapture() : mode_(kRelaxed) {
  if (exchangeCaptureMode() != nullptr) exchangeCaptureMode()(&mode_);
}
RelaxedCapture::~RelaxedCapture() {
  if (exchangeCaptureMode() != nullptr) exchangeCaptureMode()(&mode_);
}

}  // namespace shiftconv::runtimes
