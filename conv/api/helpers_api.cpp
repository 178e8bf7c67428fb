// Helpers of the C API.
#include <memory>

#include "conv/api/boundary.hpp"
#include "conv/api/convert.hpp"
#include "conv/api/handles.hpp"
#include "conv/helpers/helpers.hpp"

using namespace shiftconv;
using namespace shiftconv::api;

namespace {

/// Reads the structure and runs what it asks for on the device.
template <class Helper, class Source, class... Addresses>
Status runHelper(shiftconv_device_t handle, const Source* source, shiftconv_stream_t stream, Addresses... addresses) {
  std::shared_ptr<OpenDevice> open;
  if (Status status = devices().find(handle, "device", open); !status.ok()) return status;
  Helper helper;
  if (Status status = fromC(source, helper); !status.ok()) return status;
  return helpers::run(helper, open->kernels(), reinterpret_cast<device::Address>(addresses)...,
                      reinterpret_cast<device::Stream>(stream));
}

}  // namespace

extern "C" {

shiftconv_status_t shiftconv_helpers_prepare(shiftconv_device_t device) {
  return boundary([&]() -> Status {
    std::shared_ptr<OpenDevice> open;
    if (Status status = devices().find(device, "device", open); !status.ok()) return status;
    return helpers::prepare(open->kernels());
  });
}

shiftconv_status_t shiftconv_relayout_run(shiftconv_device_t device, const shiftconv_relayout_t* relayout, const void* source,
                                          void* destination, shiftconv_stream_t stream) {
  return boundary([&] { return runHelper<helpers::Relayout>(device, relayout, stream, source, destination); });
}

shiftconv_status_t shiftconv_pool_run(shiftconv_device_t device, const shiftconv_pool_t* pool, const void* input, void* output,
                                      shiftconv_stream_t stream) {
  return boundary([&] { return runHelper<helpers::Pool>(device, pool, stream, input, output); });
}

shiftconv_status_t shiftconv_pointwise_run(shiftconv_device_t device, const shiftconv_pointwise_t* pointwise, const void* a,
                                           const void* b, void* output, shiftconv_stream_t stream) {
  return boundary([&] { return runHelper<helpers::Pointwise>(device, pointwise, stream, a, b, output); });
}

shiftconv_status_t shiftconv_normalize_run(shiftconv_device_t device, const shiftconv_normalize_t* normalize, const void* input,
                                           const void* scale, const void* bias, void* output, shiftconv_stream_t stream) {
  return boundary([&] { return runHelper<helpers::Normalize>(device, normalize, stream, input, scale, bias, output); });
}

}  // extern "C"
