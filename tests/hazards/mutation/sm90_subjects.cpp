#include "tests/hazards/mutation/sm90_subjects.hpp"
#include "common/device/embedded_ptx.hpp"

#include <stdexcept>
#include <utility>

#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/kernel/kernel_case.hpp"
#include "tests/conv/kernel/planned_launch.hpp"
#include "tests/hazards/mutation/mutation.hpp"

namespace shiftconv::tests {
namespace {

struct TrialProblem {
  const char* name;
  const char* problem;
  const char* options;
  uint32_t multiprocessors;
};

void require(const Status& status) {
  if (!status.ok()) throw std::invalid_argument(status.message());
}

std::shared_ptr<const plan::Plan> planOf(const TrialProblem& what, std::string_view algorithm) {
  Problem problem;
  require(parse(what.problem, problem));
  device::Properties properties;
  for (const device::Preset& preset : device::presets())
    if (std::string_view(preset.name) == "H200") properties = preset.properties;
  properties.multiprocessors = what.multiprocessors;
  std::shared_ptr<const plan::Plan> plan;
  require(makePlan(problem, properties, {std::string(algorithm), what.options}, plan));
  return plan;
}

KernelTrial trialOf(const TrialProblem& what, const std::shared_ptr<const plan::Plan>& plan, uint64_t seed) {
  const auto operands = std::make_shared<const KernelCase>(plan->problem, seed);
  return {what.name, [plan, operands](DeviceRun& device, const emulator::Options& options) {
            const ConvolutionInputs& inputs = operands->inputs();
            const size_t outputBytes = tensorBytes(plan->problem)[TensorName::Output];
            PerTensor<uint64_t> tensors;
            tensors[TensorName::Input] = device.upload(inputs.activations);
            tensors[TensorName::Filter] = device.upload(inputs.filter);
            if (!inputs.bias.empty()) tensors[TensorName::Bias] = device.upload(inputs.bias);
            if (!inputs.residual.empty()) tensors[TensorName::Residual] = device.upload(inputs.residual);
            tensors[TensorName::Output] = device.upload(std::vector<std::byte>(outputBytes, std::byte{0xCD}));
            Observation seen = launchPlanned(device, plan->launches.at(0), tensors, options);
            KernelRun run;
            run.output = device.download<std::byte>(tensors[TensorName::Output], outputBytes);
            seen.difference = operands->judge(run, options.numerics);
            return seen;
          }};
}

Subject subjectFor(std::string_view algorithm, const std::vector<TrialProblem>& problems,
                   std::vector<std::string_view> functions = {}) {
  std::vector<KernelTrial> trials;
  std::string kernel;
  std::string_view ptx;
  uint64_t seed = 901;
  for (const TrialProblem& what : problems) {
    const auto plan = planOf(what, algorithm);
    if (!kernel.empty() && kernel != plan->kernelName())
      throw std::invalid_argument("the trials of a subject have different kernels");
    kernel = plan->kernelName();
    ptx = device::ptxFor(plan->launches.at(0).image, "sm_90a");
    trials.push_back(trialOf(what, plan, seed++));
  }
  Subject subject = makeSubject(kernel, onlyKernel(ptx, kernel), std::move(trials));
  subject.source = SourcePositions(ptx);
  subject.functions = std::move(functions);
  return subject;
}

}  // namespace

std::vector<Subject> sm90Subjects() {
  std::vector<Subject> subjects;
  // nvcc unrolls the loop over boxes four times and peels the rest, so that copies of one source line are reached by different
  // numbers of boxes.
  subjects.push_back(subjectFor(
      "halo",
      {{"weights that stay", "1x8x80x16 f16 * 64x1x3x16 pad 0,0,1,1 -> f16 bias", "shape=k64_n32,cut=columns", 1},
       {"weights in turns, flat", "1x9x7x136 f16 * 64x3x3x136 pad 1,1,1,1 -> f16", "shape=k64_n32,cut=flat", 1},
       {"four boxes", "1x15x33x16 f16 * 64x3x3x16 pad 1,1,1,1 stride 2,2 -> f16", "shape=k64_n32,cut=columns", 1},
       {"three boxes", "1x12x9x16 f16 * 64x2x3x16 pad 0,1,1,1 -> f16", "shape=k64_n32,cut=dense", 1},
       {"two boxes, weights in turns", "1x12x9x72 f16 * 128x6x2x72 pad 2,3,0,1 -> f16", "shape=k64_n32,cut=dense", 1},
       {"groups", "1x8x8x64 f16 * 64x3x3x32 groups 2 pad 1,1,1,1 -> f16", "shape=k64_n32,cut=columns", 1},
       {"groups, four boxes", "1x8x8x64 f16 * 64x3x3x32 groups 2 pad 1,1,1,1 stride 2,2 -> f16", "shape=k64_n32,cut=columns", 1},
       {"split", "1x4x8x192 f16 * 64x1x3x192 pad 0,0,1,1 -> f16", "shape=k64_n32,cut=columns,split=2", 4},
       {"split, added by one rank", "1x4x7x192 f16 * 64x1x3x192 pad 0,0,1,1 -> f16", "shape=k64_n32,cut=flat,split=2", 4}}));
  subjects.push_back(subjectFor("grouped", {{"in turns", "1x14x14x64 f16 * 64x3x3x8 groups 8 pad 1,1,1,1 -> f16 bias", "", 1},
                                            {"ragged", "1x40x40x8 f16 * 8x3x3x8 pad 1,1,1,1 stride 2,2 -> f16", "", 1}}));
  return subjects;
}

std::vector<Subject> otherSm90Subjects() {
  std::vector<Subject> subjects;
  // Of four chunks each box is copied with another part of the weights.
  subjects.push_back(
      subjectFor("resident", {{"one chunk", "1x9x9x16 f16 * 40x3x3x16 pad 1,1,1,1 -> f16 bias", "cut=columns,split=1", 1},
                              {"flat, four chunks", "2x7x6x200 f16 * 32x1x2x200 pad 0,0,0,1 -> f16", "cut=flat,split=1", 1},
                              {"split", "1x8x8x136 f16 * 32x1x3x136 pad 0,0,1,1 -> f16", "cut=columns,split=2", 4}}));
  subjects.push_back(subjectFor("depthwise", {{"in turns", "1x18x9x40 f16 * 40x3x3x1 groups 40 pad 1,1,1,1 -> f16 bias", "", 1}}));
  subjects.push_back(subjectFor("channelwise", {{"staged weights", "2x6x9x66 f16 * 66x3x3x1 groups 66 pad 1,0,2,1 -> f16 bias",
                                                 "form=few,columns=2,weights=staged", 4}}));
  subjects.push_back(subjectFor("channelwise", {{"staged weights", "2x9x7x36 f16 * 36x3x3x1 groups 36 pad 1,0,2,1 -> f16 bias",
                                                 "form=batch,channels=4,columns=2,rows=4,weights=staged", 4}}));
  subjects.push_back(
      subjectFor("gathered", {{"ring in turns", "2x9x7x136 f16 * 70x3x2x136 pad 1,0,2,1 stride 2,1 -> f16 bias", "tile=64x64", 4},
                              {"runs of rows", "1x12x16x6 f16 * 20x5x4x6 stride 1,4 -> f16", "tile=64x64", 4},
                              {"whole epilogue", "1x9x7x40 f16 * 24x1x1x40 -> f16 gelu_tanh", "tile=64x64", 4}}));
  subjects.push_back(subjectFor(
      "im2col_sm90", {{"ring in turns", "2x9x7x136 f16 * 40x3x2x136 pad 1,0,2,1 stride 2,1 -> f16 bias", "tile=128x48,stages=3", 4},
                      {"a matrix", "2x9x7x72 f16 * 40x1x1x72 -> f16 bias residual 0.5", "tile=128x48", 4},
                      {"sums change hands", "1x9x15x72 f16 * 37x3x3x72 pad 1,1,1,1 -> f16 silu", "tile=128x48", 4}}));
  subjects.push_back(
      subjectFor("im2col_sm90",
                 {{"split", "2x9x7x328 f16 * 40x1x2x328 pad 0,0,1,0 -> f16 bias residual 0.5", "tile=128x64,split=2,stages=2", 4},
                  {"sums change hands", "1x9x15x200 f16 * 37x1x1x200 -> f16 gelu_tanh", "tile=128x64,split=4", 4}}));
  subjects.push_back(subjectFor(
      "pointwise",
      {{"in turns", "1x9x15x24 f16 * 40x1x1x24 -> f16 bias", "pixels=16,warps=4,channel_warps=1,parts=1", 1},
       {"gathered", "3x9x15x24 f16 * 39x1x1x24 -> f16 bias", "pixels=16,warps=4,channel_warps=1,parts=1,gathers=yes", 1},
       {"gathered by two", "3x9x15x24 f16 * 39x1x1x24 -> f16 bias", "pixels=16,warps=4,channel_warps=2,parts=1,gathers=yes", 1}}));
  subjects.push_back(
      subjectFor("raw_rows", {{"in turns", "3x22x38x3 f16 * 20x3x3x3 pad 1,0,2,1 stride 2,2 -> f16 bias", "rows=3,columns=9", 1}}));
  subjects.push_back(
      subjectFor("thin", {{"split, in vectors", "2x9x7x136 f16 * 40x3x2x136 pad 1,0,2,1 -> f16 bias", "tile=16x16,split=4", 4},
                          {"whole epilogue", "1x9x7x136 f16 * 40x1x1x136 -> f16 gelu_tanh", "tile=16x16,split=2", 4}}));
  subjects.push_back(subjectFor("stem", {{"in turns", "1x33x40x4 f16 * 40x7x7x4 pad 3,3,3,3 stride 2,2 -> f16 bias", "", 1}}));
  // Taps of two widths.
  subjects.push_back(subjectFor(
      "halo", {{"whole images, two chunks", "5x7x7x72 f16 * 128x3x3x72 pad 1,1,1,1 -> f16", "shape=k128_n200_tail32", 1}},
      {"multiplyWholeImages"}));
  // With a residual: what the other kernels lack.
  const std::vector<std::string_view> functions{"esidual", "serve", "loadFirst", "loadOverBoxes", "finish"};
  subjects.push_back(subjectFor(
      "halo",
      {{"two buffers", "1x9x100x16 f16 * 64x1x1x16 -> f16 bias residual 1", "shape=k64x2_n128", 1},
       {"a buffer, flat", "1x40x14x16 f16 * 64x3x3x16 pad 1,1,1,1 -> f16 residual 1", "shape=k64x2_n128,cut=flat", 1},
       {"split", "1x9x14x136 f16 * 64x1x3x136 pad 0,0,1,1 -> f16 residual 1", "shape=k64x2_n128,cut=columns,split=2", 4}},
      functions));
  subjects.push_back(subjectFor(
      "halo",
      {{"over boxes", "1x60x16x16 f16 * 64x1x3x16 pad 0,0,1,1 -> f16 bias residual 1", "shape=k64x2_n224_over,cut=columns", 1}},
      functions));
  subjects.push_back(subjectFor("stem", {{"rows", "1x35x40x4 f16 * 40x3x3x4 pad 1,1,1,1 stride 2,2 -> f16 bias residual 1", "", 1}},
                                {"serve", "esidual", "multiply"}));
  return subjects;
}

}  // namespace shiftconv::tests
