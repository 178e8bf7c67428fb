#include "tests/hazards/mutation/sm100_subjects.hpp"

#include <stdexcept>

#include "conv/plan/sm100/halo.hpp"
#include "halo_sm100_image.hpp"
#include "tests/conv/kernel/stream_case.hpp"
#include "tests/hazards/mutation/mutation.hpp"

namespace shiftconv::tests {
namespace {

using plan::sm100::HaloChoices;
using plan::sm100::HaloPlan;

struct TrialProblem {
  const char* name;
  Problem problem;
  HaloChoices choices;
};

std::vector<TrialProblem> trialProblems() {
  Problem deep = plain(1, 5, 9, 32, 16, 3, 3, 1);
  deep.d = 3, deep.t = 2, deep.padFront = 1;
  return {{"resident weights", plain(2, 19, 21, 72, 32, 3, 3, 1), {.residentWeights = true}},
          {"streamed weights", plain(1, 33, 18, 136, 32, 3, 3, 1), {.residentWeights = false}},
          {"several images in a tile, passes", plain(9, 7, 7, 24, 40, 3, 3, 1), {.tileN = 32}},
          {"depth", deep, {}}};
}

Subject subjectFor(bool pair) {
  std::vector<KernelTrial> trials;
  std::string kernel;
  uint64_t seed = 1001;
  for (TrialProblem what : trialProblems()) {
    what.choices.pair = pair;
    const auto made = std::make_shared<HaloPlan>();
    if (const std::string why = plan::sm100::planHalo(what.problem, fewMultiprocessors(), what.choices, *made); !why.empty())
      throw std::invalid_argument(why);
    kernel = made->kernelName;
    const auto operands = std::make_shared<const StreamCase>(what.problem, seed++);
    trials.push_back({what.name, [made, operands](DeviceRun& device, const emulator::Options& options) {
                        return operands->run(device, made->planned(), options);
                      }});
  }
  const std::string_view ptx = images::halo_sm100().ptxFor("sm_100a");
  Subject subject = makeSubject(kernel, onlyKernel(ptx, kernel), std::move(trials));
  subject.source = SourcePositions(ptx);
  return subject;
}

}  // namespace

std::vector<Subject> sm100Subjects() { return {subjectFor(false), subjectFor(true)}; }

}  // namespace shiftconv::tests
