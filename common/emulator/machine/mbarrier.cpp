#include "common/emulator/machine/mbarrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/machine/synchronisation_fault.hpp"

namespace shiftconv::emulator::machine {
namespace {

constexpr uint32_t kBytes = 8;
constexpr int32_t kMaximumTransactions = (1 << 20) - 1;
// The opaque image: pending arrivals in bits 19:0, expected arrivals in 39:20, the low bits of the phase above.
// The transaction count is not part of it: PTX gives no way to read it back.
constexpr unsigned kCountBits = 20;
constexpr unsigned kPhaseShift = 2 * kCountBits;
constexpr uint64_t kPhaseMask = (uint64_t{1} << (64 - kPhaseShift)) - 1;

}  // namespace

uint64_t MbarrierTable::encode(const State& state) {
  return uint64_t{state.pending} | uint64_t{state.expected} << kCountBits | (state.phase & kPhaseMask) << kPhaseShift;
}

std::string MbarrierTable::describe(uint32_t offset) const {
  const State* state = find(offset);
  if (state == nullptr) return fmt::format("shared offset 0x{:x}, which holds no mbarrier", offset);
  return fmt::format("mbarrier at shared offset 0x{:x} (phase {}, pending {} of {}, tx {})", offset, state->phase, state->pending,
                     state->expected, state->transactions);
}

void MbarrierTable::store(uint32_t offset, const State& state) {
  const uint64_t image = encode(state);
  std::memcpy(shared_.writeFixed<kBytes>(offset), &image, kBytes);
}

const MbarrierTable::State* MbarrierTable::find(uint32_t offset) const {
  const uint32_t place = offset / kBytes;
  if (offset % kBytes != 0 || place >= numbers_.size() || numbers_[place] == 0) return nullptr;
  const std::optional<State>& barrier = barriers_[numbers_[place] - 1];
  return barrier ? &*barrier : nullptr;
}

std::optional<MbarrierTable::State>& MbarrierTable::at(uint32_t offset) {
  const uint32_t place = offset / kBytes;
  if (place >= numbers_.size()) numbers_.resize(place + 1);
  if (numbers_[place] == 0) {
    barriers_.emplace_back();
    numbers_[place] = static_cast<uint32_t>(barriers_.size());
  }
  return barriers_[numbers_[place] - 1];
}

const MbarrierTable::State& MbarrierTable::checked(uint32_t offset, const char* what) const {
  shared_.read(offset, 0, kBytes);  // checks the address
  const State* found = find(offset);
  if (found == nullptr)
    synchronisationFault(
        fmt::format("{} on shared offset 0x{:x}, where no mbarrier was initialised (or it was invalidated)", what, offset));
  uint64_t image = 0;
  std::memcpy(&image, shared_.readFixed<kBytes>(offset), kBytes);
  if (image != encode(*found))
    synchronisationFault(fmt::format("{} on the {}: its 8 bytes were overwritten by something else", what, describe(offset)));
  return *found;
}

bool MbarrierTable::isLive(uint32_t offset) const {
  const State* found = find(offset);
  if (found == nullptr) return false;
  uint64_t image = 0;
  std::memcpy(&image, shared_.data() + offset, kBytes);
  return image == encode(*found);
}

void MbarrierTable::initialise(uint32_t offset, uint32_t count, bool over) {
  if (count == 0 || count > kMaximumCount)
    synchronisationFault(
        fmt::format("mbarrier.init at shared offset 0x{:x}: count {} is outside 1..{}", offset, count, kMaximumCount));
  shared_.read(offset, 0, kBytes);  // checks the address before anything changes
  if (!over && isLive(offset))
    synchronisationFault(fmt::format("mbarrier.init over the live {}: invalidate it first", describe(offset)));
  const State state{0, count, count, 0};
  store(offset, state);
  at(offset) = state;
  ++generation_;
}

void MbarrierTable::invalidate(uint32_t offset) {
  live(offset, "mbarrier.inval");
  at(offset).reset();
  shared_.poison(offset, kBytes);
}

void MbarrierTable::advanceIfComplete(uint32_t offset, State& state) {
  if (state.pending != 0 || state.transactions != 0) return;
  ++state.phase;
  state.pending = state.expected;
  ++generation_;
  if (observer_ != nullptr) observer_->mbarrierPhase(rank_, offset, state.phase);
}

uint64_t MbarrierTable::arrive(uint32_t offset, uint32_t count, bool drop, bool noComplete) {
  State& state = live(offset, drop ? "mbarrier.arrive_drop" : "mbarrier.arrive");
  if (count == 0 || count > kMaximumCount)
    synchronisationFault(fmt::format("arrive count {} is outside 1..{} at the {}", count, kMaximumCount, describe(offset)));
  if (count > state.pending)
    synchronisationFault(fmt::format("{} arrivals at the {}: more than its phase still expects", count, describe(offset)));
  if (noComplete && count == state.pending && state.transactions == 0)
    synchronisationFault(
        fmt::format(".noComplete arrive with count {} would complete the phase of the {}", count, describe(offset)));
  const uint64_t before = encode(state);
  if (observer_ != nullptr) observer_->mbarrierSignalled(rank_, offset, state.phase);
  remember(offset);
  if (drop) state.expected -= count;
  state.pending -= count;
  advanceIfComplete(offset, state);
  store(offset, state);
  return before;
}

void MbarrierTable::remember(uint32_t offset) {
  constexpr size_t kRemembered = 8;
  if (!whoArrives) return;
  std::vector<IssuePoint>& known = arrivers_[offset];
  if (known.size() == kRemembered) return;
  const IssuePoint point = whoArrives();
  const bool isKnown = std::any_of(known.begin(), known.end(), [&](const IssuePoint& arriver) {
    return arriver.ctaRank == point.ctaRank && arriver.warp == point.warp && arriver.instruction == point.instruction;
  });
  if (!isKnown) known.push_back(point);
}

const std::vector<IssuePoint>& MbarrierTable::arrivers(uint32_t offset) const {
  static const std::vector<IssuePoint> kNobody;
  const auto found = arrivers_.find(offset);
  return found == arrivers_.end() ? kNobody : found->second;
}

void MbarrierTable::addPending(uint32_t offset, uint32_t count) {
  State& state = live(offset, "cp.async.mbarrier.arrive");
  if (state.pending + count > kMaximumCount)
    synchronisationFault(fmt::format("pending count of the {} would exceed {}", describe(offset), kMaximumCount));
  state.pending += count;
  store(offset, state);
}

void MbarrierTable::expectTransactions(uint32_t offset, uint32_t bytes) {
  State& state = live(offset, "mbarrier.expect_tx");
  if (int64_t{state.transactions} + bytes > kMaximumTransactions)
    synchronisationFault(fmt::format("expect_tx of {} bytes at the {}: the transaction count would exceed {}", bytes,
                                     describe(offset), kMaximumTransactions));
  state.transactions += static_cast<int32_t>(bytes);
  // Bytes may arrive before they are expected; then this is what completes the phase (observed on an H200).
  advanceIfComplete(offset, state);
  store(offset, state);
}

void MbarrierTable::completeTransactions(uint32_t offset, uint32_t bytes) {
  State& state = live(offset, "mbarrier complete_tx");
  if (int64_t{state.transactions} - bytes < -kMaximumTransactions)
    synchronisationFault(fmt::format("complete_tx of {} bytes at the {}: the transaction count would fall below -{}", bytes,
                                     describe(offset), kMaximumTransactions));
  if (observer_ != nullptr) observer_->mbarrierSignalled(rank_, offset, state.phase);
  remember(offset);
  state.transactions -= static_cast<int32_t>(bytes);
  advanceIfComplete(offset, state);
  store(offset, state);
}

bool MbarrierTable::testParity(uint32_t offset, uint32_t parity) const {
  const State& state = checked(offset, "mbarrier wait");
  if (parity > 1) synchronisationFault(fmt::format("wait for parity {} at the {}: a parity is 0 or 1", parity, describe(offset)));
  return (state.phase & 1) != parity;
}

bool MbarrierTable::testState(uint32_t offset, uint64_t captured) const {
  const State& state = checked(offset, "mbarrier wait");
  const uint64_t behind = (state.phase - (captured >> kPhaseShift)) & kPhaseMask;
  if (behind > 1)
    synchronisationFault(
        fmt::format("wait at the {} with the state of a phase that is neither the current nor the one before", describe(offset)));
  return behind == 1;
}

uint32_t MbarrierTable::pendingCount(uint64_t state) { return static_cast<uint32_t>(state & kMaximumCount); }

}  // namespace shiftconv::emulator::machine
