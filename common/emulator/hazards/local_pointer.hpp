// A pointer that shares what it points to with others of the same cluster, which one host thread runs: its count is an ordinary
// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace shiftconv::emulator::hazards {

template <class T>
struct LocalBox {
  T value;
  uint64_t count;
};

template <class T>
class LocalPointer {
 public:
  LocalPointer() = default;
  LocalPointer(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): as std::shared_ptr
  LocalPointer(const LocalPointer& other) noexcept : box_(other.box_) { hold(); }
  LocalPointer(LocalPointer&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  /// From a pointer to what may be changed to one to what may not.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<U, std::remove_const_t<T>>) LocalPointer(LocalPointer<U> other)
  noexcept  // NOLINT(google-explicit-constructor)
      : box_(std::exchange(other.box_, nullptr)) {}
  LocalPointer& operator=(const LocalPointer& other) noexcept {
    if (box_ == other.box_) return *this;
    LocalPointer(other).swap(*this);
    return *this;
  }
  LocalPointer& operator=(LocalPointer&& other) noexcept {
    LocalPointer(std::move(other)).swap(*this);
    return *this;
  }
  ~LocalPointer() {
    if (box_ != nullptr && --box_->count == 0) delete box_;
  }

  template <class... Arguments>
  static LocalPointer make(Arguments&&... arguments) {
    LocalPointer pointer;
    pointer.box_ = new LocalBox<std::remove_const_t<T>>{T(std::forward<Arguments>(arguments)...), 1};
    return pointer;
  }

  T* get() const { return box_ == nullptr ? nullptr : &box_->value; }
  T& operator*() const { return box_->value; }
  T* operator->() const { return &box_->value; }
  explicit operator bool() const { return box_ != nullptr; }
  bool operator==(const LocalPointer& other) const { return box_ == other.box_; }

 private:
  friend class LocalPointer<const T>;
  void hold() {
    if (box_ != nullptr) ++box_->count;
  }
  void swap(LocalPointer& other) noexcept { std::swap(box_, other.box_); }
  LocalBox<std::remove_const_t<T>>* box_ = nullptr;
};

}  // namespace shiftconv::emulator::hazards
