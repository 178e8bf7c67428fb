#include "common/emulator/tools/emurun/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>

#include "common/command_line/command_line.hpp"
#include "common/device/emulated_options.hpp"
#include "common/emulator/options.hpp"
#include "common/emulator/program/target.hpp"

namespace emurun {
namespace {

namespace command_line = shiftconv::command_line;

constexpr const char* kFooter =
    R"(The program must have been linked with the shared runtime and must hold PTX, best for the architecture itself:
  nvcc -cudart shared -gencode arch=compute_100a,code=compute_100a -lineinfo -o program program.cu
  emurun --hazards warn ./program its arguments

Exit status: that of the program; 1 for a wrong command line, 2 for a program that cannot be run here. When the program itself
succeeded: 6 when launches failed, which it did not notice or expected, and otherwise 5 when hazards were seen.)";

/// Checks the value as the library will and remembers it for the program.
void set(Options& options, const std::string& option, const std::string& variable, const std::string& name,
         const std::string& value) {
  shiftconv::emulator::Options parsed;
  const shiftconv::Status status = shiftconv::device::setEmulatedOption(parsed, name, value);
  if (!status.ok()) throw command_line::Error(option, status.message());
  options.environment[variable] = value;
}

void setSemantics(Options& options, const std::vector<std::string>& choices) {
  std::string all;
  for (const std::string& choice : choices) {
    const size_t equals = choice.find('=');
    if (equals == std::string::npos) throw command_line::Error("--semantics", fmt::format("'{}' is not of the form U3=1", choice));
    set(options, "--semantics", "EMURUN_SEMANTICS", "semantics." + choice.substr(0, equals), choice.substr(equals + 1));
    all += (all.empty() ? "" : ",") + choice;
  }
  if (!all.empty()) options.environment["EMURUN_SEMANTICS"] = all;
}

void setDevice(Options& options, const std::string& device) {
  const std::span<const std::string_view> known = shiftconv::emulator::program::deviceNames();
  if (std::find(known.begin(), known.end(), device) == known.end())
    throw command_line::Error("--device", fmt::format("'{}' is none of {}", device, fmt::join(known, ", ")));
  options.environment["EMURUN_DEVICE"] = device;
}

void listSemantics() {
  for (const shiftconv::emulator::UnprovenQuestion& question : shiftconv::emulator::unprovenQuestions()) {
    fmt::print("{}  {}\n", question.name, question.question);
    for (size_t i = 0; i < question.alternatives.size(); ++i)
      fmt::print("    {}={}: {}{}\n", question.name, i, question.alternatives[i], i == 0 ? " (default)" : "");
  }
}

}  // namespace

bool parseCommandLine(int argc, char** argv, Options& options, int& exitCode) {
  command_line::Parser parser("Runs an unmodified CUDA program on an emulated device: no GPU and no driver are needed.", "emurun");
  parser.footer(kFooter);
  parser.columnWidth(34);
  parser.keepFromFirstUnknown();
  std::string policy, seed, hazards, severity, numerics, semanticsFile, threads, limit, device, dump;
  std::vector<std::string> semantics;
  unsigned multiprocessors = 0;
  bool counters = false, trace = false;
  parser.option("--policy", policy,
                "When asynchronous operations complete: earliest (default), latest, random, or fair (at issue, warps in turn)");
  parser.option("--dump-ptx", dump, "Folder that takes the PTX of each image that is loaded, whose lines reports name");
  parser.option("--seed", seed, "Seed of the random policy (default 1); launch i uses seed + i");
  parser.option("--hazards", hazards,
                "Look for races and missing fences: off (default), warn or error (the first one ends a launch)");
  parser.option(
      "--severity", severity,
      "Which hazards: race (a wrong result is possible), formal (the ISA asks for it, no known target needs it), unproven "
      "(rests on an open question); default race,formal,unproven");
  parser.option("--numerics", numerics, "Tensor core arithmetic: hardware (default) or fast");
  parser.option("--semantics", semantics, "U3=1: an alternative of an unproven behaviour; repeatable; `list` shows them")
      .oneArgumentEach();
  parser.option("--semantics-file", semanticsFile, "JSON of the probe kit: what a GPU was seen to do");
  parser.option(
      "--device", device,
      "The GPU: sm_100a (B200), sm_103a (B300), sm_110a (Thor) or sm_90a (H200); default: the first of them that can run the "
      "program's PTX");
  parser.option("--sms", multiprocessors, "Multiprocessors of the device (default: as its GPU, 148 of a B200)").range(1u, 1024u);
  parser.option("--threads", threads, "Host threads (default: one per core)");
  parser.option("--instruction-limit", limit, "Stop a launch after so many warp instructions");
  parser.option("--log", options.log, "File for reports, traces and counters (default: standard error)");
  parser.flag("--counters", counters, "What every kernel did, in numbers, when the program ends");
  parser.flag("--trace", trace, "Every call of the CUDA API with its result");
  try {
    if (!parser.parseOrThrow(argc, argv)) {
      exitCode = 0;
      return false;
    }
    if (semantics == std::vector<std::string>{"list"}) {
      listSemantics();
      exitCode = 0;
      return false;
    }
    const auto pass = [&](const char* option, const char* variable, const char* name, const std::string& value) {
      if (!value.empty()) set(options, option, variable, name, value);
    };
    pass("--policy", "EMURUN_SCHEDULE", "schedule", policy);
    pass("--seed", "EMURUN_SEED", "seed", seed);
    pass("--hazards", "EMURUN_HAZARDS", "hazards", hazards);
    pass("--severity", "EMURUN_SEVERITY", "hazards.severity", severity);
    pass("--numerics", "EMURUN_NUMERICS", "numerics", numerics);
    pass("--semantics-file", "EMURUN_SEMANTICS_FILE", "semantics.file", semanticsFile);
    pass("--threads", "EMURUN_HOST_THREADS", "host_threads", threads);
    pass("--instruction-limit", "EMURUN_INSTRUCTION_LIMIT", "instruction_limit", limit);
    setSemantics(options, semantics);
    if (!device.empty()) setDevice(options, device);
    if (!dump.empty()) options.environment["EMURUN_DUMP_PTX"] = std::filesystem::absolute(dump).string();
    if (multiprocessors != 0) options.environment["EMURUN_SMS"] = std::to_string(multiprocessors);
    if (counters) options.environment["EMURUN_COUNTERS"] = "1";
    if (trace) options.environment["EMURUN_TRACE"] = "1";
    options.hazards = !hazards.empty() && hazards != "off";
    options.command = parser.remaining();
    if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
    if (options.command.empty()) throw command_line::Error("program", "no program was named");
    if (options.command.front().starts_with('-')) throw command_line::Error(options.command.front(), "there is no such option");
  } catch (const command_line::Error& error) {
    fmt::print(stderr, "emurun: {}\nRun emurun --help for the options.\n", error.what());
    exitCode = exit_code::kUsage;
    return false;
  }
  return true;
}

}  // namespace emurun
