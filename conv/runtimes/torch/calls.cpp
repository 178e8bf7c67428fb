#include "conv/runtimes/torch/calls.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "conv/runtimes/torch/bounded_cache.hpp"
#include "conv/runtimes/torch/mix.hpp"

namespace shiftconv::torch_glue {
namespace {

constexpr size_t kMostCalls = 4096;

struct CallHash {
  size_t operator()(const CallKey& key) const { return key.hash(); }
};

auto& calls() {
  static auto& cache = *new BoundedCache<CallKey, std::shared_ptr<const Call>, CallHash>(kMostCalls);
  return cache;
}

}  // namespace

CallKey::CallKey(const Operands& operands, std::string settings) : settings_(std::move(settings)) {
  for (const Tensor* tensor : operands.all()) add(*tensor);
  words_[count_++] = static_cast<uint64_t>(operands.dimension);
  words_[count_++] = operands.outType ? static_cast<uint32_t>(*operands.outType) : ~uint64_t{0};
}

void CallKey::add(const Tensor& tensor) {
  if (!tensor) {
    words_[count_++] = ~uint64_t{0};
    return;
  }
  const std::span<const int64_t> sizes = tensor.sizes(), strides = tensor.strides();
  const auto part = [](int64_t value) { return static_cast<uint64_t>(value) & 0xffff; };
  words_[count_++] = part(static_cast<int64_t>(sizes.size())) << 48 | part(tensor.deviceIndex()) << 32 |
                     part(tensor.deviceType()) << 16 | part(tensor.type());
  complete_ = complete_ && sizes.size() <= kMostRank;
  if (!complete_) return;
  for (const int64_t size : sizes) words_[count_++] = static_cast<uint64_t>(size);
  for (const int64_t stride : strides) words_[count_++] = static_cast<uint64_t>(stride);
}

bool CallKey::operator==(const CallKey& other) const {
  return std::equal(words_.begin(), words_.begin() + count_, other.words_.begin(), other.words_.begin() + other.count_) &&
         settings_ == other.settings_;
}

size_t CallKey::hash() const {
  uint64_t hash = std::hash<std::string>()(settings_);
  for (size_t i = 0; i < count_; ++i) hash = mix(hash, words_[i]);
  return hash;
}

std::shared_ptr<const Call> findCall(const CallKey& key) { return key.complete() ? calls().find(key).value_or(nullptr) : nullptr; }

std::shared_ptr<const Call> addCall(const CallKey& key, const Operands& operands, const Settings& settings) {
  static std::atomic<uint64_t> next = 0;
  auto call = std::make_shared<const Call>(next++, describe(operands, settings), settings.plan);
  if (key.complete()) calls().add(key, call);
  return call;
}

}  // namespace shiftconv::torch_glue
