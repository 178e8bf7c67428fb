// Sets of reads that no write has followed yet.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/emulator/hazards/access.hpp"

namespace shiftconv::emulator::hazards {

/// Sets are interned, as many bytes have the same readers: a set is a number with zeros in the two top bits, and a set of
/// one is simply its Access.
class ReaderSets {
 public:
  /// The set with `access` added; members for which covered(member) holds leave, as they happened before it.
  template <class Covered>
  uint64_t add(uint64_t set, Access access, Covered&& covered) {
    if (set == 0 || set == access.bits()) return access.bits();
    std::vector<uint64_t> members;
    forEach(set, [&](Access member) {
      if (member != access && !covered(member)) members.push_back(member.bits());
    });
    members.push_back(access.bits());
    return intern(std::move(members));
  }

  template <class Action>
  void forEach(uint64_t set, Action&& action) const {
    if (set == 0) return;
    if (set >> Access::kKindShift != 0) return action(Access(set));
    for (uint64_t member : sets_[set - 1]) action(Access(member));
  }

  size_t size() const { return sets_.size(); }
  /// Many more sets than the last keepOnly() left: most of them belong to no byte any more.
  bool isCrowded() const { return sets_.size() > limit_; }
  /// Starts anew; forEachUsed(rename) must call rename(set), which returns the new number, for every set that is still in use.
  template <class ForEachUsed>
  void keepOnly(ForEachUsed&& forEachUsed) {
    const std::vector<std::vector<uint64_t>> old = std::move(sets_);
    sets_.clear();
    numbers_.clear();
    forEachUsed([&](uint64_t set) { return set == 0 || set >> Access::kKindShift != 0 ? set : intern(old[set - 1]); });
    limit_ = 2 * sets_.size() + kLeastLimit;
  }

 private:
  uint64_t intern(std::vector<uint64_t> members);
  static constexpr size_t kLeastLimit = 1 << 16;
  size_t limit_ = kLeastLimit;
  std::vector<std::vector<uint64_t>> sets_;
  std::map<std::vector<uint64_t>, uint64_t> numbers_;
};

}  // namespace shiftconv::emulator::hazards
