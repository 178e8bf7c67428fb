// Problems: every field wrong in turn.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests::api_problem_test {
namespace {

using Problem = shiftconv_problem_t;

TEST(ApiProblem, InitialValuesNeedOnlySizes) {
  const Problem problem = SHIFTCONV_PROBLEM_INIT;
  EXPECT_EQ(problem.size, sizeof(Problem));
  EXPECT_EQ(problem.d, 1);
  EXPECT_EQ(problem.t, 1);
  EXPECT_EQ(problem.groups, 1);
  EXPECT_EQ(problem.stride_d, 1);
  EXPECT_EQ(problem.dilation_d, 1);
  EXPECT_EQ(problem.bias_type, SHIFTCONV_TYPE_F32);
  EXPECT_EQ(problem.alpha, 1.0f);
  EXPECT_EQ(problem.beta, 0.0f);
  EXPECT_EQ(problem.out_scale, 1.0f);
  EXPECT_EQ(problem.stride_h, 1);
  EXPECT_EQ(problem.stride_w, 1);
  EXPECT_EQ(problem.dilation_h, 1);
  EXPECT_EQ(problem.dilation_w, 1);
  EXPECT_EQ(problem.pad_right, 0);
  EXPECT_EQ(problem.input_pixel_pitch, 0);
  EXPECT_EQ(problem.output_type, SHIFTCONV_TYPE_F16);
  EXPECT_EQ(problem.activation, SHIFTCONV_ACTIVATION_NONE);
  const Problem small = smallProblem();
  EXPECT_OK(shiftconv_problem_validate(&small));
}

TEST(ApiGemm, IsAConvolutionOfOneRowOfPixels) {
  Problem problem = SHIFTCONV_PROBLEM_INIT;
  problem.input_type = problem.filter_type = SHIFTCONV_TYPE_BF16;
  problem.output_pixel_pitch = 64;
  problem.has_bias = 1;
  problem.n = 7, problem.r = 3, problem.pad_left = 2, problem.stride_h = 2, problem.groups = 4;  // of a convolution before
  EXPECT_OK(shiftconv_gemm(100, 40, 72, &problem));
  char text[200] = "";
  EXPECT_OK(shiftconv_problem_describe(&problem, text, sizeof(text), nullptr));
  EXPECT_STREQ(text, "1x1x100x72 bf16 * 40x1x1x72 pad 0,0,0,0 -> 1x1x100x40 f16 pitch 64 bias");
  shiftconv_tensor_bytes_t bytes = SHIFTCONV_TENSOR_BYTES_INIT;
  EXPECT_OK(shiftconv_problem_tensor_bytes(&problem, &bytes));
  EXPECT_EQ(bytes.input, 100u * 72 * 2);
  EXPECT_EQ(bytes.filter, 40u * 72 * 2);
  EXPECT_EQ(bytes.output, (99u * 64 + 40) * 2);
}

TEST(ApiGemm, HasAnAlgorithmOfItsOwnOnBlackwellAndOthersOnHopper) {
  Problem problem = SHIFTCONV_PROBLEM_INIT;
  EXPECT_OK(shiftconv_gemm(300, 128, 256, &problem));
  const auto blackwell = preset("B200"), hopper = preset("H200");
  char reason[300] = "";
  EXPECT_OK(shiftconv_support(&problem, &blackwell, "gemm", reason, sizeof(reason), nullptr));
  EXPECT_FAILURE(shiftconv_support(&problem, &hopper, "gemm", reason, sizeof(reason), nullptr), SHIFTCONV_STATUS_UNSUPPORTED,
                 "compute capability 10.0");
  shiftconv_plan_t plan = nullptr;
  EXPECT_OK(shiftconv_plan_create(&problem, &hopper, nullptr, &plan));
  EXPECT_STRNE(shiftconv_plan_algorithm(plan), "direct");
  EXPECT_OK(shiftconv_plan_destroy(plan));
  problem.h = 2;
  EXPECT_FAILURE(shiftconv_support(&problem, &blackwell, "gemm", reason, sizeof(reason), nullptr), SHIFTCONV_STATUS_UNSUPPORTED,
                 "h must be 1, but it is 2");
}

TEST(ApiGemm, NamesTheExtentThatIsWrong) {
  Problem problem = SHIFTCONV_PROBLEM_INIT;
  EXPECT_FAILURE(shiftconv_gemm(0, 1, 1, &problem), SHIFTCONV_STATUS_INVALID_ARGUMENT, "m must lie in [1, 2147483647], but is 0");
  EXPECT_FAILURE(shiftconv_gemm(1, -3, 1, &problem), SHIFTCONV_STATUS_INVALID_ARGUMENT, "n must lie in");
  EXPECT_FAILURE(shiftconv_gemm(1, 1, int64_t{1} << 31, &problem), SHIFTCONV_STATUS_INVALID_ARGUMENT, "k must lie in");
  EXPECT_FAILURE(shiftconv_gemm(1, 1, 1, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_problem");
  EXPECT_EQ(problem.w, 0);
  problem.size = 8;
  EXPECT_FAILURE(shiftconv_gemm(1, 1, 1, &problem), SHIFTCONV_STATUS_INVALID_ARGUMENT, "size");
}

class ApiInvalidProblem : public testing::TestWithParam<ProblemChange> {};

TEST_P(ApiInvalidProblem, IsRefusedWithASentenceThatNamesTheField) {
  Problem problem = smallProblem();
  GetParam().apply(problem);
  EXPECT_FAILURE(shiftconv_problem_validate(&problem), SHIFTCONV_STATUS_INVALID_ARGUMENT, GetParam().mentions);
  // The same sentence from every function that takes a problem.
  int64_t z = -5, p = -5, q = -5;
  EXPECT_FAILURE(shiftconv_problem_output_size(&problem, &z, &p, &q), SHIFTCONV_STATUS_INVALID_ARGUMENT, GetParam().mentions);
  EXPECT_EQ(p, -5);
  shiftconv_tensor_bytes_t bytes = SHIFTCONV_TENSOR_BYTES_INIT;
  bytes.input = 17;
  EXPECT_FAILURE(shiftconv_problem_tensor_bytes(&problem, &bytes), SHIFTCONV_STATUS_INVALID_ARGUMENT, GetParam().mentions);
  EXPECT_EQ(bytes.input, 17u);
  char text[300] = "";
  EXPECT_FAILURE(shiftconv_problem_describe(&problem, text, sizeof(text), nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 GetParam().mentions);
  const auto properties = preset("B200");
  EXPECT_FAILURE(shiftconv_support(&problem, &properties, "shift_window", text, sizeof(text), nullptr),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, GetParam().mentions);
  EXPECT_STREQ(text, shiftconv_last_error());
  shiftconv_plan_t plan = nullptr;
  EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, nullptr, &plan), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 GetParam().mentions);
  EXPECT_EQ(plan, nullptr);
}

constexpr int64_t kTooLarge = int64_t{1} << 31;

INSTANTIATE_TEST_SUITE_P(
    EveryField, ApiInvalidProblem,
    testing::ValuesIn(std::vector<ProblemChange>{ProblemChange{"size_zero", [](Problem& p) { p.size = 0; }, "size"},
                    ProblemChange{"size_short", [](Problem& p) { p.size = SHIFTCONV_PROBLEM_SIZE_0_2 - 8; }, "size"},
                    ProblemChange{"n_zero", [](Problem& p) { p.n = 0; }, "n must be in 1.."},
                    ProblemChange{"n_large", [](Problem& p) { p.n = kTooLarge; }, "n must be in 1.."},
                    ProblemChange{"h_negative", [](Problem& p) { p.h = -1; }, "h must be in 1.."},
                    ProblemChange{"w_zero", [](Problem& p) { p.w = 0; }, "w must be in 1.."},
                    ProblemChange{"c_zero", [](Problem& p) { p.c = 0; }, "c must be in 1.."},
                    ProblemChange{"c_huge", [](Problem& p) { p.c = std::numeric_limits<int64_t>::max(); }, "c must be in 1.."},
                    ProblemChange{"k_zero", [](Problem& p) { p.k = 0; }, "k must be in 1.."},
                    ProblemChange{"r_zero", [](Problem& p) { p.r = 0; }, "r must be in 1.."},
                    ProblemChange{"s_negative", [](Problem& p) { p.s = -3; }, "s must be in 1.."},
                    ProblemChange{"pad_top_negative", [](Problem& p) { p.pad_top = -1; }, "pad_top must be in 0.."},
                    ProblemChange{"pad_bottom_negative", [](Problem& p) { p.pad_bottom = -1; }, "pad_bottom must be in 0.."},
                    ProblemChange{"pad_left_negative", [](Problem& p) { p.pad_left = -1; }, "pad_left must be in 0.."},
                    ProblemChange{"pad_right_large", [](Problem& p) { p.pad_right = kTooLarge; }, "pad_right must be in 0.."},
                    ProblemChange{"stride_h_zero", [](Problem& p) { p.stride_h = 0; }, "stride_h must be in 1.."},
                    ProblemChange{"stride_w_zero", [](Problem& p) { p.stride_w = 0; }, "stride_w must be in 1.."},
                    ProblemChange{"dilation_h_zero", [](Problem& p) { p.dilation_h = 0; }, "dilation_h must be in 1.."},
                    ProblemChange{"dilation_w_zero", [](Problem& p) { p.dilation_w = 0; }, "dilation_w must be in 1.."},
                    ProblemChange{"input_pitch_small", [](Problem& p) { p.input_pixel_pitch = 15; }, "input_pixel_pitch"},
                    ProblemChange{"input_pitch_negative", [](Problem& p) { p.input_pixel_pitch = -16; }, "input_pixel_pitch"},
                    ProblemChange{"output_pitch_small", [](Problem& p) { p.output_pixel_pitch = 23; }, "output_pixel_pitch"},
                    ProblemChange{"d_zero", [](Problem& p) { p.d = 0; }, "d must be in 1.."},
                    ProblemChange{"t_zero", [](Problem& p) { p.t = 0; }, "t must be in 1.."},
                    ProblemChange{"groups_zero", [](Problem& p) { p.groups = 0; }, "groups must be in 1.."},
                    ProblemChange{"groups_of_c", [](Problem& p) { p.groups = 3; }, "groups must divide c"},
                    ProblemChange{"groups_of_k", [](Problem& p) { p.groups = 16; }, "groups must divide k"},
                    ProblemChange{"pad_front_negative", [](Problem& p) { p.pad_front = -1; }, "pad_front must be in 0.."},
                    ProblemChange{"pad_back_large", [](Problem& p) { p.pad_back = kTooLarge; }, "pad_back must be in 0.."},
                    ProblemChange{"stride_d_zero", [](Problem& p) { p.stride_d = 0; }, "stride_d must be in 1.."},
                    ProblemChange{"dilation_d_zero", [](Problem& p) { p.dilation_d = 0; }, "dilation_d must be in 1.."},
                    ProblemChange{"empty_output_depth", [](Problem& p) { p.t = 2; }, "the output is empty"},
                    ProblemChange{"input_type_s32", [](Problem& p) { p.input_type = SHIFTCONV_TYPE_S32; }, "input_type"},
                    ProblemChange{"input_type_unknown", [](Problem& p) { p.input_type = -1; }, "input_type"},
                    ProblemChange{"filter_type_scale", [](Problem& p) { p.filter_type = SHIFTCONV_TYPE_UE8M0; }, "filter_type"},
                    ProblemChange{"mixed_types", [](Problem& p) { p.filter_type = SHIFTCONV_TYPE_S8; }, "both integers"},
                    ProblemChange{"output_type_unknown", [](Problem& p) { p.output_type = 13; }, "output_type"},
                    ProblemChange{"bias_type", [](Problem& p) { p.bias_type = SHIFTCONV_TYPE_S8; }, "bias_type"},
                    ProblemChange{"bias_type_alone", [](Problem& p) { p.has_bias = 0, p.bias_type = SHIFTCONV_TYPE_BF16; }, "bias_type"},
                    ProblemChange{"residual_type", [](Problem& p) { p.beta = 1, p.residual_type = -2; }, "residual_type"},
                    ProblemChange{"residual_alone", [](Problem& p) { p.residual_type = SHIFTCONV_TYPE_F32; }, "beta is 0"},
                    ProblemChange{"residual_pitch", [](Problem& p) { p.beta = 1, p.residual_pixel_pitch = 23; }, "residual_pixel_pitch"},
                    ProblemChange{"transposed_flag", [](Problem& p) { p.transposed = 2; }, "transposed must be 0 or 1"},
                    ProblemChange{"flipped_flag", [](Problem& p) { p.filter_flipped = -1; }, "filter_flipped must be 0 or 1, but is -1"},
                    ProblemChange{"last_flag", [](Problem& p) { p.beta = 1, p.residual_last = 7; }, "residual_last must be 0 or 1, but is 7"},
                    ProblemChange{"last_alone", [](Problem& p) { p.residual_last = 1; }, "residual_last must be 0 without a residual"},
                    ProblemChange{"layout_unknown", [](Problem& p) { p.input_layout = 2; }, "input_layout must be NHWC (0) or NCHW (1), but is 2"},
                    ProblemChange{"layout_negative", [](Problem& p) { p.output_layout = -1; }, "output_layout must be NHWC (0) or NCHW (1), but is -1"},
                    ProblemChange{"rounding_unknown", [](Problem& p) { p.rounding = 2; }, "rounding must be ONCE (0) or SEPARATE (1), but is 2"},
                    ProblemChange{"rounding_type", [](Problem& p) { p.rounding = 1, p.output_type = SHIFTCONV_TYPE_S8; },
                           "rounding SEPARATE (1) is for output_type"},
                    ProblemChange{"output_padding_alone", [](Problem& p) { p.output_padding_h = 1; },
                           "output_padding_h must be 0 unless the convolution is transposed"},
                    ProblemChange{"output_padding_negative", [](Problem& p) { p.transposed = 1, p.output_padding_w = -1; },
                           "output_padding_w must be in 0.."},
                    ProblemChange{"output_padding_large",
                           [](Problem& p) { p.transposed = 1, p.stride_d = 2, p.dilation_d = 3, p.output_padding_d = 3; },
                           "output_padding_d must be below stride_d or dilation_d, 3"},
                    ProblemChange{"transposed_empty", [](Problem& p) { p.transposed = 1, p.pad_top = 8; }, "the output's extent p must be in 1.."},
                    ProblemChange{"transposed_large", [](Problem& p) { p.transposed = 1, p.w = 1 << 30, p.stride_w = 4; },
                           "the output's extent q must be in 1.."},
                    ProblemChange{"transposed_largest",
                           [](Problem& p) {
                             p.transposed = 1, p.w = p.s = p.stride_w = p.dilation_w = kTooLarge - 1;
                           },
                           "the output's extent q must be in 1.."},
                    ProblemChange{"upsample_zero", [](Problem& p) { p.upsample_h = 0; }, "upsample_h must be in 1.."},
                    ProblemChange{"upsample_large", [](Problem& p) { p.upsample_w = 1 << 30; }, "w * upsample_w must be at most 2147483647"},
                    ProblemChange{"upsample_transposed", [](Problem& p) { p.transposed = 1, p.upsample_d = 2; },
                           "a transposed convolution must have upsample_d, upsample_h and upsample_w of 1"},
                    ProblemChange{"compute_unknown", [](Problem& p) { p.compute = 3; }, "compute"},
                    ProblemChange{"compute_tf32", [](Problem& p) { p.compute = SHIFTCONV_COMPUTE_TF32; }, "TF32"},
                    ProblemChange{"scale_of_f16", [](Problem& p) { p.input_block_scale = {32, SHIFTCONV_TYPE_UE8M0, 0}; }, "input_block_scale"},
                    ProblemChange{"scale_type",
                           [](Problem& p) {
                             p.filter_type = SHIFTCONV_TYPE_E4M3;
                             p.filter_block_scale = {32, SHIFTCONV_TYPE_F16, 0};
                           },
                           "filter_block_scale.type"},
                    ProblemChange{"scale_block", [](Problem& p) { p.output_block_scale = {-1, 0, 0}; }, "output_block_scale.block_size"},
                    ProblemChange{"scale_order_alone", [](Problem& p) { p.output_block_scale = {0, 0, 1}; }, "output_block_scale.order"},
                    ProblemChange{"zero_point_of_f16", [](Problem& p) { p.input_zero_point = 1; }, "input_zero_point"},
                    ProblemChange{"zero_point_range",
                           [](Problem& p) {
                             p.input_type = p.filter_type = SHIFTCONV_TYPE_S8;
                             p.filter_zero_point = -129;
                           },
                           "filter_zero_point must be in -128..127"},
                    ProblemChange{"has_bias_two", [](Problem& p) { p.has_bias = 2; }, "has_bias"},
                    ProblemChange{"has_channel_scale_two", [](Problem& p) { p.has_channel_scale = 2; }, "has_channel_scale"},
                    ProblemChange{"has_amax_two", [](Problem& p) { p.has_amax = -1; }, "has_amax"},
                    ProblemChange{"alpha_nan", [](Problem& p) { p.alpha = NAN; }, "alpha"},
                    ProblemChange{"beta_infinite", [](Problem& p) { p.beta = INFINITY; }, "beta"},
                    ProblemChange{"out_scale_nan", [](Problem& p) { p.out_scale = NAN; }, "out_scale"},
                    ProblemChange{"activation_unknown", [](Problem& p) { p.activation = 10; }, "activation"},
                    ProblemChange{"activation_parameter", [](Problem& p) { p.activation_a = 1; }, "activation_a"},
                    ProblemChange{"activation_sign", [](Problem& p) { p.activation_a = -0.0F; }, "activation_a, which must be 0 then, but is -0"},
                    ProblemChange{"activation_second",
                           [](Problem& p) {
                             p.activation = SHIFTCONV_ACTIVATION_LEAKY_RELU;
                             p.activation_a = -0.0F, p.activation_b = -0.0F;
                           },
                           "leaky_relu does not read activation_b"},
                    ProblemChange{"activation_clamp",
                           [](Problem& p) {
                             p.activation = SHIFTCONV_ACTIVATION_CLAMP;
                             p.activation_a = 2, p.activation_b = 1;
                           },
                           "activation_a <= activation_b"},
                    ProblemChange{"odd_fp4_pitch",
                           [](Problem& p) {
                             p.input_type = SHIFTCONV_TYPE_E2M1;
                             p.input_pixel_pitch = 17;
                           },
                           "whole bytes"},
                    ProblemChange{"size_huge", [](Problem& p) { p.size = size_t{1} << 40; }, "size"},
                    ProblemChange{"empty_output_height", [](Problem& p) { p.r = 8; }, "the output is empty"},
                    ProblemChange{"empty_output_width", [](Problem& p) { p.dilation_w = 5; }, "dilation_w"},
                    ProblemChange{"input_too_large", [](Problem& p) { p.n = p.h = p.w = kTooLarge - 1; }, "input tensor"},
                    ProblemChange{"filter_too_large", [](Problem& p) { p.k = p.c = kTooLarge - 1; }, "tensor"},
                    ProblemChange{"output_too_large",
                           [](Problem& p) {
                             p.n = 1 << 20;
                             p.output_pixel_pitch = kTooLarge - 1;
                           },
                           "output tensor"}}),
    [](const auto& info) { return info.param.name; });

/// Numbers that no enumeration has, in every field that is one.
TEST(ApiProblem, EnumerationsHaveTheirValuesOnly) {
  const struct {
    const char* name;
    std::function<int32_t&(shiftconv_problem_t&)> field;
  } fields[] = {
      {"input_type", [](auto& p) -> int32_t& { return p.input_type; }},
      {"filter_type", [](auto& p) -> int32_t& { return p.filter_type; }},
      {"output_type", [](auto& p) -> int32_t& { return p.output_type; }},
      {"bias_type", [](auto& p) -> int32_t& { return p.bias_type; }},
      {"residual_type", [](auto& p) -> int32_t& { return p.residual_type; }},
      {"compute", [](auto& p) -> int32_t& { return p.compute; }},
      {"activation", [](auto& p) -> int32_t& { return p.activation; }},
      {"rounding", [](auto& p) -> int32_t& { return p.rounding; }},
      {"input_layout", [](auto& p) -> int32_t& { return p.input_layout; }},
      {"output_layout", [](auto& p) -> int32_t& { return p.output_layout; }},
      {"transposed", [](auto& p) -> int32_t& { return p.transposed; }},
      {"filter_flipped", [](auto& p) -> int32_t& { return p.filter_flipped; }},
      {"residual_last", [](auto& p) -> int32_t& { return p.residual_last; }},
      {"has_bias", [](auto& p) -> int32_t& { return p.has_bias; }},
      {"has_channel_scale", [](auto& p) -> int32_t& { return p.has_channel_scale; }},
      {"has_amax", [](auto& p) -> int32_t& { return p.has_amax; }},
      {"input_block_scale.type", [](auto& p) -> int32_t& { return p.input_block_scale.type; }},
      {"filter_block_scale.type", [](auto& p) -> int32_t& { return p.filter_block_scale.type; }},
      {"output_block_scale.type", [](auto& p) -> int32_t& { return p.output_block_scale.type; }},
      {"input_block_scale.order", [](auto& p) -> int32_t& { return p.input_block_scale.order; }},
      {"filter_block_scale.order", [](auto& p) -> int32_t& { return p.filter_block_scale.order; }},
      {"output_block_scale.order", [](auto& p) -> int32_t& { return p.output_block_scale.order; }},
  };
  for (const auto& [name, field] : fields) {
    SCOPED_TRACE(name);
    shiftconv_problem_t problem = SHIFTCONV_PROBLEM_INIT;
    ASSERT_OK(
        shiftconv_problem_parse("1x8x8x32 e4m3 scale ue8m0/32 * 32x3x3x32 e4m3 scale ue8m0/32 -> e4m3 scale ue8m0/32 bias residual "
                                "1 residual_type f16 amax",
                                &problem));
    ASSERT_OK(shiftconv_problem_validate(&problem));
    for (const int32_t value : {-1, 99, INT32_MIN, INT32_MAX}) {
      field(problem) = value;
      EXPECT_FAILURE(shiftconv_problem_validate(&problem), SHIFTCONV_STATUS_INVALID_ARGUMENT, name);
    }
  }
}

TEST(ApiProblem, NullIsRefused) {
  Problem problem = smallProblem();
  EXPECT_FAILURE(shiftconv_problem_validate(nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_problem");
  EXPECT_OK(shiftconv_problem_output_size(&problem, nullptr, nullptr, nullptr));
  EXPECT_FAILURE(shiftconv_problem_tensor_bytes(&problem, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_tensor_bytes");
  EXPECT_FAILURE(shiftconv_problem_parse(nullptr, &problem), SHIFTCONV_STATUS_INVALID_ARGUMENT, "text");
  EXPECT_FAILURE(shiftconv_problem_parse("1x5x7x16 f16 * 24x3x3x16 -> f16", nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "shiftconv_problem");
  EXPECT_FAILURE(shiftconv_problem_describe(&problem, nullptr, 10, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "buffer");
}

/// These numbers are the ABI of version 0.2: they may never change, whatever is appended later.
TEST(ApiStructures, FirstReleaseSizesAreFrozen) {
  EXPECT_EQ(SHIFTCONV_PROBLEM_SIZE_0_2, 328);
  EXPECT_EQ(SHIFTCONV_DEVICE_PROPERTIES_SIZE_0_2, 176);
  EXPECT_EQ(SHIFTCONV_PLAN_OPTIONS_SIZE_0_2, 24);
  EXPECT_EQ(SHIFTCONV_AUTOTUNE_SIZE_0_2, 32);
  EXPECT_EQ(SHIFTCONV_TENSORS_SIZE_0_2, 96);
  EXPECT_EQ(SHIFTCONV_TENSOR_BYTES_SIZE_0_2, 88);
  EXPECT_EQ(SHIFTCONV_ESTIMATE_SIZE_0_2, 40);
  EXPECT_EQ(offsetof(shiftconv_problem_t, input_type), 208u);
  EXPECT_EQ(offsetof(shiftconv_problem_t, activation_b), 324u);
  EXPECT_EQ(offsetof(shiftconv_problem_t, transposed), 328u);
  EXPECT_EQ(offsetof(shiftconv_tensors_t, workspace), 88u);
}

TEST(ApiProblem, StructuresOfLaterVersions) {
  struct {
    Problem known = smallProblem();
    uint64_t later = 0;
  } grown;
  grown.known.size = sizeof(grown);
  EXPECT_OK(shiftconv_problem_validate(&grown.known));
  grown.later = 1;
  EXPECT_FAILURE(shiftconv_problem_validate(&grown.known), SHIFTCONV_STATUS_INVALID_ARGUMENT, "does not know");
}

TEST(ApiProblem, OutputSizeFollowsTheFormula) {
  Problem problem = smallProblem();
  problem.h = 20, problem.w = 31;
  problem.r = 4, problem.s = 5;
  problem.pad_top = 2, problem.pad_bottom = 1, problem.pad_left = 0, problem.pad_right = 3;
  problem.stride_h = 3, problem.stride_w = 2;
  problem.dilation_h = 2, problem.dilation_w = 3;
  problem.d = 9, problem.t = 3, problem.pad_front = 2, problem.stride_d = 2, problem.dilation_d = 2;
  int64_t z = 0, p = 0, q = 0;
  ASSERT_OK(shiftconv_problem_output_size(&problem, &z, &p, &q));
  EXPECT_EQ(z, 4);   // (9 + 2 + 0 - 2*2 - 1) / 2 + 1 = 6 / 2 + 1
  EXPECT_EQ(p, 6);   // (20 + 2 + 1 - 2*3 - 1) / 3 + 1 = 16 / 3 + 1
  EXPECT_EQ(q, 11);  // (31 + 0 + 3 - 3*4 - 1) / 2 + 1 = 21 / 2 + 1
}

TEST(ApiProblem, TransposedOutputsAreStretched) {
  Problem problem = smallProblem();
  problem.transposed = 1;
  problem.h = 4, problem.w = 5, problem.r = 4, problem.s = 3;
  problem.pad_top = 2, problem.pad_bottom = 1, problem.pad_left = 0, problem.pad_right = 3;
  problem.stride_h = 3, problem.stride_w = 2, problem.dilation_h = 2, problem.dilation_w = 3;
  problem.output_padding_h = 2, problem.output_padding_w = 1;
  problem.d = 3, problem.t = 3, problem.pad_front = 1, problem.pad_back = 2, problem.stride_d = 2;
  int64_t z = 0, p = 0, q = 0;
  ASSERT_OK(shiftconv_problem_output_size(&problem, &z, &p, &q));
  EXPECT_EQ(z, 4);   // (3 - 1) * 2 - 1 - 2 + 1*2 + 1
  EXPECT_EQ(p, 15);  // (4 - 1) * 3 - 2 - 1 + 2*3 + 1 + 2
  EXPECT_EQ(q, 13);  // (5 - 1) * 2 - 0 - 3 + 3*2 + 1 + 1
  // Programs that were compiled without these fields cannot be told of them, and ask for a convolution.
  Problem older = SHIFTCONV_PROBLEM_INIT;
  older.size = SHIFTCONV_PROBLEM_SIZE_0_2;
  EXPECT_FAILURE(shiftconv_problem_parse("1x4x4x8 f16 * 8x2x2x8 transposed -> f16", &older), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "transposed");
  EXPECT_OK(shiftconv_problem_parse("1x4x4x8 f16 * 8x2x2x8 -> f16", &older));
  problem.size = SHIFTCONV_PROBLEM_SIZE_0_2;
  problem.h = 9, problem.w = 9;
  ASSERT_OK(shiftconv_problem_output_size(&problem, &z, &p, &q));
  EXPECT_EQ(z, 2);  // (3 + 1 + 2 - 1*2 - 1) / 2 + 1
}

TEST(ApiProblem, UpsampledInputsAreSeenLarger) {
  Problem problem = smallProblem();
  problem.d = 2, problem.h = 4, problem.w = 5, problem.t = 2, problem.r = 4, problem.s = 3;
  problem.pad_top = 2, problem.pad_bottom = 1, problem.pad_left = 0, problem.pad_right = 3;
  problem.stride_h = 3, problem.dilation_w = 3;
  problem.upsample_d = 3, problem.upsample_h = 2, problem.upsample_w = 4;
  int64_t z = 0, p = 0, q = 0;
  ASSERT_OK(shiftconv_problem_output_size(&problem, &z, &p, &q));
  EXPECT_EQ(z, 5);   // 2*3 - 1*1 - 1 + 1
  EXPECT_EQ(p, 3);   // (4*2 + 2 + 1 - 1*3 - 1) / 3 + 1
  EXPECT_EQ(q, 17);  // 5*4 + 0 + 3 - 3*2 - 1 + 1
  shiftconv_tensor_bytes_t bytes = SHIFTCONV_TENSOR_BYTES_INIT;
  ASSERT_OK(shiftconv_problem_tensor_bytes(&problem, &bytes));
  EXPECT_EQ(bytes.input, size_t{2} * 4 * 5 * 16 * 2);
  // A program of the first release with transposed convolutions cannot be told of it.
  Problem older = SHIFTCONV_PROBLEM_INIT;
  older.size = offsetof(Problem, upsample_d);
  EXPECT_FAILURE(shiftconv_problem_parse("1x4x4x8 f16 upsample 1,2 * 8x2x2x8 -> f16", &older), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "the problem is upsampled");
  EXPECT_OK(shiftconv_problem_parse("1x4x4x8 f16 * 8x2x2x8 transposed -> f16", &older));
  EXPECT_OK(shiftconv_problem_parse("1x4x4x8 f16 * 8x2x2x8 -> f16 rounding separate", &older));
  EXPECT_EQ(older.rounding, SHIFTCONV_ROUNDING_SEPARATE);
  older.size = SHIFTCONV_PROBLEM_SIZE_0_2;
  EXPECT_FAILURE(shiftconv_problem_parse("1x4x4x8 f16 * 8x2x2x8 -> f16 rounding separate", &older),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, "rounded in separate steps");
  problem.size = offsetof(Problem, upsample_d);
  ASSERT_OK(shiftconv_problem_output_size(&problem, &z, &p, &q));
  EXPECT_EQ(z, 1);
}

TEST(ApiProblem, FlippedFiltersAreUnknownToOlderPrograms) {
  Problem problem = SHIFTCONV_PROBLEM_INIT;
  EXPECT_OK(shiftconv_problem_parse("1x4x4x8 f16 * 8x2x2x8 flipped -> f16", &problem));
  EXPECT_EQ(problem.filter_flipped, 1);
  Problem older = SHIFTCONV_PROBLEM_INIT;
  older.size = offsetof(Problem, filter_flipped);
  EXPECT_FAILURE(shiftconv_problem_parse("1x4x4x8 f16 * 8x2x2x8 flipped -> f16", &older), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "the problem is one with a flipped filter");
  EXPECT_OK(shiftconv_problem_parse("1x4x4x8 f16 split_c 4 * 8x2x2x8 -> f16", &older));
  EXPECT_EQ(older.split_c, 4);
}

TEST(ApiProblem, ResidualsAddedLastAreUnknownToOlderPrograms) {
  const char* text = "1x4x4x8 f16 * 8x2x2x8 -> f16 residual 1 residual_last silu";
  Problem problem = SHIFTCONV_PROBLEM_INIT;
  EXPECT_OK(shiftconv_problem_parse(text, &problem));
  EXPECT_EQ(problem.residual_last, 1);
  Problem older = SHIFTCONV_PROBLEM_INIT;
  older.size = offsetof(Problem, filter_flipped);
  EXPECT_FAILURE(shiftconv_problem_parse(text, &older), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "the problem is one whose residual is added last");
}

TEST(ApiProblem, TensorBytesReachToTheLastElement) {
  Problem problem = smallProblem();
  shiftconv_tensor_bytes_t bytes = SHIFTCONV_TENSOR_BYTES_INIT;
  ASSERT_OK(shiftconv_problem_tensor_bytes(&problem, &bytes));
  EXPECT_EQ(bytes.size, sizeof(bytes));
  EXPECT_EQ(bytes.input, 5u * 7 * 16 * 2);
  EXPECT_EQ(bytes.filter, 24u * 9 * 16 * 2);
  EXPECT_EQ(bytes.bias, 24u * 4);
  EXPECT_EQ(bytes.output, 5u * 7 * 24 * 2);
  for (const size_t absent :
       {bytes.residual, bytes.channel_scale, bytes.input_scale, bytes.filter_scale, bytes.output_scale, bytes.amax})
    EXPECT_EQ(absent, 0u);
  problem.input_pixel_pitch = 40;
  problem.output_pixel_pitch = 32;
  problem.output_type = SHIFTCONV_TYPE_F32;
  problem.has_bias = 0;
  ASSERT_OK(shiftconv_problem_tensor_bytes(&problem, &bytes));
  EXPECT_EQ(bytes.input, (34u * 40 + 16) * 2);
  EXPECT_EQ(bytes.bias, 0u);
  EXPECT_EQ(bytes.output, (34u * 32 + 24) * 4);
}

TEST(ApiProblem, TensorBytesOfWhatIsToCome) {
  Problem problem = SHIFTCONV_PROBLEM_INIT;
  ASSERT_OK(shiftconv_problem_parse(
      "2x3x5x7x64 e2m1 scale ue4m3/16 * 24x1x3x3x32 e3m2 groups 2 pad 0,0,1,1,1,1 scale ue8m0/32/interleaved "
      "-> 2x3x5x7x24 e4m3 channel_scale bias bf16 residual 1 residual_type f32 residual_pitch 25 amax "
      "scale ue8m0/32",
      &problem));
  shiftconv_tensor_bytes_t bytes = SHIFTCONV_TENSOR_BYTES_INIT;
  ASSERT_OK(shiftconv_problem_tensor_bytes(&problem, &bytes));
  EXPECT_EQ(bytes.input, 210u * 64 / 2);
  EXPECT_EQ(bytes.filter, 24u * 9 * 32 * 6 / 8);
  EXPECT_EQ(bytes.bias, 24u * 2);
  EXPECT_EQ(bytes.residual, (209u * 25 + 24) * 4);
  EXPECT_EQ(bytes.channel_scale, 24u * 4);
  EXPECT_EQ(bytes.input_scale, 210u * 4);
  EXPECT_EQ(bytes.filter_scale, 2u * 512);  // 216 rows in 2 tiles of 128, 1 block in a tile of 4
  EXPECT_EQ(bytes.output, 210u * 24);
  EXPECT_EQ(bytes.output_scale, 210u);
  EXPECT_EQ(bytes.amax, 4u);
}

TEST(ApiProblem, DescriptionNamesWhatIsUnusual) {
  Problem problem = smallProblem();
  char text[300];
  size_t needed = 0;
  ASSERT_OK(shiftconv_problem_describe(&problem, text, sizeof(text), &needed));
  EXPECT_STREQ(text, "1x5x7x16 f16 * 24x3x3x16 pad 1,1,1,1 -> 1x5x7x24 f16 bias relu");
  EXPECT_EQ(needed, std::string(text).size() + 1);
  problem.stride_h = 2;
  problem.dilation_w = 3;
  problem.input_pixel_pitch = 24;
  problem.output_pixel_pitch = 40;
  problem.input_type = problem.filter_type = SHIFTCONV_TYPE_BF16;
  problem.output_type = SHIFTCONV_TYPE_F32;
  problem.has_bias = 0;
  problem.activation = SHIFTCONV_ACTIVATION_NONE;
  ASSERT_OK(shiftconv_problem_describe(&problem, text, sizeof(text), nullptr));
  EXPECT_STREQ(text, "1x5x7x16 bf16 pitch 24 * 24x3x3x16 pad 1,1,1,1 stride 2,1 dilation 1,3 -> 1x3x3x24 f32 pitch 40");
}

TEST(ApiProblem, DescriptionsReadBack) {
  const Problem problem = smallProblem();
  char text[300];
  ASSERT_OK(shiftconv_problem_describe(&problem, text, sizeof(text), nullptr));
  Problem read = SHIFTCONV_PROBLEM_INIT;
  ASSERT_OK(shiftconv_problem_parse(text, &read));
  EXPECT_EQ(std::memcmp(&read, &problem, sizeof(problem)), 0);
  EXPECT_FAILURE(shiftconv_problem_parse("1x5x7x16 f16 * 24x3x3x16 pod 1,1,1,1 -> f16", &read), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "\"pod\" is no word of the filter");
  EXPECT_EQ(std::memcmp(&read, &problem, sizeof(problem)), 0) << "changed by a failing call";
}

}  // namespace
}  // namespace shiftconv::tests::api_problem_test
