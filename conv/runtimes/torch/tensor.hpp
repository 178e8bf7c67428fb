// Owners of what a boxed kernel receives: tensors, lists, strings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "conv/runtimes/torch/torch_abi.hpp"

namespace shiftconv::torch_glue {

/// Throws when a function of PyTorch's C ABI failed. PyTorch has printed why.
inline void checkTorch(AOTITorchError error) {
  if (error != 0) throw std::runtime_error("shiftconv: a call of PyTorch's C ABI failed; its reason is in the log");
}

/// A tensor, or none.
class Tensor {
 public:
  Tensor() = default;
  /// Takes the handle over.
  explicit Tensor(AtenTensorHandle handle) : handle_(handle) {}
  ~Tensor() {
    if (handle_) aoti_torch_delete_tensor_object(handle_);
  }
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  AtenTensorHandle release() { return std::exchange(handle_, nullptr); }
  void* data() const { return get<void*>(aoti_torch_get_data_ptr); }
  int32_t type() const { return get<int32_t>(aoti_torch_get_dtype); }
  int32_t deviceType() const { return get<int32_t>(aoti_torch_get_device_type); }
  int32_t deviceIndex() const { return get<int32_t>(aoti_torch_get_device_index); }
  /// Valid as long as the tensor.
  std::span<const int64_t> sizes() const { return {get<int64_t*>(aoti_torch_get_sizes), rank()}; }
  std::span<const int64_t> strides() const { return {get<int64_t*>(aoti_torch_get_strides), rank()}; }

 private:
  size_t rank() const { return static_cast<size_t>(get<int64_t>(aoti_torch_get_dim)); }
  template <class Value>
  Value get(AOTITorchError (*function)(AtenTensorHandle, Value*)) const {
    Value value{};
    checkTorch(function(handle_, &value));
    return value;
  }

  AtenTensorHandle handle_ = nullptr;
};

/// The numbers of an int[]. At most kMost, so that nothing is allocated.
class Integers {
 public:
  static constexpr size_t kMost = 6;

  Integers() = default;
  /// Takes the list over.
  explicit Integers(StableIValue value) {
    const Owner list{reinterpret_cast<StableListHandle>(value)};
    checkTorch(torch_list_size(list.handle, &count_));
    for (size_t i = 0; i < count_ && i < kMost; ++i) {
      StableIValue element = 0;
      checkTorch(torch_list_get_item(list.handle, i, &element));
      values_[i] = static_cast<int64_t>(element);
    }
  }
  void add(int64_t number) {
    if (count_ < kMost) values_[count_] = number;
    ++count_;
  }
  /// How many there are; those beyond kMost are not kept.
  size_t count() const { return count_; }
  int64_t operator[](size_t index) const { return values_[index]; }

 private:
  struct Owner {
    StableListHandle handle;
    ~Owner() { torch_delete_list(handle); }
  };
  size_t count_ = 0;
  int64_t values_[kMost] = {};
};

/// What an optional argument holds: it is null or the address of a value on the heap, which the kernel frees.
inline std::optional<StableIValue> takeOptional(StableIValue value) {
  const std::unique_ptr<StableIValue> held(reinterpret_cast<StableIValue*>(value));
  return held ? std::optional(*held) : std::nullopt;
}
inline Tensor takeTensor(StableIValue value) { return Tensor(reinterpret_cast<AtenTensorHandle>(value)); }
inline Tensor takeOptionalTensor(StableIValue value) { return takeTensor(takeOptional(value).value_or(0)); }

/// The text of a str, which the call takes over.
inline std::string takeText(StableIValue value) {
  struct Owner {
    StringHandle handle;
    ~Owner() { torch_delete_string(handle); }
  } const text{reinterpret_cast<StringHandle>(value)};
  size_t length = 0;
  const char* characters = nullptr;
  checkTorch(torch_string_length(text.handle, &length));
  checkTorch(torch_string_c_str(text.handle, &characters));
  return {characters, length};
}

}  // namespace shiftconv::torch_glue
