// Wrong texts of problems are refused with the word that is wrong, and invalid problems with the limit.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::tests {
namespace {

struct WrongText {
  const char* name;
  const char* text;
  const char* mentions;
};

class ProblemTextErrors : public testing::TestWithParam<WrongText> {};

TEST_P(ProblemTextErrors, QuoteTheWord) {
  Problem problem;
  problem.n = 77;
  const Status status = parse(GetParam().text, problem);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find(GetParam().mentions), std::string::npos) << status.message();
  EXPECT_EQ(problem.n, 77);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ProblemTextErrors,
    testing::ValuesIn(std::vector<WrongText>{
        WrongText{"empty", "", "ends where the numbers of \"shape\""},
        WrongText{"shape", "1x8x8 f16 * 8x3x3x8 -> f16", "\"1x8x8\""},
        WrongText{"shape_letter", "1x8xax8 f16 * 8x3x3x8 -> f16", "\"1x8xax8\""},
        WrongText{"shape_overflow", "1x8x99999999999999999999x8 f16 * 8x3x3x8 -> f16", "\"1x8x99999"},
        WrongText{"rank", "1x8x8x8 f16 * 8x1x3x3x8 -> f16", "\"8x1x3x3x8\""},
        WrongText{"type", "1x8x8x8 f17 * 8x3x3x8 -> f16", "\"f17\""},
        WrongText{"no_filter", "1x8x8x8 f16", "ends before \"*\""},
        WrongText{"no_output", "1x8x8x8 f16 * 8x3x3x8", "ends before \"->\""},
        WrongText{"no_output_type", "1x8x8x8 f16 * 8x3x3x8 -> 1x6x6x8", "ends where the output's type"},
        WrongText{"unknown_input", "1x8x8x8 f16 pad 1 * 8x3x3x8 -> f16", "\"pad\" is no word of the input"},
        WrongText{"unknown_filter", "1x8x8x8 f16 * 8x3x3x8 relu -> f16", "\"relu\" is no word of the filter"},
        WrongText{"unknown_output", "1x8x8x8 f16 * 8x3x3x8 -> f16 gelu", "\"gelu\" is no word of the output"},
        WrongText{"twice", "1x8x8x8 f16 * 8x3x3x8 stride 1,1 stride 2,2 -> f16", "\"stride\" appears twice"},
        WrongText{"two_activations", "1x8x8x8 f16 * 8x3x3x8 -> f16 relu tanh", "second activation"},
        WrongText{"pads", "1x8x8x8 f16 * 8x3x3x8 pad 1,1 -> f16", "\"pad\" needs 4 numbers"},
        WrongText{"number", "1x8x8x8 f16 pitch wide * 8x3x3x8 -> f16", "\"wide\""},
        WrongText{"number_missing", "1x8x8x8 f16 * 8x3x3x8 -> f16 alpha", "the number of \"alpha\""},
        WrongText{"output_padding", "1x8x8x8 f16 * 8x3x3x8 output_padding 1,1 -> f16", "output_padding_h must be 0"},
        WrongText{"upsample_transposed", "1x8x8x8 f16 upsample 1,2 * 8x3x3x8 transposed -> f16",
                  "upsample_d, upsample_h and upsample_w of 1, but they are 1, 1 and 2"},
        WrongText{"upsample_numbers", "1x8x8x8 f16 upsample 2 * 8x3x3x8 -> f16", "\"upsample\" needs 2 numbers"},
        WrongText{"upsample_twice", "1x8x8x8 f16 upsample 2,2 upsample 2,2 * 8x3x3x8 -> f16", "\"upsample\" appears twice"},
        WrongText{"upsample_empty", "1x1x1x8 f16 upsample 2,2 * 8x3x2x8 -> f16", "= 3 pixels, but h"},
        WrongText{"rounding", "1x8x8x8 f16 * 8x3x3x8 -> f16 rounding twice",
                  "\"rounding\" needs once or separate, but the text has \"twice\""},
        WrongText{"rounding_type", "1x8x8x8 f16 * 8x3x3x8 -> e4m3 rounding separate",
                  "rounding SEPARATE (1) is for output_type F16 (0), BF16 (1) or F32 (2), but it is e4m3"},
        WrongText{"nchw_pitch", "1x8x8x8 f16 nchw pitch 16 * 8x3x3x8 -> f16",
                  "input_pixel_pitch must be 0 with input_layout NCHW (1)"},
        WrongText{"nchw_residual_pitch", "1x8x8x8 f16 * 8x3x3x8 -> f16 nchw residual 1 residual_pitch 16",
                  "residual_pixel_pitch must be 0 with output_layout NCHW (1)"},
        WrongText{"nchw_scale", "1x8x8x32 e4m3 nchw scale ue8m0/32 * 8x3x3x32 -> f16",
                  "input_block_scale is for input_layout NHWC (0)"},
        WrongText{"nchw_narrow", "1x8x8x32 f16 * 8x3x3x32 -> e2m1 nchw",
                  "output_layout NCHW (1) needs elements of whole bytes, but output_type is e2m1"},
        WrongText{"split_both", "1x4x8x8x8 f16 split_c 4 split_d 2 * 8x3x3x3x8 -> f16",
                  "one of split_c and split_d must be 0, but they are 4 and 2"},
        WrongText{"split_negative", "1x8x8x8 f16 split_c -1 * 8x3x3x8 -> f16", "split_c must be in 0.."},
        WrongText{"split_nchw", "1x8x8x8 f16 nchw split_c 4 * 8x3x3x8 -> f16",
                  "must be 0 with input_layout NCHW (1), but are 4 and 0"},
        WrongText{"split_scale", "1x8x8x64 e4m3 split_c 32 scale ue8m0/32 * 8x3x3x64 -> f16",
                  "split_c and split_d must be 0 with input_block_scale, but are 32 and 0"},
        WrongText{"split_pitch", "1x8x8x8 f16 second_pitch 8 * 8x3x3x8 -> f16",
                  "second_pixel_pitch must be 0 where split_c and split_d are, but is 8"},
        WrongText{"split_bytes", "1x8x8x8 e2m1 split_c 4 second_pitch 5 * 8x3x3x8 -> f16",
                  "second_pixel_pitch of the second_input must fill whole bytes, but is 5"},
        WrongText{"split_first_bytes", "1x8x8x8 e2m1 split_c 3 second_pitch 6 * 8x3x3x8 -> f16",
                  "split_c of the input must fill whole bytes, but is 3"},
        WrongText{"channels", "1x8x8x8 f16 * 8x3x3x4 -> f16", "the filter has 4 channels"},
        WrongText{"groups", "1x8x8x8 f16 * 8x3x3x4 groups 0 -> f16", "0 group(s)"},
        WrongText{"scale", "1x8x8x8 e4m3 scale f16/32 * 8x3x3x8 -> f16", "\"f16/32\""},
        WrongText{"output_shape", "1x8x8x8 f16 * 8x3x3x8 -> 1x8x8x8 f16", "the output's shape is 1x1x6x6x8"},
        WrongText{"invalid", "1x8x8x8 f16 * 8x3x3x8 stride 0,1 -> f16", "stride_h must be in 1.."}}),
    [](const auto& info) { return info.param.name; });

