#include "tests/hazards/mutation/im2col_subjects.hpp"
#include "common/device/embedded_ptx.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "conv/algorithms/im2col/plan.hpp"
#include "gemm_sm100_image.hpp"
#include "tests/conv/kernel/stream_case.hpp"
#include "tests/hazards/mutation/mutation.hpp"

namespace shiftconv::tests {
namespace {

using gemm::sm100::GemmParams;
using plan::Im2colChoices;
using plan::Im2colPlan;

struct TrialProblem {
  const char* name;
  Problem problem;
  Im2colChoices choices;
};

std::vector<TrialProblem> trialProblems() {
  Problem deep = plain(2, 3, 9, 32, 16, 2, 3, 1);
  deep.d = 3, deep.t = 2, deep.padFront = 1, deep.strideD = 2;
  Problem strided = plain(2, 13, 14, 72, 100, 3, 2, 2);
  strided.strideW = 2, strided.dilationH = 2;
  Problem groups = plain(2, 7, 11, 96, 80, 3, 2, 1);
  groups.groups = 2, groups.strideW = 2;
  Problem blocks = scaled(plain(2, 7, 11, 160, 40, 3, 3, 1), DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0);
  blocks.strideH = 2;
  // Of rows of 12 pixels no tile begins with the last, from which a window that is one further would be outside of its map.
  return {{"resident taps", plain(7, 9, 12, 64, 32, 3, 3, 1), {.clusters = 1, .residentWeights = true}},
          {"stride and dilation, columns of tiles", strided, {.tileN = 64, .clusters = 1, .residentWeights = false}},
          {"depth", deep, {.residentWeights = false}},
          {"groups", groups, {.tileN = 64, .clusters = 1, .residentWeights = false}},
          {"block scales", blocks, {.clusters = 1, .residentWeights = false}}};
}

Subject subjectFor(bool pair, void (*change)(GemmParams&) = nullptr) {
  std::vector<KernelTrial> trials;
  std::string kernel;
  uint64_t seed = 1101;
  for (TrialProblem what : trialProblems()) {
    what.choices.pair = pair;
    const auto made = std::make_shared<Im2colPlan>();
    if (const std::string why = planIm2col(what.problem, fewMultiprocessors(), what.choices, *made); !why.empty())
      throw std::invalid_argument(why);
    if (change != nullptr) change(made->gemm.params);
    kernel = made->gemm.kernelName;
    const auto operands = std::make_shared<const StreamCase>(what.problem, seed++);
    trials.push_back({what.name, [made, operands](DeviceRun& device, const emulator::Options& options) {
                        return operands->run(device, made->planned(), options);
                      }});
  }
  const std::string_view ptx = device::ptxFor(images::gemm_sm100(), "sm_100a");
  Subject subject = makeSubject(kernel, onlyKernel(ptx, kernel), std::move(trials));
  subject.source = SourcePositions(ptx);
  return subject;
}

constexpr struct {
  const char* name;
  const char* what;
  MutantKind kind;
  bool pair;
  void (*make)(GemmParams& params);
} kMistakes[] = {
    {"pixels_not_expected", "The barrier of a stage does not count the bytes of a window's pixels", MutantKind::Hazard, false,
     [](GemmParams& p) { p.loadedBytes -= p.a.countedBytes; }},
    {"pixels_expected_twice", "The barrier of a stage waits for the pixels of two windows", MutantKind::Hazard, false,
     [](GemmParams& p) { p.loadedBytes += p.a.countedBytes; }},
    {"taps_not_expected", "The barrier of resident taps counts half of their bytes", MutantKind::Hazard, false,
     [](GemmParams& p) { p.residentBytes /= 2; }},
    {"taps_in_the_pixels", "The taps of a stage begin before its pixels end", MutantKind::Hazard, false,
     [](GemmParams& p) { p.a.stageBytes -= 1024; }},
    {"four_coordinates_of_five", "A window of three dimensions is loaded with the coordinates of two", MutantKind::Hazard, false,
     [](GemmParams& p) { p.window.hasDepth = false; }},
    {"pixels_of_one_cta_expected", "The barrier of the leading CTA counts the pixels of one of the two", MutantKind::Hazard, true,
     [](GemmParams& p) { p.loadedBytes -= p.a.countedBytes; }},
    {"same_half_of_the_taps", "Both CTAs of a pair load the first half of a tile's taps", MutantKind::Value, true,
     [](GemmParams& p) { p.b.shareRows = 0; }},
    {"one_position_on", "The window begins a pixel further, where there are pixels, too", MutantKind::Value, false,
     [](GemmParams& p) { ++p.window.x.first; }},
    {"factors_of_other_taps", "Scale factors of pixels are those of taps twice as far from each other", MutantKind::Value, false,
     [](GemmParams& p) {
       if (p.buildScales) p.window.y.step *= 2;
     }},
};

}  // namespace

std::vector<Subject> im2colSubjects() { return {subjectFor(false), subjectFor(true)}; }

std::vector<HandMadeMutant> im2colMutants(const std::vector<Subject>& subjects) {
  std::vector<HandMadeMutant> mutants;
  for (const auto& mistake : kMistakes) {
    Subject subject = subjectFor(mistake.pair, mistake.make);
    if (std::none_of(subjects.begin(), subjects.end(), [&](const Subject& s) { return s.kernel == subject.kernel; })) continue;
    const std::string kernel = subject.kernel, ptx = subject.ptx;
    mutants.push_back({kernel, mistake.name, mistake.what, mistake.kind, std::move(subject), ptx});
  }
  return mutants;
}

}  // namespace shiftconv::tests
