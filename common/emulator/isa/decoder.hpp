// From a parsed module to an executable program.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/emulator/isa/form_table.hpp"
#include "common/emulator/machine/instruction.hpp"
#include "common/emulator/program/target.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::isa {

using machine::DecodedInstruction;
using machine::Slot;

/// Special registers whose lanes are fixed for the life of a frame; the machine fills their slots.
enum class SpecialRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtaRank,
  ClusterNctaRank,
  IsExplicitCluster,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicSmemSize,
  TotalSmemSize,
  AggrSmemSize,
  LocalBase,          ///< not PTX: local-space address of this activation's variables (see CompiledFunction::localBytes)
  SharedBase,         ///< not PTX: shared-window address of offset 0 of the executing CTA, %cluster_ctarank << 24
  DynamicSharedBase,  ///< not PTX: SharedBase + Program::dynamicSharedOffset(kernel), where extern shared arrays start
  Count,
};
// %clock, %clock64, %clock_hi, %globaltimer(_lo,_hi) change between reads: `mov` decodes them to its own handler.

/// The machine writes `value(which) + addend` to all lanes of `slot` when it makes a frame: lanes of 2, 4 or 8 bytes;
/// for bytes 0 the slot is a predicate (a lane mask). The address of a shared or local symbol is such a slot.
struct SpecialSlot {
  SpecialRegister which;
  Slot slot;
  uint8_t bytes;
  uint64_t addend = 0;
};

/// What an instruction does with a register.
enum class RegisterRole : uint8_t { Source, Destination, Address, Guard };

/// One function, ready to run.
struct CompiledFunction {
  const ptx::Function* source = nullptr;
  std::vector<DecodedInstruction> code;  ///< same indices as source->body
  /// Registers that instruction i reads or writes: registerUses[registerUseEnd[i - 1]] up to [registerUseEnd[i]].
  std::vector<Slot> registerUses;
  std::vector<RegisterRole> registerRoles;  ///< of each of these
  std::vector<uint32_t> registerUseEnd;
  uint32_t frameBytes = 0;            ///< multiple of 64
  std::vector<std::byte> frameImage;  ///< first bytes of a new frame: immediates, broadcast to all lanes
  std::vector<SpecialSlot> specials;
  /// Per lane: local variables, call-param variables, and (of a device function) its own parameters and return
  /// parameters. Their symbols have space Local and an offset in this area; the machine places the area of every
  /// activation on the lane's local stack, so the address of such a symbol at run time is LocalBase + offset.
  /// (A kernel's parameters are symbols of space Param, with the offset in the parameter block.)
  uint32_t localBytes = 0;
  uint32_t localAlignment = 16;
  std::vector<uint32_t> parameterOffsets;  ///< kernel: in the parameter block; function: in the local area
  std::vector<uint32_t> returnOffsets;     ///< function: in the local area
  std::vector<Slot> parameterSlots;        ///< function: registers of `.reg` parameters, kNoSlot for the others
  std::vector<Slot> returnSlots;
  uint32_t parameterBytes = 0;     ///< kernel: size of the parameter block
  uint32_t staticSharedBytes = 0;  ///< kernel: end of its static shared variables, from offset 0
};

/// Fixed layout of the variables of a module.
struct Program {
  ptx::Module module;
  const program::Target* target = nullptr;  ///< what the module was made for, and is executed as
  std::vector<CompiledFunction> functions;  ///< same indices as module.functions
  /// Static shared variables, from offset 0; they and the dynamic ones live behind machine::kReservedSharedBytes.
  /// Function-scope ones are called "function::name"; those of kernels overlay each other behind all the others.
  std::unordered_map<std::string, uint64_t> sharedOffsets;
  uint32_t staticSharedBytes = 0;                           ///< the largest of all kernels
  uint32_t dynamicSharedAlignment = 16;                     ///< from the extern shared declarations
  std::unordered_map<std::string, uint64_t> globalOffsets;  ///< module-scope global/const variables in globalImage
  std::vector<std::byte> globalImage;                       ///< copied to an allocation per load; see machine/loader
  uint64_t globalBase = 0;                                  ///< device address of that allocation, set before decoding
  uint32_t globalAlignment = 16;

