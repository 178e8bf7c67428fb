// Emulated devices out of the plug-in that lies beside the library or program that this is linked into.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "common/device/emulated_plugin.hpp"

namespace shiftconv::device {
namespace {

namespace fs = std::filesystem;

struct Loaded {
  Status status;
  const EmulatedPlugin* plugin = nullptr;
};

/// The folder by which the loader found this code, and the one that links in it lead to.
std::vector<fs::path> ownFolders() {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<const void*>(&openEmulatedDevice), &self) == 0 || self.dli_fname == nullptr) return {};
  std::error_code error;
  std::vector<fs::path> folders{fs::absolute(self.dli_fname, error).parent_path()};
  if (const fs::path real = fs::canonical(self.dli_fname, error).parent_path(); !error && real != folders.front())
    folders.push_back(real);
  return folders;
}

Loaded load() {
  std::string looked;
  for (const fs::path& folder : ownFolders()) {
    const fs::path file = folder / kEmulatedPluginFile;
    std::error_code error;
    if (!fs::exists(file, error)) {
      looked += fmt::format("{}{}", looked.empty() ? "" : " and ", folder.string());
      continue;
    }
    // Never closed: devices of it may live as long as the process.
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return {{StatusCode::NotFound, fmt::format("the emulated device cannot be loaded: {}", dlerror())}};
    const auto* plugin = static_cast<const EmulatedPlugin*>(dlsym(library, kEmulatedPluginSymbol));
    if (plugin == nullptr) return {{StatusCode::NotFound, fmt::format("{} is no emulated device of ShiftConv", file.string())}};
    if (std::string_view(plugin->stamp) != kEmulatedPluginStamp)
      return {{StatusCode::NotFound, fmt::format("{} is of another build: of {}, but this library is of {}", file.string(),
                                                 plugin->stamp, kEmulatedPluginStamp)}};
    return {{}, plugin};
  }
  return {{StatusCode::NotFound,
           fmt::format("the emulated device is not installed: there is no {} in {}", kEmulatedPluginFile, looked)}};
}

}  // namespace

Status openEmulatedDevice(std::string_view target, std::unique_ptr<Device>& device) {
  static const Loaded loaded = load();
  return loaded.status.ok() ? loaded.plugin->open(target, device) : loaded.status;
}

}  // namespace shiftconv::device
