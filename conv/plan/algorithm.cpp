#include "conv/plan/algorithm.hpp"

#include <fmt/format.h>

namespace shiftconv::plan {

Status Candidate::complete(const Problem& problem, const device::Properties& properties, Plan& plan) const {
  if (const auto own = algorithm->accumulation()) plan.sums.insert(*own);
  return plans->complete(number, problem, properties, plan);
}

std::string refusalOf(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties) {
  if (problem.transposed && !algorithm.takesTransposed())
    return fmt::format(
        "{} computes no transposed convolution (gathered and im2col_sm90 compute them, and phases plans one as several ordinary "
        "ones)",
        algorithm.name());
  if (problem.hasChannelsFirst() && !algorithm.takesChannelsFirst())
    return fmt::format("{} reads and writes NHWC (relayout plans NCHW around it)", algorithm.name());
  if (problem.hasSpreadOutput() && !algorithm.takesSpreadOutput())
    return fmt::format("{} writes output rows that follow each other", algorithm.name());
  if (problem.hasChosenTaps() && !algorithm.takesChosenTaps())
    return fmt::format("{} reads filters that have no other taps", algorithm.name());
  if (problem.isUpsampled() && !algorithm.takesUpsampled())
    return fmt::format("{} takes no upsampled input, but upsample_d, upsample_h and upsample_w are {}, {} and {}", algorithm.name(),
                       problem.upsampleD, problem.upsampleH, problem.upsampleW);
  if (problem.isSplit() && !algorithm.takesSplit())
    return fmt::format("{} reads an input in one tensor, but split_c and split_d are {} and {}", algorithm.name(), problem.splitC,
                       problem.splitD);
  if (problem.hasReversedTaps() && !algorithm.takesReversedTaps())
    return fmt::format(
        "{} reads the taps of a filter in their order, but filter_flipped is 1 (reversed plans it with taps put in order)",
        algorithm.name());
  return algorithm.refusal(problem, properties);
}

std::string algorithmNames(std::span<const Algorithm* const> algorithms, bool (*wanted)(const Algorithm&)) {
  std::string names;
  for (const Algorithm* one : algorithms)
    if (wanted(*one)) names.append(names.empty() ? "" : ", ").append(one->name());
  return names;
}

std::string describe(const Candidate& candidate) {
  std::string unproven;
  for (const std::string_view id : candidate.unproven) unproven += fmt::format(" {}", id);
  return fmt::format("{} {}: {}{}{}{}", candidate.algorithm->name(), candidate.options(), plan::describe(candidate.estimate),
                     unproven.empty() ? "" : ", unproven", unproven, candidate.isUntimed ? ", not timed yet" : "");
}

}  // namespace shiftconv::plan
