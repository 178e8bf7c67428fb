// The program as its users run it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "examples/feature_maps/exit_code.hpp"
#include "examples/feature_maps/image_io.hpp"
#include "tests/support/schedules.hpp"
#include "tests/support/shell.hpp"
#include "tests/temporary_folder.hpp"

namespace feature_maps {
namespace {

using shiftconv::tests::fileContents;
using shiftconv::tests::TemporaryFolder;

constexpr const char* kCrop = "48x48+88+56";  // the face

using shiftconv::tests::Outcome;
Outcome runProgram(const std::string& arguments) {
  return shiftconv::tests::runShell(fmt::format("'{}' {}", FEATURE_MAPS_PROGRAM, arguments));
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Fails unless the program refuses with that exit code and one line that holds `part`.
void expectRefusal(const std::string& arguments, const std::string& part) {
  SCOPED_TRACE(arguments);
  const Outcome run = runProgram(arguments);
  EXPECT_EQ(run.exitCode, ExitCode::Usage) << run.text;
  EXPECT_TRUE(contains(run.text, part)) << run.text;
}

TEST(FeatureMapsProgram, SaysThatItTakesTheEmulatedDeviceWhereThereIsNoGpu) {
  const Outcome run = shiftconv::tests::runShell(
      fmt::format("SHIFTCONV_DEVICE= CUDA_VISIBLE_DEVICES= '{}' --no-sheet --no-verify --crop 9x8+90+60", FEATURE_MAPS_PROGRAM));
  EXPECT_EQ(run.exitCode, ExitCode::Success) << run.text;
  EXPECT_TRUE(contains(run.text, "Taking the emulated device: there is no GPU")) << run.text;
  EXPECT_TRUE(contains(run.text, "Device     emulated sm_100a")) << run.text;
}

TEST(FeatureMapsProgram, RunsOnTheEmulatedHopper) {
  const Outcome run = runProgram("--device emulated:sm_90a --no-sheet --crop 9x8+90+60");
  EXPECT_EQ(run.exitCode, ExitCode::Success) << run.text;
  EXPECT_TRUE(contains(run.text, "Device     emulated sm_90a")) << run.text;
}

TEST(FeatureMapsProgram, DrawsAVerifiedSheet) {
  const TemporaryFolder folder;
  const Outcome run = runProgram(fmt::format("--device emulated --crop {} --output {}", kCrop, folder / "sheet.png"));
  ASSERT_EQ(run.exitCode, ExitCode::Success) << run.text;
  for (const char* part : {"48 x 48 pixels", "algorithm  shift_", "Tensor Mem", "% of its bound", "unproven hardware behaviour",
                           "within the derived error bound", "100%", "MMAs", "earliest", "hardware numerics"}) {
    EXPECT_TRUE(contains(run.text, part)) << "no '" << part << "' in\n" << run.text;
  }
  const Image sheet = readPng(folder / "sheet.png");
  EXPECT_GT(sheet.width, 1000);
  EXPECT_GT(sheet.height, 1000);
}

TEST(FeatureMapsProgram, FastNumericsAreWithinTheirBound) {
  const TemporaryFolder folder;
  const Outcome run = runProgram("--device emulated --crop 33x21+90+60 --numerics fast --output " + (folder / "sheet.png"));
  EXPECT_EQ(run.exitCode, ExitCode::Success) << run.text;
}

TEST(FeatureMapsProgram, MistakesGetOneSentenceAndExitCode2) {
  const TemporaryFolder folder;
  std::ofstream(folder / "text.png") << "no picture";
  expectRefusal("--image " + (folder / "missing.png"), "No such file");
  expectRefusal("--image " + (folder / "text.png"), "is not a PNG file");
  expectRefusal("--size 1", "--size 1 is outside 8..1024");
  expectRefusal("--size 100000", "--size 100000 is outside");
  expectRefusal("--size many", "many");
  expectRefusal("--crop 48x48", "WxH+X+Y");
  expectRefusal("--crop 300x300+0+0", "reaches outside the picture, which is 256x256");
  expectRefusal("--policy sometimes", "sometimes");
  expectRefusal("--no-such-option", "--no-such-option");
}

TEST(FeatureMapsProgram, AFileThatCannotBeWrittenIsSaidBeforeTheWork) {
  const TemporaryFolder folder;
  expectRefusal("--output " + (folder / "no/such/folder/sheet.png"), "Cannot write");
}

TEST(FeatureMapsProgram, UnknownSemanticsAreRefused) {
  expectRefusal("--no-sheet --device gpu", "must be auto, cuda, ");
  expectRefusal("--no-sheet --device emulated --semantics U999=1", "U999");
  expectRefusal("--no-sheet --device emulated --semantics U3=99", "U3");
  expectRefusal("--no-sheet --device emulated --semantics U3", "U3=1");
}

/// A machine whose lane mask also held back the shift would give wrong sums: the program must say so.
TEST(FeatureMapsProgram, WrongResultsGiveExitCode1) {
  const Outcome run = runProgram("--no-sheet --device emulated --crop 17x9+90+60 --semantics U25=1");
  EXPECT_EQ(run.exitCode, ExitCode::BoundExceeded) << run.text;
  EXPECT_TRUE(contains(run.text, "OUTSIDE the derived error bound")) << run.text;
  EXPECT_TRUE(contains(run.text, "first at row 0, column 0")) << run.text;
}

TEST(FeatureMapsProgram, HelpNamesEveryOption) {
  const Outcome run = runProgram("--help");
  EXPECT_EQ(run.exitCode, ExitCode::Success);
  for (const char* option : {"--image", "--size", "--crop", "--output", "--dump", "--device", "--policy", "--seed", "--numerics",
                             "--semantics", "--quick", "--no-verify", "--no-sheet", "--counters", "Exit codes"}) {
    EXPECT_TRUE(contains(run.text, option)) << option;
  }
}

/// Both layers of the crop, as the bytes of the dumped arrays; nothing when the program failed.
std::optional<std::string> mapsUnder(const TemporaryFolder& folder, const std::string& schedule) {
  const Outcome run = runProgram(
      fmt::format("--device emulated --no-verify --no-sheet --crop {} --dump {} --policy {}", kCrop, folder / "maps", schedule));
  EXPECT_EQ(run.exitCode, ExitCode::Success) << run.text;
  if (run.exitCode != ExitCode::Success) return std::nullopt;
  return fileContents(folder / "maps.layer1.npy") + fileContents(folder / "maps.layer2.npy");
}

TEST(FeatureMapsSchedules, SameBitsWhateverTheOrderOfCompletion) {
  const TemporaryFolder folder;
  const std::optional<std::string> earliest = mapsUnder(folder, "earliest");
  ASSERT_TRUE(earliest);
  ASSERT_GT(earliest->size(), 48u * 48u * (120u * 2u + 24u * 4u));
  const auto compare = [&](const std::string& schedule) {
    const std::optional<std::string> maps = mapsUnder(folder, schedule);
    EXPECT_TRUE(maps == earliest) << "outputs differ under --policy " << schedule;
  };
  compare("latest");
  for (uint64_t seed = 1; seed <= shiftconv::tests::randomSchedules(8); ++seed) compare(fmt::format("random --seed {}", seed));
}

}  // namespace
}  // namespace feature_maps
