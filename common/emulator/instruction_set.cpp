#include "common/emulator/instruction_set.hpp"

namespace shiftconv::emulator {

const isa::FormTable& instructionSet() {
  static const isa::FormTable table({
      {"Integer arithmetic", isa::integerForms},
      {"Floating point", isa::floatForms},
      {"Half precision", isa::halfForms},
      {"Conversion", isa::conversionForms},
      {"Logic, shifts, comparison, selection, moves", isa::logicForms},
      {"Memory, addresses, atomics, cp.async", isa::memoryForms},
      {"Control flow and barriers", isa::controlForms},
      {"Exchange between lanes", isa::warpForms},
      {"mbarrier", isa::mbarrierForms},
      {"Fences, grid dependencies, register allocation", isa::fenceForms},
      {"Bulk and tensor copies", isa::bulkCopyForms},
      {"Tensor core, fifth generation", isa::tensorForms},
      {"Tensor core, fourth generation", isa::wgmmaForms},
      {"Products of register fragments", isa::tileProductForms},
      {"Products of opaque register fragments", isa::wmmaForms},
      {"Matrices in shared memory", isa::matrixForms},
      {"Cluster launch control", isa::launchControlForms},
  });
  return table;
}

}  // namespace shiftconv::emulator