/// What takes an argument: none, one of another form, one with something behind it, and a list of another length.
TEST(ProblemText, WordsRefuseWhatIsNotTheirArgument) {
  const std::vector<const char*> numbers{"", "x", "1x", "1,1", "0x10"}, pairs{"", "x", "1", "1,1,1", "1,x", "1,1x", "1x1", "1,"},
      scales{"",       "ue8m0", "ue8m0/",         "ue8m0/x",   "ue8m0/32x",
             "f16/32", "/32",   "ue8m0/32/plain", "ue8m0/32/", "ue8m0/32/interleaved/1"},
      types{"", "f17", "f16x"};
  const std::string in = "1x8x8x8 f16 ", filter = in + "* 8x3x3x8 ", out = filter + "-> f16 ";
  const struct {
    std::string before;
    const char *word, *behind;
    std::vector<const char*> wrong;
  } words[] = {{in, "pitch", " * 8x3x3x8 -> f16", numbers},
               {in, "split_c", " * 8x3x3x8 -> f16", numbers},
               {in, "split_d", " * 8x3x3x8 -> f16", numbers},
               {in, "second_pitch", " * 8x3x3x8 -> f16", numbers},
               {in, "zero", " * 8x3x3x8 -> f16", numbers},
               {in, "upsample", " * 8x3x3x8 -> f16", pairs},
               {in, "scale", " * 8x3x3x8 -> f16", scales},
               {filter, "groups", " -> f16", numbers},
               {filter, "pad", " -> f16", {"", "x", "1,1", "1,1,1", "1,1,1,1,1", "1,1,1,x"}},
               {filter, "stride", " -> f16", pairs},
               {filter, "dilation", " -> f16", pairs},
               {filter, "output_padding", " -> f16", pairs},
               {filter, "compute", " -> f16", {"", "f32", "tf32x", "bf16"}},
               {filter, "zero", " -> f16", numbers},
               {filter, "scale", " -> f16", scales},
               {out, "pitch", "", numbers},
               {out, "residual_pitch", "", numbers},
               {out, "zero", "", numbers},
               {out, "alpha", "", {"", "x", "1x", "1,1"}},
               {out, "residual", "", {"", "x", "1x", "1,1"}},
               {out, "out_scale", "", {"", "x", "1x", "1,1"}},
               {out, "residual_type", "", types},
               {out, "rounding", "", {"", "never", "oncex"}},
               {out, "scale", "", scales},
               {out, "leaky_relu", "", {"", "x", "1,1"}},
               {out, "clamp", "", {"", "x", "1", "1,1,1", "1,x"}}};
  for (const auto& [before, word, behind, wrong] : words)
    for (const std::string argument : wrong) {
      const std::string text = before + word + " " + argument + (argument.empty() ? "" : behind);
      SCOPED_TRACE(text);
      Problem problem;
      const Status status = parse(text, problem);
      EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
      EXPECT_NE(status.message().find(argument.empty() ? "the text ends where" : "\"" + argument + "\""), std::string::npos)
          << status.message();
    }
}

