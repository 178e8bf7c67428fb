// The command line of emurun: options that reach the program, and one sentence for everything that cannot be run.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/runtime/emurun_fixture.hpp"

namespace shiftconv::tests {
namespace {

namespace fs = std::filesystem;

class Emurun : public EmurunTest {
 protected:
  std::string textOf(const std::string& name) const {
    std::ifstream file(folder / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The first `bytes` of a program, executable.
  std::string truncated(const std::string& name, size_t bytes) const {
    std::ifstream file(program(name), std::ios::binary);
    std::string text(bytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(bytes));
    return executable("truncated", text);
  }
  /// A program that names another file, which is nowhere, instead of a loader or a library.
  std::string edited(const std::string& name, const std::string& file) const {
    std::ifstream original(program(name), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(original), {}};
    const size_t at = text.find(file);
    EXPECT_NE(at, std::string::npos);
    text[at + file.size() - 1] = '?';
    return executable("edited", text);
  }
  std::string executable(const std::string& name, const std::string& bytes) const {
    const fs::path path = folder / name;
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
};

TEST_F(Emurun, ProgramsKeepTheirArgumentsAndStatus) {
  EXPECT_EQ(run({"--numerics", "fast"}, "faults", {"trap"}).exitCode, 6);  // it succeeds although its launch fails
  EXPECT_EQ(emurun({"--", program("vector_add"), "--policy", "nonsense"}).exitCode, 0);
  EXPECT_EQ(run({}, "streams", {"--hazards"}).exitCode, 0);  // an argument of the program
}

TEST_F(Emurun, CountersTracesAndLogs) {
  const ProgramResult result = run({"--counters", "--trace", "--log", "log.txt", "--hazards", "warn"}, "vector_add");
  EXPECT_EQ(result.exitCode, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  expectParts(textOf("log.txt"), {"1 launch", "cudaMalloc -> cudaSuccess", "threads", "no hazards in 1 launch"});
}

TEST_F(Emurun, PtxThatReportsNameIsKept) {
  const ProgramResult result = run({"--dump-ptx", "made/ptx"}, "careless", {"fail"});
  const std::string ptx = textOf("made/ptx/1.ptx");
  expectParts(result.errors, {"the PTX of ", "/made/ptx/1.ptx\n"});
  expectParts(ptx, {".target sm_100a", ".entry", "scatter"});
  // The line that the failure names is that of the store.
  const size_t at = result.errors.find("PTX line ");
  ASSERT_NE(at, std::string::npos) << result.errors;
  std::istringstream lines(ptx);
  std::string line;
  for (int number = std::stoi(result.errors.substr(at + 9)); number > 0; --number) std::getline(lines, line);
  EXPECT_NE(line.find("st.global"), std::string::npos) << line;
}

/// Every option that --help lists, with a value that is right and one that is wrong.
TEST_F(Emurun, OptionsOfTheHelpAreThere) {
  struct Option {
    std::string right, wrong;  ///< none: it takes no value, or any
  };
  const std::map<std::string, Option> options = {{"--policy", {"fair", "sometimes"}},
                                                 {"--dump-ptx", {"ptx", ""}},
                                                 {"--seed", {"18446744073709551615", "-1"}},
                                                 {"--hazards", {"error", "loud"}},
                                                 {"--severity", {"race,formal", "dire"}},
                                                 {"--numerics", {"fast", "slow"}},
                                                 {"--semantics", {"U3=1", "U3=77"}},
                                                 {"--semantics-file", {"", "/nonexistent.json"}},
                                                 {"--device", {"sm_103a", "sm_70"}},
                                                 {"--sms", {"1024", "1025"}},
                                                 {"--threads", {"2", "two"}},
                                                 {"--instruction-limit", {"1000000", "1e6"}},
                                                 {"--log", {"log.txt", ""}},
                                                 {"--counters", {"", ""}},
                                                 {"--trace", {"", ""}},
                                                 {"--help", {"", ""}}};
  const ProgramResult help = emurun({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  for (size_t at = help.output.find("  --"); at != std::string::npos; at = help.output.find("  --", at + 1)) {
    const std::string name = help.output.substr(at + 2, help.output.find_first_of(" ,\n", at + 2) - at - 2);
    EXPECT_TRUE(options.contains(name)) << name;
  }
  for (const auto& [name, option] : options) {
    SCOPED_TRACE(name);
    EXPECT_NE(help.output.find(name), std::string::npos);
    if (!option.right.empty()) {
      const ProgramResult right = run({name, option.right}, name == "--device" ? "device_103f" : "vector_add");
      EXPECT_EQ(right.exitCode, 0) << right.errors;
    }
    if (!option.wrong.empty()) {
      const ProgramResult wrong = run({name, option.wrong}, "vector_add");
      EXPECT_EQ(wrong.exitCode, 1);
      expectParts(wrong.errors, {name, "Run emurun --help for the options."});
    }
  }
  const ProgramResult limited = run({"--instruction-limit", "3"}, "vector_add");
  EXPECT_NE(limited.exitCode, 0);
  expectParts(limited.errors, {"cudaErrorLaunchTimeout"});
}

/// A variable of the environment, as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// What options set can stand in the environment, too; a program that is given something else does not run.
TEST_F(Emurun, VariablesOfTheEnvironmentAreOptions) {
  for (const auto& [name, right, wrong] : {std::tuple{"EMURUN_SCHEDULE", "latest", "sometimes"},
                                           {"EMURUN_SEED", "7", "many"},
                                           {"EMURUN_HAZARDS", "error", "loud"},
                                           {"EMURUN_SEVERITY", "race", "dire"},
                                           {"EMURUN_NUMERICS", "fast", "slow"},
                                           {"EMURUN_SEMANTICS", "U3=1,U4=1", "U3=1,U4=77"},
                                           {"EMURUN_SEMANTICS", "", "U3"},
                                           {"EMURUN_SEMANTICS_FILE", "", "/nonexistent.json"},
                                           {"EMURUN_HOST_THREADS", "1", "two"},
                                           {"EMURUN_INSTRUCTION_LIMIT", "1000000", "1e6"},
                                           {"EMURUN_DEVICE", "sm_100a", "sm_70"},
                                           {"EMURUN_DEVICE", "", "H200"},
                                           {"EMURUN_SMS", "1", "0"},
                                           {"EMURUN_SMS", "1024", "1025"},
                                           {"EMURUN_SMS", "", "7x"}}) {
    SCOPED_TRACE(name);
    {
      const Variable variable(name, right);
      const ProgramResult result = run({}, "vector_add");
      EXPECT_EQ(result.exitCode, 0) << result.errors;
    }
    const Variable variable(name, wrong);
    const ProgramResult result = run({}, "vector_add");
    EXPECT_EQ(result.exitCode, 1) << wrong;
    EXPECT_EQ(result.output, "") << wrong;
    expectParts(result.errors, {std::string("emurun: ") + name});
  }
  const Variable limit("EMURUN_INSTRUCTION_LIMIT", "3");
  expectParts(run({}, "vector_add").errors, {"cudaErrorLaunchTimeout"});
}

/// The libraries do without emurun where the loader finds them.
TEST_F(Emurun, ProgramsRunWithoutItByTheLibrariesAlone) {
  const Variable path("LD_LIBRARY_PATH", (fs::path(SHIFTCONV_EMURUN).parent_path().parent_path() / "lib/emulated_cuda").string());
  const ProgramResult result = runProgram(program("vector_add"), {}, folder);
  EXPECT_EQ(result.exitCode, 0) << result.errors;
  EXPECT_TRUE(result.output.ends_with("ok\n")) << result.output;
  {
    const Variable descriptor("EMURUN_RESULT_FD", "seven");
    EXPECT_EQ(runProgram(program("vector_add"), {}, folder).exitCode, 0) << "nobody to tell";
  }
  const Variable log("EMURUN_LOG", "/nonexistent/log"), trace("EMURUN_TRACE", "1");
  const ProgramResult spoken = runProgram(program("vector_add"), {}, folder);
  EXPECT_EQ(spoken.exitCode, 0);
  expectParts(spoken.errors,
              {"emurun: the log /nonexistent/log cannot be written: No such file", "emurun: cudaMalloc -> cudaSuccess"});
}

/// A program that a signal ends, and one that never calls the API: a script, which emurun starts like a program.
TEST_F(Emurun, ASignalAndSilenceAreSaid) {
  const ProgramResult ended = emurun({executable("script", "#!/bin/sh\nkill -SEGV $$\n")});
  EXPECT_EQ(ended.exitCode, 128 + 11) << ended.errors;
  EXPECT_EQ(ended.errors,
            "emurun: the program made no call to the CUDA API\n"
            "emurun: the program was ended by signal 11 (Segmentation fault)\n");
  const ProgramResult left = emurun({executable("script", "#!/bin/sh\nexit 7\n")});
  EXPECT_EQ(left.exitCode, 7);
  EXPECT_EQ(left.errors, "emurun: the program made no call to the CUDA API\n");
}

TEST_F(Emurun, SchedulesAreFour) {
  for (const char* policy : {"earliest", "latest", "random", "fair"})
    EXPECT_EQ(run({"--policy", policy}, "vector_add").exitCode, 0) << policy;
}

/// What three launches saw of copies that nobody waited for: a line each, a letter for each thread.
TEST_F(Emurun, EachLaunchHasASeedOfItsOwn) {
  const auto seen = [&](const std::vector<std::string>& options) {
    const ProgramResult result = run(options, "idioms", {"peek"});
    EXPECT_EQ(result.exitCode, 0) << result.errors;
    std::istringstream text(result.output);
    std::vector<std::string> lines(3);
    for (std::string& line : lines) std::getline(text, line);
    return lines;
  };
  EXPECT_EQ(seen({"--policy", "latest"}), std::vector<std::string>(3, std::string(96, 'A' + 40)));
  const auto first = seen({"--policy", "random"}), next = seen({"--policy", "random", "--seed", "2"});
  EXPECT_EQ(first, seen({"--policy", "random", "--seed", "1"}));
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
  for (const size_t launch : {0, 1}) EXPECT_EQ(next[launch], first[launch + 1]) << "launch i uses seed + i";
}

TEST_F(Emurun, SemanticsCanBeListed) {
  const ProgramResult result = emurun({"--semantics", "list"});
  EXPECT_EQ(result.exitCode, 0);
  expectParts(result.output, {"U3  ", "U3=0", "(default)", "U3=1"});
}

TEST_F(Emurun, WrongCommandLines) {
  const auto expectUsage = [&](const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
    const ProgramResult result = emurun(arguments);
    EXPECT_EQ(result.exitCode, 1) << result.output << result.errors;
    expectParts(result.errors, parts);
  };
  expectUsage({}, {"no program was named"});
  expectUsage({"--policy", "sometimes", program("vector_add")}, {"--policy", "sometimes", "earliest"});
  expectUsage({"--seed", "many", program("vector_add")}, {"--seed", "many"});
  expectUsage({"--sms", "0", program("vector_add")}, {"--sms", "0"});
  expectUsage({"--semantics", "U3", program("vector_add")}, {"--semantics", "U3"});
  expectUsage({"--semantics", "U99=1", program("vector_add")}, {"U99"});
  expectUsage({"--semantics-file", folder.string(), program("vector_add")}, {"--semantics-file"});
  expectUsage({"--nonsense", program("vector_add")}, {"--nonsense"});
}

TEST_F(Emurun, WhatCannotBeRunIsOneSentence) {
  expectSentence(emurun({folder.string()}), 2, {"is a directory"});
  expectSentence(emurun({"./absent"}), 2, {"./absent does not exist"});
  expectSentence(emurun({"absent-from-path"}), 2, {"no program absent-from-path on PATH"});
  expectSentence(emurun({"/dev/null"}), 2, {"no regular file"});
  std::ofstream(folder / "text") << "hello";
  expectSentence(emurun({"./text"}), 2, {"not executable"});
  fs::permissions(folder / "text", fs::perms::owner_all);
  expectSentence(emurun({"./text"}), 2, {"./text", "is"});
  expectSentence(emurun({"/bin/ls"}), 2, {"no CUDA program"});
  expectSentence(emurun({program("vector_add_static")}), 2, {"-cudart shared"});
  for (const size_t bytes : {0, 3, 40, 64, 700, 5000}) {
    const ProgramResult result = emurun({truncated("vector_add", bytes)});
    expectSentence(result, 2, {"truncated"});
  }
  expectSentence(emurun({edited("vector_add", "/ld-linux-x86-64.so.2")}), 2, {"cannot be started"});
  const std::string lacking = edited("vector_add", "libstdc++.so.6");
  expectSentence(emurun({lacking}), 2,
                 {"emurun: " + lacking + " cannot be loaded: " + lacking +
                  ": error while loading shared libraries: "
                  "libstdc++.so.?: cannot open shared object file: No such file or directory\n"});
  expectSentence(emurun({"--log", "/nonexistent/log", program("vector_add")}), 2, {"/nonexistent/log cannot be written"});
  expectSentence(emurun({"--log", folder.string(), program("vector_add")}), 2, {"cannot be written"});
}

TEST_F(Emurun, AProgramWithoutPtxIsOneSentence) {
  const ProgramResult result = run({}, "vector_add_machine_code");
  expectSentence(result, 3, {"holds no PTX", "machine code of sm_100", "-gencode arch=compute_100a,code=compute_100a"});
  expectParts(result.output, {"cudaErrorNoKernelImageForDevice"});
}

}  // namespace
}  // namespace shiftconv::tests
