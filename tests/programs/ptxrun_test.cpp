// The command line of ptxrun: listings, help, and errors that say what to do.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "tests/support/program_fixture.hpp"

namespace shiftconv::tests {
namespace {

class Ptxrun : public PtxrunTest {
 protected:
  /// The program must leave with that status and name every one of `parts` in its error text.
  void expectError(const std::vector<std::string>& arguments, int exitCode, const std::vector<std::string>& parts) const {
    const ProgramResult result = ptxrun(arguments);
    EXPECT_EQ(result.exitCode, exitCode) << result.output << result.errors;
    for (const std::string& part : parts)
      EXPECT_NE(result.errors.find(part), std::string::npos) << "no '" << part << "' in:\n" << result.errors;
  }

  static void expectParts(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
  }

  std::vector<std::string> panelGemm(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{ptx("tiled_gemm"), "--kernel", "row_panel_gemm"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return name;
  }
};

TEST_F(Ptxrun, ListShowsKernelsParametersAndDirectives) {
  expectParts(ptxrunOk({ptx("tiled_gemm"), "--list"}),
              {"kernel tiled_gemm", "kernel row_panel_gemm", "tiled_gemm_param_7", "sm_100a", "static shared memory: 2112 bytes",
               ".f32       4 bytes", ".u64       8 bytes"});
  expectParts(ptxrunOk({ptx("tma_pipeline"), "--list"}),
              {"kernel tma_pipeline", "128 bytes, aligned to 128 (tensor map?)", ".maxntid 160"});
}

TEST_F(Ptxrun, ThePtxFileMayStandAnywhere) {
  const std::string expected = ptxrunOk({ptx("tiled_gemm"), "--list"});
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--grid", "1,2"},
                                                  {"--roles", "a,b"},
                                                  {"--arg", "i32:1"},
                                                  {"--cluster", "1", "--semantics", "U3=0"}}) {
    std::vector<std::string> arguments = options;
    arguments.insert(arguments.end(), {ptx("tiled_gemm"), "--list"});
    EXPECT_EQ(ptxrunOk(arguments), expected) << options[0];
  }
}

TEST_F(Ptxrun, HelpIsComplete) {
  const std::string help = ptxrunOk({"--help"});
  for (const char* option : {"--sms",       "--device",         "struct:",    "16u6_align16b", "--list",
                             "--kernel",    "--grid",           "--block",    "--cluster",     "--shared",
                             "--arg",       "--buffer",         "--policy",   "--seed",        "--numerics",
                             "--semantics", "--semantics-file", "--counters", "--roles",       "--instruction-limit",
                             "--repeat",    "--threads"})
    EXPECT_NE(help.find(option), std::string::npos) << option;
  expectParts(help, {"inout:FILE:OUTPUT", "Tensor maps in JSON", "Example:", "Exit status"});
}

TEST_F(Ptxrun, UsageErrorsNameWhatIsWrong) {
  expectError({}, 1, {"ptx", "--help"});
  expectError({"absent.ptx", "--list"}, 1, {"absent.ptx", "cannot be opened"});
  expectError({ptx("tiled_gemm"), "--kernel", "sgemm"}, 1, {"no kernel 'sgemm'", "tiled_gemm, row_panel_gemm"});
  expectError({ptx("tiled_gemm")}, 1, {"several kernels", "--kernel", "row_panel_gemm"});
  expectError(panelGemm({"--arg", "i32:1"}), 1, {"row_panel_gemm takes 6 parameters, but 1 --arg", "--list"});
  expectError({ptx("tiled_gemm"), "--policy", "sometimes"}, 1, {"--policy", "'sometimes' is none of earliest, latest, random"});
  expectError({ptx("tiled_gemm"), "--hazards", "maybe"}, 1, {"'maybe' is none of off, warn, error"});
  expectError({ptx("tiled_gemm"), "--numerics", "exact"}, 1, {"'exact' is none of hardware, fast"});
  expectError({ptx("tiled_gemm"), "--sms", "0"}, 1, {"--sms"});
  expectError({ptx("tiled_gemm"), "--grid", "1,2,3,4"}, 1, {"--grid", "three"});
  expectError({ptx("tiled_gemm"), "--grid", "1,y"}, 1, {"--grid", "y"});
  expectError({ptx("tiled_gemm"), "--semantics", "U99=1"}, 1, {"U99=1"});
  expectError({ptx("tiled_gemm"), "--semantics", "U3=77"}, 1, {"U3=77", "names no alternative of U3", "0: the 8 columns"});
  expectError({ptx("tiled_gemm"), "--semantics-file", "absent.json"}, 1, {"--semantics-file", "absent.json"});
  const std::string wrong = file("wrong.json", R"({"semantics": {"U3": 77}})");
  expectError({ptx("tiled_gemm"), "--semantics-file", wrong}, 1, {"wrong.json", "names no alternative of U3", "0: the 8 columns"});
}

TEST_F(Ptxrun, ArgumentErrorsNameTheArgument) {
  const auto withFirst = [this](const std::string& first) {
    return panelGemm({"--arg", first, "--arg", "i32:1", "--arg", "i32:1", "--arg", "zeros:f32:4", "--arg", "zeros:f32:4", "--arg",
                      "zeros:f32:4"});
  };
  expectError(withFirst("i32:five"), 1, {"argument 0 (i32:five)", "'five' is no value of type i32"});
  expectError(withFirst("i32:2147483648"), 1, {"2147483648 does not fit into type i32"});
  expectError(withFirst("u32:-1"), 1, {"-1 does not fit into type u32"});
  expectError(withFirst("i64:1"), 1, {"argument 0", "8 bytes, but parameter row_panel_gemm_param_0 has 4"});
  expectError(withFirst("int:1"), 1, {"'int' is no kind of argument"});
  expectError(withFirst("5"), 1, {"KIND:VALUE"});
  expectError(withFirst("buf:absent.npy"), 1, {"absent.npy", "cannot be opened"});
  expectError(withFirst("out:x.npy:f33:4"), 1, {"'f33' is no element type", "f32"});
  expectError(withFirst("out:x.npy:f32:4by4"), 1, {"'4by4' is no shape"});
  expectError(withFirst("ref:7"), 1, {"there is no buffer '7'", "3, 4, 5"});
}

TEST_F(Ptxrun, TensorMapErrorsNameTheKey) {
  const auto withMap = [this](const std::string& map) {
    return std::vector<std::string>{
        ptx("tma_pipeline"), "--buffer", "x=zeros:f16:64x64", "--arg", "tmap:" + map, "--arg", "tmap:" + map, "--arg",
        "zeros:f32:64",      "--arg",    "zeros:f32:64",      "--arg", "i32:64",      "--arg", "i32:64"};
  };
  expectError(withMap("{"), 1, {"argument 0", "parse error"});
  expectError(withMap(R"({"buffer": "x", "type": "f16", "dims": [64, 64]})"), 1, {R"("box" is missing)"});
  expectError(withMap(R"({"buffer": "y", "type": "f16", "dims": [64, 64], "box": [64, 8]})"), 1, {"there is no buffer 'y'"});
  expectError(withMap(R"({"buffer": "x", "type": "half", "dims": [64, 64], "box": [64, 8]})"), 1, {R"("type" is "half")", "bf16"});
  expectError(withMap(R"({"buffer": "x", "type": "f16", "dims": [64, 64], "box": [64, 8], "swizle": "none"})"), 1,
              {R"("swizle" is no known key)"});
  expectError(withMap(R"({"buffer": "x", "type": "f16", "dims": [64, 64], "box": [64, 300]})"), 1,
              {"boxDim[1] is 300", "[1, 256]"});
  expectError(withMap(R"({"buffer": "x", "type": "f16", "dims": [64, 64], "box": [64]})"), 1,
              {R"("box" must be a list of 2 numbers)"});
}

TEST_F(Ptxrun, UnsupportedInstructionsAreNamedWithTheirLine) {
  expectError({ptx("unsupported"), "--list"}, 2, {"unsupported.ptx", "vadd2.u32.u32.u32.add", "9"});
  expectError({file("broken.ptx", ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k() { add.s32 %r1; \n"), "--list"}, 2,
              {"broken.ptx", "4"});
}

TEST_F(Ptxrun, OneUnsupportedInstructionRefusesOnlyTheKernelsThatReachIt) {
  const std::string file = ptx("partly_unsupported");
  const std::string list = ptxrunOk({file, "--list"});
  expectParts(list,
              {"kernel _Z7reachesv\n  reaches()\n  cannot be launched: kernel _Z7reachesv: 3 instructions cannot be executed.",
               "'vadd2.u32.u32.u32.add'", "and 1 more like it", "'vsub2.u32.u32.u32.add'", "kernel _ZN2ns5fillsEPjj"});
  EXPECT_EQ(list.find("'vadd2"), list.rfind("'vadd2")) << "each form once:\n" << list;
  expectError({file, "--kernel", "reaches"}, 2, {"kernel _Z7reachesv cannot be launched", "'vadd2.u32.u32.u32.add'", ":9, in"});
  ptxrunOk({file, "--kernel", "fills", "--block", "4", "--arg", "out:filled.npy:u32:5", "--arg", "u32:77"});
  EXPECT_EQ(read<uint32_t>("filled.npy"), (std::vector<uint32_t>{77, 77, 77, 77, 0xcbcbcbcb}));
}

TEST_F(Ptxrun, KernelsAreNamedAsInCpp) {
  const std::string file = ptx("partly_unsupported");
  for (const char* name : {"fills", "ns::fills", "ns::fills(unsigned int*, unsigned int)", "_ZN2ns5fillsEPjj"})
    ptxrunOk({file, "--kernel", name, "--block", "1", "--arg", "zeros:u32:1", "--arg", "u32:1"});
  expectError({file, "--kernel", "fill"}, 1, {"no kernel 'fill'", "ns::fills(unsigned int*, unsigned int)"});
  expectError({file}, 1, {"several kernels", "reaches()"});
}

TEST_F(Ptxrun, TheDeviceCanBeChosen) {
  const std::string text = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry count(.param .u64 given) {
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [given];
  mov.u32 %r1, %nsmid;
  st.global.u32 [%d1], %r1;
  ret;
})";
  const std::string path = file("count.ptx", text);
  const auto multiprocessors = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {path, "--arg", "out:result.npy:u32:1"});
    ptxrunOk(options);
    return read<uint32_t>("result.npy").at(0);
  };
  EXPECT_EQ(multiprocessors({}), 132u);
  EXPECT_EQ(multiprocessors({"--device", "sm_90a"}), 132u);
  EXPECT_EQ(multiprocessors({"--device", "sm_110a"}), 20u);
  EXPECT_EQ(multiprocessors({"--device", "sm_110a", "--sms", "5"}), 5u);
  expectError({path, "--arg", "out:result.npy:u32:1", "--device", "sm_90"}, 1,
              {"--device", "'sm_90' is none of sm_100a, sm_103a, sm_110a, sm_90a"});
  expectError({ptx("by_value"), "--buffer", "x=zeros:u32:6", "--arg", R"(struct:["i32:1", ["f32:1", "f32:2"], "ref:x", "i16:3"])",
               "--device", "sm_90a"},
              3, {"made for sm_100a, which an sm_90a device does not run"});
}

TEST_F(Ptxrun, StructuresAreListsOfFields) {
  const std::string run = R"(struct:["i32:-5", ["f32:1.5", "f32:-2"], "ref:x", "i16:300"])";
  ptxrunOk({ptx("by_value"), "--buffer", "x=zeros:u32:6:result.npy", "--arg", run, "--sms", "33"});
  EXPECT_EQ(read<uint32_t>("result.npy"), (std::vector<uint32_t>{0xfffffffb, 0x3fc00000, 0xc0000000, 300, 33, 0}));
  const std::string path = file("fields.json", R"(["i32:-5", ["f32:1.5", "f32:-2"], "ref:x+4", "i16:300"])");
  ptxrunOk({ptx("by_value"), "--buffer", "x=zeros:u32:6:result.npy", "--arg", "struct:" + path});
  EXPECT_EQ(read<uint32_t>("result.npy"), (std::vector<uint32_t>{0, 0xfffffffb, 0x3fc00000, 0xc0000000, 300, 148}));
  const auto expectRefused = [&](const std::string& fields, const std::vector<std::string>& parts) {
    expectError({ptx("by_value"), "--buffer", "x=zeros:u32:6", "--arg", "struct:" + fields}, 1, parts);
  };
  expectRefused(R"(["i32:-5"])", {"it has 4 bytes, but parameter given has 32"});
  expectRefused(R"([["i32:x"]])", {"the structure[0][0]: 'x' is no value of type i32"});
  expectRefused(R"(["ref:y"])", {"the structure[0]", "there is no buffer 'y'"});
  expectRefused(R"([5])", {"the structure[0]: a field is", "not 5"});
  expectRefused(R"(["buf:x.npy"])", {"--buffer", "ref:NAME"});
  expectRefused(R"([{"tmap": {"buffer": "x"}}])", {R"("type" is missing)"});
  expectRefused("[", {"parse error"});
}

TEST_F(Ptxrun, PackedTensorMapTypes) {
  const auto list = [](const std::string& type, const std::string& more) {
    return fmt::format(R"(struct:[{{"tmap": {{"buffer": "x", "type": "{}", "dims": [256, 8], "box": [128, 8]{}}}}}])", type, more);
  };
  // The maps are right: what is wrong is that the kernel takes 32 bytes.
  for (const char* type : {"16u4_align8b", "16u4_align16b", "16u6_align16b"})
    expectError({ptx("by_value"), "--buffer", "x=zeros:u8:4096", "--arg", list(type, R"(, "swizzle": "128B")")}, 1,
                {"it has 128 bytes, but parameter given has 32"});
  expectError({ptx("by_value"), "--buffer", "x=zeros:u8:4096", "--arg", list("16u5", "")}, 1, {"16u5", "16u6_align16b"});
}

TEST_F(Ptxrun, EveryKindOfBadFileIsOneSentence) {
  const auto expectSentence = [&](const std::vector<std::string>& arguments, int exitCode, const std::vector<std::string>& parts) {
    const ProgramResult result = ptxrun(arguments);
    EXPECT_EQ(result.exitCode, exitCode) << result.output << result.errors;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    expectParts(result.errors, parts);
  };
  const std::string here = folder.string();
  expectSentence({here, "--list"}, 1, {here, "is a directory"});
  const auto fill = [&](const std::string& argument) {
    return std::vector<std::string>{ptx("partly_unsupported"), "--kernel", "fills", "--arg", argument, "--arg", "u32:1"};
  };
  expectSentence(fill("buf:" + here), 1, {here, "is a directory"});
  expectSentence(fill("inout:" + here + ":x.npy"), 1, {"is a directory"});
  expectSentence(fill("bytes:" + here), 1, {"is a directory"});
  expectSentence(fill("tmap:" + here), 1, {"is a directory"});
  expectSentence(fill("struct:" + here), 1, {"is a directory"});
  expectSentence(fill("out:" + here + ":u32:1"), 1, {"cannot be written", "directory"});
  expectSentence(fill("out:/nonexistent/x.npy:u32:1"), 1, {"/nonexistent/x.npy: cannot be written"});
  expectSentence(fill("buf:" + file("cut.npy", std::string("\x93NUMPY\x01\x00", 8))), 1, {"cut.npy"});
  expectSentence(fill("buf:" + file("short.npy", "no array")), 1, {"short.npy", "no .npy file"});
  const ProgramResult usage = ptxrun({ptx("by_value"), "--semantics-file", here});
  EXPECT_EQ(usage.exitCode, 1);
  expectParts(usage.errors, {"--semantics-file", here});
  EXPECT_TRUE(std::filesystem::is_empty(folder) || !std::filesystem::exists(folder / "x.npy"));
}

TEST_F(Ptxrun, OutputsAreCheckedBeforeTheLaunchAndLeftAlone) {
  file("kept.npy", "precious");
  expectError({ptx("partly_unsupported"), "--kernel", "fills", "--block", "3000", "--arg", "out:kept.npy:u32:1", "--arg", "u32:1"},
              3, {"3000"});
  std::ifstream kept(folder / "kept.npy");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "precious");
}