/// Each limit of a valid problem: the last text within it, and the first one beyond with words of what is said then.
TEST(Validation, DrawsEachLimitWhereItIs) {
  struct Limit {
    const char *within, *beyond, *words;
  };
  const Limit limits[] = {
      {"1x4x4x4 s8 zero 127 * 8x1x1x4 s8 -> s8", "1x4x4x4 s8 zero 128 * 8x1x1x4 s8 -> s8", "input_zero_point must be in -128..127"},
      {"1x4x4x4 s8 zero -128 * 8x1x1x4 s8 -> s8", "1x4x4x4 s8 zero -129 * 8x1x1x4 s8 -> s8",
       "input_zero_point must be in -128..127"},
      {"1x4x4x4 u8 zero 255 * 8x1x1x4 s8 -> s8", "1x4x4x4 u8 zero 256 * 8x1x1x4 s8 -> s8", "input_zero_point must be in 0..255"},
      {"1x4x4x4 u8 zero 1 * 8x1x1x4 s8 -> s8", "1x4x4x4 u8 zero -1 * 8x1x1x4 s8 -> s8", "input_zero_point must be in 0..255"},
      {"1x4x4x4 s8 * 8x1x1x4 u8 zero 255 -> s8", "1x4x4x4 s8 * 8x1x1x4 u8 zero 256 -> s8", "filter_zero_point must be in 0..255"},
      {"1x4x4x4 s8 * 8x1x1x4 s8 -> u8 zero 255", "1x4x4x4 s8 * 8x1x1x4 s8 -> u8 zero 256", "output_zero_point must be in 0..255"},
      {"1x4x4x4 s8 * 8x1x1x4 s8 -> s8 zero -128", "1x4x4x4 s8 * 8x1x1x4 s8 -> s8 zero -129", "output_zero_point must be in -128"},
      {"1x4x4x4 s8 * 8x1x1x4 s8 -> f16", "1x4x4x4 s8 * 8x1x1x4 s8 -> f16 zero 1", "output_zero_point must be in 0..0"},
      {"1x4x4x1024 e4m3 scale ue8m0/1024 * 8x1x1x1024 scale ue8m0/1024 -> f16",
       "1x4x4x1025 e4m3 scale ue8m0/1025 * 8x1x1x1025 scale ue8m0/1025 -> f16", "block_size must be in 0..1024"},
      {"1x4x4x12 f16 * 6x3x3x4 groups 3 -> f16", "1x4x4x12 f16 * 5x3x3x4 groups 3 -> f16", "groups must divide k"},
      {"1x4x4x8 f16 pitch 8 * 8x1x1x8 -> f16", "1x4x4x8 f16 pitch 7 * 8x1x1x8 -> f16",
       "input_pixel_pitch must be 0 or at least c = 8"},
      {"1x4x4x8 f16 split_c 7 * 8x1x1x8 -> f16", "1x4x4x8 f16 split_c 8 * 8x1x1x8 -> f16",
       "split_c must be 0 or below c = 8, but is 8"},
      {"1x4x4x4x8 f16 split_d 3 * 8x1x1x1x8 -> f16", "1x4x4x4x8 f16 split_d 4 * 8x1x1x1x8 -> f16",
       "split_d must be 0 or below d = 4, but is 4"},
      {"1x4x4x8 f16 split_c 5 pitch 5 * 8x1x1x8 -> f16", "1x4x4x8 f16 split_c 5 pitch 4 * 8x1x1x8 -> f16",
       "input_pixel_pitch must be 0 or at least split_c = 5, but is 4"},
      {"1x4x4x8 f16 split_c 5 second_pitch 3 * 8x1x1x8 -> f16", "1x4x4x8 f16 split_c 5 second_pitch 2 * 8x1x1x8 -> f16",
       "second_pixel_pitch must be 0 or at least c - split_c = 3, but is 2"},
      {"1x4x4x4x8 f16 split_d 3 second_pitch 8 * 8x1x1x1x8 -> f16", "1x4x4x4x8 f16 split_d 3 second_pitch 7 * 8x1x1x1x8 -> f16",
       "second_pixel_pitch must be 0 or at least c = 8, but is 7"},
      {"1x8388608x4194304x2 f16 split_c 1 second_pitch 2 * 8x1x1x2 stride 8388608,4194304 -> f16",
       "1x8388608x4194304x2 f16 split_c 1 second_pitch 3 * 8x1x1x2 stride 8388608,4194304 -> f16",
       "the second_input tensor of n * d * h * w * second_pixel_pitch = 1 * 1 * 8388608 * 4194304 * 3 elements of input_type f16 "
       "exceeds "
       "140737488355328 bytes"},
      {"1x8388608x4194304x3 f16 split_c 1 * 8x1x1x3 stride 8388608,4194304 -> f16",
       "1x8388608x4194304x4 f16 split_c 1 * 8x1x1x4 stride 8388608,4194304 -> f16",
       "the second_input tensor of n * d * h * w * (c - split_c) = 1 * 1 * 8388608 * 4194304 * 3 elements of input_type f16 "
       "exceeds"},
      {"1x4x4x8 f16 * 8x1x1x8 -> f16 pitch 8", "1x4x4x8 f16 * 8x1x1x8 -> f16 pitch 7",
       "output_pixel_pitch must be 0 or at least k = 8"},
      {"1x4x5x8 f16 * 8x3x3x8 pad 0,0,0,1 dilation 1,2 -> f16", "1x4x5x8 f16 * 8x3x4x8 pad 0,0,0,1 dilation 1,2 -> f16",
       "dilation_w*(s-1)+1 = 7 pixels"},
      {"1x2x5x8 f16 * 8x3x3x8 pad 1,0,0,0 -> f16", "1x2x5x8 f16 * 8x4x3x8 pad 1,0,0,0 -> f16", "dilation_h*(r-1)+1 = 4 pixels"},
      {"1x2x4x5x8 f16 * 8x3x3x3x8 pad 0,1,0,0,0,0 -> f16", "1x2x4x5x8 f16 * 8x4x3x3x8 pad 0,1,0,0,0,0 -> f16",
       "dilation_d*(t-1)+1 = 4 pixels"},
      {"1x4x4x2 e2m1 * 8x1x1x2 e2m1 -> f16", "1x4x4x3 e2m1 * 8x1x1x3 e2m1 -> f16", "must fill whole bytes"},
      {"1x4x4x4 e3m2 * 8x1x1x4 e3m2 -> f16", "1x4x4x6 e3m2 * 8x1x1x6 e3m2 -> f16", "must fill whole bytes"},
      {"1x4x4x8 f16 * 8x1x1x8 -> f16 clamp 1,1", "1x4x4x8 f16 * 8x1x1x8 -> f16 clamp 1,0.5", "activation_a <= activation_b"},
      {"2147483647x1x1x8 f16 * 8x1x1x8 -> f16", "2147483648x1x1x8 f16 * 8x1x1x8 -> f16", "must be"},
      {"1x8388608x4194304x2 f16 * 8x1x1x2 stride 8388608,4194304 -> f16",
       "1x8388608x4194305x2 f16 * 8x1x1x2 stride 8388608,4194305 -> f16",
       "input tensor of n * d * h * w * c = 1 * 1 * 8388608 * 4194305 * 2 elements of input_type f16 exceeds 140737488355328 "
       "bytes"},
      {"1x4x4x4 s8 * 8x1x1x4 u8 -> s32", "1x4x4x4 s8 * 8x1x1x4 f16 -> f32", "both integers or both floating-point"},
      {"1x4x4x8 f32 * 8x1x1x8 compute tf32 -> f32", "1x4x4x8 f16 * 8x1x1x8 compute tf32 -> f32", "compute TF32 (1) is for"},
      {"1x4x4x8 f16 * 8x1x1x8 compute f16 -> f32", "1x4x4x8 s8 * 8x1x1x8 compute f16 -> f32",
       "compute F16 (2) is not for integer types"},
  };
  for (const Limit& limit : limits) {
    Problem p;
    const Status within = parse(limit.within, p);
    EXPECT_TRUE(within.ok()) << limit.within << ": " << within.message();
    const Status beyond = parse(limit.beyond, p);
    EXPECT_NE(beyond.message().find(limit.words), std::string::npos) << limit.beyond << ": " << beyond.message();
  }
}

