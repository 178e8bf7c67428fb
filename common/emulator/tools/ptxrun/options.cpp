#include "common/emulator/tools/ptxrun/options.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line/command_line.hpp"

namespace ptxrun {
namespace {

using namespace shiftconv::emu;
namespace command_line = shiftconv::command_line;

const char* const kFooter = R"(
Arguments, one --arg per kernel parameter, in order:
  i32:-5  u64:0x10  f32:1.5      scalars: i8 i16 i32 i64 u8 u16 u32 u64 f32 f64; b8 b16 b32 b64 for bit patterns
  buf:FILE                       device buffer with the contents of FILE
  out:FILE:TYPE:SHAPE            device buffer filled with 0xCB bytes; written to FILE after the launch
  inout:FILE:OUTPUT              contents of FILE; written to OUTPUT after the launch
  zeros:TYPE:SHAPE[:OUTPUT]      device buffer of zeros, optionally written
  ref:NAME[+BYTES]               address of the buffer of another --arg (its position) or --buffer (its name)
  tmap:FILE or tmap:{JSON}       tensor map (128 bytes), see below
  struct:FILE or struct:[JSON]   a structure passed by value, as the list of its fields, see below
  bytes:FILE                     the same as raw bytes
Files that end in .npy are NumPy arrays; all others are raw bytes. TYPE is one of u8 i8 u16 i16 f16 bf16 u32 i32 f32 u64
i64 f64 (bf16 is written to .npy as uint16). SHAPE is 1024 or 32x64, outermost first.

Tensor maps in JSON; dims, strides, box innermost first, as cuTensorMapEncodeTiled takes them:
  {"buffer": 0, "type": "f16", "dims": [64, 128], "strides": [128], "box": [64, 32], "swizzle": "128B"}
  type: u8 u16 u32 i32 u64 i64 f16 bf16 f32 f64 f32_ftz tf32 tf32_ftz 16u4_align8b 16u4_align16b 16u6_align16b;
  buffer: position of an --arg or name of a --buffer; strides in bytes from dimension 1 on (default dense);
  optional: offset (bytes), elementStrides, swizzle (none 32B 64B 128B 128B_ATOM_32B 128B_ATOM_32B_FLIP_8B
  128B_ATOM_64B), interleave (none 16B 32B), fill (zero nan). In place of box, for im2col maps:
  "im2col": {"lowerCorner": [-1, -1], "upperCorner": [-1, -1], "channelsPerPixel": 64, "pixelsPerColumn": 128}

Structures in JSON: ["i32:5", "ref:x+64", ["f32:1", "f32:2"], {"tmap": {...}}, "bytes:FILE"]
  fields are aligned as C++ does it; lists inside are structures inside

Example: y = a*x + y on 1000 floats, under ten random schedules
  ptxrun saxpy.ptx --kernel saxpy --grid 8 --block 128 --arg i32:1000 --arg f32:2.5 \
         --arg buf:x.npy --arg inout:y.npy:result.npy --policy random --seed 1 --repeat 10 --counters

Exit status: 0 all launches succeeded; 1 the command line or a file is wrong; 2 the PTX cannot be loaded;
3 a launch failed; 4 the outputs of repeated launches differ; 5 hazards were reported (--hazards warn).
)";

void listSemantics() {
  for (const Question& question : questions()) {
    fmt::print("{}  {}\n", question.id, question.text);
    for (size_t i = 0; i < question.alternatives.size(); ++i)
      fmt::print("    {}={}: {}{}\n", question.id, i, question.alternatives[i], i == 0 ? " (default)" : "");
  }
}

/// An option whose value is one of a few words.
template <class Value>
void addChoice(command_line::Parser& parser, const char* name, Value& value,
               const std::vector<std::pair<std::string, Value>>& choices, const char* text) {
  parser.option(
      name,
      [name, &value, choices](const std::string& word) {
        std::string known;
        for (const auto& [choice, chosen] : choices) {
          if (choice == word) {
            value = chosen;
            return;
          }
          known += (known.empty() ? "" : ", ") + choice;
        }
        throw command_line::Error(name, fmt::format("'{}' is none of {}", word, known));
      },
      text);
}

void chooseSemantics(const std::vector<std::string>& choices, shiftconv::emu::Options& options) {
  for (const std::string& choice : choices) {
    const size_t equals = choice.find('=');
    if (equals == std::string::npos) throw command_line::Error("--semantics", "'" + choice + "' is not of the form U3=1");
    if (const Error error = choose(options, choice.substr(0, equals), choice.substr(equals + 1)))
      throw command_line::Error("--semantics", fmt::format("{}: {}", choice, error.message));
  }
}

}  // namespace

