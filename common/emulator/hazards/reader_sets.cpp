#include "common/emulator/hazards/reader_sets.hpp"

#include <algorithm>

namespace shiftconv::emulator::hazards {

uint64_t ReaderSets::intern(std::vector<uint64_t> members) {
  if (members.size() == 1) return members[0];
  std::sort(members.begin(), members.end());
  const auto [entry, isNew] = numbers_.emplace(std::move(members), sets_.size() + 1);
  if (isNew) sets_.push_back(entry->first);
  return entry->second;
}

}  // namespace shiftconv::emulator::hazards
