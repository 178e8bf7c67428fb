// Every test program under every schedule, with the hazard checker looking.
#include <regex>

#include "tests/runtime/emurun_fixture.hpp"

namespace shiftconv::tests {
namespace {

class Programs : public EmurunTest {
 protected:
  /// The program's own checks must hold under every schedule, and the checker must have nothing to say.
  void expectRight(const std::string& name, const std::vector<std::string>& arguments = {}) const {
    for (const std::vector<std::string>& schedule :
         {std::vector<std::string>{"--policy", "earliest"}, {"--policy", "latest"}, {"--policy", "random", "--seed", "7"}}) {
      std::vector<std::string> options = schedule;
      options.insert(options.end(), {"--hazards", "warn", "--instruction-limit", "20000000"});  // rather than hang
      const ProgramResult result = run(options, name, arguments);
      EXPECT_EQ(result.exitCode, 0) << name << ' ' << schedule[1] << '\n' << result.output << result.errors;
      EXPECT_TRUE(result.output.ends_with("ok\n")) << result.output;
      expectParts(result.errors, {"emurun: no hazards in"});
    }
  }

  /// The results are right, but the checker sees that this is luck.
  void expectRace(const std::string& name, const std::vector<std::string>& arguments, const std::vector<std::string>& parts) const {
    const ProgramResult result = run({"--hazards", "warn"}, name, arguments);
    EXPECT_EQ(result.exitCode, 5) << result.output << result.errors;
    EXPECT_TRUE(result.output.ends_with("ok\n")) << result.output;
    expectParts(result.errors, parts);
  }
};

TEST_F(Programs, VectorAddOfEveryKindOfFatBinary) {
  expectRight("vector_add");
  expectRight("vector_add_plain");
  expectRight("vector_add_small");
}

TEST_F(Programs, SeveralTranslationUnits) { expectRight("two_units"); }
TEST_F(Programs, Symbols) { expectRight("symbols"); }
TEST_F(Programs, ClustersSharedMemoryAndOccupancy) { expectRight("clusters"); }
TEST_F(Programs, CooperativeLaunch) { expectRight("cooperative"); }
TEST_F(Programs, MemoryOfEveryKind) { expectRight("copies"); }
TEST_F(Programs, DriverApi) { expectRight("driver"); }
TEST_F(Programs, TensorCoreGemm) { expectRight("tensor_gemm"); }
TEST_F(Programs, Graphs) { expectRight("graphs"); }

TEST_F(Programs, DevicePrintfComesBetweenWhatTheHostPrints) {
  const ProgramResult result = run({}, "printing");
  EXPECT_EQ(result.exitCode, 0) << result.errors;
  EXPECT_EQ(result.output, "before\nblock 0 of 1: device, 0.00, a,     0|ff  |%\nafter\nok\n");
}

TEST_F(Programs, StreamsAreOrderedByEventsAndByTheLegacyStream) {
  expectRight("streams", {"ordered"});
  expectRight("streams", {"legacy"});
}

TEST_F(Programs, StreamsThatNobodyOrdersRace) {
  expectRace("streams", {"race"}, {"hazard (race)", "fill", "copy", "streams.cu:", "is in stream"});
  expectRace("streams", {"nonblocking"}, {"hazard (race)", "fill", "copy", "streams.cu:"});
}

TEST_F(Programs, AGraphThatLacksAnEdgeRaces) { expectRace("graphs", {"race"}, {"hazard (race)", "memset", "add", "graphs.cu:"}); }

TEST_F(Programs, AMulticastToAPeerThatIsNotReadyIsReported) {
  const ProgramResult result = run({"--hazards", "warn"}, "tensor_gemm", {"race"});
  EXPECT_NE(result.exitCode, 0) << result.output << result.errors;
  expectParts(result.errors, {"hazard (mbarrier lifetime)", "gemm", "bulk_copy.cuh:", "missing: a barrier"});
}

TEST_F(Programs, HazardsAsErrorsEndTheLaunch) {
  const ProgramResult result = run({"--hazards", "error"}, "streams", {"race"});
  EXPECT_EQ(result.exitCode, 3) << result.output << result.errors;
  expectParts(result.output, {"cudaErrorLaunchFailure"});
}

TEST_F(Programs, FaultsStick) {
  for (const auto& [which, text, report] :
       {std::tuple{"assert", "device-side assert triggered", "assertion 'value == 4711' failed"},
        {"trap", "unspecified launch failure", "trap"},
        {"stray", "an illegal memory access was encountered", "outside every allocation"},
        {"misaligned", "misaligned address", "needs an address that is a multiple of 4"}}) {
    const ProgramResult result = run({}, "faults", {which});
    EXPECT_EQ(result.exitCode, 0) << which << '\n' << result.output << result.errors;
    EXPECT_EQ(result.output, fmt::format("{}\nok\n", text));
    expectParts(result.errors, {report, "faults.cu:"});
  }
}

TEST_F(Programs, ErrorsLeaveTheDeviceAndMissingFunctionsAreNamed) {
  const ProgramResult result = run({"--sms", "21"}, "errors");
  EXPECT_EQ(result.exitCode, 0) << result.output << result.errors;
  expectParts(result.output, {"21 multiprocessors", "ok\n"});
  expectParts(result.errors, {"the program calls cudaMallocArray, which the emulated device does not have"});
}

}  // namespace
}  // namespace shiftconv::tests
