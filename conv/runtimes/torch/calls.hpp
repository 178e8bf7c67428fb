// What calls ask for, by the shapes, strides and dtypes of their tensors, so that a call like one before is not described again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "conv/runtimes/torch/arguments.hpp"

namespace shiftconv::torch_glue {

struct Call {
  static constexpr size_t kUnknown = ~size_t{0};

  uint64_t id;  ///< of no other call of this process
  Described described;
  std::string plan;                                      ///< as Settings has it
  mutable std::atomic<size_t> workspaceBytes{kUnknown};  ///< of its plan, once there is one: all its tensors are on one device

  Call(uint64_t number, Described all, std::string choice) : id(number), described(all), plan(std::move(choice)) {}
};

/// All that describe() looks at.
class CallKey {
 public:
  /// `settings`: the same for the same settings only.
  CallKey(const Operands& operands, std::string settings);
  bool operator==(const CallKey& other) const;
  size_t hash() const;
  /// False where a tensor has more dimensions than describe() takes.
  bool complete() const { return complete_; }

 private:
  void add(const Tensor& tensor);

  static constexpr size_t kMostRank = 5, kMostWords = 7 * (1 + 2 * kMostRank) + 2;
  std::array<uint64_t, kMostWords> words_;
  size_t count_ = 0;
  bool complete_ = true;
  std::string settings_;
};

/// nullptr where there was none like it lately.
std::shared_ptr<const Call> findCall(const CallKey& key);

/// Described, and kept for findCall. Throws what describe() throws.
std::shared_ptr<const Call> addCall(const CallKey& key, const Operands& operands, const Settings& settings);

}  // namespace shiftconv::torch_glue
