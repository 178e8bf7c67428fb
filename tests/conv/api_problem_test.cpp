// Problems and support: every field wrong in turn, and every reason for which shift_window refuses.
#include <functional>
#include <limits>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests {
namespace {

using Problem = shiftconv_problem_t;

struct Change {
  const char* name;
  std::function<void(Problem&)> apply;
  const char* mentions;  ///< in the sentence
};

TEST(ApiProblem, InitialValuesNeedOnlySizes) {
  const Problem problem = SHIFTCONV_PROBLEM_INIT;
  EXPECT_EQ(problem.size, sizeof(Problem));
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

class ApiInvalidProblem : public testing::TestWithParam<Change> {};

TEST_P(ApiInvalidProblem, IsRefusedWithASentenceThatNamesTheField) {
  Problem problem = smallProblem();
  GetParam().apply(problem);
  EXPECT_FAILURE(shiftconv_problem_validate(&problem), SHIFTCONV_STATUS_INVALID_ARGUMENT, GetParam().mentions);
  // The same sentence from every function that takes a problem.
  int64_t p = -5, q = -5;
  EXPECT_FAILURE(shiftconv_problem_output_size(&problem, &p, &q), SHIFTCONV_STATUS_INVALID_ARGUMENT, GetParam().mentions);
  EXPECT_EQ(p, -5);
  size_t bytes = 17;
  EXPECT_FAILURE(shiftconv_problem_tensor_bytes(&problem, &bytes, nullptr, nullptr, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 GetParam().mentions);
  EXPECT_EQ(bytes, 17u);
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
    testing::Values(Change{"size_zero", [](Problem& p) { p.size = 0; }, "size"},
                    Change{"size_short", [](Problem& p) { p.size -= 8; }, "size"},
                    Change{"n_zero", [](Problem& p) { p.n = 0; }, "n must be in 1.."},
                    Change{"n_large", [](Problem& p) { p.n = kTooLarge; }, "n must be in 1.."},
                    Change{"h_negative", [](Problem& p) { p.h = -1; }, "h must be in 1.."},
                    Change{"w_zero", [](Problem& p) { p.w = 0; }, "w must be in 1.."},
                    Change{"c_zero", [](Problem& p) { p.c = 0; }, "c must be in 1.."},
                    Change{"c_huge", [](Problem& p) { p.c = std::numeric_limits<int64_t>::max(); }, "c must be in 1.."},
                    Change{"k_zero", [](Problem& p) { p.k = 0; }, "k must be in 1.."},
                    Change{"r_zero", [](Problem& p) { p.r = 0; }, "r must be in 1.."},
                    Change{"s_negative", [](Problem& p) { p.s = -3; }, "s must be in 1.."},
                    Change{"pad_top_negative", [](Problem& p) { p.pad_top = -1; }, "pad_top must be in 0.."},
                    Change{"pad_bottom_negative", [](Problem& p) { p.pad_bottom = -1; }, "pad_bottom must be in 0.."},
                    Change{"pad_left_negative", [](Problem& p) { p.pad_left = -1; }, "pad_left must be in 0.."},
                    Change{"pad_right_large", [](Problem& p) { p.pad_right = kTooLarge; }, "pad_right must be in 0.."},
                    Change{"stride_h_zero", [](Problem& p) { p.stride_h = 0; }, "stride_h must be in 1.."},
                    Change{"stride_w_zero", [](Problem& p) { p.stride_w = 0; }, "stride_w must be in 1.."},
                    Change{"dilation_h_zero", [](Problem& p) { p.dilation_h = 0; }, "dilation_h must be in 1.."},
                    Change{"dilation_w_zero", [](Problem& p) { p.dilation_w = 0; }, "dilation_w must be in 1.."},
                    Change{"input_pitch_small", [](Problem& p) { p.input_pixel_pitch = 15; }, "input_pixel_pitch"},
                    Change{"input_pitch_negative", [](Problem& p) { p.input_pixel_pitch = -16; }, "input_pixel_pitch"},
                    Change{"output_pitch_small", [](Problem& p) { p.output_pixel_pitch = 23; }, "output_pixel_pitch"},
                    Change{"input_type_f32", [](Problem& p) { p.input_type = SHIFTCONV_TYPE_F32; }, "input_type"},
                    Change{"input_type_unknown", [](Problem& p) { p.input_type = -1; }, "input_type"},
                    Change{"output_type_unknown", [](Problem& p) { p.output_type = 3; }, "output_type"},
                    Change{"has_bias_two", [](Problem& p) { p.has_bias = 2; }, "has_bias"},
                    Change{"activation_unknown", [](Problem& p) { p.activation = 2; }, "activation"},
                    Change{"empty_output_height", [](Problem& p) { p.r = 8; }, "the output is empty"},
                    Change{"empty_output_width", [](Problem& p) { p.dilation_w = 5; }, "dilation_w"},
                    Change{"input_too_large", [](Problem& p) { p.n = p.h = p.w = kTooLarge - 1; }, "input tensor"},
                    Change{"filter_too_large", [](Problem& p) { p.k = p.c = kTooLarge - 1; }, "tensor"},
                    Change{"output_too_large",
                           [](Problem& p) {
                             p.n = 1 << 20;
                             p.output_pixel_pitch = kTooLarge - 1;
                           },
                           "output tensor"}),
    [](const auto& info) { return info.param.name; });

TEST(ApiProblem, NullIsRefused) {
  int64_t p = 0, q = 0;
  const Problem problem = smallProblem();
  EXPECT_FAILURE(shiftconv_problem_validate(nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_problem");
  EXPECT_FAILURE(shiftconv_problem_output_size(&problem, nullptr, &q), SHIFTCONV_STATUS_INVALID_ARGUMENT, "p must not be NULL");
  EXPECT_FAILURE(shiftconv_problem_output_size(&problem, &p, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "q must not be NULL");
  EXPECT_FAILURE(shiftconv_problem_describe(&problem, nullptr, 10, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "buffer");
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
  int64_t p = 0, q = 0;
  ASSERT_OK(shiftconv_problem_output_size(&problem, &p, &q));
  EXPECT_EQ(p, 6);   // (20 + 2 + 1 - 2*3 - 1) / 3 + 1 = 16 / 3 + 1
  EXPECT_EQ(q, 11);  // (31 + 0 + 3 - 3*4 - 1) / 2 + 1 = 21 / 2 + 1
}

TEST(ApiProblem, TensorBytesReachToTheLastElement) {
  Problem problem = smallProblem();
  size_t input = 0, filter = 0, bias = 0, output = 0;
  ASSERT_OK(shiftconv_problem_tensor_bytes(&problem, &input, &filter, &bias, &output));
  EXPECT_EQ(input, 5u * 7 * 16 * 2);
  EXPECT_EQ(filter, 24u * 9 * 16 * 2);
  EXPECT_EQ(bias, 24u * 4);
  EXPECT_EQ(output, 5u * 7 * 24 * 2);
  problem.input_pixel_pitch = 40;
  problem.output_pixel_pitch = 32;
  problem.output_type = SHIFTCONV_TYPE_F32;
  problem.has_bias = 0;
  ASSERT_OK(shiftconv_problem_tensor_bytes(&problem, &input, nullptr, &bias, &output));
  EXPECT_EQ(input, (34u * 40 + 16) * 2);
  EXPECT_EQ(bias, 0u);
  EXPECT_EQ(output, (34u * 32 + 24) * 4);
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
  problem.input_type = SHIFTCONV_TYPE_BF16;
  problem.output_type = SHIFTCONV_TYPE_F32;
  problem.has_bias = 0;
  problem.activation = SHIFTCONV_ACTIVATION_NONE;
  ASSERT_OK(shiftconv_problem_describe(&problem, text, sizeof(text), nullptr));
  EXPECT_STREQ(text,
               "1x5x7x16 bf16 * 24x3x3x16 pad 1,1,1,1 stride 2,1 dilation 1,3 input pitch 24 -> 1x3x3x24 f32 output pitch 40");
}

TEST(ApiSupport, AlgorithmsHaveNames) {
  ASSERT_GE(shiftconv_algorithm_count(), 1);
  EXPECT_STREQ(shiftconv_algorithm_name(0), "shift_window");
  for (int i = 0; i < shiftconv_algorithm_count(); ++i) EXPECT_NE(shiftconv_algorithm_name(i), nullptr);
  EXPECT_EQ(shiftconv_algorithm_name(-1), nullptr);
  EXPECT_EQ(shiftconv_algorithm_name(shiftconv_algorithm_count()), nullptr);
}

TEST(ApiSupport, YesIsAnEmptyReason) {
  const Problem problem = smallProblem();
  for (const char* name : {"B200", "B300", "Thor", "emulated"}) {
    const auto properties = preset(name);
    char reason[200] = "old text";
    EXPECT_OK(shiftconv_support(&problem, &properties, "shift_window", reason, sizeof(reason), nullptr));
    EXPECT_STREQ(reason, "") << name;
  }
}

class ApiRefusal : public testing::TestWithParam<Change> {};

TEST_P(ApiRefusal, SaysWhy) {
  Problem problem = smallProblem();
  GetParam().apply(problem);
  EXPECT_OK(shiftconv_problem_validate(&problem));
  const auto properties = preset("B200");
  char reason[400] = "";
  EXPECT_FAILURE(shiftconv_support(&problem, &properties, "shift_window", reason, sizeof(reason), nullptr),
                 SHIFTCONV_STATUS_UNSUPPORTED, GetParam().mentions);
  EXPECT_STREQ(reason, shiftconv_last_error());
  shiftconv_plan_t plan = nullptr;
  EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, nullptr, &plan), SHIFTCONV_STATUS_UNSUPPORTED, GetParam().mentions);
}

INSTANTIATE_TEST_SUITE_P(
    ShiftWindow, ApiRefusal,
    testing::Values(Change{"stride_h", [](Problem& p) { p.stride_h = 2; }, "stride"},
                    Change{"stride_w", [](Problem& p) { p.stride_w = 2; }, "stride"},
                    Change{"dilation_w", [](Problem& p) { p.dilation_w = 2; }, "dilation_w"},
                    Change{"filter_width_1",
                           [](Problem& p) {
                             p.s = 1;
                             p.pad_left = p.pad_right = 0;
                           },
                           "S is 1"},
                    Change{"filter_width_8",
                           [](Problem& p) {
                             p.w = 20;
                             p.s = 8;
                           },
                           "S is 8"},
                    Change{"filter_height_8",
                           [](Problem& p) {
                             p.h = 20;
                             p.r = 8;
                           },
                           "R is 8"},
                    Change{"output_taller", [](Problem& p) { p.pad_top = 2; }, "pad_top"},
                    Change{"output_wider", [](Problem& p) { p.pad_right = 2; }, "pad_right"},
                    Change{"c", [](Problem& p) { p.c = 12; }, "C is 12"}, Change{"k", [](Problem& p) { p.k = 20; }, "K is 20"},
                    Change{"input_pitch", [](Problem& p) { p.input_pixel_pitch = 20; }, "input pixel pitch"},
                    Change{"output_pitch", [](Problem& p) { p.output_pixel_pitch = 28; }, "output pixel pitch"},
                    Change{"many_pixels",
                           [](Problem& p) {
                             p.n = 70000;
                             p.h = p.w = 256;
                           },
                           "2^31"}),
    [](const auto& info) { return info.param.name; });

TEST(ApiSupport, DevicesWithoutTensorMemoryAreRefused) {
  const Problem problem = smallProblem();
  const auto properties = preset("H200");
  EXPECT_FAILURE(shiftconv_support(&problem, &properties, "shift_window", nullptr, 0, nullptr), SHIFTCONV_STATUS_UNSUPPORTED,
                 "compute capability");
}

TEST(ApiSupport, WrongQuestions) {
  const Problem problem = smallProblem();
  const auto properties = preset("B200");
  char reason[100];
  EXPECT_FAILURE(shiftconv_support(&problem, &properties, "winograd", reason, sizeof(reason), nullptr), SHIFTCONV_STATUS_NOT_FOUND,
                 "known are shift_window");
  EXPECT_FAILURE(shiftconv_support(&problem, &properties, nullptr, reason, sizeof(reason), nullptr),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, "algorithm");
  EXPECT_FAILURE(shiftconv_support(&problem, nullptr, "shift_window", reason, sizeof(reason), nullptr),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, "shiftconv_device_properties");
  EXPECT_FAILURE(shiftconv_support(&problem, &properties, "shift_window", nullptr, 10, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "buffer");
  auto unfilled = properties;
  unfilled.kind = SHIFTCONV_DEVICE_AUTO;
  EXPECT_FAILURE(shiftconv_support(&problem, &unfilled, "shift_window", reason, sizeof(reason), nullptr),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, "properties.kind");
  unfilled = properties;
  unfilled.multiprocessors = 0;
  EXPECT_FAILURE(shiftconv_support(&problem, &unfilled, "shift_window", reason, sizeof(reason), nullptr),
                 SHIFTCONV_STATUS_INVALID_ARGUMENT, "properties.multiprocessors");
}

}  // namespace
}  // namespace shiftconv::tests
