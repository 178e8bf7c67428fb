// What wgmma keeps for each CTA: the meetings of the warps of a warpgroup, their groups of unfinished products, and, for whoever
// watches, which registers of products other instructions have touched.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/cta_unit.hpp"
#include "common/emulator/wgmma/multiplication.hpp"

namespace shiftconv::emulator::wgmma {

/// A decoded wgmma.mma_async. Instructions with `ordersRegisters` have one.
struct Product : program::InstructionDetail {
  Shape shape;
  bool aInRegisters = false;
  std::vector<program::Slot> d;
  std::array<program::Slot, kRegistersOfA> a{};  ///< of A in registers
  program::Slot descriptorA = program::kNoSlot, descriptorB = program::kNoSlot;
  program::Slot accumulate = program::kNoSlot;  ///< predicate scale-d
  bool accumulateNegated = false;
  bool negateA = false, negateB = false, transposeA = false, transposeB = false;
};

/// A wgmma.mma_async whose warps are arriving; it is issued when all four have.
struct Meeting {
  const program::DecodedInstruction* instruction = nullptr;
  Operands operands;
  uint32_t arrived = 0;  ///< bit per warp of the warpgroup
  std::array<WarpRegisters, kWarps> warps;
};

class WarpgroupUnit final : public machine::CtaUnit {
 public:
  static constexpr auto kPlace = machine::UnitPlace::Warpgroups;
  explicit WarpgroupUnit(machine::Cta&) {}

  struct Warpgroup {
    Meeting meeting;
    uint64_t meetings = 0;            ///< that are over
    machine::OperationId newest = 0;  ///< products of a warpgroup are done in order
  };
  Warpgroup& warpgroup(const machine::Warp& warp) { return warpgroups_[warp.index / kWarps]; }

  /// The products of a warp that no commit has closed yet, and those of its open groups.
  struct Groups {
    std::vector<machine::OperationId> open;
    std::deque<std::vector<machine::OperationId>> committed;
  };
  Groups& groups(const machine::Warp& warp) { return groups_[warp.index]; }

  /// Only where there is an observer.
  class Touches;
  Touches& touches(machine::Warp& warp);
  ~WarpgroupUnit() override;

 private:
  std::unordered_map<uint32_t, Warpgroup> warpgroups_;
  std::unordered_map<uint32_t, Groups> groups_;
  std::unordered_map<uint32_t, std::unique_ptr<Touches>> touches_;
};

/// Which registers of products a warp has touched since its last wgmma.fence: its other instructions, and its products.
class WarpgroupUnit::Touches final : public machine::RegisterWatch {
 public:
  void touched(const std::byte* frame, const program::CompiledFunction& function, uint32_t pc) override;
  void fence() {
    fenced_ = true;
    last_.clear();
    products_.clear();
  }
  bool fenced() const { return fenced_; }
  /// The last toucher of the register; nullptr: nobody since the fence.
  const ptx::Instruction* toucher(const std::byte* reg) const;
  /// Remembers a product. An earlier one that has registers of it and no order with it; nullptr: there is none. Products of one
  /// shape are in order where they share accumulators, and nowhere else (PTX ISA 9.0, 9.7.15.7.1).
  const ptx::Instruction* unorderedWith(const std::byte* frame, const program::DecodedInstruction& instruction);

 private:
  bool fenced_ = false;
  const program::CompiledFunction* function_ = nullptr;  ///< whose registers `slots_` are
  std::unordered_set<program::Slot> slots_;              ///< D and A of its products
  std::unordered_map<const std::byte*, const ptx::Instruction*> last_;
  struct Done {
    const std::byte* frame;
    const program::DecodedInstruction* instruction;
    bool operator==(const Done&) const = default;
  };
  std::vector<Done> products_;
};

}  // namespace shiftconv::emulator::wgmma
