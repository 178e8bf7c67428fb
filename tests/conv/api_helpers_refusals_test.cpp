// What helpers refuse, each in words that name the field.
#include <limits>

#include "tests/conv/api_fixture.hpp"

namespace shiftconv::tests {
namespace {

class ApiHelperRefusals : public EmulatedDeviceTest {
 protected:
  void SetUp() override {
    EmulatedDeviceTest::SetUp();
    ASSERT_OK(shiftconv_device_allocate(device_, 4096, &memory_));
  }
  void TearDown() override {
    EXPECT_OK(shiftconv_device_free(device_, memory_));
    EmulatedDeviceTest::TearDown();
  }
  void* at(size_t offset) { return static_cast<char*>(memory_) + offset; }
  void* memory_ = nullptr;
};

TEST_F(ApiHelperRefusals, Devices) {
  EXPECT_FAILURE(shiftconv_helpers_prepare(nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, "device");
  shiftconv_relayout_t relayout = SHIFTCONV_RELAYOUT_INIT;
  EXPECT_FAILURE(shiftconv_relayout_run(nullptr, &relayout, memory_, memory_, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                 "device");
}

TEST_F(ApiHelperRefusals, Relayout) {
  const auto refused = [&](const char* word, auto&& change) {
    shiftconv_relayout_t relayout = SHIFTCONV_RELAYOUT_INIT;
    relayout.extent[4] = 8, relayout.source_stride[4] = relayout.destination_stride[4] = 1;
    const void* source = at(0);
    void* destination = at(1024);
    change(relayout, source, destination);
    EXPECT_FAILURE(shiftconv_relayout_run(device_, &relayout, source, destination, nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                   word);
  };
  using R = shiftconv_relayout_t&;
  using S = const void*&;
  using D = void*&;
  refused("shiftconv_relayout.size", [](R r, S, D) { r.size = 8; });
  refused("extent[2] must be in 1..", [](R r, S, D) { r.extent[2] = 0; });
  refused("extent has more than",
          [](R r, S, D) { r.extent[2] = r.extent[3] = 1 << 20, r.destination_stride[2] = r.destination_stride[3] = 8; });
  refused("source_stride[4] must be in 0..", [](R r, S, D) { r.source_stride[4] = -1; });
  refused("source_stride[3] must be in 0..", [](R r, S, D) { r.source_stride[3] = INT64_MAX; });
  refused("destination_stride[4] must be in 0..", [](R r, S, D) { r.destination_stride[4] = -1; });
  refused("destination_stride[0] must be in 0..", [](R r, S, D) { r.destination_stride[0] = INT64_MAX; });
  refused("destination_stride[4] must not be 0", [](R r, S, D) { r.destination_stride[4] = 0; });
  refused("source_type must be in 0..12, but is 13", [](R r, S, D) { r.source_type = 13; });
  refused("destination_type must be in 0..12, but is -1", [](R r, S, D) { r.destination_type = -1; });
  refused("source_type must be f32, f16 or bf16, but is s8", [](R r, S, D) { r.source_type = SHIFTCONV_TYPE_S8; });
  refused("destination_type must be f32, f16 or bf16, but is e4m3", [](R r, S, D) { r.destination_type = SHIFTCONV_TYPE_E4M3; });
  refused("source_type must fill whole bytes", [](R r, S, D) { r.source_type = r.destination_type = SHIFTCONV_TYPE_E2M1; });
  refused("source must not be NULL", [](R, S s, D) { s = nullptr; });
  refused("destination must be aligned", [&](R, S, D d) { d = at(1025); });
}

TEST_F(ApiHelperRefusals, Pool) {
  const auto refused = [&](const char* word, auto&& change) {
    shiftconv_pool_t pool = SHIFTCONV_POOL_INIT;
    pool.n = 1, pool.h = 4, pool.w = 5, pool.c = 8, pool.r = pool.s = 2;
    change(pool);
    EXPECT_FAILURE(shiftconv_pool_run(device_, &pool, at(0), at(1024), nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT, word);
  };
  using P = shiftconv_pool_t&;
  refused("shiftconv_pool.size", [](P p) { p.size = 16; });
  refused("h must be in 1..", [](P p) { p.h = 0; });
  refused("stride_w must be in 1..", [](P p) { p.stride_w = 0; });
  refused("pad_left must be in 0..", [](P p) { p.pad_left = -1; });
  refused("input_pixel_pitch must be in 8..", [](P p) { p.input_pixel_pitch = 7; });
  refused("output_pixel_pitch must be in 8..", [](P p) { p.output_pixel_pitch = 4; });
  refused("type must be in 0..12, but is 13", [](P p) { p.type = 13; });
  refused("type must be f32, f16 or bf16, but is u8", [](P p) { p.type = SHIFTCONV_TYPE_U8; });
  refused("kind must be in 0..1", [](P p) { p.kind = 2; });
  refused("count_padding must be 0 or 1", [](P p) { p.count_padding = 2; });
  refused("reserved must be 0", [](P p) { p.reserved = 1; });
  refused("the output is empty", [](P p) { p.r = 5; });
  refused("elements", [](P p) { p.n = 1 << 30; });
}

TEST_F(ApiHelperRefusals, Pointwise) {
  const auto refused = [&](const char* word, auto&& change) {
    shiftconv_pointwise_t pointwise = SHIFTCONV_POINTWISE_INIT;
    pointwise.rows = 3, pointwise.c = 8, pointwise.operation = SHIFTCONV_OPERATION_ADD;
    const void* b = at(512);
    change(pointwise, b);
    EXPECT_FAILURE(shiftconv_pointwise_run(device_, &pointwise, at(0), b, at(1024), nullptr), SHIFTCONV_STATUS_INVALID_ARGUMENT,
                   word);
  };
  using P = shiftconv_pointwise_t&;
  using B = const void*&;
  refused("shiftconv_pointwise.size", [](P p, B) { p.size = 5000; });
  refused("rows must be in 1..", [](P p, B) { p.rows = 0; });
  refused("c must be in 1..", [](P p, B) { p.c = 0; });
  refused("rows_of_b must be in 1..", [](P p, B) { p.rows_of_b = 0; });
  refused("a_pitch must be in 8..", [](P p, B) { p.a_pitch = 7; });
  refused("a_type must be in 0..12, but is -1", [](P p, B) { p.a_type = -1; });
  refused("b_type must be in 0..12, but is 13", [](P p, B) { p.b_type = 13; });
  refused("output_type must be in 0..12, but is 13", [](P p, B) { p.output_type = 13; });
  refused("a_type must be f32, f16 or bf16", [](P p, B) { p.a_type = SHIFTCONV_TYPE_S8; });
  refused("output_type must be f32, f16 or bf16", [](P p, B) { p.output_type = SHIFTCONV_TYPE_U8; });
  refused("b_pitch must be in 8..", [](P p, B) { p.b_pitch = 7; });
  refused("output_pitch must be in 8..", [](P p, B) { p.output_pitch = 7; });
  refused("b_type must be f32, f16 or bf16", [](P p, B) { p.b_type = SHIFTCONV_TYPE_S32; });
  refused("operation must be in 0..2", [](P p, B) { p.operation = 3; });
  refused("activation must be in 0..9", [](P p, B) { p.activation = -1; });
  refused("must be finite", [](P p, B) { p.activation_a = std::numeric_limits<float>::infinity(); });
  refused("reserved must be 0", [](P p, B) { p.reserved = 7; });
  refused("b must not be NULL", [](P, B b) { b = nullptr; });
  refused("b must be NULL", [](P p, B) { p.operation = SHIFTCONV_OPERATION_NONE; });
  refused("rows * c must be at most", [](P p, B) { p.rows = p.c = 1 << 16; });
}

TEST_F(ApiHelperRefusals, Normalisation) {
  const auto refused = [&](const char* word, auto&& change) {
    shiftconv_normalize_t normalize = SHIFTCONV_NORMALIZE_INIT;
    normalize.n = 1, normalize.pixels = 3, normalize.c = 8, normalize.groups = 2;
    const void* scale = at(512);
    change(normalize, scale);
    EXPECT_FAILURE(shiftconv_normalize_run(device_, &normalize, at(0), scale, nullptr, at(1024), nullptr),
                   SHIFTCONV_STATUS_INVALID_ARGUMENT, word);
  };
  using N = shiftconv_normalize_t&;
  using S = const void*&;
  refused("shiftconv_normalize.size", [](N n, S) { n.size = 79; });
  refused("n must be in 1..", [](N n, S) { n.n = 0; });
  refused("pixels must be in 1..", [](N n, S) { n.pixels = -1; });
  refused("groups must be in 1..8", [](N n, S) { n.groups = 9; });
  refused("groups must divide c = 8, but is 3", [](N n, S) { n.groups = 3; });
  refused("input_pixel_pitch must be in 8..", [](N n, S) { n.input_pixel_pitch = 7; });
  refused("output_pixel_pitch must be in 8..", [](N n, S) { n.output_pixel_pitch = 7; });
  refused("epsilon must be finite and >= 0", [](N n, S) { n.epsilon = -1; });
  refused("epsilon must be finite and >= 0", [](N n, S) { n.epsilon = std::numeric_limits<float>::quiet_NaN(); });
  refused("type must be in 0..12, but is 13", [](N n, S) { n.type = 13; });
  refused("parameter_type must be in 0..12, but is -1", [](N n, S) { n.parameter_type = -1; });
  refused("type must be f32, f16 or bf16", [](N n, S) { n.type = SHIFTCONV_TYPE_S8; });
  refused("parameter_type must be f32, f16 or bf16", [](N n, S) { n.parameter_type = SHIFTCONV_TYPE_S8; });
  refused("activation must be in 0..9", [](N n, S) { n.activation = 10; });
  refused("must be finite", [](N n, S) { n.activation_b = std::numeric_limits<float>::infinity(); });
  refused("scale must be aligned", [&](N, S s) { s = at(513); });
  refused("n * pixels * c must be at most", [](N n, S) { n.n = n.pixels = 1 << 15; });
}

}  // namespace
}  // namespace shiftconv::tests
