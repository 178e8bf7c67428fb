// The edge of ONNX Runtime's C interface: exceptions become statuses.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "conv/runtimes/onnxruntime/api.hpp"

namespace shiftconv::runtimes::onnx {

inline OrtStatus* failure(OrtErrorCode code, const char* sentence) {
  return Ort::GetApi().CreateStatus(code, (std::string("ShiftConv: ") + sentence).c_str());
}

template <class Body>
OrtStatus* boundary(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Ort::Exception& error) {
    return Ort::GetApi().CreateStatus(error.GetOrtErrorCode(), error.what());
  } catch (const std::invalid_argument& error) {
    return failure(ORT_INVALID_ARGUMENT, error.what());
  } catch (const std::exception& error) {
    // Not ORT_EP_FAIL, at which the Python package runs the whole model on the CPU instead.
    return failure(ORT_FAIL, error.what());
  }
}

}  // namespace shiftconv::runtimes::onnx
