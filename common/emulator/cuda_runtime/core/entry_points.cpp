#include "common/emulator/cuda_runtime/core/entry_points.hpp"

#include <dlfcn.h>

#include <string>

#include "common/emulator/cuda_runtime/cuda_headers.hpp"

namespace shiftconv::runtime {
namespace {

/// This library, however it was loaded.
void* ownHandle() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&cuGetErrorName), &info) == 0) return nullptr;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

void* driverEntryPoint(const char* name, uint64_t flags) {
  static void* const library = ownHandle();
  if (library == nullptr) return nullptr;
  const bool perThread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  for (const char* variant : {"_v4", "_v3", "_v2", ""})
    for (const char* stream : {"_ptsz", "_ptds", ""}) {
      if (!perThread && *stream != '\0') continue;
      if (void* found = dlsym(library, (std::string(name) + variant + stream).c_str())) return found;
    }
  return nullptr;
}

}  // namespace shiftconv::runtime
