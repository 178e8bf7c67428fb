// A module that is ready to run: compiled functions and the layout of their variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/emulator/program/instruction.hpp"
#include "common/emulator/program/target.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::program {

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

/// The hardware keeps the first KiB of a CTA's shared memory for itself (observed: dynamic shared memory of sm_90 and sm_100
/// kernels starts at 0x400).
inline constexpr uint32_t kReservedSharedBytes = 1024;

/// Fixed layout of the variables of a module.
struct Program {
  ptx::Module module;
  const Target* target = nullptr;           ///< what the module was made for, and is executed as
  std::vector<CompiledFunction> functions;  ///< same indices as module.functions
  /// Static shared variables, from offset 0; they and the dynamic ones live after kReservedSharedBytes.
  /// Function-scope ones are called "function::name"; those of kernels overlay each other after all the others.
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

}  // namespace shiftconv::emulator::program
