// Command lines of programs: options, flags and subcommands with their help, read into variables.
//
//   command_line::Parser parser("Multiplies two matrices.");
//   parser.option("-m,--rows", options.m, "rows of A").range(int64_t{1}, int64_t{4096}).showDefault();
//   parser.flag("--quick", options.quick, "a smaller problem");
//   if (const std::optional<int> status = parser.parse(argc, argv)) return *status;
//
// Names are "-m,--rows" for an option, and without dashes, "files", for a positional argument. Every program has -h,--help.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shiftconv::command_line {

/// A command line that is wrong, in words for whoever wrote it.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  Error(const std::string& option, const std::string& message) : std::runtime_error(option + ": " + message) {}
};

/// A handle of an option, a flag or a positional argument, valid as long as its Parser. All but given() say what is allowed, and
/// are for before the Parser reads a command line. What is said of a value is said of each in a list.
class Option {
 public:
  Option& required();
  Option& oneOf(std::vector<std::string> words);
  Option& range(int64_t least, int64_t most);
  Option& range(unsigned least, unsigned most);
  Option& positive();
  Option& existingFile();
  /// The name alone is allowed, too: then a string is empty, and given() tells.
  Option& valueOptional();
  /// One argument may hold several values of the list.
  Option& separatedBy(char delimiter);
  /// Each occurrence adds all of its values to the list, also where Parser::lastValueWins.
  Option& takeAll();
  /// As takeAll, but each occurrence has one argument, so that a positional argument may follow it.
  Option& oneArgumentEach();
  Option& excludes(const Option& other);

  /// Help calls the value so.
  Option& typeName(const std::string& name);
  /// Help shows what the variable holds now.
  Option& showDefault();
  /// Help does not mention it.
  Option& hidden();

  /// Whether the command line had it.
  bool given() const;

 private:
  friend class Command;
  explicit Option(CLI::Option& option) : option_(&option) {}

  CLI::Option* option_;
};

/// A handle of what has options: the program itself or one of its subcommands. Valid as long as the Parser.
class Command {
 public:
  /// The variable must outlive the reading of the command line; without the option it keeps what it holds. An option that is
  /// given twice is an error, unless it is a list, which takes all arguments up to the next option.
  Option option(const std::string& names, std::string& value, const std::string& text = {});
  Option option(const std::string& names, int32_t& value, const std::string& text = {});
  Option option(const std::string& names, uint32_t& value, const std::string& text = {});
  Option option(const std::string& names, int64_t& value, const std::string& text = {});
  Option option(const std::string& names, uint64_t& value, const std::string& text = {});
  Option option(const std::string& names, double& value, const std::string& text = {});
  Option option(const std::string& names, std::optional<int32_t>& value, const std::string& text = {});
  Option option(const std::string& names, std::vector<std::string>& values, const std::string& text = {});
  Option option(const std::string& names, std::vector<uint32_t>& values, const std::string& text = {});
  /// Calls `take` with the value, which it may refuse with an Error.
  Option option(const std::string& names, std::function<void(const std::string& value)> take, const std::string& text = {});
  Option flag(const std::string& names, bool& value, const std::string& text = {});
  /// --device, a name as shiftconv_device_open_named takes it; whoever opens it refuses what is none. Nothing is given: a GPU if there
  /// is one, else the emulated device.
  Option device(std::string& name);

  /// Whether the command line had this subcommand.
  bool given() const;

 private:
  friend class Parser;
  explicit Command(CLI::App& app) : app_(&app) {}

  CLI::App* app_;
};

class Parser : public Command {
 public:
  /// Without the program's name, help shows how the program was called.
  explicit Parser(const std::string& description, const std::string& program = {});
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// For options added from now on: of several occurrences the last counts, none is an error.
  void lastValueWins();
  /// Text below the help.
  void footer(const std::string& text);
  /// Of the names of options in help.
  void columnWidth(size_t characters);

  Command subcommand(const std::string& name, const std::string& text);
  /// Exactly one of the subcommands must be given.
  void requireSubcommand();

  /// What no option takes is left in remaining() instead of being an error.
  void keepUnknown();
  /// From the first argument on that no option takes, all of them are left in remaining().
  void keepFromFirstUnknown();
  std::vector<std::string> remaining() const;

  /// Nothing when the program is to go on. Otherwise the status to leave with: 0 after --help, printed to stdout; another after an
  /// error, printed to stderr.
  std::optional<int> parse(int argc, const char* const* argv);
  /// For programs that print errors themselves: true when the program is to go on, false after --help, printed to stdout. Throws
  /// Error.
  bool parseOrThrow(int argc, const char* const* argv);

 private:
  explicit Parser(std::unique_ptr<CLI::App> app);

  std::unique_ptr<CLI::App> owned_;
};

}  // namespace shiftconv::command_line
