#include "common/device/emulated_options.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/device/joined.hpp"
#include "common/emulator/semantics_report.hpp"

namespace shiftconv::device {
namespace {

constexpr std::string_view kSemanticsPrefix = "semantics.";
constexpr unsigned kMaxHostThreads = 1024;

template <class Value>
struct Choice {
  std::string_view name;
  Value value;
};

constexpr std::array<Choice<emulator::SchedulePolicy>, 4> kSchedules{{{"earliest", emulator::SchedulePolicy::Earliest},
                                                                      {"latest", emulator::SchedulePolicy::Latest},
                                                                      {"random", emulator::SchedulePolicy::Random},
                                                                      {"fair", emulator::SchedulePolicy::Fair}}};
constexpr std::array<Choice<emulator::Numerics>, 2> kNumerics{
    {{"hardware", emulator::Numerics::Hardware}, {"fast", emulator::Numerics::Fast}}};

constexpr std::array<Choice<emulator::HazardMode>, 3> kHazardModes{
    {{"off", emulator::HazardMode::Off}, {"warn", emulator::HazardMode::Warn}, {"error", emulator::HazardMode::Error}}};

template <class Value, size_t Count>
Status choose(const std::array<Choice<Value>, Count>& choices, std::string_view name, std::string_view text, Value& value) {
  std::vector<std::string_view> names;
  for (const Choice<Value>& choice : choices) {
    if (choice.name == text) {
      value = choice.value;
      return {};
    }
    names.push_back(choice.name);
  }
  return {StatusCode::InvalidArgument,
          fmt::format("option \"{}\" has no value \"{}\"; choose one of: {}", name, text, joined(names))};
}

template <class Value>
Status parseNumber(std::string_view name, std::string_view text, Value& value, Value maximum = std::numeric_limits<Value>::max()) {
  Value parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || parsed > maximum)
    return {StatusCode::InvalidArgument,
            fmt::format("option \"{}\" needs a decimal number in 0..{}, not \"{}\"", name, maximum, text)};
  value = parsed;
  return {};
}

Status chooseAlternative(emulator::Semantics& semantics, std::string_view name, std::string_view text) {
  const std::string_view id = name.substr(kSemanticsPrefix.size());
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions()) {
    if (question.name != id) continue;
    if (const auto alternative = question.find(text)) {
      semantics.choose(question.id, *alternative);
      return {};
    }
    std::string list;
    for (size_t i = 0; i < question.alternatives.size(); ++i)
      list += fmt::format("{}{}: {}", i ? "; " : "", i, question.alternatives[i]);
    return {StatusCode::InvalidArgument, fmt::format("option \"{}\" ({}) has no alternative \"{}\"; the alternatives are {}", name,
                                                     question.question, text, list)};
  }
  std::vector<std::string_view> ids;
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions()) ids.push_back(question.name);
  return {StatusCode::NotFound, fmt::format("there is no unproven behaviour \"{}\"; known are {}", id, joined(ids))};
}

/// A report of the probe kit (tests/probe), or as much of one as has a member "semantics".
Status loadSemantics(emulator::Semantics& semantics, std::string_view path) {
  const emulator::SemanticsReport report = emulator::readSemanticsReport(std::string(path));
  if (!report.problem.empty())
    return {report.unreadable ? StatusCode::NotFound : StatusCode::InvalidArgument,
            fmt::format("option \"semantics.file\": {}", report.problem)};
  emulator::Semantics loaded = semantics;
  for (const auto& [id, text] : report.choices) {
    const std::string name = std::string(kSemanticsPrefix) + id;
    if (Status status = chooseAlternative(loaded, name, text); !status.ok())
      return {status.code(), fmt::format("{}: {}", path, status.message())};
  }
  semantics = loaded;
  return {};
}

Status chooseSeverities(emulator::SeveritySet& severities, std::string_view value) {
  if (severities.parse(value)) return {};
  return {
      StatusCode::InvalidArgument,
      fmt::format("option \"hazards.severity\" is \"{}\"; write one or more of race, formal and unproven, with commas between them",
                  value)};
}

}  // namespace

Status setEmulatedOption(emulator::Options& options, std::string_view name, std::string_view value) {
  if (name == "schedule") return choose(kSchedules, name, value, options.policy);
  if (name == "seed") return parseNumber(name, value, options.seed);
  if (name == "numerics") return choose(kNumerics, name, value, options.numerics);
  if (name == "hazards") return choose(kHazardModes, name, value, options.hazards);
  if (name == "hazards.severity") return chooseSeverities(options.severities, value);
  if (name == "host_threads") return parseNumber(name, value, options.hostThreads, kMaxHostThreads);
  if (name == "instruction_limit") return parseNumber(name, value, options.instructionLimit);
  if (name == "semantics.file") return loadSemantics(options.semantics, value);
  if (name.starts_with(kSemanticsPrefix)) return chooseAlternative(options.semantics, name, value);
  return {StatusCode::NotFound,
          fmt::format("there is no option \"{}\"; known are schedule, seed, numerics, hazards, hazards.severity, semantics.U<n>, "
                      "semantics.file, host_threads, instruction_limit",
                      name)};
}

}  // namespace shiftconv::device