TEST_F(Ptxrun, SemanticsCanBeListed) { expectParts(ptxrunOk({"--semantics", "list"}), {"U1  ", "U3=0", "(default)", "U29  "}); }

TEST_F(Ptxrun, TargetsAreHonouredOrRefusedByName) {
  const auto entry = [](const char* target) {
    return fmt::format(".version 9.0\n.target {}\n.address_size 64\n.visible .entry k() {{ ret; }}\n", target);
  };
  expectParts(ptxrunOk({file("hopper.ptx", entry("sm_90a")), "--list"}), {"sm_90a"});
  expectError({file("other.ptx", entry("sm_120a")), "--list"}, 2, {"sm_120a"});
}

TEST_F(Ptxrun, FaultsOfTheKernelAreReported) {
  // 19 elements per row are promised, but the buffers hold fewer: the first access after the end is reported.
  expectError(panelGemm({"--block", "32", "--shared", "76", "--arg", "i32:1", "--arg", "i32:67", "--arg", "i32:19", "--arg",
                         "zeros:f32:19", "--arg", "zeros:f32:100", "--arg", "out:c.npy:f32:67"}),
              3, {"launch 1 of 1 failed", "row_panel_gemm", "ld.global", "tiled_gemm.cu"});
  EXPECT_FALSE(std::filesystem::exists(folder / "c.npy")) << "a failed launch must leave no output";
  expectError(panelGemm({"--block", "32", "--shared", "76", "--instruction-limit", "5", "--arg", "i32:1", "--arg", "i32:1", "--arg",
                         "i32:19", "--arg", "zeros:f32:19", "--arg", "zeros:f32:19", "--arg", "zeros:f32:1"}),
              3, {"limit"});
  expectError(panelGemm({"--block", "2000", "--arg", "i32:1", "--arg", "i32:1", "--arg", "i32:1", "--arg", "zeros:f32:1", "--arg",
                         "zeros:f32:1", "--arg", "zeros:f32:1"}),
              3, {"2000"});
}

