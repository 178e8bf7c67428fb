#include "examples/lane_pictures/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/quiet_observer.hpp"
#include "common/emulator/tensor/tensor_state.hpp"
#include "common/numerics/float16.hpp"

namespace lane_pictures {
namespace {

using namespace shiftconv;
using emulator::machine::OperandRole;
using emulator::machine::OperationId;
using emulator::machine::OperationKind;
using emulator::tensor::TensorMemory;

constexpr uint32_t kNowhere = ~0u;
constexpr int kTapsInRow = 3;

class Recorder final : public emulator::machine::QuietObserver {
 public:
  Recorder(const emulator::machine::Cluster& cluster, Coding coding, Recording& recording)
      : cluster_(cluster), coding_(coding), recording_(recording) {}

  void issued(OperationId id, const emulator::machine::AsyncOperation& operation) override { kinds_[id] = operation.kind; }
  void begin(OperationId id) override {
    operation_ = {};
    operation_.kind = kinds_.at(id);
    kinds_.erase(id);
  }
  void operationShared(uint32_t rank, uint32_t offset, uint32_t, bool, OperandRole) override {
    if (operation_.firstShared == kNowhere) operation_.firstShared = offset;
    if (rank != 0) throw std::runtime_error("only launches of one CTA can be recorded");
  }
  void operationTensor(uint32_t, uint32_t lane, uint32_t lanes, uint32_t column, uint32_t, bool, OperandRole role) override {
    uint32_t& place = role == OperandRole::OperandA || role == OperandRole::Destination ? operation_.operand
                      : role == OperandRole::ScaleA                                     ? operation_.scales
                      : role == OperandRole::Accumulator                                ? operation_.sums
                                                                                        : operation_.other;
    place = std::min(place, column);
    if (role == OperandRole::Accumulator || role == OperandRole::Destination)
      for (uint32_t i = 0; i < lanes; ++i) operation_.lanes.set(lane + i);
  }
  void operationShift(uint32_t, uint32_t, uint32_t, uint32_t column, uint32_t) override { operation_.operand = column; }
  void end() override {
    if (operation_.kind == OperationKind::TensorCopy) copied();
    if (operation_.kind == OperationKind::TensorShift) shifted();
    if (operation_.kind == OperationKind::TensorMma) multiplied();
    operation_ = {};
  }

 private:
  using LaneSet = std::bitset<kLanes>;
  struct Operation {
    OperationKind kind = OperationKind::Count;
    uint32_t operand = kNowhere, scales = kNowhere, sums = kNowhere, other = kNowhere;  ///< first columns
    uint32_t firstShared = kNowhere;
    LaneSet lanes;  ///< written
  };
  /// Of the operand that begins at a column.
  struct Moves {
    uint64_t count = 0;  ///< copies and shifts
    int shifts = 0;      ///< since the last copy to all lanes
    LaneSet refilled;    ///< since the last shift
  };

  void copied() {
    Moves& moves = moves_[operation_.operand];
    ++moves.count;
    if (operation_.lanes.all()) {
      moves.shifts = 0;
      moves.refilled.reset();
    } else {
      moves.refilled |= operation_.lanes;
    }
  }
  void shifted() {
    Moves& moves = moves_[operation_.operand];
    ++moves.count;
    ++moves.shifts;
    moves.refilled.reset();
  }

  void multiplied() {
    const Moves& moves = moves_[operation_.operand];
    int slice = 0;
    const TapColumn seen = look(moves, slice);
    const Use use = usedTap();
    const bool isSameOperand = operation_.operand == lastOperand_ && moves.count == lastMoves_;
    if (slice == 1 && !isSameOperand) {
      lastOperand_ = operation_.operand;
      lastMoves_ = moves.count;
      recording_.push_back(seen);
    }
    if (recording_.empty() || recording_.back().lanes != seen.lanes || recording_.back().shifts != seen.shifts)
      throw std::runtime_error(fmt::format("slice {} of an operand holds other pixels than the first", slice - 1));
    if (slice == 1) recording_.back().uses.push_back(use);
  }

  /// `slice`: the fourth mark.
  TapColumn look(const Moves& moves, int& slice) const {
    const TensorMemory& memory = emulator::tensor::stateOf(*cluster_.ctas[0]).memory;
    TapColumn seen;
    seen.shifts = moves.shifts;
    for (uint32_t i = 0; i < kLanes; ++i) {
      Lane& lane = seen.lanes[i];
      const uint32_t* cells = memory.cells(i);
      const std::array<int, 4> marks = marksIn(cells + operation_.operand, coding_);
      lane.pixel = pixelOf(marks);
      if (lane.pixel) slice = marks[3];
      lane.isStale = memory.isStale(i, operation_.operand, 1);
      lane.isRefilled = moves.refilled.test(i);
      lane.isEnabled = operation_.lanes.test(i);
      if (operation_.scales == kNowhere) continue;
      // The factors of row m lie in column m / 32 of lane m % 32, the same in all windows (PTX ISA 9.7.16.10.7).
      const uint32_t column = operation_.scales + i / kWindowLanes;
      lane.scale = pixelOf(marksIn(cells + column, Coding::Byte));
      lane.isScaleStale = memory.isStale(i, column, 1);
    }
    return seen;
  }

  Use usedTap() const {
    const std::byte* element = cluster_.ctas[0]->shared.data() + operation_.firstShared;
    std::array<uint32_t, 2> cells{};
    std::memcpy(cells.data(), element, sizeof(cells));
    const int tap = marksIn(cells.data(), coding_)[0] - 1;
    if (tap < 0) throw std::runtime_error("an instruction multiplied by something else than a filter tap");
    return {tap / kTapsInRow, tap % kTapsInRow, operation_.sums};
  }

  /// The first four elements that the cells hold.
  static std::array<int, 4> marksIn(const uint32_t* cells, Coding coding) {
    std::array<int, 4> marks{};
    for (unsigned i = 0; i < marks.size(); ++i)
      marks[i] = coding == Coding::Byte
                     ? static_cast<int>(cells[0] >> (8 * i) & 0xff)
                     : static_cast<int>(numerics::decodeF16(static_cast<uint16_t>(cells[i / 2] >> (16 * (i % 2)))));
    return marks;
  }
  static std::optional<Pixel> pixelOf(const std::array<int, 4>& marks) {
    if (marks[0] == 0) return std::nullopt;
    return Pixel{marks[0] - 1, marks[1] - 1, marks[2] - 1};
  }

  const emulator::machine::Cluster& cluster_;
  const Coding coding_;
  Recording& recording_;
  std::unordered_map<OperationId, OperationKind> kinds_;
  std::unordered_map<uint32_t, Moves> moves_;  ///< by column
  Operation operation_;
  uint32_t lastOperand_ = kNowhere;
  uint64_t lastMoves_ = 0;
};

}  // namespace

emulator::machine::ObserverFactory recorder(Coding coding, Recording& recording) {
  return [coding, &recording](emulator::machine::Cluster& cluster, uint64_t) {
    return std::make_unique<Recorder>(cluster, coding, recording);
  };
}

}  // namespace lane_pictures
