#include "common/command_line/command_line.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace shiftconv::command_line {

// ---- Options -------------------------------------------------------------------------------------------------------------------
Option& Option::required() {
  option_->required();
  return *this;
}
Option& Option::oneOf(std::vector<std::string> words) {
  option_->check(CLI::IsMember(std::move(words)));
  return *this;
}
Option& Option::range(int64_t least, int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
Option& Option::range(unsigned least, unsigned most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
Option& Option::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}
Option& Option::existingFile() {
  option_->check(CLI::ExistingFile);
  return *this;
}
Option& Option::valueOptional() {
  option_->expected(0, 1);
  return *this;
}
Option& Option::separatedBy(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}
Option& Option::takeAll() {
  option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}
Option& Option::oneArgumentEach() {
  option_->expected(1)->take_all()->allow_extra_args(false);
  return *this;
}
Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}
Option& Option::typeName(const std::string& name) {
  option_->type_name(name);
  return *this;
}
Option& Option::showDefault() {
  option_->capture_default_str();
  return *this;
}
Option& Option::hidden() {
  option_->group("");
  return *this;
}
bool Option::given() const { return option_->count() > 0; }

// ---- Commands ------------------------------------------------------------------------------------------------------------------
Option Command::option(const std::string& names, std::string& value, const std::string& text) {
  return Option(*app_->add_option(names, value, text));
}
Option Command::option(const std::string& names, int32_t& value, const std::string& text) {
  return Option(*app_->add_option(names, value, text));
}
Option Command::option(const std::string& names, uint32_t& value, const std::string& text) {
  return Option(*app_->add_option(names, value, text));
}
Option Command::option(const std::string& names, int64_t& value, const std::string& text) {
  return Option(*app_->add_option(names, value, text));
}
Option Command::option(const std::string& names, uint64_t& value, const std::string& text) {
  return Option(*app_->add_option(names, value, text));
}
Option Command::option(const std::string& names, double& value, const std::string& text) {
  return Option(*app_->add_option(names, value, text));
}
Option Command::option(const std::string& names, std::optional<int32_t>& value, const std::string& text) {
  return Option(*app_->add_option(names, value, text));
}
Option Command::option(const std::string& names, std::vector<std::string>& values, const std::string& text) {
  return Option(*app_->add_option(names, values, text));
}
Option Command::option(const std::string& names, std::vector<uint32_t>& values, const std::string& text) {
  return Option(*app_->add_option(names, values, text));
}
Option Command::option(const std::string& names, std::function<void(const std::string& value)> take, const std::string& text) {
  const auto takeOrRefuse = [take = std::move(take)](const std::string& value) {
    try {
      take(value);
    } catch (const Error& error) {
      throw CLI::ValidationError(error.what());  // so that parse prints it like every other error
    }
  };
  return Option(*app_->add_option_function<std::string>(names, takeOrRefuse, text));
}
Option Command::flag(const std::string& names, bool& value, const std::string& text) {
  return Option(*app_->add_flag(names, value, text));
}
Option Command::device(std::string& name) {
  return option("--device", name,
                "auto, cuda, cuda:1, emulated, emulated:sm_90a, ...; auto is what the variable SHIFTCONV_DEVICE names, or a GPU; "
                "default: "
                "auto, and without a GPU the emulated device")
      .typeName("NAME");
}
bool Command::given() const { return app_->parsed(); }

// ---- The parser ----------------------------------------------------------------------------------------------------------------
Parser::Parser(const std::string& description, const std::string& program)
    : Parser(std::make_unique<CLI::App>(description, program)) {}
Parser::Parser(std::unique_ptr<CLI::App> app) : Command(*app), owned_(std::move(app)) {}
Parser::~Parser() = default;

void Parser::lastValueWins() { app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); }
void Parser::footer(const std::string& text) { app_->footer(text); }
void Parser::columnWidth(size_t characters) { app_->get_formatter()->column_width(characters); }

Command Parser::subcommand(const std::string& name, const std::string& text) { return Command(*app_->add_subcommand(name, text)); }
void Parser::requireSubcommand() { app_->require_subcommand(1); }

void Parser::keepUnknown() { app_->allow_extras(); }
void Parser::keepFromFirstUnknown() { app_->prefix_command(); }
std::vector<std::string> Parser::remaining() const { return app_->remaining(); }

std::optional<int> Parser::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  }
  return {};
}

bool Parser::parseOrThrow(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    app_->exit(help);
    return false;
  } catch (const CLI::Error& error) {
    throw Error(error.what());
  }
  return true;
}

}  // namespace shiftconv::command_line