  const CompiledFunction* kernel(std::string_view name) const;
  /// Offset of dynamic shared memory in the CTA's shared memory: kReservedSharedBytes, then the kernel's static area.
  uint32_t dynamicSharedOffset(const CompiledFunction& kernel) const;
};

/// "Address" of function i when a program takes it (`mov.u64 %rd1, f;`, initialisers): kFunctionAddressBase + i.
inline constexpr uint64_t kFunctionAddressBase = 0x4000'0000'0000'0000ull;

/// What a form's decode function works with.
class DecodeContext {
 public:
  const ptx::Instruction& instruction() const;
  DecodedInstruction& out();
  const Program& program() const;
  const program::Target& target() const { return *program().target; }
  const ptx::Function& function() const;

  /// Slot of a source operand read as `type`: a register, a special register, the address of a symbol, or an
  /// immediate broadcast to all lanes. A register narrower than the type is an error; a wider one is read in its low bytes
  /// (lane stride differs, so the decoder inserts nothing: it refuses unless sizes match, except b/s/u/f of equal size).
  Slot source(const ptx::Operand& operand, ptx::ScalarType type);
  /// Slot of a destination register; `_` gives a scratch slot.
  Slot destination(const ptx::Operand& operand, ptx::ScalarType type);
  /// Declared type of a register operand (ld/st/mov/cvt accept wider registers); None for anything else.
  ptx::ScalarType declaredType(const ptx::Operand& operand) const;
  /// Predicate source; a negated one gets `negated` set. An integer is a constant: false only when 0.
  Slot predicateSource(const ptx::Operand& operand, bool& negated);
  Slot predicateDestination(const ptx::Operand& operand);
  /// A value broadcast to all lanes.
  Slot constant(uint64_t bits, ptx::ScalarType type);
  Slot scratch(ptx::ScalarType type);
  /// The carry flag CC.CF of the function, a predicate.
  Slot carryFlag();

  /// An address operand: base slot as 64-bit (or 32-bit) lanes plus constant offset. Symbols are already resolved:
  /// shared ones have SharedBase or DynamicSharedBase as base (so base + offset is a window address of this CTA), local
  /// ones and call parameters (also the parameters of a .func) have LocalBase and symbolSpace Local, module-scope
  /// variables are absolute. Only kernel parameters keep symbolSpace Param: absolute offset in the block.
  struct Address {
    Slot base = kNone;                                    ///< kNone: absolute, only `offset`
    bool base32 = false;                                  ///< base register is 32 bits wide
    int64_t offset = 0;                                   ///< includes the address of a symbol
    ptx::StateSpace symbolSpace = ptx::StateSpace::None;  ///< space of the symbol, when one was named
    static constexpr Slot kNone = machine::kNoSlot;
  };
  Address address(const ptx::Operand& operand);
  /// Address of a symbol in its own state space: shared offset including kReservedSharedBytes but not SharedBase
  /// (static variables only), global address, offset in the parameter block of a kernel, offset in the activation's
  /// local area (Local: add LocalBase), or kFunctionAddressBase + index with space None.
  /// Prefer source() and address(), which make slots.
  uint64_t symbolAddress(std::string_view name, ptx::StateSpace& space) const;
  uint32_t label(const ptx::Operand& operand) const;  ///< index into the function's code
  uint32_t functionIndex(std::string_view name) const;
  uint64_t integer(const ptx::Operand& operand) const;  ///< the operand must be an integer literal

  [[noreturn]] void illegal(const std::string& why) const;      ///< ErrorKind::IllegalInstruction, with location
  [[noreturn]] void unsupported(const std::string& why) const;  ///< ErrorKind::Unsupported, with location

  struct Impl;
  explicit DecodeContext(Impl& impl) : impl_(impl) {}

 private:
  Impl& impl_;
};

/// Decodes every function of the module. Errors name the PTX line, the source line and the text.
/// `globalBase` is where the module's global variables will live. Instructions that the module's target lacks, or that `forms`
/// has no row for, are refused.
std::shared_ptr<Program> compile(ptx::Module module, uint64_t globalBase, const FormTable& forms);
/// Layout only (sizes of the global image), so that a caller can allocate before compile().
uint64_t globalImageBytes(const ptx::Module& module);

}  // namespace shiftconv::emulator::isa
