// Ten thousand problems with one wrong field each: a sentence names it.
#include <gtest/gtest.h>
#include <shiftconv/shiftconv.hpp>

#include <cctype>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests::invalid_problems_test {
namespace {

/// Valid ones, with every field in use somewhere.
const std::vector<std::string> kSound = {
    "2x5x7x16 f16 * 24x3x3x16 pad 1,0,2,1 stride 2,1 dilation 1,2 -> f16 alpha 0.5 channel_scale bias f16 relu amax",
    "1x2x5x7x24 bf16 pitch 32 * 16x2x3x3x6 groups 4 pad 1,0,1,1,0,2 stride 1,2,3 -> f32 pitch 20 bias residual 0.5 residual_type "
    "f16 residual_pitch 24 clamp -1,2",
    "1x5x7x64 e2m1 scale ue4m3/16 * 32x3x3x64 scale ue4m3/16 pad 1,1,1,1 -> e2m1 scale ue4m3/16",
    "1x5x7x128 e4m3 scale ue8m0/32/interleaved * 64x3x3x128 e5m2 scale ue8m0/32 -> bf16 silu",
    "1x4x5x20 u8 zero 131 * 24x3x3x20 s8 zero -3 pad 1,0,2,1 -> s8 alpha 0.01 out_scale 2 zero -9",
    "1x3x5x7x16 f16 * 24x3x3x3x16 pad 1,1,1,1,0,1 stride 2,2,3 dilation 1,2,1 transposed output_padding 1,1,2 -> f16 leaky_relu "
    "0.1",
    "2x2x5x7x24 f16 upsample 1,2,3 * 40x1x3x3x24 pad 0,0,1,0,2,1 -> f16 bias residual 1 rounding separate",
    "2x5x7x24 f16 split_c 8 pitch 12 second_pitch 20 * 40x3x3x24 pad 1,0,2,1 -> f16",
    "2x5x4x3x16 f16 split_d 2 * 24x3x3x2x16 -> f16",
    "1x5x7x16 f32 nchw * 24x3x3x16 pad 1,0,2,1 compute tf32 -> f16 nchw bias bf16 residual 1",
    "1x1x61x12 e3m2 * 8x1x5x12 e2m3 pad 0,0,2,2 -> e3m2",
};

struct Field {
  std::string name;
  std::function<void(Convolution&, std::mt19937_64&)> change;
};

template <class Number>
Number drawn(std::mt19937_64& random) {
  if constexpr (std::is_floating_point_v<Number>) {
    constexpr Number kInfinity = std::numeric_limits<Number>::infinity();
    constexpr Number kNumbers[] = {0, -1, 3, 1e30f, kInfinity, -kInfinity, std::numeric_limits<Number>::quiet_NaN()};
    return kNumbers[random() % std::size(kNumbers)];
  } else {
    constexpr auto kMost = std::numeric_limits<Number>::max(), kLeast = std::numeric_limits<Number>::min();
    constexpr Number kNumbers[] = {-1, 0, kMost, kLeast, std::numeric_limits<int32_t>::max(), kMost / 2, 1000, 17};
    return random() % 2 == 0 ? kNumbers[random() % std::size(kNumbers)] : static_cast<Number>(random() % 40);
  }
}

std::vector<Field> fields() {
  std::vector<Field> all;
#define FIELD(name) \
  all.push_back({#name, [](Convolution& p, std::mt19937_64& random) { p.name = drawn<decltype(p.name)>(random); }})
  FIELD(n), FIELD(d), FIELD(h), FIELD(w), FIELD(c), FIELD(k), FIELD(t), FIELD(r), FIELD(s), FIELD(groups);
  FIELD(pad_front), FIELD(pad_back), FIELD(pad_top), FIELD(pad_bottom), FIELD(pad_left), FIELD(pad_right);
  FIELD(stride_d), FIELD(stride_h), FIELD(stride_w), FIELD(dilation_d), FIELD(dilation_h), FIELD(dilation_w);
  FIELD(input_pixel_pitch), FIELD(output_pixel_pitch), FIELD(residual_pixel_pitch), FIELD(second_pixel_pitch);
  FIELD(input_type), FIELD(filter_type), FIELD(output_type), FIELD(bias_type), FIELD(residual_type), FIELD(compute);
  FIELD(input_block_scale.block_size), FIELD(input_block_scale.type), FIELD(input_block_scale.order);
  FIELD(filter_block_scale.block_size), FIELD(filter_block_scale.type), FIELD(filter_block_scale.order);
  FIELD(output_block_scale.block_size), FIELD(output_block_scale.type), FIELD(output_block_scale.order);
  FIELD(input_zero_point), FIELD(filter_zero_point), FIELD(output_zero_point);
  FIELD(has_bias), FIELD(has_channel_scale), FIELD(has_amax), FIELD(alpha), FIELD(beta), FIELD(out_scale);
  FIELD(activation), FIELD(activation_a), FIELD(activation_b), FIELD(transposed), FIELD(rounding);
  FIELD(output_padding_d), FIELD(output_padding_h), FIELD(output_padding_w), FIELD(upsample_d), FIELD(upsample_h),
      FIELD(upsample_w);
  FIELD(input_layout), FIELD(output_layout), FIELD(split_c), FIELD(split_d), FIELD(filter_flipped), FIELD(residual_last);
#undef FIELD
  return all;
}

/// As a word: "r" is not in "groups", "input_block_scale" is in "input_block_scale.type".
bool names(std::string_view sentence, std::string_view field) {
  const auto inWord = [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; };
  for (size_t at = sentence.find(field); at != std::string_view::npos; at = sentence.find(field, at + 1)) {
    const size_t end = at + field.size();
    if ((at == 0 || !inWord(sentence[at - 1])) && (end == sentence.size() || !inWord(sentence[end]))) return true;
  }
  return false;
}

TEST(ApiInvalidProblems, AreRefusedBySentencesThatNameTheField) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<Convolution> sound;
  for (const std::string& text : kSound) sound.push_back(Convolution::parse(text));
  const std::vector<Field> changes = fields();
  std::vector<int> refused(changes.size());
  int unnamed = 0;
  for (int invalid = 0; invalid < 10'000 && unnamed < 20;) {
    Convolution problem = sound[random() % sound.size()];
    const std::string before = problem.describe();
    const size_t which = random() % changes.size();
    const Field& field = changes[which];
    field.change(problem, random);
    if (shiftconv_problem_validate(&problem) == SHIFTCONV_STATUS_SUCCESS) continue;
    ++invalid, ++refused[which];
    const std::string sentence = shiftconv_last_error();
    const std::string part = field.name.substr(0, field.name.find('.'));  // of block scales that contradict each other
    if (!names(sentence, field.name) && !(field.name != part && names(sentence, part))) {
      ++unnamed;
      ADD_FAILURE() << before << " with another " << field.name << ": " << sentence;
    }
  }
  for (size_t i = 0; i < changes.size(); ++i) EXPECT_GT(refused[i], 0) << changes[i].name;
}

}  // namespace
}  // namespace shiftconv::tests::invalid_problems_test
