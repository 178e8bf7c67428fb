// Where the variables of a module live: global image, shared areas, local frames, parameter blocks.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "common/emulator/isa/decoder.hpp"

namespace shiftconv::emulator::isa {

/// A variable as seen from one function.
struct SymbolPlace {
  ptx::StateSpace space = ptx::StateSpace::None;  ///< None: a function
  uint64_t address = 0;                           ///< as DecodeContext::symbolAddress returns it
  bool isDynamicShared = false;
};
using SymbolMap = std::unordered_map<std::string_view, SymbolPlace>;

/// Variable that addGridWorkspace adds.
inline constexpr std::string_view kGridWorkspace = "%grid_workspace";
/// Gives a module that reads %envreg1 or %envreg2 what a driver keeps after the address in them: a size and a barrier of 32 bits
/// each, with which cooperative groups let a whole grid wait (cooperative_groups/details/driver_abi.h). To be called before
/// globalImageBytes() and compile().
void addGridWorkspace(ptx::Module& module);

/// Lays out everything; fills offsets, sizes, parameter places and the global image (with relocations).
void layOut(Program& program);
/// The symbols that function `index` can name: its own, then those of the module. Unresolved externals are absent.
SymbolMap symbolsOf(const Program& program, size_t index);

}  // namespace shiftconv::emulator::isa
