#include "tests/conv/c99_use.h"

#include <shiftconv/shiftconv.h>

#define PIXELS 4
#define CHANNELS 8
#define FILTER_WIDTH 2

static const char* compute(shiftconv_device_t device, void** tensors) {
  shiftconv_problem_t problem = SHIFTCONV_PROBLEM_INIT;
  shiftconv_plan_options_t options = SHIFTCONV_PLAN_OPTIONS_INIT;
  shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  shiftconv_plan_t plan = NULL;
  shiftconv_tensors_t run = SHIFTCONV_TENSORS_INIT;
  const uint16_t one = 0x3C00;
  uint16_t ones[CHANNELS * FILTER_WIDTH * CHANNELS];
  float output[(PIXELS - 1) * CHANNELS];
  size_t i;

  problem.n = problem.h = problem.r = 1;
  problem.w = PIXELS;
  problem.c = problem.k = CHANNELS;
  problem.s = FILTER_WIDTH;
  problem.output_type = SHIFTCONV_TYPE_F32;
  options.algorithm = "shift_window";
  for (i = 0; i < sizeof(ones) / sizeof(ones[0]); ++i) ones[i] = one;

  if (shiftconv_device_get_properties(device, &properties)) return "shiftconv_device_get_properties";
  if (shiftconv_plan_create(&problem, &properties, &options, &plan)) return "shiftconv_plan_create";
  if (shiftconv_device_allocate(device, PIXELS * CHANNELS * sizeof(one), &tensors[0])) return "shiftconv_device_allocate";
  if (shiftconv_device_allocate(device, sizeof(ones), &tensors[1])) return "shiftconv_device_allocate";
  if (shiftconv_device_allocate(device, sizeof(output), &tensors[2])) return "shiftconv_device_allocate";
  if (shiftconv_copy_to_device(device, tensors[0], ones, PIXELS * CHANNELS * sizeof(one), NULL)) return "shiftconv_copy_to_device";
  if (shiftconv_copy_to_device(device, tensors[1], ones, sizeof(ones), NULL)) return "shiftconv_copy_to_device";
  if (shiftconv_device_fill(device, tensors[2], 0xCD, sizeof(output), NULL)) return "shiftconv_device_fill";
  run.input = tensors[0];
  run.filter = tensors[1];
  run.output = tensors[2];
  if (shiftconv_run(plan, device, &run, NULL)) return "shiftconv_run";
  if (shiftconv_copy_to_host(device, output, tensors[2], sizeof(output), NULL)) return "shiftconv_copy_to_host";
  if (shiftconv_stream_synchronize(device, NULL)) return "shiftconv_stream_synchronize";
  if (shiftconv_plan_destroy(plan)) return "shiftconv_plan_destroy";
  for (i = 0; i < sizeof(output) / sizeof(output[0]); ++i)
    if (output[i] != (float)(FILTER_WIDTH * CHANNELS)) return "the result";
  return NULL;
}

const char* shiftconv_c99_use(void) {
  shiftconv_device_t device = NULL;
  void* tensors[3] = {NULL, NULL, NULL};
  const char* failed;
  int i;
  if (shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, &device)) return "shiftconv_device_open";
  failed = compute(device, tensors);
  for (i = 0; i < 3; ++i)
    if (shiftconv_device_free(device, tensors[i])) return "shiftconv_device_free";
  if (shiftconv_device_close(device)) return "shiftconv_device_close";
  return failed;
}