// The consumer reads a tile without waiting for the mbarrier: some schedule must show it.
TEST_F(Ptxrun, DifferentOutputsOfRepeatedLaunchesAreNoticed) {
  write("x.npy", "i32", {64}, [] {
    std::vector<int32_t> values(64);
    for (int i = 0; i < 64; ++i) values[static_cast<size_t>(i)] = i * i + 1;
    return values;
  }());
  const ProgramResult result = ptxrun({ptx("missing_wait"), "--block", "64", "--arg", "buf:x.npy", "--arg", "out:y.npy:i32:64",
                                       "--policy", "random", "--repeat", "20"});
  EXPECT_EQ(result.exitCode, 4) << result.output << result.errors;
  expectParts(result.errors, {"differ from those of launch 1"});
  expectError({ptx("missing_wait"), "--block", "64", "--arg", "buf:x.npy", "--arg", "out:y.npy:i32:32"}, 3,
              {"missing_wait", "st.global"});
}

// With the copy completing at issue the output is right: only the checker sees that nobody waited.
TEST_F(Ptxrun, HazardsAreReportedWithBothSourceLinesAndAnExitStatus) {
  write("x.npy", "i32", {64}, std::vector<int32_t>(64, 7));
  const std::vector<std::string> command{ptx("missing_wait"), "--block", "64",           "--arg", "buf:x.npy", "--arg",
                                         "out:y.npy:i32:64",  "--roles", "loader,reader"};
  EXPECT_EQ(ptxrun(command).exitCode, 0);
  std::vector<std::string> watched = command;
  watched.insert(watched.end(), {"--hazards", "warn"});
  const ProgramResult warned = ptxrun(watched);
  EXPECT_EQ(warned.exitCode, 5) << warned.output << warned.errors;
  expectParts(warned.errors, {"hazard (race) in kernel missing_wait: read of shared memory bytes", "(loader), lane",
                              "missing_wait.cu:", "cp.async.bulk load", "missing: a wait for the mbarrier", "different hazards"});
  watched.back() = "error";
  const ProgramResult stopped = ptxrun(watched);
  EXPECT_EQ(stopped.exitCode, 3) << stopped.output << stopped.errors;
  expectParts(stopped.errors, {"launch 1 of 1 failed", "hazard"});
}

}  // namespace
}  // namespace shiftconv::tests
