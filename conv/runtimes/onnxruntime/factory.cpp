// What ONNX Runtime looks for in the library: the factory of providers. And the report, for whoever asks.
#include <shiftconv/shiftconv.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "conv/runtimes/onnxruntime/api.hpp"
#include "conv/runtimes/onnxruntime/boundary.hpp"
#include "conv/runtimes/onnxruntime/provider.hpp"
#include "conv/runtimes/onnxruntime/report.hpp"

namespace shiftconv::runtimes::onnx {
namespace {

class Factory : public OrtEpFactory {
 public:
  Factory() : OrtEpFactory{} {
    ort_version_supported = ORT_API_VERSION;
    OrtEpFactory::GetName = [](const OrtEpFactory*) noexcept { return kProviderName; };
    OrtEpFactory::GetVendor = [](const OrtEpFactory*) noexcept { return "ShiftConv"; };
    OrtEpFactory::GetVendorId = [](const OrtEpFactory*) noexcept -> uint32_t { return 0; };
    OrtEpFactory::GetVersion = [](const OrtEpFactory*) noexcept { return shiftconv_version_string(); };
    OrtEpFactory::GetSupportedDevices = supportedDevices;
    OrtEpFactory::CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                                const OrtSessionOptions* options, const OrtLogger* logger,
                                OrtEp** provider) noexcept -> OrtStatus* {
      return boundary([&] { *provider = new Provider(options, logger); });
    };
    OrtEpFactory::ReleaseEp = [](OrtEpFactory*, OrtEp* provider) noexcept { delete static_cast<Provider*>(provider); };
    // Tensors stay in the host's memory, which needs neither.
    OrtEpFactory::CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                                       OrtAllocator** allocator) noexcept -> OrtStatus* {
      *allocator = nullptr;
      return nullptr;
    };
    OrtEpFactory::CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    OrtEpFactory::ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
    OrtEpFactory::IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
  }

 private:
  /// The host's CPU: tensors come from and go to its memory. An option of the session names the device that convolves.
  static OrtStatus* supportedDevices(OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** found,
                                     size_t most, size_t* number) noexcept {
    return boundary([&] {
      *number = 0;
      for (size_t i = 0; i < count && *number < most; ++i) {
        if (Ort::GetApi().HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        Ort::ThrowOnError(Ort::GetEpApi().CreateEpDevice(self, devices[i], nullptr, nullptr, &found[*number]));
        ++*number;
      }
    });
  }
};

}  // namespace
}  // namespace shiftconv::runtimes::onnx

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*,
                                                                    OrtEpFactory** factories, size_t most, size_t* number) {
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (api == nullptr) {
    const std::string sentence = "this build of ShiftConv needs ONNX Runtime 1." + std::to_string(ORT_API_VERSION) + " or later";
    return base->GetApi(1)->CreateStatus(ORT_FAIL, sentence.c_str());
  }
  Ort::InitApi(api);
  if (most < 1) return api->CreateStatus(ORT_INVALID_ARGUMENT, "there is no room for the factory of ShiftConv's provider");
  factories[0] = new shiftconv::runtimes::onnx::Factory;
  *number = 1;
  return nullptr;
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<shiftconv::runtimes::onnx::Factory*>(factory);
  return nullptr;
}

/// Writes the report of the latest session as JSON, by the library's convention for texts (shiftconv.h). Returns 0.
__attribute__((visibility("default"))) int shiftconv_onnxruntime_report(char* buffer, size_t size, size_t* needed) {
  const std::string text = shiftconv::runtimes::onnx::reportText();
  if (size > 0) {
    const size_t copied = std::min(size - 1, text.size());
    std::memcpy(buffer, text.data(), copied);
    buffer[copied] = 0;
  }
  if (needed) *needed = text.size() + 1;
  return 0;
}

}  // extern "C"
