// The decoder's table: every instruction form this machine knows, as data.
//
// A form is one row: a syntax pattern and a function that turns a matching instruction into an
// executable one. Pattern language (the modifiers after the opcode, in order):
//   .x            the modifier x is required
//   .(x|y|z)      exactly one of them
//   {.x} {.(x|y)} optional
// e.g. "mbarrier.try_wait{.parity}{.(acquire|relaxed)}{.(cta|cluster)}{.(shared|shared::cta)}.b64".
// The first row that matches wins; an instruction that matches no row is refused by name. ptxas takes the modifiers in
// any order, so when no row fits the order as written, rows are tried again with the modifiers in the order of the
// pattern (those that fit several groups keep their relative order, as in cvt.f32.s32).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/machine/execution.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::isa {

class DecodeContext;

/// The modifiers that a pattern matched, by slot.
class FormMatch {
 public:
  /// Text of the i-th group of the pattern (required, alternative or optional), "" when absent.
  std::string_view group(size_t index) const { return groups_[index]; }
  bool has(std::string_view modifier) const;
  /// The last group that names a scalar type (the instruction type of most instructions).
  ptx::ScalarType type() const;
  std::vector<std::string_view> groups_;
};

struct Form {
  std::string_view syntax;  ///< unique; also the form's name in tests and documentation
  /// Fills handler, operands and detail of the executable instruction. Throws EmulatorError when the
  /// combination is illegal, or legal but not implemented.
  void (*decode)(DecodeContext& context, const FormMatch& match);
};

/// Every family contributes its rows (see isa/*.cpp, tensor/*.cpp, tma/*.cpp).
using FormFamily = std::vector<Form>;
FormFamily integerForms();
FormFamily floatForms();
FormFamily halfForms();
FormFamily conversionForms();
FormFamily logicForms();    // and or xor not shifts, lop3, selp, setp, mov, prmt, bfe, bfi ...
FormFamily memoryForms();   // ld st atom red cvta prefetch ...
FormFamily controlForms();  // bra call ret exit, bar, barrier.cluster, activemask, nanosleep, trap ...
FormFamily warpForms();     // shfl vote match elect redux
FormFamily mbarrierForms();
FormFamily fenceForms();          // membar fence griddepcontrol setmaxnreg
FormFamily bulkCopyForms();       // cp.async.bulk*, prefetch.tensormap
FormFamily tensorForms();         // tcgen05.*
FormFamily wgmmaForms();          // wgmma.*
FormFamily tileProductForms();    // mma.sync
FormFamily wmmaForms();           // wmma
FormFamily matrixForms();         // ldmatrix stmatrix movmatrix
FormFamily launchControlForms();  // clusterlaunchcontrol

/// A family with its heading for documentation.
struct NamedFamily {
  std::string_view heading;
  FormFamily (*forms)();
};

/// True when the opcode and the modifiers, in this order, fit the pattern; fills `match` (views into `syntax`).
bool matches(std::string_view syntax, const ptx::Instruction& instruction, FormMatch& match);

}  // namespace shiftconv::emulator::isa
