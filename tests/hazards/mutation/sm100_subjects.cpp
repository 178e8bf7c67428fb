#include "tests/hazards/mutation/sm100_subjects.hpp"
#include "common/device/embedded_ptx.hpp"

#include <stdexcept>
#include <utility>

#include "conv/algorithms/halo_sm100/plan.hpp"
#include "conv/algorithms/shift_stream/plan.hpp"
#include "conv/algorithms/shift_window/plan.hpp"
#include "halo_sm100_image.hpp"
#include "shift_stream_image.hpp"
#include "tests/conv/kernel/stream_case.hpp"
#include "tests/hazards/mutation/mutation.hpp"

namespace shiftconv::tests {
namespace {

using plan::ShiftStreamChoices;
using plan::ShiftStreamPlan;
using plan::ShiftWindowChoices;
using plan::ShiftWindowPlan;
using plan::StreamMap;
using plan::sm100::HaloChoices;
using plan::sm100::HaloPlan;

template <class Choices>
struct TrialProblem {
  const char* name;
  Problem problem;
  Choices choices;
};

/// One kernel of an image, which the plans of all problems take.
template <class Plan, class Choices>
Subject subjectFor(std::string_view ptx, bool pair, const std::vector<TrialProblem<Choices>>& problems,
                   std::string (*make)(const Problem&, const device::Properties&, const Choices&, Plan&)) {
  std::vector<KernelTrial> trials;
  std::string kernel;
  uint64_t seed = 1001;
  for (TrialProblem<Choices> what : problems) {
    what.choices.pair = pair;
    const auto made = std::make_shared<Plan>();
    if (const std::string why = make(what.problem, fewMultiprocessors(), what.choices, *made); !why.empty())
      throw std::invalid_argument(why);
    kernel = made->kernelName;
    const auto operands = std::make_shared<const StreamCase>(what.problem, seed++);
    trials.push_back({what.name, [made, operands](DeviceRun& device, const emulator::Options& options) {
                        return operands->run(device, made->planned(), options);
                      }});
  }
  Subject subject = makeSubject(kernel, onlyKernel(ptx, kernel), std::move(trials));
  subject.source = SourcePositions(ptx);
  return subject;
}

Problem mxfp8(const Problem& p) { return scaled(p, DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0); }
Problem nvfp4(const Problem& p) { return scaled(p, DataType::E2M1, DataType::E2M1, 16, DataType::UE4M3); }

std::vector<TrialProblem<HaloChoices>> haloProblems() {
  Problem deep = plain(1, 5, 9, 32, 16, 3, 3, 1);
  deep.d = 3, deep.t = 2, deep.padFront = 1;
  return {{"resident weights", plain(2, 19, 21, 72, 32, 3, 3, 1), {.residentWeights = true}},
          {"streamed weights", plain(1, 33, 18, 136, 32, 3, 3, 1), {.residentWeights = false}},
          {"several images in a tile, passes", plain(9, 7, 7, 24, 40, 3, 3, 1), {.tileN = 32}},
          {"depth", deep, {}},
          {"outputs in blocks", quantised(plain(2, 17, 9, 16, 40, 1, 1, 0), DataType::E4M3, 32, ScaleOrder::Plain), {}},
          {"block scales, resident weights", mxfp8(plain(2, 17, 9, 160, 32, 3, 3, 1)), {.clusters = 1, .residentWeights = true}},
          {"block scales, streamed weights", nvfp4(plain(1, 17, 18, 64, 32, 3, 3, 1)), {.clusters = 1, .residentWeights = false}}};
}

std::vector<TrialProblem<HaloChoices>> rowStreamProblems() {
  return {{"resident weights",
           plain(6, 9, 21, 72, 128, 3, 3, 1),
           {.clusters = 1, .residentWeights = true, .collector = true, .blockRows = 9}},
          {"streamed weights",
           plain(6, 7, 18, 72, 112, 3, 2, 1),
           {.clusters = 1, .residentWeights = false, .collector = true, .blockRows = 3}}};
}

/// All tiles in one CTA or pair, so that every ring goes round.
std::vector<TrialProblem<ShiftWindowChoices>> shiftWindowProblems(bool pair) {
  Problem deep = plain(2, 4, 29, 24, 16, 2, 3, 0);
  deep.d = 3, deep.t = 2, deep.padBack = 1, deep.padTop = 1, deep.padLeft = 1;
  const Problem ragged = plain(pair ? 4 : 2, 16, 29, 72, 40, 3, 3, 1), wide = plain(1, pair ? 33 : 17, 31, 392, 16, 1, 7, 0);
  return {{"3x3, 2 chunks, streamed weights", ragged, {.clusters = 1, .residentWeights = false}},
          {"1x7, 7 chunks, resident weights", wide, {.clusters = 1, .residentWeights = true}},
          {"depth", deep, {.clusters = 1}},
          {"passes, outputs in blocks",
           quantised(plain(3, 9, 20, 16, 40, 1, 2, 0), DataType::E4M3, 32, ScaleOrder::Plain),
           {.tileN = 32}}};
}

/// All tiles in one CTA or pair, so that every ring goes round. The loop that opens accumulators is unrolled by four: each of its
/// waits is the last one where one to four output rows begin together, on accumulators that others have left.
std::vector<TrialProblem<ShiftStreamChoices>> denseStreamProblems() {
  Problem deep = plain(2, 3, 20, 24, 16, 2, 3, 1);
  deep.d = 2, deep.t = 2, deep.padFront = 1, deep.strideH = 2;
  const auto inOne = [](ShiftStreamChoices choices) {
    choices.clusters = 1;
    return choices;
  };
  return {{"resident weights", plain(9, 3, 31, 72, 32, 3, 3, 1),
           inOne({.map = StreamMap::Strips, .blockRows = 2, .residentWeights = true})},
          {"streamed weights", plain(9, 4, 18, 72, 32, 3, 3, 1), inOne({.residentWeights = false})},
          {"two output rows at once", plain(17, 2, 9, 16, 16, 3, 1, 1), inOne({.map = StreamMap::Strips})},
          {"three output rows at once", plain(9, 1, 9, 16, 16, 3, 1, 2), inOne({.map = StreamMap::Strips})},
          {"four output rows at once, no spare accumulator and two slots", plain(9, 4, 9, 16, 64, 7, 2, 3),
           inOne({.map = StreamMap::Strips, .tileN = 64, .blockRows = 4, .residentWeights = true})},
          {"the same, streamed weights", plain(9, 2, 9, 16, 64, 7, 2, 3),
           inOne({.map = StreamMap::Strips, .tileN = 64, .residentWeights = false})},
          {"depth and stride", deep, inOne({})},
          {"packed rows, one column, passes, outputs in blocks",
           quantised(plain(5, 3, 9, 16, 48, 3, 1, 0), DataType::E4M3, 32, ScaleOrder::Plain),
           inOne({.map = StreamMap::Packed, .tileN = 32})},
          {"strips, refilled", plain(5, 3, 35, 72, 32, 3, 3, 1), inOne({.map = StreamMap::StripsRefill})},
          {"flat, refilled, streamed weights", plain(9, 6, 9, 24, 32, 3, 3, 1),
           inOne({.map = StreamMap::FlatRefill, .residentWeights = false})},
          {"flat, masked, streamed weights", plain(15, 4, 9, 72, 32, 3, 3, 1),
           inOne({.map = StreamMap::FlatMasked, .residentWeights = false})}};
}

std::vector<TrialProblem<ShiftStreamChoices>> scaledStreamProblems() {
  const auto inOne = [](ShiftStreamChoices choices) {
    choices.clusters = 1;
    return choices;
  };
  return {{"copies of scales, resident weights", mxfp8(plain(9, 3, 31, 160, 32, 3, 3, 1)),
           inOne({.map = StreamMap::Strips, .blockRows = 2, .residentWeights = true, .shiftedScales = false})},
          {"shifted scales, streamed weights", mxfp8(plain(9, 3, 18, 160, 32, 3, 3, 1)),
           inOne({.residentWeights = false, .shiftedScales = true})},
          {"two output rows at once", mxfp8(plain(17, 2, 9, 32, 16, 3, 1, 1)), inOne({.map = StreamMap::Strips})},
          {"three output rows at once", mxfp8(plain(9, 1, 9, 32, 16, 3, 1, 2)), inOne({.map = StreamMap::Strips})},
          {"four output rows at once, two slots, ring of filter scales", mxfp8(plain(9, 4, 9, 32, 64, 6, 3, 3)),
           inOne({.map = StreamMap::Strips, .tileN = 64, .blockRows = 5, .residentWeights = true, .shiftedScales = true})},
          {"the same, filter scales that stay", mxfp8(plain(9, 4, 9, 32, 64, 6, 2, 3)),
           inOne({.map = StreamMap::Strips, .tileN = 64, .blockRows = 5, .residentWeights = true, .shiftedScales = true})},
          {"two slots, streamed weights", mxfp8(plain(9, 3, 9, 32, 64, 6, 3, 3)),
           inOne({.map = StreamMap::Packed, .tileN = 64, .residentWeights = false, .shiftedScales = true})},
          {"nvfp4, shifted scales", nvfp4(plain(9, 3, 9, 64, 32, 3, 3, 1)), inOne({.shiftedScales = true})},
          {"flat, refilled", mxfp8(plain(9, 4, 9, 64, 32, 3, 3, 1)), inOne({.map = StreamMap::FlatRefill, .shiftedScales = false})},
          {"passes, outputs in blocks", quantised(mxfp8(plain(5, 2, 9, 32, 64, 2, 1, 0)), DataType::E4M3, 32, ScaleOrder::Plain),
           inOne({.tileN = 32})}};
}

}  // namespace

std::vector<Subject> shiftWindowSubjects() {
  const std::string_view ptx = device::ptxFor(plan::shiftWindowImage(), "sm_100a");
  std::vector<Subject> subjects;
  for (const bool pair : {false, true})
    subjects.push_back(
        subjectFor<ShiftWindowPlan, ShiftWindowChoices>(ptx, pair, shiftWindowProblems(pair), plan::planShiftWindow));
  return subjects;
}

std::vector<Subject> haloSubjects() {
  std::vector<Subject> subjects;
  for (const bool pair : {false, true})
    for (const auto& problems : {haloProblems(), rowStreamProblems()})
      subjects.push_back(subjectFor<HaloPlan, HaloChoices>(device::ptxFor(images::halo_sm100(), "sm_100a"), pair, problems,
                                                           plan::sm100::planHalo));
  return subjects;
}

std::vector<Subject> streamSubjects() {
  const std::string_view ptx = device::ptxFor(images::shift_stream(), "sm_100a");
  std::vector<Subject> subjects;
  for (const bool pair : {false, true})
    for (const auto& problems : {denseStreamProblems(), scaledStreamProblems()})
      subjects.push_back(subjectFor<ShiftStreamPlan, ShiftStreamChoices>(ptx, pair, problems, plan::planShiftStream));
  return subjects;
}

}  // namespace shiftconv::tests
