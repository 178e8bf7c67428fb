#include "bench/conv/gpu/engine_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <set>

namespace shiftconv::gpu {
namespace {

constexpr int64_t kMostValues = 64;  // of one knob; of longer ranges some from low to high
constexpr double kListed = 20000;    // combinations of an engine: more are drawn at random, not listed

std::vector<int64_t> valuesOf(const cudnn::Knob& knob) {
  const int64_t count = (knob.high - knob.low) / knob.step + 1;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < std::min(count, kMostValues); ++i)
    values.push_back(knob.low + knob.step * (count <= kMostValues ? i : i * (count - 1) / (kMostValues - 1)));
  return values;
}

void set(EngineChoice& choice, int64_t type, int64_t value) {
  const auto place = std::lower_bound(choice.knobs.begin(), choice.knobs.end(), type,
                                      [](const auto& knob, int64_t wanted) { return knob.first < wanted; });
  if (place != choice.knobs.end() && place->first == type)
    place->second = value;
  else
    choice.knobs.insert(place, {type, value});
}

/// Reads a number at the front of `text`.
bool take(std::string_view& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}
bool take(std::string_view& text, std::string_view literal) {
  if (!text.starts_with(literal)) return false;
  text.remove_prefix(literal.size());
  return true;
}

/// The values of all knobs of an engine, the combinations of which are numbered.
class Combinations {
 public:
  explicit Combinations(const cudnn::Engine& engine) : engine_(engine) {
    for (const cudnn::Knob& knob : engine.knobs) count_ *= static_cast<double>(values_.emplace_back(valuesOf(knob)).size());
  }
  double count() const { return count_; }
  EngineChoice at(uint64_t number) const {
    EngineChoice choice{engine_.id, {}};
    for (size_t i = 0; i < values_.size(); ++i) {
      set(choice, engine_.knobs[i].type, values_[i][number % values_[i].size()]);
      number /= values_[i].size();
    }
    return choice;
  }
  EngineChoice draw(std::mt19937_64& random) const {
    EngineChoice choice{engine_.id, {}};
    for (size_t i = 0; i < values_.size(); ++i) set(choice, engine_.knobs[i].type, values_[i][random() % values_[i].size()]);
    return choice;
  }
  /// What differs from `from` in one knob.
  std::vector<EngineChoice> neighbours(const EngineChoice& from) const {
    std::vector<EngineChoice> found;
    for (size_t i = 0; i < values_.size(); ++i)
      for (const int64_t value : values_[i]) set(found.emplace_back(from), engine_.knobs[i].type, value);
    return found;
  }

 private:
  const cudnn::Engine& engine_;
  std::vector<std::vector<int64_t>> values_;
  double count_ = 1;
};

class Searcher {
 public:
  Searcher(const std::vector<cudnn::Engine>& engines, const EngineSearch& search) : engines_(engines), search_(search) {
    for (const cudnn::Engine& engine : engines) result.combinations += combinations_.emplace_back(engine).count();
    result.engines = static_cast<int64_t>(engines.size());
  }

  void defaults() {
    for (const cudnn::Engine& engine : engines_) tryOne({engine.id, {}});
  }

  void start(const EngineChoice& choice, double microseconds) {
    known_.insert(describe(choice));
    improve(choice, microseconds);
  }

  void climb() {
    for (bool better = result.best.has_value(); better && search_.timeLeft();) {
      better = false;
      const EngineChoice from = *result.best;
      for (size_t i = 0; i < engines_.size(); ++i)
        if (engines_[i].id == from.engine)
          for (const EngineChoice& neighbour : combinations_[i].neighbours(from)) better = tryOne(neighbour) || better;
    }
  }

  void everythingElse() {
    std::mt19937_64 random(search_.seed);
    struct Place {
      size_t engine;
      uint64_t number;
    };
    std::vector<Place> listed;
    std::vector<size_t> drawn;
    for (size_t i = 0; i < engines_.size(); ++i) {
      if (combinations_[i].count() > kListed)
        drawn.push_back(i);
      else
        for (uint64_t j = 0; j < static_cast<uint64_t>(combinations_[i].count()); ++j) listed.push_back({i, j});
    }
    std::shuffle(listed.begin(), listed.end(), random);
    while (search_.timeLeft() && !(listed.empty() && drawn.empty())) {
      if (!drawn.empty()) tryOne(combinations_[drawn[random() % drawn.size()]].draw(random));
      if (listed.empty()) continue;
      tryOne(combinations_[listed.back().engine].at(listed.back().number));
      listed.pop_back();
    }
    result.complete = listed.empty() && drawn.empty() && search_.timeLeft();
  }

  EngineSearchResult result;

 private:
  /// Whether it is the fastest so far.
  bool tryOne(const EngineChoice& choice) {
    if (!search_.timeLeft() || !known_.insert(describe(choice)).second) return false;
    ++result.tried;
    const std::optional<double> microseconds = search_.measure(choice);
    if (!microseconds) return false;
    ++result.usable;
    return improve(choice, *microseconds);
  }
  bool improve(const EngineChoice& choice, double microseconds) {
    if (result.best && microseconds >= result.microseconds) return false;
    result.best = choice;
    result.microseconds = microseconds;
    return true;
  }

  const std::vector<cudnn::Engine>& engines_;
  const EngineSearch& search_;
  std::vector<Combinations> combinations_;
  std::set<std::string> known_;
};

}  // namespace

std::string describe(const EngineChoice& choice) {
  std::string text = fmt::format("eng{}", choice.engine);
  for (const auto& [type, value] : choice.knobs) text += fmt::format("_k{}={}", type, value);
  return text;
}

std::optional<EngineChoice> parseEngineChoice(std::string_view name) {
  EngineChoice choice;
  if (!take(name, "eng") || !take(name, choice.engine)) return {};
  while (!name.empty()) {
    int64_t type = 0, value = 0;
    if (!take(name, "_k") || !take(name, type) || !take(name, "=") || !take(name, value)) return {};
    set(choice, type, value);
  }
  return choice;
}

EngineSearchResult searchEngines(const std::vector<cudnn::Engine>& engines,
                                 const std::optional<std::pair<EngineChoice, double>>& start, const EngineSearch& search) {
  Searcher searcher(engines, search);
  if (start) searcher.start(start->first, start->second);
  searcher.defaults();
  searcher.climb();
  searcher.everythingElse();
  return searcher.result;
}

}  // namespace shiftconv::gpu
