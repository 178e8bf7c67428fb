// Function activations of a warp: register frames and the lanes' local memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/emulator/machine/execution.hpp"
#include "common/emulator/program/program.hpp"

namespace shiftconv::emulator::machine {

/// One call of a function by a set of lanes. Its registers hold all 32 lanes.
struct Activation {
  const program::CompiledFunction* function = nullptr;
  Activation* caller = nullptr;
  uint32_t returnPc = 0;  ///< in the caller
  uint32_t depth = 0;
  uint32_t localBase = 0;  ///< of the function's local area in every lane's local memory
  LaneMask lanes = 0;      ///< that have entered and neither returned nor exited
  std::byte* registers = nullptr;
  std::unique_ptr<std::byte[]> storage;  ///< holds `registers`, 64-byte aligned
};

/// Makes activations and keeps finished ones for the next call of the same function.
class ActivationPool {
 public:
  explicit ActivationPool(Warp& warp) : warp_(warp) {}
  Activation* make(const program::CompiledFunction& function, Activation* caller, LaneMask lanes);
  /// Removes exited or returned lanes; an activation without lanes goes back to the pool.
  void remove(Activation& activation, LaneMask lanes);

 private:
  void fillSpecials(Activation& activation, bool all) const;
  Warp& warp_;
  std::vector<std::unique_ptr<Activation>> all_;
  std::unordered_map<const program::CompiledFunction*, std::vector<Activation*>> free_;
};

/// Local memory of the 32 lanes of a warp; grows with the depth of calls.
class LocalStack {
 public:
  static constexpr uint32_t kMaximumBytes = 512 * 1024;  ///< per lane, as on every GPU since compute capability 2.0

  /// Throws EmulatorError Limit when a lane would need more than kMaximumBytes.
  void reserve(uint32_t bytesPerLane);
  uint32_t size() const { return size_; }
  /// Throws OutOfBounds / Misaligned.
  std::byte* access(unsigned lane, uint64_t offset, uint32_t bytes, uint32_t alignment) {
    if (offset + bytes > size_ || offset + bytes < offset || (offset & (alignment - 1)) != 0)
      refuse(lane, offset, bytes, alignment);
    return bytes_.data() + size_t{lane} * stride_ + offset;
  }

 private:
  [[noreturn]] void refuse(unsigned lane, uint64_t offset, uint32_t bytes, uint32_t alignment) const;
  std::vector<std::byte> bytes_;
  uint32_t stride_ = 0;
  uint32_t size_ = 0;
};

}  // namespace shiftconv::emulator::machine
