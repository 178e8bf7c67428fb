#include <fmt/format.h>

#include <array>
#include <charconv>
#include <set>
#include <vector>

#include "conv/problem/quoted.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv {
namespace {

/// What is wrong with the text; caught by parse().
struct Wrong {
  std::string sentence;
};

template <class... Arguments>
[[noreturn]] void fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw Wrong{fmt::format(text, std::forward<Arguments>(arguments)...)};
}

template <class Value>
bool readNumber(std::string_view text, Value& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The words of a text, one after the other.
class Words {
 public:
  explicit Words(std::string_view text) {
    for (const std::string_view word : split(text, " \t\r\n"))
      if (!word.empty()) words_.push_back(word);
  }
  bool atEnd() const { return position_ == words_.size(); }
  /// Empty at the end.
  std::string_view peek() const { return atEnd() ? std::string_view() : words_[position_]; }
  std::string_view take(const char* what) {
    if (atEnd()) fail("the text ends where {} was expected", what);
    return words_[position_++];
  }

  DataType type(const char* what) {
    const std::string_view word = take(what);
    const auto type = dataTypeNamed(word);
    if (!type) fail("{} was expected, but the text has {}", what, quoted(word));
    return *type;
  }

  template <class Value>
  Value number(std::string_view what) {
    Value value = 0;
    if (atEnd()) fail("the text ends where the number of \"{}\" was expected", what);
    const std::string_view word = words_[position_++];
    if (!readNumber(word, value)) fail("\"{}\" needs a number, but the text has {}", what, quoted(word));
    return value;
  }

  /// "1,2,3" or "1x2x3": between `fewest` and `most` numbers.
  template <class Value>
  std::vector<Value> list(std::string_view what, std::string_view separator, size_t fewest, size_t most) {
    if (atEnd()) fail("the text ends where the numbers of \"{}\" were expected", what);
    const std::string_view word = words_[position_++];
    std::vector<Value> values;
    for (const std::string_view part : split(word, separator)) {
      Value value = 0;
      if (!readNumber(part, value))
        fail("\"{}\" needs numbers with \"{}\" between them, but the text has {}", what, separator, quoted(word));
      values.push_back(value);
    }
    if (values.size() < fewest || values.size() > most)
      fail("\"{}\" needs {}{} numbers, but the text has {}", what, fewest, most == fewest ? "" : fmt::format(" or {}", most),
           quoted(word));
    return values;
  }

 private:
  std::vector<std::string_view> words_;
  size_t position_ = 0;
};

constexpr std::string_view kShape = "shape";
using Shape = std::array<int64_t, 5>;

/// Four or five extents; the missing depth is 1.
Shape readShape(Words& words, size_t fewest, size_t most) {
  const auto extents = words.list<int64_t>(kShape, "x", fewest, most);
  if (extents.size() == 5) return {extents[0], extents[1], extents[2], extents[3], extents[4]};
  return {extents[0], 1, extents[1], extents[2], extents[3]};
}

size_t rankOf(std::string_view shape) { return split(shape, "x").size(); }

BlockScale readScale(Words& words) {
  const std::string_view word = words.take("a block scale");
  const auto parts = split(word, "/");
  BlockScale scale;
  const auto type = dataTypeNamed(parts[0]);
  if (!type || !isScaleFactor(*type) || parts.size() < 2 || !readNumber(parts[1], scale.blockSize) || parts.size() > 3 ||
      (parts.size() == 3 && parts[2] != "interleaved"))
    fail("\"scale\" needs a text like ue8m0/32 or ue4m3/16/interleaved, but the text has {}", quoted(word));
  scale.type = *type;
  if (parts.size() == 3) scale.order = ScaleOrder::Interleaved;
  return scale;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : words_(text) {}

  Problem problem() {
    input();
    filter();
    output();
    if (Status status = validate(p_); !status.ok()) fail("{}", status.message());
    if (shape_ && *shape_ != Shape{p_.n, p_.z(), p_.p(), p_.q(), p_.k})
      fail("the output's shape is {}x{}x{}x{}x{} (N, Z, P, Q, K), but the text has {}", p_.n, p_.z(), p_.p(), p_.q(), p_.k,
           quoted(shapeText_));
    return p_;
  }

 private:
  /// The next word of this part; false at `end` (which is taken) or at the end of the text when `end` is empty.
  bool next(std::string_view end, std::string_view& word) {
    if (words_.atEnd()) {
      if (end.empty()) return false;
      fail("the text ends before \"{}\"", end);
    }
    word = words_.take("a word");
    if (word == end) {
      seen_.clear();
      return false;
    }
    if (!seen_.insert(word).second) fail("{} appears twice in one part", quoted(word));
    return true;
  }

  void input() {
    rank_ = rankOf(words_.peek());
    const Shape shape = readShape(words_, 4, 5);
    p_.n = shape[0], p_.d = shape[1], p_.h = shape[2], p_.w = shape[3], p_.c = shape[4];
    p_.filterType = p_.inputType = words_.type("the input's type");
    for (std::string_view word; next("*", word);) {
      if (word == "pitch")
        p_.inputPixelPitch = words_.number<int64_t>(word);
      else if (word == "split_c")
        p_.splitC = words_.number<int64_t>(word);
      else if (word == "split_d")
        p_.splitD = words_.number<int64_t>(word);
      else if (word == "second_pitch")
        p_.secondPixelPitch = words_.number<int64_t>(word);
      else if (word == "zero")
        p_.inputZeroPoint = words_.number<int32_t>(word);
      else if (word == "scale")
        p_.inputScale = readScale(words_);
      else if (word == "nchw")
        p_.inputLayout = Layout::ChannelsFirst;
      else if (word == "upsample")
        steps(words_.list<int64_t>(word, ",", rank_ - 2, rank_ - 2), p_.upsampleD, p_.upsampleH, p_.upsampleW);
      else
        fail("{} is no word of the input; known are pitch, split_c, split_d, second_pitch, zero, scale, upsample, nchw",
             quoted(word));
    }
  }

  void filter() {
    const Shape shape = readShape(words_, rank_, rank_);
    p_.k = shape[0], p_.t = shape[1], p_.r = shape[2], p_.s = shape[3];
    if (const auto type = dataTypeNamed(words_.peek())) {
      p_.filterType = *type;
      words_.take("a type");
    }
    const size_t axes = rank_ - 2;
    for (std::string_view word; next("->", word);) {
      if (word == "groups")
        p_.groups = words_.number<int64_t>(word);
      else if (word == "pad")
        pads(words_.list<int64_t>(word, ",", 2 * axes, 2 * axes));
      else if (word == "stride")
        steps(words_.list<int64_t>(word, ",", axes, axes), p_.strideD, p_.strideH, p_.strideW);
      else if (word == "dilation")
        steps(words_.list<int64_t>(word, ",", axes, axes), p_.dilationD, p_.dilationH, p_.dilationW);
      else if (word == "transposed")
        p_.transposed = true;
      else if (word == "output_padding")
        steps(words_.list<int64_t>(word, ",", axes, axes), p_.outputPaddingD, p_.outputPaddingH, p_.outputPaddingW);
      else if (word == "flipped")
        p_.filterFlipped = true;
      else if (word == "compute")
        compute(words_.take("how to compute"));
      else if (word == "zero")
        p_.filterZeroPoint = words_.number<int32_t>(word);
      else if (word == "scale")
        p_.filterScale = readScale(words_);
      else
        fail(
            "{} is no word of the filter; known are groups, pad, stride, dilation, transposed, output_padding, flipped, compute, "
            "zero, scale",
            quoted(word));
    }
    if (p_.groups < 1 || p_.c % p_.groups != 0 || shape[4] != p_.c / p_.groups)
      fail("the filter has {} channels, but the input has {} in {} group(s)", shape[4], p_.c, p_.groups);
  }

  void pads(const std::vector<int64_t>& values) {
    size_t i = 0;
    if (rank_ == 5) p_.padFront = values[i++], p_.padBack = values[i++];
    p_.padTop = values[i++], p_.padBottom = values[i++], p_.padLeft = values[i++], p_.padRight = values[i];
  }

  void steps(const std::vector<int64_t>& values, int64_t& depth, int64_t& height, int64_t& width) const {
    size_t i = 0;
    if (rank_ == 5) depth = values[i++];
    height = values[i++], width = values[i];
  }

  void compute(std::string_view name) {
    for (const Compute one : {Compute::TF32, Compute::F16})
      if (nameOf(one) == name) {
        p_.compute = one;
        return;
      }
    fail("\"compute\" needs tf32 or f16, but the text has {}", quoted(name));
  }

  void output() {
    if (!dataTypeNamed(words_.peek())) {
      shapeText_ = words_.peek();
      shape_ = readShape(words_, rank_, rank_);
    }
    p_.outputType = words_.type("the output's type");
    for (std::string_view word; next("", word);)
      if (!outputNumber(word) && !epilogue(word) && !activation(word))
        fail(
            "{} is no word of the output; known are pitch, alpha, channel_scale, bias, residual, residual_type, residual_pitch, "
            "residual_last, amax, rounding, nchw, out_scale, zero, scale and the activations",
            quoted(word));
  }

  bool outputNumber(std::string_view word) {
    if (word == "pitch")
      p_.outputPixelPitch = words_.number<int64_t>(word);
    else if (word == "residual_pitch")
      p_.residualPixelPitch = words_.number<int64_t>(word);
    else if (word == "zero")
      p_.outputZeroPoint = words_.number<int32_t>(word);
    else if (word == "alpha")
      p_.alpha = words_.number<float>(word);
    else if (word == "residual")
      p_.beta = words_.number<float>(word);
    else if (word == "out_scale")
      p_.outScale = words_.number<float>(word);
    else
      return false;
    return true;
  }

  bool epilogue(std::string_view word) {
    if (word == "channel_scale") {
      p_.hasChannelScale = true;
    } else if (word == "bias") {
      p_.hasBias = true;
      if (const auto type = dataTypeNamed(words_.peek())) p_.biasType = words_.type("the bias' type");
    } else if (word == "residual_type") {
      p_.residualType = words_.type("the residual's type");
    } else if (word == "residual_last") {
      p_.residualLast = true;
    } else if (word == "amax") {
      p_.hasAmax = true;
    } else if (word == "nchw") {
      p_.outputLayout = Layout::ChannelsFirst;
    } else if (word == "rounding") {
      const std::string_view which = words_.take("where to round");
      if (which != "separate" && which != "once") fail("\"rounding\" needs once or separate, but the text has {}", quoted(which));
      p_.rounding = which == "separate" ? Rounding::Separate : Rounding::Once;
    } else if (word == "scale") {
      p_.outputScale = readScale(words_);
    } else {
      return false;
    }
    return true;
  }

  bool activation(std::string_view word) {
    for (int i = 1; i < kActivations; ++i) {
      const auto one = static_cast<Activation>(i);
      if (nameOf(one) != word) continue;
      if (p_.activation != Activation::None) fail("\"{}\" is a second activation", word);
      p_.activation = one;
      const auto count = static_cast<size_t>(parameterCount(one));
      if (count == 0) return true;
      const auto values = words_.list<float>(word, ",", count, count);
      p_.activationA = values[0];
      if (count > 1) p_.activationB = values[1];
      return true;
    }
    return false;
  }

  Words words_;
  Problem p_;
  size_t rank_ = 4;
  std::set<std::string_view> seen_;
  std::optional<Shape> shape_;
  std::string_view shapeText_;
};

}  // namespace

Status parse(std::string_view text, Problem& problem) {
  try {
    problem = Parser(text).problem();
    return {};
  } catch (const Wrong& wrong) {
    return {StatusCode::InvalidArgument, fmt::format("{} (in {})", wrong.sentence, quoted(text))};
  }
}

}  // namespace shiftconv
