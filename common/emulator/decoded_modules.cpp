#include "common/emulator/decoded_modules.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace shiftconv::emulator {

std::shared_ptr<const DecodedModule> DecodedModules::find(std::string_view ptx, std::string_view name) {
  const size_t hash = std::hash<std::string_view>()(ptx);
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.hash == hash && entry.name == name && entry.ptx == ptx; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->decoded;
}

void DecodedModules::keep(std::string_view ptx, std::string_view name, std::shared_ptr<const DecodedModule> decoded) {
  if (ptx.size() > mostTextBytes_) return;
  Entry entry{std::hash<std::string_view>()(ptx), std::string(ptx), std::string(name), std::move(decoded)};
  const std::lock_guard guard(mutex_);
  entries_.push_front(std::move(entry));
  for (textBytes_ += ptx.size(); textBytes_ > mostTextBytes_; entries_.pop_back()) textBytes_ -= entries_.back().ptx.size();
}

DecodedModules& decodedModules() {
  constexpr size_t kMostTextBytes = 8 << 20;
  static DecodedModules modules(kMostTextBytes);
  return modules;
}

}  // namespace shiftconv::emulator