bool parseCommandLine(int argc, char** argv, Options& options, int& exitCode) {
  command_line::Parser parser(
      "Loads a PTX file and runs one of its kernels on the emulated device that its .target names, instruction by instruction.",
      "ptxrun");
  parser.footer(kFooter);
  parser.columnWidth(34);
  std::vector<std::string> semantics;
  std::string semanticsFile;
  parser.option("ptx", options.ptxPath, "PTX file");
  parser.flag("--list", options.list, "Show the kernels and their parameters, and stop");
  parser.option("--kernel", options.kernel, "Kernel to run, by its PTX or its C++ name (needed when the file holds several)");
  // One word per option, so that the PTX file may follow it.
  const auto addList = [&parser](const char* name, auto& values, const char* text) {
    parser.option(name, values, text).separatedBy(',').oneArgumentEach();
  };
  addList("--grid", options.grid, "CTAs: x, or x,y,z (default 1)");
  addList("--block", options.block, "Threads per CTA: x, or x,y,z (default: .reqntid, else 1)");
  addList("--cluster", options.cluster, "CTAs per cluster: x, or x,y,z (default: .reqnctapercluster, else 1)");
  parser.option("--shared", options.dynamicSharedBytes, "Bytes of dynamic shared memory");
  parser.option("--arg", options.arguments, "Argument of the kernel; repeat in the order of the parameters").oneArgumentEach();
  parser.option("--buffer", options.buffers, "NAME=SPEC: a further buffer (SPEC: buf, out, inout, zeros), for ref and tmap")
      .oneArgumentEach();
  addChoice<Schedule>(
      parser, "--policy", options.machine.schedule,
      {{"earliest", Schedule::Earliest}, {"latest", Schedule::Latest}, {"random", Schedule::Random}, {"fair", Schedule::Fair}},
      "When asynchronous operations complete: earliest (default), latest, random, or fair (at issue, warps in turn)");
  parser.option("--seed", options.machine.seed, "Seed of the random policy (default 1); repetition i uses seed + i");
  addChoice<Numerics>(parser, "--numerics", options.machine.numerics, {{"hardware", Numerics::Hardware}, {"fast", Numerics::Fast}},
                      "Tensor core arithmetic: hardware (default, bit-level model) or fast (f32 FMA)");
  addChoice<Hazards>(parser, "--hazards", options.machine.hazards,
                     {{"off", Hazards::Off}, {"warn", Hazards::Warn}, {"error", Hazards::Error}},
                     "Look for races and missing fences: off (default), warn (report all of them) or error (stop at the first)");
  parser.option(
      "--severity", options.machine.severities,
      "Which hazards: race (a wrong result is possible), formal (the ISA asks for it, no known target needs it), unproven "
      "(rests on an open question); default race,formal,unproven");
  parser
      .option("--semantics", semantics,
              "U3=1: choose an alternative of an unproven tcgen05 behaviour; repeatable; `list` shows them all")
      .oneArgumentEach();
  parser.option("--semantics-file", semanticsFile,
                "JSON of the probe kit (tests/probe): the alternatives that a GPU was seen to follow; --semantics overrides it");
  parser.option("--instruction-limit", options.machine.instructionLimit,
                "Stop after so many warp instructions (default: no limit)");
  std::vector<std::pair<std::string, std::string>> devices;
  for (const Target& device : shiftconv::emu::devices()) devices.emplace_back(device.name, device.name);
  addChoice<std::string>(parser, "--device", options.machine.device, devices,
                         "The GPU that runs the file: sm_100a, sm_103a, sm_110a or sm_90a (default: as the file's .target says)");
  parser
      .option("--sms", options.machine.multiprocessors,
              "Multiprocessors of the device, two CTAs resident on each (default: as the GPU that it stands for)")
      .range(1u, 1024u);
  parser.option("--threads", options.machine.hostThreads, "Host threads (default: one per core)");
  parser.option("--repeat", options.repeat, "Launch so many times, each from the same buffer contents, and compare the outputs")
      .positive();
  parser.flag("--counters", options.counters, "Print what the last launch did, in numbers");
  addList("--roles", options.roles, "Names of the warps of a CTA in that table and in hazard reports: producer,mma,...");
  try {
    if (!parser.parseOrThrow(argc, argv)) {
      exitCode = exit_code::kSuccess;
      return false;
    }
    if (semantics == std::vector<std::string>{"list"}) {
      listSemantics();
      exitCode = exit_code::kSuccess;
      return false;
    }
    if (options.ptxPath.empty()) throw command_line::Error("ptx is required");
    if (!semanticsFile.empty())
      if (const Error error = readSemantics(options.machine, semanticsFile))
        throw command_line::Error("--semantics-file", error.message);
    chooseSemantics(semantics, options.machine);
    for (const auto& [name, numbers] :
         {std::pair{"--grid", &options.grid}, {"--block", &options.block}, {"--cluster", &options.cluster}})
      if (numbers->size() > 3) throw command_line::Error(name, "at most three numbers, x,y,z");
  } catch (const command_line::Error& error) {
    fmt::print(stderr, "ptxrun: {}\nRun ptxrun --help for the options.\n", error.what());
    exitCode = exit_code::kUsage;
    return false;
  }
  return true;
}

}  // namespace ptxrun