/// A message about a long text shows where it begins, and stays a sentence.
TEST(ProblemText, ErrorsQuoteLittleOfLongTexts) {
  const std::string sound = "1x8x8x8 f16 * 8x3x3x8 -> f16", letters(1'000'000, 'x'), digits(1'000'000, '7');
  for (const std::string& text :
       {letters, "1x8x8x" + digits + " f16 * 8x3x3x8 -> f16", "1x8x8x8 " + letters, "1x8x8x8 f16 " + letters,
        "1x8x8x8 f16 pitch " + letters, "1x8x8x8 f16 scale " + letters, "1x8x8x8 f16 * " + letters,
        "1x8x8x8 f16 * 8x3x3x8 " + letters, "1x8x8x8 f16 * 8x3x3x8 compute " + letters, "1x8x8x8 f16 * 8x3x3x8 pad " + letters,
        "1x8x8x8 f16 * 8x3x3x8 -> " + letters, sound + " " + letters, sound + " alpha " + digits + letters,
        sound + " bias bias " + letters, "1x8x8x8 f16 * 8x3x3x8 stride 0,1 -> f16" + std::string(1'000'000, ' ')}) {
    Problem problem;
    const Status status = parse(text, problem);
    ASSERT_FALSE(status.ok());
    EXPECT_LT(status.message().size(), 500u);
    EXPECT_NE(status.message().find("...\" (" + std::to_string(text.size()) + " characters)"), std::string::npos)
        << status.message();
  }
  Problem problem;
  const std::string shown = "1x8x8x8 f16 * 8x3x3x8 -> f16 bias relu residual 0.125 residual_type bf16 of pixels";
  ASSERT_EQ(shown.size(), 82u);
  EXPECT_NE(parse(shown, problem).message().find("(in \"" + shown.substr(0, 80) + "...\" (82 characters))"), std::string::npos)
      << parse(shown, problem).message();
  const std::string whole = shown.substr(0, 80);
  EXPECT_NE(parse(whole, problem).message().find("(in \"" + whole + "\")"), std::string::npos) << parse(whole, problem).message();
}

TEST(ProblemText, DamagedTextsAreRefusedOrStillMeanAProblem) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const std::string sound =
      "1x2x8x9x64 e2m1 pitch 80 scale ue4m3/16 * 32x2x3x3x16 e4m3 groups 4 pad 1,0,2,3,4,5 -> f16 clamp -1,2.5";
  const std::string alphabet = " ,x*->/.0159-abelpstz#\t";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = sound;
    for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % text.size();
      const char letter = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.insert(at, 1, letter);
          break;
        default:
          text.erase(at, 1 + random() % 5);
      }
      if (text.empty()) text = " ";
    }
    Problem problem;
    const Status status = parse(text, problem);
    if (!status.ok()) {
      ASSERT_FALSE(status.message().empty());
      continue;
    }
    ASSERT_TRUE(validate(problem).ok()) << text;
    Problem again;
    ASSERT_TRUE(parse(describe(problem), again).ok() && again == problem) << text;
  }
}

}  // namespace
}  // namespace shiftconv::tests
