// A map that forgets what was used longest ago. May be used by several threads at once.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace shiftconv::torch_glue {

template <class Key, class Value, class Hash>
class BoundedCache {
 public:
  explicit BoundedCache(size_t most) : most_(most) {}

  std::optional<Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }

  /// Keeps the value that is already there: another thread was faster.
  void add(const Key& key, Value value) {
    const std::lock_guard lock(mutex_);
    if (places_.contains(key)) return;
    entries_.emplace_front(key, std::move(value));
    places_.emplace(key, entries_.begin());
    shrink();
  }

  void setMost(size_t most) {
    const std::lock_guard lock(mutex_);
    most_ = most;
    shrink();
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  void shrink() {
    while (entries_.size() > most_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
  }

  using Entries = std::list<std::pair<Key, Value>>;  // the most recently used first
  mutable std::mutex mutex_;
  size_t most_;
  Entries entries_;
  std::unordered_map<Key, typename Entries::iterator, Hash> places_;
};

}  // namespace shiftconv::torch_glue
