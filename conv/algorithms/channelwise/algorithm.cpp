#include "conv/algorithms/channelwise/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

#include "channelwise_deep_image.hpp"
#include "channelwise_image.hpp"
#include "channelwise_integers_image.hpp"
#include "channelwise_narrow_image.hpp"
#include "channelwise_stream_image.hpp"
#include "channelwise_whole_image.hpp"
#include "conv/algorithms/channelwise/plan.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/listed_algorithm.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

using namespace kernels::channelwise;

namespace {

constexpr std::array<std::string_view, 2> kWeightNames{"staged", "direct"};
constexpr uint32_t kMostRows = 1024;
constexpr std::array<OptionDescription, 7> kOptions{
    {{"form", "few, batch, stream, general, long",
      "all loads of a thread at once; walking down several rows; the same with rows from the copy engine; a loop over the taps; "
      "rows of 8 taps and more, weights as words"},
     {"channels", "1, 2, 4, 8", "of a thread"},
     {"columns", "1 to 8", "neighbouring outputs of a thread"},
     {"rows", "1 to 1024", "output rows of a thread in the forms batch and stream, else 1"},
     {"threads", "64, 128", "of a CTA at most"},
     {"weights", "staged, direct", "through shared memory, or by each thread from global memory"},
     kDependentOption}};

Status readChannelwise(std::string_view text, ChannelwiseChoices& choices) {
  OptionValues values;
  if (Status status = OptionValues::parse(text, kOptions, values); !status.ok()) return status;
  std::optional<size_t> form, weights;
  if (Status status = values.choice("form", kFormNames, form); !status.ok()) return status;
  if (form) choices.form = static_cast<Form>(*form);
  if (Status status = values.choice("weights", kWeightNames, weights); !status.ok()) return status;
  if (weights) choices.staged = *weights == 0;
  const auto number = [&](std::string_view name, uint32_t low, uint32_t high, uint32_t step, std::optional<int32_t>& choice) {
    std::optional<uint32_t> value;
    const Status status = values.number(name, low, high, step, value);
    if (value) choice = static_cast<int32_t>(*value);
    return status;
  };
  if (Status status = number("channels", 1, 8, 1, choices.channels); !status.ok()) return status;
  if (Status status = number("columns", 1, 8, 1, choices.columns); !status.ok()) return status;
  if (Status status = number("rows", 1, kMostRows, 1, choices.rows); !status.ok()) return status;
  if (Status status = number("threads", 64, kMostThreads, 64, choices.threads); !status.ok()) return status;
  return values.dependent(choices.dependent);
}

class Channelwise final : public ListedAlgorithm<ChannelwiseChoices, ChannelwisePlan> {
 public:
  std::string_view name() const override { return "channelwise"; }
  std::optional<Accumulation> accumulation() const override { return Accumulation::FusedMultiplyAdd; }
  std::span<const OptionDescription> options() const override { return kOptions; }
  bool isBuiltFor(const device::Properties& properties) const override { return isHopperOrBlackwell(properties); }
  std::string refusal(const Problem& problem, const device::Properties& properties) const override {
    return channelwiseRefusal(problem, properties);
  }

 protected:
  Status read(std::string_view text, ChannelwiseChoices& choices) const override { return readChannelwise(text, choices); }
  std::vector<ChannelwisePlan> list(const Problem& problem, const device::Properties& properties,
                                    const ChannelwiseChoices& choices) const override {
    return channelwiseCandidates(problem, properties, choices);
  }
  std::string optionText(const ChannelwisePlan& made) const override { return made.options(); }
  Tiling tiling(const ChannelwisePlan& made) const override {
    return {made.kind->columns * made.params.rows,
            made.kind->channels,
            1,
            {static_cast<int32_t>(made.kind->form), made.threads, made.staged() ? 1 : 0},
            made.modelParts,
            made.kind->form == Form::Long     ? "channelwise_long"
            : made.kind->form == Form::Stream ? "channelwise_stream"
                                              : ""};
  }
  void addLaunches(const Problem& problem, const ChannelwisePlan& made, Plan& plan) const override {
    const bool streamed = made.kind->form == Form::Stream,
               isWhole = made.kind->finish == Finish::Full && made.kind->form != Form::General;
    const auto& image = streamed                       ? images::channelwise_stream()
                        : made.kind->isDeep            ? images::channelwise_deep()
                        : isWhole                      ? images::channelwise_whole()
                        : made.kind->isInteger         ? images::channelwise_integers()
                        : made.kind->elementBytes == 2 ? images::channelwise()
                                                       : images::channelwise_narrow();
    addPreparedLaunch(problem, image, std::string(made.kind->name), made.launch, made.params, "multiply", plan);
    auto& parameters = plan.launches.back().parameters;
    if (streamed) parameters.insert(parameters.begin(), Parameter::map(made.input, {TensorName::Input}));
  }
};

}  // namespace

const Algorithm& channelwiseAlgorithm() {
  static const Channelwise algorithm;
  return algorithm;
}

}  // namespace shiftconv::plan
