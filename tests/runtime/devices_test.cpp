// Which device a program gets: what its device code asks for, or the one that --device names.
#include "tests/runtime/emurun_fixture.hpp"

namespace shiftconv::tests {
namespace {

class Devices : public EmurunTest {
 protected:
  void expectDevice(const std::vector<std::string>& options, const std::string& name, const std::string& line) const {
    const ProgramResult result = run(options, name);
    EXPECT_EQ(result.exitCode, 0) << result.output << result.errors;
    EXPECT_EQ(result.output, line + "\nok\n");
    EXPECT_EQ(result.errors, "");
  }
};

TEST_F(Devices, TheProgramsDeviceCodeChooses) {
  const auto b200 = [](int code) {
    return fmt::format(
        "emulated sm_100a 10.0, 148 multiprocessors of 2048 threads and 232448 bytes, L2 132644864, bus 8192, code for {}", code);
  };
  expectDevice({}, "device_80", b200(80));
  expectDevice({}, "device_90a_100a", b200(100));
  expectDevice({}, "device_90a",
               "emulated sm_90a 9.0, 132 multiprocessors of 2048 threads and 232448 bytes, L2 62914560, bus 6144, code for 90");
  expectDevice({}, "device_103f",
               "emulated sm_103a 10.3, 148 multiprocessors of 2048 threads and 232448 bytes, L2 132644864, bus 8192, code for 103");
  expectDevice({}, "device_110a",
               "emulated sm_110a 11.0, 20 multiprocessors of 1536 threads and 232448 bytes, L2 33554432, bus 256, code for 110");
}

TEST_F(Devices, TheUserChooses) {
  const std::string h200 =
      "emulated sm_90a 9.0, {} multiprocessors of 2048 threads and 232448 bytes, L2 62914560, bus 6144, code for {}";
  expectDevice({"--device", "sm_90a"}, "device_90a_100a", fmt::format(fmt::runtime(h200), 132, 90));
  expectDevice({"--device", "sm_90a"}, "device_80", fmt::format(fmt::runtime(h200), 132, 80));
  for (const int count : {1, 7, 1024})
    expectDevice({"--sms", std::to_string(count)}, "device_90a", fmt::format(fmt::runtime(h200), count, 90));
}

TEST_F(Devices, WhatNoDeviceOrNotThisOneRunsIsOneSentence) {
  expectSentence(run({}, "device_120a"), 3,
                 {"holds no PTX that an sm_100a device can run (it has PTX of sm_120a); compile it with -gencode "
                  "arch=compute_100a,code=compute_100a"});
  expectSentence(run({"--device", "sm_103a"}, "device_90a_100a"), 3, {"an sm_103a device can run", "emurun --device sm_100a"});
  const ProgramResult unknown = run({"--device", "sm_90"}, "device_90a");
  EXPECT_EQ(unknown.exitCode, 1);
  expectParts(unknown.errors, {"--device", "'sm_90' is none of sm_100a, sm_103a, sm_110a, sm_90a"});
}

}  // namespace
}  // namespace shiftconv::tests
