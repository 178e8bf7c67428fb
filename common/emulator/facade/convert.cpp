#include "common/emulator/facade/convert.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/hazard_report.hpp"
#include "common/emulator/semantics_report.hpp"

namespace shiftconv::emu {
namespace {

Access convert(const emulator::HazardAccess& access) {
  return {access.what, access.kernel, access.thread, access.where, access.ptxLine, access.sourceLine};
}

}  // namespace

ErrorKind kindOf(emulator::ErrorKind kind) {
  switch (kind) {
    case emulator::ErrorKind::Parse:
      return ErrorKind::Parse;
    case emulator::ErrorKind::Unsupported:
      return ErrorKind::Unsupported;
    case emulator::ErrorKind::IllegalInstruction:
      return ErrorKind::IllegalInstruction;
    case emulator::ErrorKind::Launch:
      return ErrorKind::Launch;
    case emulator::ErrorKind::OutOfBounds:
      return ErrorKind::OutOfBounds;
    case emulator::ErrorKind::Misaligned:
      return ErrorKind::Misaligned;
    case emulator::ErrorKind::Uninitialised:
      return ErrorKind::Uninitialised;
    case emulator::ErrorKind::Descriptor:
      return ErrorKind::Descriptor;
    case emulator::ErrorKind::Synchronisation:
      return ErrorKind::Synchronisation;
    case emulator::ErrorKind::Deadlock:
      return ErrorKind::Deadlock;
    case emulator::ErrorKind::Trap:
      return ErrorKind::Trap;
    case emulator::ErrorKind::OutOfMemory:
      return ErrorKind::OutOfMemory;
    case emulator::ErrorKind::Hazard:
      return ErrorKind::Hazard;
    case emulator::ErrorKind::Limit:
      return ErrorKind::Limit;
  }
  return ErrorKind::Limit;
}

const char* toString(ErrorKind kind) {
  for (int i = 0; i <= static_cast<int>(emulator::ErrorKind::Limit); ++i)
    if (const auto own = static_cast<emulator::ErrorKind>(i); kindOf(own) == kind) return emulator::toString(own);
  return kind == ErrorKind::None ? "no error" : "invalid argument";
}

Hazard convert(const emulator::Hazard& hazard) {
  return {emulator::toString(hazard.kind),
          emulator::toString(hazard.severity),
          convert(hazard.first),
          convert(hazard.second),
          hazard.missing,
          hazard.count,
          emulator::describe(hazard),
          hazard.question};
}

std::vector<Hazard> convert(const std::vector<emulator::Hazard>& hazards) {
  std::vector<Hazard> result;
  for (const emulator::Hazard& hazard : hazards) result.push_back(convert(hazard));
  return result;
}

Counters convert(const emulator::Counters& counters, const std::vector<std::string>& warpRoles) {
  Counters result;
  result.ctas = counters.ctas;
  result.mma = counters.mma;
  result.operations = counters.operations;
  for (size_t engine = 0; engine < counters.bytes.size(); ++engine)
    for (size_t traffic = 0; traffic < counters.bytes[engine].size(); ++traffic)
      if (const uint64_t bytes = counters.bytes[engine][traffic]; bytes != 0)
        result.bytes[fmt::format("{}: {}", toString(static_cast<emulator::Engine>(engine)),
                                 toString(static_cast<emulator::Traffic>(traffic)))] = bytes;
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions())
    if (const uint64_t uses = counters.unprovenUses[static_cast<size_t>(question.id)]; uses != 0)
      result.questions[std::string(question.name)] = uses;
  result.warpInstructions = counters.warpInstructions;
  result.threadInstructions = counters.threadInstructions;
  result.text = formatCounters(counters, warpRoles);
  return result;
}

emulator::HazardMode convert(Hazards mode) {
  return mode == Hazards::Off    ? emulator::HazardMode::Off
         : mode == Hazards::Warn ? emulator::HazardMode::Warn
                                 : emulator::HazardMode::Error;
}

Error convert(const Options& options, emulator::Options& converted) {
  converted.policy = options.schedule == Schedule::Earliest ? emulator::SchedulePolicy::Earliest
                     : options.schedule == Schedule::Latest ? emulator::SchedulePolicy::Latest
                     : options.schedule == Schedule::Fair   ? emulator::SchedulePolicy::Fair
                                                            : emulator::SchedulePolicy::Random;
  converted.seed = options.seed;
  converted.numerics = options.numerics == Numerics::Hardware ? emulator::Numerics::Hardware : emulator::Numerics::Fast;
  converted.hazards = convert(options.hazards);
  if (!converted.severities.parse(options.severities))
    return {ErrorKind::Argument,
            fmt::format("severities '{}': write one or more of race, formal and unproven, with commas between them",
                        options.severities)};
  converted.warpRoles = options.warpRoles;
  converted.hostThreads = options.hostThreads;
  converted.instructionLimit = options.instructionLimit;
  converted.multiprocessors = options.multiprocessors;
  converted.print = options.print;
  const auto& questions = emulator::unprovenQuestions();
  for (const auto& [id, alternative] : options.semantics) {
    const auto question =
        std::find_if(questions.begin(), questions.end(), [&, &name = id](const auto& entry) { return entry.name == name; });
    if (question == questions.end())
      return {ErrorKind::Argument,
              fmt::format("there is no question '{}'; known are {} to {}", id, questions.front().name, questions.back().name)};
    if (alternative >= question->alternatives.size())
      return {ErrorKind::Argument,
              fmt::format("question {} has alternatives 0 to {}, not {}", id, question->alternatives.size() - 1, alternative)};
    converted.semantics.choose(question->id, static_cast<uint8_t>(alternative));
  }
  return {};
}

std::vector<Question> questions() {
  std::vector<Question> result;
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions())
    result.push_back(
        {std::string(question.name), std::string(question.question), {question.alternatives.begin(), question.alternatives.end()}});
  return result;
}

Error choose(Options& options, std::string_view id, std::string_view alternative) {
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions()) {
    if (question.name != id) continue;
    if (const auto found = question.find(alternative)) {
      options.semantics[std::string(id)] = *found;
      return {};
    }
    std::string known;
    for (size_t i = 0; i < question.alternatives.size(); ++i) known += fmt::format("\n  {}: {}", i, question.alternatives[i]);
    return {ErrorKind::Argument,
            fmt::format("'{}' names no alternative of {} (\"{}\"):{}", alternative, id, question.question, known)};
  }
  return {ErrorKind::Argument, fmt::format("there is no question '{}'", id)};
}

Error readSemantics(Options& options, const std::string& path) {
  const emulator::SemanticsReport report = emulator::readSemanticsReport(path);
  if (!report.problem.empty()) return {ErrorKind::Argument, report.problem};
  Options chosen = options;
  for (const auto& [id, alternative] : report.choices)
    if (Error error = choose(chosen, id, alternative)) return {error.kind, fmt::format("{}: {}", path, error.message)};
  options = std::move(chosen);
  return {};
}

}  // namespace shiftconv::emu
