/* A C99 program against the installed package: one convolution on the emulated device.
 *
 * Every input element is 1 and filter k holds the value k+1 throughout, so an output element is
 * (number of taps inside the image) * C * (k+1). */
#include <shiftconv/shiftconv.h>

#include <stdio.h>

enum { H = 3, W = 4, C = 8, K = 8 };

static const uint16_t f16_of[K + 1] = {0x0000, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, shiftconv_last_error());
  return 1;
}

#define TRY(call) \
  if ((call) != SHIFTCONV_STATUS_SUCCESS) return fail(#call)

/* Rows or columns of a 3-wide window around `position` that lie in 0..size-1. */
static int taps_inside(int position, int size) { return 3 - (position == 0) - (position == size - 1); }

int main(void) {
  static uint16_t input[H * W * C], filter[K * 9 * C];
  static float output[H * W * K];
  shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  shiftconv_problem_t problem = SHIFTCONV_PROBLEM_INIT;
  shiftconv_device_t device = NULL;
  shiftconv_plan_t plan = NULL;
  shiftconv_tensors_t tensors = SHIFTCONV_TENSORS_INIT;
  void *device_input = NULL, *device_filter = NULL, *device_output = NULL;
  int i;

  if (shiftconv_version() != SHIFTCONV_VERSION) {
    fprintf(stderr, "header %d, library %d\n", SHIFTCONV_VERSION, shiftconv_version());
    return 1;
  }
  for (i = 0; i < H * W * C; ++i) input[i] = f16_of[1];
  for (i = 0; i < K * 9 * C; ++i) filter[i] = f16_of[i / (9 * C) + 1];
  for (i = 0; i < H * W * K; ++i) output[i] = -1.0f;

  problem.n = 1, problem.h = H, problem.w = W, problem.c = C;
  problem.k = K, problem.r = 3, problem.s = 3;
  problem.pad_top = problem.pad_bottom = problem.pad_left = problem.pad_right = 1;
  problem.input_type = SHIFTCONV_TYPE_F16;
  problem.output_type = SHIFTCONV_TYPE_F32;

  TRY(shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &device));
  TRY(shiftconv_device_get_properties(device, &properties));
  TRY(shiftconv_plan_create(&problem, &properties, NULL, &plan));
  TRY(shiftconv_device_allocate(device, sizeof input, &device_input));
  TRY(shiftconv_device_allocate(device, sizeof filter, &device_filter));
  TRY(shiftconv_device_allocate(device, sizeof output, &device_output));
  TRY(shiftconv_copy_to_device(device, device_input, input, sizeof input, NULL));
  TRY(shiftconv_copy_to_device(device, device_filter, filter, sizeof filter, NULL));
  tensors.input = device_input;
  tensors.filter = device_filter;
  tensors.output = device_output;
  TRY(shiftconv_run(plan, device, &tensors, NULL));
  TRY(shiftconv_copy_to_host(device, output, device_output, sizeof output, NULL));
  TRY(shiftconv_stream_synchronize(device, NULL));

  for (i = 0; i < H * W * K; ++i) {
    const int k = i % K, q = i / K % W, p = i / K / W;
    const float expected = (float)(taps_inside(p, H) * taps_inside(q, W) * C * (k + 1));
    if (output[i] != expected) {
      fprintf(stderr, "output[0,%d,%d,%d] is %g, not %g\n", p, q, k, (double)output[i], (double)expected);
      return 1;
    }
  }

  TRY(shiftconv_device_free(device, device_input));
  TRY(shiftconv_device_free(device, device_filter));
  TRY(shiftconv_device_free(device, device_output));
  TRY(shiftconv_plan_destroy(plan));
  TRY(shiftconv_device_close(device));
  printf("C: %s, %d outputs right\n", shiftconv_version_string(), H * W * K);
  return 0;
}
