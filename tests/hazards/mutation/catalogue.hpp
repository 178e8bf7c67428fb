// The hand-made mutants: variants of a kernel's source (*catalogue.cmake, and mutants.cmake of algorithms); edits of its PTX, and
// programs that use a correct kernel wrongly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/subject.hpp"

namespace shiftconv::tests {

enum class MutantKind : uint8_t {
  Hazard,   ///< the machine has to report it
  Value,    ///< only a comparison with a reference can see it: every byte is written and ordered
  Correct,  ///< unusual but legal: the machine must stay silent
};

struct HandMadeMutant {
  std::string kernel;
  std::string name;
  std::string what;  ///< one clause: what is wrong; for Value, why no rule is broken
  MutantKind kind = MutantKind::Hazard;
  Subject subject;  ///< the correct kernel, or a program that uses it wrongly
  std::string ptx;  ///< to run in place of the subject's
};

/// Of all of these `subjects` are the correct kernels; mutants of others are left out.
/// Throws std::runtime_error when a variant's PTX is missing: it is built on demand (target kernel_variants).
std::vector<HandMadeMutant> variantsOfSources(const std::vector<Subject>& subjects);
std::vector<HandMadeMutant> editsAndMisuses(const std::vector<Subject>& subjects);

}  // namespace shiftconv::tests
