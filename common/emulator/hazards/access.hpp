// One access to memory, in 64 bits.
#pragma once

#include <bit>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "common/emulator/machine/async.hpp"
#include "common/emulator/machine/execution.hpp"
#include "common/emulator/machine/observer.hpp"

namespace shiftconv::emulator::hazards {

/// The stamp after `stamp`. Throws EmulatorError Limit when an Access has no room for it.
uint32_t nextStamp(uint32_t stamp);

using Role = machine::OperandRole;

class Access {
 public:
  enum class Kind : uint8_t { None, Thread, Warp, Operation };

  constexpr Access() = default;
  explicit constexpr Access(uint64_t bits) : bits_(bits) {}

  /// `strong`: relaxed, acquire, release or volatile, or atomic: such accesses do not race with each other.
  static Access byThread(uint32_t thread, uint32_t clock, uint32_t site, bool strong) {
    return Access(kThread << kKindShift | pack(thread, clock, site, strong));
  }
  /// A read of the same bytes by every lane of a warp.
  static Access byWarp(uint32_t warp, uint32_t clock, uint32_t site, bool strong) {
    return Access(kWarp << kKindShift | pack(warp, clock, site, strong));
  }
  /// `lanes`: of those that a cp.async stands for, the one whose bytes these are, or all.
  static Access byOperation(machine::OperationId id, Role role, machine::LaneMask lanes = machine::kAllLanes) {
    const uint64_t lane = lanes == machine::kAllLanes ? kEveryLane : static_cast<uint64_t>(std::countr_zero(lanes));
    return Access(kOperation << kKindShift | id << kIdShift | lane << kRoleBits | static_cast<uint64_t>(role));
  }

  Kind kind() const { return static_cast<Kind>(bits_ >> kKindShift); }
  uint32_t thread() const { return static_cast<uint32_t>(bits_ >> (kClockBits + kSiteBits + 1)) & 0xffffu; }
  uint32_t warp() const { return thread(); }
  uint32_t clock() const { return static_cast<uint32_t>(bits_ >> (kSiteBits + 1)) & kMaximumClock; }
  /// The number of the instruction (SiteTable).
  uint32_t site() const { return static_cast<uint32_t>(bits_ >> 1) & kMaximumSite; }
  bool strong() const { return kind() != Kind::Operation && (bits_ & 1) != 0; }
  machine::OperationId operation() const { return bits_ >> kIdShift & ((uint64_t{1} << (kKindShift - kIdShift)) - 1); }
  /// Of an operation.
  machine::LaneMask lanes() const {
    const uint64_t lane = bits_ >> kRoleBits & (2 * kEveryLane - 1);
    return lane == kEveryLane ? machine::kAllLanes : machine::LaneMask{1} << lane;
  }
  Role role() const { return static_cast<Role>(bits_ & ((1u << kRoleBits) - 1)); }
  uint64_t bits() const { return bits_; }
  bool operator==(const Access&) const = default;

  /// The same by another lane; of an access by lane 0.
  Access ofLane(unsigned lane) const { return Access(bits_ + (uint64_t{lane} << (kClockBits + kSiteBits + 1))); }
  /// Whether the bits are of accesses by the same thread, or warp.
  static constexpr bool sameThread(uint64_t a, uint64_t b) { return (a ^ b) >> (kClockBits + kSiteBits + 1) == 0; }

  static constexpr unsigned kKindShift = 62;
  static constexpr unsigned kClockBits = 26;
  static constexpr unsigned kSiteBits = 19;
  static constexpr uint32_t kMaximumClock = (1u << kClockBits) - 1;
  static constexpr uint32_t kMaximumThread = 0xffff;
  static constexpr uint32_t kMaximumSite = (1u << kSiteBits) - 1;

 private:
  static constexpr unsigned kRoleBits = 4, kIdShift = kRoleBits + 6;
  static constexpr uint64_t kEveryLane = machine::kWarpLanes;
  static constexpr uint64_t kThread = 1, kWarp = 2, kOperation = 3;
  static uint64_t pack(uint32_t index, uint32_t clock, uint32_t site, bool strong) {
    return uint64_t{index} << (kClockBits + kSiteBits + 1) | uint64_t{clock} << (kSiteBits + 1) | uint64_t{site} << 1 |
           static_cast<uint64_t>(strong);
  }
  uint64_t bits_ = 0;
};

/// Numbers the instructions of one launch whose accesses are remembered: there are far fewer of them than lines. Thread safe.
class SiteTable {
 public:
  /// 0 for no instruction, and when the numbers are used up.
  uint32_t of(const ptx::Instruction* instruction);
  /// nullptr for 0.
  const ptx::Instruction* at(uint32_t site) const;
  /// 0 when unknown.
  uint32_t lineOf(uint32_t site) const;

 private:
  mutable std::mutex mutex_;
  std::vector<const ptx::Instruction*> instructions_{nullptr};
  std::unordered_map<const ptx::Instruction*, uint32_t> numbers_{{nullptr, 0}};
};

}  // namespace shiftconv::emulator::hazards
