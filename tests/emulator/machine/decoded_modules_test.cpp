// Modules are decoded once in a process, as long as nothing in them belongs to one emulator.
#include "common/emulator/decoded_modules.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "common/emulator/emulator.hpp"

namespace shiftconv::emulator {
namespace {

constexpr uint64_t kLimit = 100;
const std::string kText = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out) { ret; }\n";

/// One that only its address tells from others.
std::shared_ptr<const DecodedModule> some() { return std::make_shared<DecodedModule>(); }

TEST(DecodedModules, EmulatorsShareOnesWithoutVariables) {
  Emulator first, second;
  const auto module = first.load(kText, "name");
  EXPECT_EQ(&second.load(kText, "name")->program(), &module->program());
  EXPECT_EQ(&first.load(kText, "name")->program(), &module->program());
  EXPECT_NE(&second.load(kText, "other")->program(), &module->program()) << "errors name the module";
  EXPECT_NE(&second.load(kText + "\n", "name")->program(), &module->program());
}

TEST(DecodedModules, EmulatorsHaveVariablesOfTheirOwn) {
  const std::string text = kText + ".visible .global .align 4 .u32 counter = 7;\n";
  Emulator emulator;
  const auto one = emulator.load(text, "name"), other = emulator.load(text, "name");
  EXPECT_NE(&one->program(), &other->program());
}

TEST(DecodedModules, ThoseAskedForLastAreKept) {
  DecodedModules modules(kLimit);
  const std::string a(40, 'a'), b(40, 'b'), c(40, 'c'), tooLong(kLimit + 1, 'd');
  const auto ofA = some(), ofB = some();
  modules.keep(a, "name", ofA);
  EXPECT_EQ(modules.find(a, "name"), ofA);
  EXPECT_EQ(modules.find(a, "other"), nullptr);
  EXPECT_EQ(modules.find(b, "name"), nullptr);
  modules.keep(b, "name", ofB);
  EXPECT_EQ(modules.find(a, "name"), ofA);
  modules.keep(c, "name", some());
  EXPECT_EQ(modules.find(b, "name"), nullptr) << "a was asked for after it";
  EXPECT_EQ(modules.find(a, "name"), ofA);
  modules.keep(tooLong, "name", some());
  EXPECT_EQ(modules.find(tooLong, "name"), nullptr);
  EXPECT_NE(modules.find(c, "name"), nullptr) << "it did not make room for one that is not kept";
  modules.keep(std::string(kLimit, 'e'), "name", ofB);
  EXPECT_EQ(modules.find(std::string(kLimit, 'e'), "name"), ofB) << "the limit itself";
  EXPECT_EQ(modules.find(a, "name"), nullptr);
}

}  // namespace
}  // namespace shiftconv::emulator
