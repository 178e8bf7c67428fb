#include "common/command_line/command_line.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace {

using shiftconv::command_line::Command;
using shiftconv::command_line::Error;
using shiftconv::command_line::Option;
using shiftconv::command_line::Parser;
using Words = std::vector<std::string>;

/// Whether the program is to go on.
bool read(Parser& parser, const Words& words) {
  std::vector<const char*> arguments{"program"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return parser.parseOrThrow(static_cast<int>(arguments.size()), arguments.data());
}

/// What is said of a wrong command line; empty when it is right.
std::string mistake(Parser& parser, const Words& words) {
  try {
    read(parser, words);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Printed {
  std::optional<int> status;
  std::string out, error;
};
Printed parse(Parser& parser, const Words& words) {
  std::vector<const char*> arguments{"program"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Printed printed;
  printed.status = parser.parse(static_cast<int>(arguments.size()), arguments.data());
  printed.out = testing::internal::GetCapturedStdout();
  printed.error = testing::internal::GetCapturedStderr();
  return printed;
}

std::string help(Parser& parser) {
  const Printed printed = parse(parser, {"--help"});
  EXPECT_EQ(printed.status, 0);
  EXPECT_EQ(printed.error, "");
  return printed.out;
}

TEST(CommandLine, ReadsValuesOfEveryType) {
  Parser parser("values");
  std::string word;
  int32_t small = 0;
  uint32_t natural = 0;
  int64_t large = 0;
  uint64_t seed = 0;
  double real = 0;
  std::optional<int32_t> maybe;
  bool flag = false;
  parser.option("--word", word);
  parser.option("-s,--small", small);
  parser.option("--natural", natural);
  parser.option("--large", large);
  parser.option("--seed", seed);
  parser.option("--real", real);
  parser.option("--maybe", maybe);
  parser.flag("--flag", flag);
  EXPECT_TRUE(read(parser, {"--word=a b", "-s", "-7", "--natural", "4294967295", "--large", "-9223372036854775808", "--seed",
                            "18446744073709551615", "--real", "1e-3", "--maybe", "5", "--flag"}));
  EXPECT_EQ(word, "a b");
  EXPECT_EQ(small, -7);
  EXPECT_EQ(natural, 4294967295u);
  EXPECT_EQ(large, INT64_MIN);
  EXPECT_EQ(seed, UINT64_MAX);
  EXPECT_EQ(real, 1e-3);
  EXPECT_EQ(maybe, 5);
  EXPECT_TRUE(flag);
}

TEST(CommandLine, KeepsWhatVariablesHoldWithoutTheirOptions) {
  Parser parser("defaults");
  std::string word = "kept";
  int32_t number = 3;
  std::optional<int32_t> maybe;
  Words words{"a", "b"};
  bool flag = true;
  parser.option("--word", word);
  parser.option("--number", number);
  parser.option("--maybe", maybe);
  parser.option("words", words);
  parser.flag("--flag", flag);
  EXPECT_TRUE(read(parser, {}));
  EXPECT_EQ(word, "kept");
  EXPECT_EQ(number, 3);
  EXPECT_FALSE(maybe);
  EXPECT_EQ(words, (Words{"a", "b"}));
  EXPECT_TRUE(flag);
}

TEST(CommandLine, ReadsLists) {
  Parser parser("lists");
  Words all, each, files;
  std::vector<uint32_t> extents{1};
  parser.option("--all", all);
  parser.option("--each", each).oneArgumentEach();
  parser.option("--extents", extents).separatedBy(',').oneArgumentEach();
  parser.option("files", files);
  EXPECT_TRUE(read(parser, {"--each", "a", "one", "--extents", "8,4", "--each", "b", "two", "--all", "x", "y", "--all", "z"}));
  EXPECT_EQ(all, (Words{"x", "y", "z"}));
  EXPECT_EQ(each, (Words{"a", "b"}));
  EXPECT_EQ(extents, (std::vector<uint32_t>{8, 4}));
  EXPECT_EQ(files, (Words{"one", "two"}));
}

TEST(CommandLine, AnOptionMayDoWithoutItsValue) {
  for (const Words& words : {Words{}, Words{"--cache"}, Words{"--cache", "file"}}) {
    Parser parser("optional values");
    std::string cache = "kept";
    const Option option = parser.option("--cache", cache).valueOptional();
    EXPECT_TRUE(read(parser, words));
    EXPECT_EQ(option.given(), !words.empty());
    EXPECT_EQ(cache, words.size() == 2 ? "file" : words.empty() ? "kept" : "");
  }
}

TEST(CommandLine, OptionsMayExcludeEachOther) {
  Parser parser("exclusion");
  std::string one, other;
  const Option first = parser.option("--one", one);
  parser.option("--other", other).excludes(first);
  EXPECT_EQ(mistake(parser, {"--one", "x"}), "");
  EXPECT_EQ(mistake(parser, {"--other", "x"}), "");
  const std::string said = mistake(parser, {"--one", "x", "--other", "x"});
  EXPECT_TRUE(contains(said, "--one") && contains(said, "--other")) << said;
}

TEST(CommandLine, ErrorsNameTheOption) {
  Parser parser("errors");
  std::string word, needed, file;
  int64_t extent = 1;
  uint32_t threads = 1;
  uint64_t runs = 1;
  std::vector<uint32_t> numbers;
  parser.option("--word", word).oneOf({"red", "green"});
  parser.option("-m,--rows", extent).range(int64_t{1}, int64_t{4096});
  parser.option("--threads", threads).range(1u, 256u);
  parser.option("--runs", runs).positive();
  parser.option("--file", file).existingFile();
  parser.option("--numbers", numbers).separatedBy(',').oneArgumentEach();
  parser.option("--needed", needed).required();
  const auto refused = [&](const std::string& name, const std::string& value, const std::string& called) {
    const std::string said = mistake(parser, {"--needed", "x", name, value});
    return contains(said, called) ? testing::AssertionSuccess()
                                  : testing::AssertionFailure() << name << " " << value << ": \"" << said << "\"";
  };
  EXPECT_TRUE(refused("--word", "blue", "--word"));
  EXPECT_TRUE(refused("-m", "0", "--rows"));
  EXPECT_TRUE(refused("--rows", "4097", "--rows"));
  EXPECT_TRUE(refused("--threads", "0", "--threads"));
  EXPECT_TRUE(refused("--threads", "257", "--threads"));
  EXPECT_TRUE(refused("--threads", "few", "--threads"));
  EXPECT_TRUE(refused("--runs", "0", "--runs"));
  EXPECT_TRUE(refused("--file", "no_such_file", "--file"));
  EXPECT_TRUE(refused("--numbers", "1,x", "--numbers"));
  EXPECT_TRUE(refused("--unknown", "1", "--unknown"));
  EXPECT_TRUE(refused("--needed", "y", "--needed"));  // a second time
  EXPECT_TRUE(contains(mistake(parser, {}), "--needed"));
  EXPECT_TRUE(contains(mistake(parser, {"--needed"}), "--needed"));
  EXPECT_EQ(mistake(parser, {"--needed", "x", "--word", "green", "--rows", "4096", "--threads", "256", "--runs", "1"}), "");
}

TEST(CommandLine, TheLastValueWinsWhereItIsAllowed) {
  Parser parser("last");
  std::string colour;
  Words formats;
  parser.lastValueWins();
  parser.option("--colour", colour).oneOf({"red", "green"});
  parser.option("--format", formats).takeAll();
  EXPECT_TRUE(read(parser, {"--colour", "red", "--format", "a", "--colour", "green", "--format", "b"}));
  EXPECT_EQ(colour, "green");
  EXPECT_EQ(formats, (Words{"a", "b"}));
}

TEST(CommandLine, FunctionsTakeOrRefuseValues) {
  std::string taken;
  const auto take = [&](const std::string& value) {
    if (value == "never") throw Error("--policy", "never is too late");
    taken = value;
  };
  Parser parser("functions");
  parser.option("--policy", take);
  EXPECT_TRUE(read(parser, {"--policy", "latest"}));
  EXPECT_EQ(taken, "latest");
  EXPECT_EQ(mistake(parser, {"--policy", "never"}), "--policy: never is too late");
  const Printed printed = parse(parser, {"--policy", "never"});
  EXPECT_TRUE(printed.status && *printed.status != 0);
  EXPECT_EQ(printed.error.find("--policy: never is too late\n"), 0u);
}

TEST(CommandLine, HelpIsPrintedToStdout) {
  Parser parser("What it does.", "program");
  int32_t rows = 128;
  std::string prefix;
  bool worker = false;
  parser.option("-m,--rows", rows, "rows of A").showDefault();
  parser.option("--dump", prefix, "also write there").typeName("PREFIX");
  parser.flag("--worker", worker, "for itself").hidden();
  parser.footer("What it leaves.");
  const std::string text = help(parser);
  EXPECT_EQ(text.find("What it does."), 0u);
  for (const char* part : {"Usage: program", "--rows", "rows of A", "128", "--dump", "PREFIX", "--help", "What it leaves."})
    EXPECT_TRUE(contains(text, part)) << part;
  EXPECT_FALSE(contains(text, "--worker"));
  testing::internal::CaptureStdout();
  EXPECT_FALSE(read(parser, {"--help"}));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), text);
  const Printed wrong = parse(parser, {"--rows", "many"});
  EXPECT_TRUE(wrong.status && *wrong.status != 0);
  EXPECT_EQ(wrong.out, "");
  EXPECT_TRUE(contains(wrong.error, "--rows"));
  EXPECT_TRUE(contains(wrong.error, "Run with --help for more information."));
  EXPECT_EQ(parse(parser, {"--rows", "16", "--worker"}).status, std::nullopt);
  EXPECT_EQ(rows, 16);
  EXPECT_TRUE(worker);
}

TEST(CommandLine, SubcommandsHaveOptionsOfTheirOwn) {
  Parser parser("subcommands");
  parser.requireSubcommand();
  std::string path, recording;
  Command record = parser.subcommand("record", "make a recording");
  record.option("--out", path).required();
  Command compare = parser.subcommand("compare", "with a recording");
  compare.option("recording", recording).required();
  EXPECT_TRUE(read(parser, {"compare", "a.recording"}));
  EXPECT_TRUE(compare.given());
  EXPECT_FALSE(record.given());
  EXPECT_EQ(recording, "a.recording");
  EXPECT_TRUE(contains(mistake(parser, {"record"}), "--out"));
  EXPECT_TRUE(contains(mistake(parser, {"compare", "a.recording", "--out", "b"}), "--out"));
  EXPECT_NE(mistake(parser, {}), "");
}

TEST(CommandLine, LeavesWhatItDoesNotKnow) {
  bool flag = false;
  Parser anywhere("for another parser, too");
  anywhere.keepUnknown();
  anywhere.flag("--flag", flag);
  EXPECT_TRUE(read(anywhere, {"--other=1", "--flag", "word"}));
  EXPECT_TRUE(flag);
  EXPECT_EQ(anywhere.remaining(), (Words{"--other=1", "word"}));

  flag = false;
  Parser command("runs a command");
  command.keepFromFirstUnknown();
  command.flag("--flag", flag);
  EXPECT_TRUE(read(command, {"command", "--flag", "--help"}));
  EXPECT_FALSE(flag);
  EXPECT_EQ(command.remaining(), (Words{"command", "--flag", "--help"}));
}

}  // namespace
