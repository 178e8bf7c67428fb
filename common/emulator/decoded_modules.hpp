// Modules that this process has decoded, so that their text need not be parsed and decoded again for another emulator.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/isa/refusals.hpp"

namespace shiftconv::emulator {

/// What a text becomes. It does not change afterwards, so emulators and threads share it.
struct DecodedModule {
  std::shared_ptr<const isa::Program> program;
  isa::ModuleRefusals refusals;
};

/// The ones that were asked for last, as long as their texts together are no longer than a limit. Only for modules without global
/// variables, whose addresses would differ from emulator to emulator. Thread safe.
class DecodedModules {
 public:
  explicit DecodedModules(size_t mostTextBytes) : mostTextBytes_(mostTextBytes) {}

  /// nullptr: it is not, or no longer, there.
  std::shared_ptr<const DecodedModule> find(std::string_view ptx, std::string_view name);
  void keep(std::string_view ptx, std::string_view name, std::shared_ptr<const DecodedModule> decoded);

 private:
  struct Entry {
    size_t hash;  ///< of the text
    std::string ptx, name;
    std::shared_ptr<const DecodedModule> decoded;
  };
  const size_t mostTextBytes_;
  std::mutex mutex_;
  std::list<Entry> entries_;  ///< the last one that was asked for first
  size_t textBytes_ = 0;
};

/// Those of the process.
DecodedModules& decodedModules();

}  // namespace shiftconv::emulator
