// Mechanical mutants of PTX: for every instruction that orders something, the ways to break it, as edits of the text.
//
// An edit stays on its line, so that the PTX lines in reports are those of the original.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/source_positions.hpp"

namespace shiftconv::tests {

enum class Change : uint8_t {
  Delete,         ///< fences, barriers, group and tensor waits, commits, arrives, bulk copies that an mbarrier counts
  SucceedAtOnce,  ///< mbarrier.try_wait, test_wait: the predicate is true without looking
  PlainArrive,    ///< mbarrier.arrive.expect_tx without its bytes
  FlipParity,     ///< mbarrier.*_wait.parity: the other parity
  Add16Bytes,     ///< of expect_tx and of bulk copies
  Subtract16Bytes,
  Relax,  ///< accesses, arrives and waits without their .release or .acquire
};

/// "deleted", "succeeds at once" ...: how tables and equivalent.txt name the change.
std::string_view toString(Change change);

struct Mutation {
  std::string kernel;
  uint32_t ptxLine = 0;     ///< 1-based
  std::string instruction;  ///< as written
  Change change = Change::Delete;
  std::string source{};         ///< as SourcePositions::at
  std::string functions{};      ///< as SourcePositions::functionsAt
  std::string form{};           ///< the instruction with registers without their numbers: "mbarrier.init.shared::cta.b64 [%r], 1;"
  uint32_t occurrence = 0;      ///< of this form in these functions, counted from 1 in the order of the kernel's instructions
  std::string sites{};          ///< as Sites::at
  uint32_t siteOccurrence = 0;  ///< of this form at these sites
};

/// Every mutation of a kernel of the module, in the order of its instructions. `source` knows the lines of `ptx`.
std::vector<Mutation> mutationsOf(std::string_view ptx, std::string_view kernel, const SourcePositions& source);

/// The text with the mutation made. Throws std::invalid_argument when the instruction is not on its line.
std::string mutate(std::string_view ptx, const Mutation& mutation);

/// The module with one kernel: every other one, and the debug sections, become empty lines.
std::string onlyKernel(std::string_view ptx, std::string_view kernel);

}  // namespace shiftconv::tests
