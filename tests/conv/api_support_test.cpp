// Support: names of algorithms, and every reason for which shift_window refuses.
#include <vector>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests::api_support_test {
namespace {

using Problem = shiftconv_problem_t;

TEST(ApiSupport, AlgorithmsHaveNames) {
  ASSERT_GE(shiftconv_algorithm_count(), 2);
  EXPECT_STREQ(shiftconv_algorithm_name(0), "shift_stream");
  EXPECT_STREQ(shiftconv_algorithm_name(1), "shift_window");
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

class ApiRefusal : public testing::TestWithParam<ProblemChange> {};

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
  shiftconv_plan_options_t options = SHIFTCONV_PLAN_OPTIONS_INIT;
  options.algorithm = "shift_window";
  EXPECT_FAILURE(shiftconv_plan_create(&problem, &properties, &options, &plan), SHIFTCONV_STATUS_UNSUPPORTED, GetParam().mentions);
}

INSTANTIATE_TEST_SUITE_P(
    ShiftWindow, ApiRefusal,
    testing::ValuesIn(std::vector<ProblemChange>{ProblemChange{"stride_h", [](Problem& p) { p.stride_h = 2; }, "stride"},
                    ProblemChange{"stride_d", [](Problem& p) { p.d = 4, p.stride_d = 2; }, "stride_d"},
                    ProblemChange{"output_deeper", [](Problem& p) { p.d = 4, p.t = 2, p.pad_front = p.pad_back = 1; }, "pad_front"},
                    ProblemChange{"filter_depth_8", [](Problem& p) { p.d = 8, p.t = 8; }, "T is 8"},
                    ProblemChange{"groups", [](Problem& p) { p.groups = 2; }, "groups = 1"},
                    ProblemChange{"input_type", [](Problem& p) { p.input_type = p.filter_type = SHIFTCONV_TYPE_F32; }, "f32 by f32"},
                    ProblemChange{"filter_type", [](Problem& p) { p.filter_type = SHIFTCONV_TYPE_BF16; }, "f16 by bf16"},
                    ProblemChange{"six_bits",
                           [](Problem& p) {
                             p.input_type = p.filter_type = SHIFTCONV_TYPE_E3M2;
                             p.c = 128;
                           },
                           "input_type is e3m2"},
                    ProblemChange{"block_scales",
                           [](Problem& p) {
                             p.input_type = p.filter_type = SHIFTCONV_TYPE_E4M3;
                             p.c = 32;
                             p.input_block_scale = p.filter_block_scale = {32, SHIFTCONV_TYPE_UE8M0, 0};
                           },
                           "block scales"},
                    ProblemChange{"stride_w", [](Problem& p) { p.stride_w = 2; }, "stride"},
                    ProblemChange{"dilation_w", [](Problem& p) { p.dilation_w = 2; }, "dilation_w"},
                    ProblemChange{"filter_width_1",
                           [](Problem& p) {
                             p.s = 1;
                             p.pad_left = p.pad_right = 0;
                           },
                           "S is 1"},
                    ProblemChange{"filter_width_8",
                           [](Problem& p) {
                             p.w = 20;
                             p.s = 8;
                           },
                           "S is 8"},
                    ProblemChange{"filter_height_8",
                           [](Problem& p) {
                             p.h = 20;
                             p.r = 8;
                           },
                           "R is 8"},
                    ProblemChange{"output_taller", [](Problem& p) { p.pad_top = 2; }, "pad_top"},
                    ProblemChange{"output_wider", [](Problem& p) { p.pad_right = 2; }, "pad_right"},
                    ProblemChange{"c", [](Problem& p) { p.c = 12; }, "C to be a multiple of 8"},
                    ProblemChange{"input_pitch", [](Problem& p) { p.input_pixel_pitch = 20; }, "input_pixel_pitch"},
                    ProblemChange{"many_pixels",
                           [](Problem& p) {
                             p.n = 70000;
                             p.h = p.w = 256;
                           },
                           "2^31"}}),
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
                 "known are shift_stream, shift_window");
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
}  // namespace shiftconv::tests::api_support_test
