// Damaged programs: whatever the text, loading it ends in success or in an EmulatorError, and soon.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/instruction_set.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator {
namespace {

constexpr uint64_t kDefaultSeed = 20251120;
constexpr size_t kCorpusLimit = 24 * 1024;
constexpr double kSlowestSeconds = 20;

struct Program {
  std::string name;
  std::string text;
};

std::vector<Program> corpus() {
  std::vector<Program> programs;
  std::string list = FUZZ_PROGRAMS;
  std::stringstream paths(list);
  for (std::string path; std::getline(paths, path, ',');) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::stringstream text;
    text << file.rdbuf();
    programs.push_back({path, text.str()});
  }
  return programs;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t below(size_t count) { return count == 0 ? 0 : random_() % count; }

  /// Large files are cut down to their first lines (header, declarations) and lines from somewhere behind them, so
  /// that every input is quick and every instruction of the file is met by some input.
  std::string excerpt(const std::string& text) {
    if (text.size() <= kCorpusLimit) return text;
    const size_t head = std::min(lineStart(text, kCorpusLimit / 2), text.size());
    const size_t at = lineStart(text, head + below(text.size() - head));
    return text.substr(0, head) + text.substr(at, kCorpusLimit / 2) + "\nret;\n}\n";
  }

  std::string mutate(std::string text, const std::string& other) {
    for (size_t round = 1 + below(3); round > 0 && !text.empty(); --round) {
      switch (below(14)) {
        case 0:
          text.resize(below(text.size()));
          break;
        case 1:
          dropToken(text);
          break;
        case 2:
          duplicateToken(text);
          break;
        case 3:
          swapTokens(text);
          break;
        case 4:
          changeNumber(text);
          break;
        case 5:
          swapLines(text);
          break;
        case 6:
          text[below(text.size())] = static_cast<char>(random_());
          break;
        case 7:
          replaceToken(text, other);
          break;
        case 8:
          text.erase(below(text.size()), below(200));
          break;
        default:
          replaceModifier(text, other);
      }
    }
    return text;
  }

 private:
  struct Span {
    size_t begin, size;
  };

  static bool isWord(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '%' || c == '$';
  }
  static size_t lineStart(const std::string& text, size_t from) {
    const size_t end = text.find('\n', from);
    return end == std::string::npos ? text.size() : end + 1;
  }
  /// A word or a punctuation character at or behind a random place.
  Span token(const std::string& text) {
    size_t begin = below(text.size());
    while (begin > 0 && isWord(text[begin]) && isWord(text[begin - 1])) --begin;
    size_t end = begin + 1;
    if (begin < text.size() && isWord(text[begin]))
      while (end < text.size() && isWord(text[end])) ++end;
    return {begin, std::min(end, text.size()) - begin};
  }
  std::string tokenText(const std::string& text) {
    const Span span = token(text);
    return text.substr(span.begin, span.size);
  }
  void dropToken(std::string& text) {
    const Span span = token(text);
    text.erase(span.begin, span.size);
  }
  void duplicateToken(std::string& text) {
    const Span span = token(text);
    const size_t copies = below(50) == 0 ? 5000 : 1;
    std::string repeated;
    for (size_t i = 0; i < copies; ++i) repeated += text.substr(span.begin, span.size) + (below(2) == 0 ? " " : "");
    text.insert(span.begin, repeated);
  }
  void swapTokens(std::string& text) {
    const Span a = token(text), b = token(text);
    const Span first = a.begin < b.begin ? a : b, second = a.begin < b.begin ? b : a;
    if (first.begin + first.size > second.begin) return;
    const std::string firstText = text.substr(first.begin, first.size), secondText = text.substr(second.begin, second.size);
    text.replace(second.begin, second.size, firstText);
    text.replace(first.begin, first.size, secondText);
  }
  void replaceToken(std::string& text, const std::string& other) {
    const Span span = token(text);
    text.replace(span.begin, span.size, other.empty() ? ";" : tokenText(other));
  }
  void changeNumber(std::string& text) {
    size_t at = text.find_first_of("0123456789", below(text.size()));
    if (at == std::string::npos) return;
    size_t end = at;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    static constexpr std::array<std::string_view, 14> kNumbers = {"0",
                                                                  "1",
                                                                  "-1",
                                                                  "3",
                                                                  "7",
                                                                  "255",
                                                                  "65536",
                                                                  "2147483648",
                                                                  "4294967295",
                                                                  "18446744073709551615",
                                                                  "99999999999999999999999",
                                                                  "0x7fffffffffffffff",
                                                                  "0f7F800000",
                                                                  "1e400"};
    text.replace(at, end - at, kNumbers[below(kNumbers.size())]);
  }
  void swapLines(std::string& text) {
    const size_t a = lineStart(text, below(text.size())), b = lineStart(text, below(text.size()));
    const size_t first = std::min(a, b), second = std::max(a, b);
    const size_t firstEnd = lineStart(text, first), secondEnd = lineStart(text, second);
    if (first >= text.size() || second >= text.size() || firstEnd > second) return;
    const std::string firstLine = text.substr(first, firstEnd - first), secondLine = text.substr(second, secondEnd - second);
    text.replace(second, secondEnd - second, firstLine);
    text.replace(first, firstEnd - first, secondLine);
  }
  /// A modifier from elsewhere: combinations that no compiler writes reach the decode functions.
  void replaceModifier(std::string& text, const std::string& other) {
    const size_t at = text.find('.', below(text.size())), from = other.find('.', below(other.size()));
    if (at == std::string::npos || from == std::string::npos) return;
    const auto end = [](const std::string& in, size_t begin) {
      return std::min(in.find_first_of(". \t\n;", begin + 1), in.size());
    };
    text.replace(at, end(text, at) - at, other.substr(from, end(other, from) - from));
  }

