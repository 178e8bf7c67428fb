// ONNX Runtime's headers. The API comes from the runtime that loads the provider, nothing is linked.
#pragma once

#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>
#undef ORT_API_MANUAL_INIT
