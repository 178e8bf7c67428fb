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
TEST_F(Programs, WarpgroupGemm) { expectRight("warpgroup_gemm"); }
TEST_F(Programs, OpaqueFragmentsGemm) { expectRight("wmma_gemm"); }
TEST_F(Programs, Graphs) { expectRight("graphs"); }

/// Right under every schedule, and no race: what is formal is reported when it is asked for.
class Idioms : public Programs {
 protected:
  void expectNoRace(const std::string& name, const std::string& which, const std::string& formal) const {
    for (const std::vector<std::string>& schedule : {std::vector<std::string>{"--policy", "earliest"},
                                                     {"--policy", "latest"},
                                                     {"--policy", "random", "--seed", "7"},
                                                     {"--policy", "random", "--seed", "8"}}) {
      std::vector<std::string> options = schedule;
      options.insert(options.end(), {"--hazards", "warn", "--instruction-limit", "20000000"});
      const ProgramResult all = run(options, name, {which});
      EXPECT_TRUE(all.output.ends_with("ok\n")) << which << ' ' << schedule.back() << '\n' << all.output << all.errors;
      EXPECT_EQ(all.exitCode, formal.empty() ? 0 : 5) << which << '\n' << all.errors;
      expectParts(all.errors, {formal.empty() ? "emurun: no hazards in" : formal});
      options.insert(options.end(), {"--severity", "race"});
      const ProgramResult races = run(options, name, {which});
      EXPECT_EQ(races.exitCode, 0) << which << '\n' << races.errors;
      expectParts(races.errors, {"emurun: no hazards in 1 launch"});
    }
  }
};

TEST_F(Idioms, TicketReduction) { expectNoRace("idioms", "ticket", ""); }
TEST_F(Idioms, CopiesOfEachThreadsOwn) { expectNoRace("idioms", "copies", ""); }
TEST_F(Idioms, EqualWrites) { expectNoRace("idioms", "equal", "both store the same value"); }
TEST_F(Idioms, GenericAddressesOfARingOfBulkCopies) {
  expectNoRace("generic_addresses", "ring", "generic address for .shared, formal");
}
TEST_F(Idioms, GenericAddressOfAnAllocation) {
  expectNoRace("generic_addresses", "tensor_memory", "generic address for .shared, formal");
}
TEST_F(Idioms, GenericAddressesOfTiles) { expectNoRace("generic_addresses", "tiles", "generic address for .shared, formal"); }

TEST_F(Programs, LaunchesThatFailHaveAStatusAndAnHonestSummary) {
  const ProgramResult failed = run({"--hazards", "warn"}, "careless", {"fail"});
  EXPECT_EQ(failed.exitCode, 6) << failed.output << failed.errors;
  EXPECT_EQ(failed.output, "ok\n");
  // The race that the failing launch had seen is reported, once, and counts; kernels have short names.
  expectParts(failed.errors, {"hazard (race) in kernel careless::scatter<...>:", "emurun: 1 launch failed: see above\n",
                              "emurun: 1 different hazard (1 race) in 2 launches\n", "\n      inlined at "});
  for (const char* once : {"hazard (race)", "careless.cu:7", "careless.cu:9, ", "careless.cu:19\n"}) {
    const size_t first = failed.errors.find(once);
    EXPECT_NE(first, std::string::npos) << failed.errors;
  }
  EXPECT_EQ(failed.errors.find("hazard (race)", failed.errors.find("hazard (race)") + 1), std::string::npos) << failed.errors;
  EXPECT_EQ(failed.errors.find("no hazards"), std::string::npos) << failed.errors;
  EXPECT_EQ(failed.errors.find("AStructureWithALongName"), std::string::npos) << failed.errors;
  EXPECT_EQ(run({}, "careless", {"fail"}).exitCode, 6);
  EXPECT_EQ(run({"--hazards", "warn"}, "careless", {"fine"}).exitCode, 0);
}

TEST_F(Programs, NodesOfGraphs) { expectRight("graph_nodes"); }
TEST_F(Programs, ConditionalNodesOfGraphs) { expectRight("conditional"); }
TEST_F(Programs, HeapOfKernels) { expectRight("heap"); }
TEST_F(Programs, Arrays) { expectRight("arrays"); }