  std::mt19937_64 random_;
};

struct Outcomes {
  size_t loaded = 0, unparsed = 0, undecoded = 0;
};

/// Input `index` of a seed is always the same: a failure names both.
void tryInput(const std::vector<Program>& programs, uint64_t seed, size_t index, Outcomes& outcomes) {
  Mutator mutator(seed * 0x9e3779b97f4a7c15ull + index);
  const Program& program = programs[mutator.below(programs.size())];
  const std::string& other = programs[mutator.below(programs.size())].text;
  const std::string text = mutator.mutate(mutator.excerpt(program.text), other);
  const auto start = std::chrono::steady_clock::now();
  try {
    isa::compile(ptx::parseModule(text, "fuzz.ptx"), 0x10000, instructionSet());
    ++outcomes.loaded;
  } catch (const EmulatorError& error) {
    ++(error.kind() == ErrorKind::Parse ? outcomes.unparsed : outcomes.undecoded);
    EXPECT_GT(std::string_view(error.what()).size(), 10u);
  } catch (const std::exception& error) {
    const std::string path = fmt::format("{}/fuzz_{}_{}.ptx", testing::TempDir(), seed, index);
    std::ofstream(path) << text;
    ADD_FAILURE() << "seed " << seed << " input " << index << " of " << program.name << ": " << error.what() << "; kept in "
                  << path;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, kSlowestSeconds) << "seed " << seed << " input " << index;
}

void fuzz(size_t inputs) {
  const char* const given = std::getenv("SHIFTCONV_FUZZ_SEED");
  const uint64_t seed = given == nullptr ? kDefaultSeed : std::strtoull(given, nullptr, 0);
  const char* const only = std::getenv("SHIFTCONV_FUZZ_INPUT");
  fmt::print("seed {} (SHIFTCONV_FUZZ_SEED, SHIFTCONV_FUZZ_INPUT for one input)\n", seed);
  const std::vector<Program> programs = corpus();
  Outcomes outcomes;
  const size_t first = only == nullptr ? 0 : std::strtoull(only, nullptr, 0);
  for (size_t i = first; i < (only == nullptr ? inputs : first + 1); ++i) {
    // Printed before, so that a crash tells which input it was.
    if (std::getenv("SHIFTCONV_FUZZ_TRACE") != nullptr) fmt::print(stderr, "input {}\n", i);
    tryInput(programs, seed, i, outcomes);
  }
  fmt::print("{} inputs loaded, {} did not parse, {} did not decode\n", outcomes.loaded, outcomes.unparsed, outcomes.undecoded);
  if (only == nullptr) {
    // Neither all whole nor all rubbish: every stage must be reached.
    EXPECT_GT(outcomes.loaded, inputs / 100);
    EXPECT_GT(outcomes.unparsed, inputs / 20);
    EXPECT_GT(outcomes.undecoded, inputs / 20);
  }
}

TEST(Fuzz, UndamagedProgramsLoad) {
  for (const Program& program : corpus())
    EXPECT_NO_THROW(isa::compile(ptx::parseModule(program.text, program.name), 0, instructionSet())) << program.name;
}

TEST(Fuzz, DamagedPrograms) { fuzz(300); }
TEST(NightlyFuzz, DamagedPrograms) { fuzz(20000); }

}  // namespace
}  // namespace shiftconv::emulator
