// The `.target` of a module decides which instructions it may use and which limits it runs under.
#include "common/emulator/program/target.hpp"

#include <fmt/format.h>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests {
namespace {

using emulator::program::featureRules;
using emulator::program::findTarget;
using emulator::program::targets;

std::string moduleFor(std::string_view target, const std::string& body) {
  return fmt::format(".version 9.0\n.target {}\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n{}\nret;\n}}\n", target,
                     body);
}

/// Empty when the module loads.
std::string refusal(std::string_view target, const std::string& body) {
  emulator::Emulator device;
  try {
    device.load(moduleFor(target, body), "test.ptx");
  } catch (const EmulatorError& error) {
    return error.what();
  }
  return {};
}

const std::string kShift = ".reg .b32 %r<2>; tcgen05.shift.cta_group::1.down [%r1];";
const std::string kIntegerMma =
    ".reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p; tcgen05.mma.cta_group::1.kind::i8 [%r1], %d1, %d2, %r2, %p;";
const std::string kScaledInput =
    ".reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p; tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p, 3;";

TEST(Target, UnknownOnesAreRefusedByName) {
  for (const char* name : {"sm_120a", "sm_101a", "sm_900", "compute_100a", "sm_70"}) {
    const std::string text = refusal(name, "");
    EXPECT_CONTAINS(text, fmt::format("test.ptx: the module is made for target '{}'", name));
    EXPECT_CONTAINS(text, "sm_90a, sm_100,");
  }
  EXPECT_EQ(refusal("sm_100a, debug", ""), "") << "options behind the name are no part of it";
}

TEST(Target, DevicesRunWhatIsMadeForThem) {
  const auto devicesOf = [](std::string_view target) {
    std::string text;
    for (const std::string_view device : emulator::program::deviceNames())
      if (emulator::program::runsOn(*findTarget(target), *findTarget(device))) text += fmt::format("{} ", device);
    return text;
  };
  EXPECT_EQ(devicesOf("sm_75"), "sm_100a sm_103a sm_110a sm_90a ");
  EXPECT_EQ(devicesOf("sm_90"), "sm_100a sm_103a sm_110a sm_90a ");
  EXPECT_EQ(devicesOf("sm_90a"), "sm_90a ");
  EXPECT_EQ(devicesOf("sm_100"), "sm_100a sm_103a sm_110a ");
  EXPECT_EQ(devicesOf("sm_100f"), "sm_100a sm_103a ");
  EXPECT_EQ(devicesOf("sm_100a"), "sm_100a ");
  EXPECT_EQ(devicesOf("sm_103"), "sm_103a sm_110a ");
  EXPECT_EQ(devicesOf("sm_103f"), "sm_103a ");
  EXPECT_EQ(devicesOf("sm_110f"), "sm_110a ");
}

TEST(Target, EveryKnownOneRunsPlainCode) {
  for (const auto& target : targets()) EXPECT_EQ(refusal(target.name, ".reg .b32 %r<2>; add.s32 %r1, %r1, 1;"), "") << target.name;
}

TEST(Target, InstructionsThatItLacksAreRefused) {
  struct Case {
    const char* target;
    const std::string& body;
    const char* reason;  ///< nullptr: it has it
  };
  for (const Case& each :
       {Case{"sm_100a", kShift, nullptr}, Case{"sm_103a", kShift, nullptr}, Case{"sm_110a", kShift, nullptr},
        Case{"sm_90a", kShift, "tcgen05 does not exist on sm_90a: it exists on sm_100a, sm_103a, sm_110a"},
        Case{"sm_100", kShift, "tcgen05 does not exist on sm_100"},
        Case{"sm_100f", kShift, "tcgen05 with .shift does not exist on sm_100f"}, Case{"sm_100a", kIntegerMma, nullptr},
        Case{"sm_110a", kIntegerMma, nullptr}, Case{"sm_103a", kIntegerMma, "tcgen05 with .kind::i8 does not exist on sm_103a"},
        Case{"sm_103a", kScaledInput, nullptr}, Case{"sm_110a", kScaledInput, "scale-input-d does not exist"}}) {
    const std::string text = refusal(each.target, each.body);
    if (each.reason == nullptr)
      EXPECT_EQ(text, "") << each.target;
    else
      EXPECT_CONTAINS(text, each.reason);
  }
  EXPECT_CONTAINS(refusal("sm_100a", "wgmma.fence.sync.aligned;"), "wgmma does not exist on sm_100a: it exists on sm_90a only.");
  EXPECT_CONTAINS(refusal("sm_89", "barrier.cluster.arrive;"),
                  "barrier with .cluster does not exist on sm_89: it exists from sm_90 on");
  EXPECT_EQ(refusal("sm_90", "barrier.cluster.arrive; barrier.cluster.wait;"), "");
}

TEST(Target, EveryRuleTellsTargetsApart) {
  for (const auto& rule : featureRules()) {
    const auto has = [&](const auto& target) { return target.has(rule.feature); };
    EXPECT_TRUE(std::any_of(targets().begin(), targets().end(), has)) << rule.form();
    EXPECT_FALSE(std::all_of(targets().begin(), targets().end(), has)) << rule.form();
  }
}

uint32_t multiprocessorsSeen(std::string_view target, const Options& options) {
  emulator::Emulator device;
  const auto module = device.load(
      moduleFor(target, ".reg .b64 %d1; .reg .b32 %r1; ld.param.u64 %d1, [out]; mov.u32 %r1, %nsmid; st.global.u32 [%d1], %r1;"),
      "test");
  const DeviceWords out(device, 1);
  const void* arguments[] = {out.argument()};
  device.launch(*module, "k", threads(1), arguments, options);
  return out.read()[0];
}

TEST(Target, CountsItsMultiprocessors) {
  EXPECT_EQ(multiprocessorsSeen("sm_100a", {}), 148u);
  EXPECT_EQ(multiprocessorsSeen("sm_90a", {}), 132u);
  Options fewer;
  fewer.multiprocessors = 5;
  EXPECT_EQ(multiprocessorsSeen("sm_90a", fewer), 5u);
}

TEST(Target, LimitsLaunches) {
  emulator::Emulator device;
  const auto module = device.load(moduleFor("sm_80", ""), "test");
  const DeviceWords out(device, 1);
  const void* arguments[] = {out.argument()};
  const auto launchError = [&](const LaunchConfig& config) -> std::string {
    try {
      device.launch(*module, "k", config, arguments, {});
    } catch (const EmulatorError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(launchError(threads(32)), "");
  EXPECT_CONTAINS(launchError(threads(32, 2, 2)), "the cluster (2,1,1) has 2 CTAs; the limit is 1");
}

}  // namespace
}  // namespace shiftconv::tests
