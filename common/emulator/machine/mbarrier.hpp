// The mbarrier object (PTX ISA 9.7.13.15): state, transitions, and the faults hardware leaves undefined.
//
// The state lives beside shared memory, keyed by offset, so that corruption of the 8 bytes by ordinary
// stores is detected; the bytes themselves hold an opaque image.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/emulator/machine/async.hpp"

namespace shiftconv::emulator::machine {

class SharedMemory;

class MbarrierTable {
 public:
  static constexpr uint32_t kMaximumCount = (1u << 20) - 1;

  explicit MbarrierTable(SharedMemory& shared) : shared_(shared) {}
  /// All functions throw EmulatorError Synchronisation / Misaligned / OutOfBounds with the offset and state.
  /// `over`: also where a barrier is live.
  void initialise(uint32_t offset, uint32_t count, bool over = false);
  /// Whether there is a barrier at the offset, whose bytes nothing else has overwritten.
  bool isLive(uint32_t offset) const;
  void invalidate(uint32_t offset);
  /// Returns the opaque state before the arrive. `drop` lowers the expected count of later phases; `noComplete`
  /// makes it an error to complete the phase.
  uint64_t arrive(uint32_t offset, uint32_t count, bool drop = false, bool noComplete = false);
  /// Adds pending arrivals to the current phase (cp.async.mbarrier.arrive without .noinc).
  void addPending(uint32_t offset, uint32_t count);
  void expectTransactions(uint32_t offset, uint32_t bytes);
  void completeTransactions(uint32_t offset, uint32_t bytes);
  /// True iff the phase with that parity is the one that completed last: (phase & 1) != parity.
  bool testParity(uint32_t offset, uint32_t parity) const;
  bool testState(uint32_t offset, uint64_t state) const;
  static uint32_t pendingCount(uint64_t state);

  struct State {
    uint64_t phase = 0;
    uint32_t pending = 0;
    uint32_t expected = 0;
    int32_t transactions = 0;
  };
  const State* find(uint32_t offset) const;
  /// "mbarrier at shared offset 0x410 (phase 0, pending 1 of 1, tx 4096)", for reports.
  std::string describe(uint32_t offset) const;
  /// The first few instructions that arrived on the barrier or completed transactions there, over all phases; for reports of
  /// deadlocks.
  const std::vector<IssuePoint>& arrivers(uint32_t offset) const;
  /// Tells who is arriving; set by the CTA.
  std::function<IssuePoint()> whoArrives;
  /// Rises whenever any barrier of the table completes a phase; sleeping warps compare it.
  uint64_t generation() const { return generation_; }
  void watch(Observer* observer, uint32_t rank) {
    observer_ = observer;
    rank_ = rank;
  }

 private:
  static uint64_t encode(const State& state);
  const State& checked(uint32_t offset, const char* what) const;
  State& live(uint32_t offset, const char* what) { return const_cast<State&>(checked(offset, what)); }
  void advanceIfComplete(uint32_t offset, State& state);
  void store(uint32_t offset, const State& state);
  SharedMemory& shared_;
  Observer* observer_ = nullptr;  ///< told of signals by operations and of completed phases
  uint32_t rank_ = 0;
  void remember(uint32_t offset);
  std::optional<State>& at(uint32_t offset);  ///< a place for a barrier there, which may be empty
  // Waiting warps ask for their barrier with every instruction.
  std::vector<uint32_t> numbers_;               ///< of barriers, from 1, by offset / 8; 0: there was none
  std::vector<std::optional<State>> barriers_;  ///< that are live
  std::unordered_map<uint32_t, std::vector<IssuePoint>> arrivers_;
  uint64_t generation_ = 0;
};

}  // namespace shiftconv::emulator::machine