TEST_F(Programs, WrongCallsGiveTheirCodes) {
  for (const char* program : {"wrong_calls", "wrong_arguments", "null_results"}) {
    const ProgramResult result = run({"--sms", "16"}, program);
    EXPECT_EQ(result.exitCode, 0) << program << ": " << result.output << result.errors;
  }
}

TEST_F(Programs, MisuseOfTheHeapIsNamed) {
  const ProgramResult twice = run({}, "heap", {"twice"});
  EXPECT_EQ(twice.exitCode, 6) << twice.output << twice.errors;
  expectParts(twice.errors, {"lane 0: free of 0x", "which is no block of the device's heap, or no more", "heap.cu:"});
  const ProgramResult behind = run({}, "heap", {"behind"});
  EXPECT_EQ(behind.exitCode, 6) << behind.output << behind.errors;
  expectParts(behind.errors, {"outside every allocation", "8-byte allocation", "heap.cu:"});
}

TEST_F(Programs, WaitsOrderTheWorkOfAllStreams) {
  for (const char* wait :
       {"stream", "device", "event", "free", "copy", "destroyed", "query", "event_query", "driver_stream", "driver_query",
        "driver_event", "driver_event_query", "driver_context", "driver_free", "driver_copy", "graph_waits"}) {
    SCOPED_TRACE(wait);
    expectRight("waits", {wait});
  }
  for (const char* wait : {"copied_in", "copied_across"})
    expectRace("waits", {wait}, {"hazard (race)", "memcpy", "copy", "waits.cu:"});
  for (const char* wait : {"nothing", "third_stream", "graph_waits_elsewhere"})
    expectRace("waits", {wait}, {"hazard (race)", "fill", "copy", "waits.cu:"});
}

TEST_F(Programs, DependentKernelsRaceUntilTheyWait) {
  for (const char* how : {"launched", "driver", "passed", "captured", "captured_driver", "captured_passed", "nodes", "edges"}) {
    expectRight("dependent", {how, "waits"});
    expectRace("dependent", {how, "early"},
               {"hazard (race)", "fill", "copy", "dependent.cu:", "programmatic dependent launch", "griddepcontrol.wait"});
  }
  // Nothing overlaps.
  for (const char* how : {"forbidden", "stream_waits", "event_waits", "memset", "captured_memset", "full_edges"})
    expectRight("dependent", {how, "early"});
}

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
  expectRace("streams", {"race"},
             {"hazard (race)", "fill", "copy", "streams.cu:", "is in stream", "1 different hazard (1 race) in"});
  expectRace("streams", {"nonblocking"}, {"hazard (race)", "fill", "copy", "streams.cu:"});
}

TEST_F(Programs, AGraphThatLacksAnEdgeRaces) { expectRace("graphs", {"race"}, {"hazard (race)", "memset", "add", "graphs.cu:"}); }

TEST_F(Programs, AMulticastToAPeerThatIsNotReadyIsReported) {
  const ProgramResult result = run({"--hazards", "warn"}, "tensor_gemm", {"race"});
  EXPECT_NE(result.exitCode, 0) << result.output << result.errors;
  expectParts(result.errors, {"hazard (mbarrier lifetime)", "gemm", "bulk_copy.cuh:", "missing: a barrier"});
}

TEST_F(Programs, AMulticastIntoAStageThatThePeerStillReadsIsReported) {
  const ProgramResult result = run({"--hazards", "warn"}, "warpgroup_gemm", {"race"});
  EXPECT_NE(result.exitCode, 0) << result.output << result.errors;
  expectParts(result.errors, {"hazard (race)", "gemm", "bulk_copy.cuh:"});
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
    EXPECT_EQ(result.exitCode, 6) << which << '\n' << result.output << result.errors;
    EXPECT_EQ(result.output, fmt::format("{}\nok\n", text));
    expectParts(result.errors, {report, "faults.cu:"});
  }
}

TEST_F(Programs, ErrorsLeaveTheDeviceAndMissingFunctionsAreNamed) {
  const ProgramResult result = run({"--sms", "21"}, "errors");
  EXPECT_EQ(result.exitCode, 0) << result.output << result.errors;
  expectParts(result.output, {"21 multiprocessors", "ok\n"});
  expectParts(result.errors, {"the program calls cudaCreateTextureObject, which the emulated device does not have"});
}

}  // namespace
}  // namespace shiftconv::tests
