// The edge of ONNX Runtime's C interface: exceptions become statuses.
#pragma once

#include <exception>

#include "conv/runtimes/onnxruntime/api.hpp"

namespace shiftconv::runtimes::onnx {

template <class Body>
OrtStatus* boundary(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Ort::Exception& error) {
    return Ort::GetApi().CreateStatus(error.GetOrtErrorCode(), error.what());
  } catch (const std::exception& error) {
    return Ort::GetApi().CreateStatus(ORT_EP_FAIL, (std::string("ShiftConv: ") + error.what()).c_str());
  }
}

}  // namespace shiftconv::runtimes::onnx
