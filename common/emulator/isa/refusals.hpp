// What of a module cannot be executed, and which kernels that concerns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/program/program.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::isa {

using program::Program;
class FormTable;

/// Reasons, each once, with how often it was met.
class Refusals {
 public:
  /// Errors are the same when their first lines are: the others say where.
  void add(const EmulatorError& error);
  void add(const Refusals& other);
  bool empty() const { return reasons_.empty(); }
  /// One reason as it is; several behind a line that begins with `what`, as "module.ptx: 23 instructions cannot be executed.".
  EmulatorError error(const std::string& what) const;

 private:
  struct Reason {
    ErrorKind kind;
    std::string sentence, place;  ///< of the first
    size_t count;
  };
  void add(const Reason& reason);
  std::vector<Reason> reasons_;
};

struct ModuleRefusals {
  std::map<std::string, EmulatorError, std::less<>> kernels;  ///< by name: those that may reach what cannot be executed
  std::optional<EmulatorError> all;                           ///< of all functions together; nothing: none refuses anything
};

/// As compile() of decoder.hpp, but a kernel that may reach an instruction that cannot be executed is only listed in `refusals`.
/// Throws when that leaves no kernel to run.
std::shared_ptr<Program> compileUsable(ptx::Module module, uint64_t globalBase, const FormTable& forms, ModuleRefusals& refusals);

/// `own[i]`: what function i itself refuses.
ModuleRefusals refuseKernels(const Program& program, const std::vector<Refusals>& own);

}  // namespace shiftconv::emulator::isa
