#include "tests/hazards/mutation/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/hazards/mutation/gemm_subjects.hpp"
#include "tests/hazards/mutation/mutation.hpp"
#include "tests/hazards/mutation/table_file.hpp"

namespace shiftconv::tests {
namespace {

/// Mistakes that a compiler's front end lets through and the CUDA source cannot express.
constexpr struct {
  const char* kernel;
  const char* name;
  const char* what;
  const char* original;  ///< its first occurrence is replaced
  const char* replacement;
} kPtxEdits[] = {
    {"cluster_pair", "mixed_cta_group", "A commit of cta_group::2 is to track MMAs of cta_group::1", "tcgen05.commit.cta_group::1",
     "tcgen05.commit.cta_group::2"},
    {"pipelined_gemm", "pair_commit_of_single_mma", "A commit of cta_group::2 is to track MMAs of cta_group::1",
     "tcgen05.commit.cta_group::1", "tcgen05.commit.cta_group::2"},
    {"pair_gemm", "single_mma_among_pairs", "A multiplication of cta_group::1 among instructions of cta_group::2",
     "tcgen05.mma.cta_group::2", "tcgen05.mma.cta_group::1"},
    {"shift_refill", "shift_of_a_pair", "A shift of cta_group::2 among instructions of cta_group::1", "tcgen05.shift.cta_group::1",
     "tcgen05.shift.cta_group::2"},
};

constexpr struct {
  HostMistake mistake;
  const char* name;
  const char* what;
} kHostMistakes[] = {
    {HostMistake::WorkspaceFreed, "workspace_freed", "The workspace is freed before the kernel that keeps tensor maps in it runs"},
    {HostMistake::InputFreed, "input_freed", "A matrix is freed before the kernel that loads it runs"},
    {HostMistake::InputUnwritten, "input_unwritten",
     "The memory of a matrix belongs to somebody else by now, who has not written it yet"},
    {HostMistake::WorkspaceShared, "workspace_shared", "Launches in two streams keep their tensor maps in one workspace"},
};

MutantKind kindFrom(std::string_view text) {
  if (text == "HAZARD") return MutantKind::Hazard;
  if (text == "VALUE") return MutantKind::Value;
  if (text == "CORRECT") return MutantKind::Correct;
  throw std::runtime_error(fmt::format("catalogue.txt: {} is none of HAZARD, VALUE, CORRECT", text));
}

std::string contentsOf(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}: build the target kernel_variants", path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const Subject* find(const std::vector<Subject>& subjects, std::string_view kernel) {
  const auto found = std::find_if(subjects.begin(), subjects.end(), [&](const Subject& s) { return s.kernel == kernel; });
  return found == subjects.end() ? nullptr : &*found;
}

}  // namespace

std::vector<HandMadeMutant> variantsOfSources(const std::vector<Subject>& subjects) {
  std::vector<HandMadeMutant> mutants;
  for (const TableRow& row : readTable(CATALOGUE_FILE, {5})) {
    const auto& [kernel, name, kind, what] = std::tie(row.fields[0], row.fields[1], row.fields[2], row.fields[3]);
    const Subject* subject = find(subjects, kernel);
    if (subject == nullptr) continue;
    mutants.push_back({kernel, name, what, kindFrom(kind), *subject, onlyKernel(contentsOf(row.fields[4]), subject->kernel)});
  }
  return mutants;
}

std::vector<HandMadeMutant> editsAndMisuses(const std::vector<Subject>& subjects) {
  std::vector<HandMadeMutant> mutants;
  for (const auto& edit : kPtxEdits) {
    const Subject* subject = find(subjects, edit.kernel);
    if (subject == nullptr) continue;
    std::string ptx = subject->ptx;
    const size_t at = ptx.find(edit.original);
    if (at == std::string::npos) throw std::runtime_error(fmt::format("{} does not contain {}", edit.kernel, edit.original));
    ptx.replace(at, std::string_view(edit.original).size(), edit.replacement);
    mutants.push_back({edit.kernel, edit.name, edit.what, MutantKind::Hazard, *subject, std::move(ptx)});
  }
  if (find(subjects, "tensormap_edit") != nullptr)
    for (const auto& [mistake, name, what] : kHostMistakes) {
      Subject subject = tensormapEditSubject(mistake);
      const std::string ptx = subject.ptx;
      mutants.push_back({subject.kernel, name, what, MutantKind::Hazard, std::move(subject), ptx});
    }
  for (const GemmHostMistake& mistake : gemmHostMistakes()) {
    Subject subject = gemmSubjectWith(mistake);
    if (find(subjects, subject.kernel) == nullptr) continue;
    const std::string ptx = subject.ptx;
    mutants.push_back({subject.kernel, mistake.name, mistake.what, mistake.kind, std::move(subject), ptx});
  }
  return mutants;
}

}  // namespace shiftconv::tests
