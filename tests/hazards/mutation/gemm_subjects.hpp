// The kernels of common/gemm/sm100/gemm.cu as subjects.
#pragma once

#include <span>
#include <vector>

#include "common/gemm/sm100/plan.hpp"
#include "tests/hazards/mutation/catalogue.hpp"
#include "tests/support/subject.hpp"

namespace shiftconv::tests {

/// One for each group of CTAs, on problems with every schedule, a split reduction, resident weights, tiles of 64 rows, and scale
/// factors in both orders.
std::vector<Subject> gemmSubjects();

/// The kernel of a group with wrong parameters: hand-made mutants that need no kernel of their own.
struct GemmHostMistake {
  const char* name;
  const char* what;
  MutantKind kind;
  gemm::sm100::Grouping grouping;
  void (*make)(gemm::sm100::GemmParams& params);
};
std::span<const GemmHostMistake> gemmHostMistakes();
Subject gemmSubjectWith(const GemmHostMistake& mistake);

}  // namespace shiftconv::tests
