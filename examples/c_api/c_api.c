/* The C API from beginning to end: a 3x3 Sobel-like filter bank over a small image, on a GPU when there is one and on the
 * emulated device otherwise, or on the one that --device names. The image and the filters hold small integers, so every sum is
 * exact in f32 and the program can demand equality with its own loops. Ends with 0 when every output is right. */
#include <shiftconv/shiftconv.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 12, WIDTH = 20, CHANNELS = 8, FILTERS = 16, EXTENT = 3 };

/* binary16 pattern of a small integer, |value| <= 2048: exact. */
static uint16_t half_of(int value) {
  unsigned magnitude = (unsigned)(value < 0 ? -value : value), exponent = 25;
  if (value == 0) return 0;
  while (magnitude < 1024) {
    magnitude *= 2;
    --exponent;
  }
  return (uint16_t)((value < 0 ? 0x8000u : 0u) | exponent << 10 | (magnitude & 1023u));
}

static int pixel(int y, int x, int c) { return (y * 7 + x * 3 + c * 5) % 17 - 8; }

static int weight(int k, int r, int s, int c) {
  static const int sobel[EXTENT][EXTENT] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
  const int tap = k % 2 ? sobel[r][s] : sobel[s][r]; /* edges along x and along y in turn */
  return tap * (1 + (k + c) % 3);
}

static float bias_of(int k) { return 0.5f * (float)k; }

static float expected(int y, int x, int k) {
  int sum = 0, r, s, c;
  float result;
  for (r = 0; r < EXTENT; ++r)
    for (s = 0; s < EXTENT; ++s) {
      const int iy = y + r - 1, ix = x + s - 1;
      if (iy < 0 || iy >= HEIGHT || ix < 0 || ix >= WIDTH) continue;
      for (c = 0; c < CHANNELS; ++c) sum += pixel(iy, ix, c) * weight(k, r, s, c);
    }
  result = (float)sum + bias_of(k);
  return result > 0 ? result : 0;
}

/* Every call is checked; the sentence of shiftconv_last_error() says what to do about a failure. */
static void check(shiftconv_status_t status, const char* call) {
  if (status == SHIFTCONV_STATUS_SUCCESS) return;
  fprintf(stderr, "%s: %s: %s\n", call, shiftconv_status_string(status), shiftconv_last_error());
  exit(1);
}
#define CHECK(call) check(call, #call)

static void* to_device(shiftconv_device_t device, const void* data, size_t bytes) {
  void* memory = NULL;
  CHECK(shiftconv_device_allocate(device, bytes, &memory));
  CHECK(shiftconv_copy_to_device(device, memory, data, bytes, NULL));
  return memory;
}

static int compare(const float* output) {
  int y, x, k, wrong = 0;
  for (y = 0; y < HEIGHT; ++y)
    for (x = 0; x < WIDTH; ++x)
      for (k = 0; k < FILTERS; ++k) {
        const float computed = output[(y * WIDTH + x) * FILTERS + k];
        if (computed == expected(y, x, k)) continue;
        if (wrong++ < 5) fprintf(stderr, "output[%d,%d,%d] is %g, expected %g\n", y, x, k, computed, expected(y, x, k));
      }
  return wrong;
}

/* The device named; without a name a GPU, and where there is none the emulated device. */
static shiftconv_status_t open_device(const char* name, shiftconv_device_t* device) {
  shiftconv_status_t status;
  if (name) return shiftconv_device_open_named(name, device);
  status = shiftconv_device_open(SHIFTCONV_DEVICE_AUTO, 0, device);
  if (status != SHIFTCONV_STATUS_NOT_FOUND) return status;
  printf("taking the emulated device: %s\n", shiftconv_last_error());
  return shiftconv_device_open(SHIFTCONV_DEVICE_EMULATED, 0, device);
}

int main(int argc, char** argv) {
  const char* device_name = NULL;
  static uint16_t input[HEIGHT * WIDTH * CHANNELS], filter[FILTERS * EXTENT * EXTENT * CHANNELS];
  static float bias[FILTERS], output[HEIGHT * WIDTH * FILTERS];
  static char text[8192];
  shiftconv_problem_t problem = SHIFTCONV_PROBLEM_INIT;
  shiftconv_device_properties_t properties = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  shiftconv_device_t device = NULL;
  shiftconv_plan_t plan = NULL;
  void *device_input, *device_filter, *device_bias, *device_output = NULL;
  shiftconv_tensors_t tensors = SHIFTCONV_TENSORS_INIT;
  shiftconv_binding_t binding = NULL;
  int y, x, c, k, r, s, wrong;

  if (argc == 3 && strcmp(argv[1], "--device") == 0) {
    device_name = argv[2];
  } else if (argc != 1) {
    fprintf(stderr, "usage: c_api [--device auto, cuda, cuda:1, emulated, emulated:sm_90a, ...]\n");
    return 2;
  }
  for (y = 0; y < HEIGHT; ++y)
    for (x = 0; x < WIDTH; ++x)
      for (c = 0; c < CHANNELS; ++c) input[(y * WIDTH + x) * CHANNELS + c] = half_of(pixel(y, x, c));
  for (k = 0; k < FILTERS; ++k) {
    bias[k] = bias_of(k);
    for (r = 0; r < EXTENT; ++r)
      for (s = 0; s < EXTENT; ++s)
        for (c = 0; c < CHANNELS; ++c) filter[((k * EXTENT + r) * EXTENT + s) * CHANNELS + c] = half_of(weight(k, r, s, c));
  }

  printf("shiftconv %s\n", shiftconv_version_string());

  /* Describe. */
  problem.n = 1;
  problem.h = HEIGHT;
  problem.w = WIDTH;
  problem.c = CHANNELS;
  problem.k = FILTERS;
  problem.r = problem.s = EXTENT;
  problem.pad_top = problem.pad_bottom = problem.pad_left = problem.pad_right = 1;
  problem.output_type = SHIFTCONV_TYPE_F32;
  problem.has_bias = 1;
  problem.activation = SHIFTCONV_ACTIVATION_RELU;
  CHECK(shiftconv_problem_describe(&problem, text, sizeof(text), NULL));
  printf("problem: %s\n", text);

  /* A device, and which algorithms can run the problem on it. */
  CHECK(open_device(device_name, &device));
  CHECK(shiftconv_device_get_properties(device, &properties));
  printf("device: %s\n", properties.name);
  for (k = 0; k < shiftconv_algorithm_count(); ++k) {
    const char* name = shiftconv_algorithm_name(k);
    const shiftconv_status_t status = shiftconv_support(&problem, &properties, name, text, sizeof(text), NULL);
    printf("algorithm %s: %s%s\n", name, status == SHIFTCONV_STATUS_SUCCESS ? "yes" : "no: ", text);
  }

  /* Plan. */
  CHECK(shiftconv_plan_create(&problem, &properties, NULL, &plan));
  CHECK(shiftconv_plan_describe(plan, text, sizeof(text), NULL));
  printf("%s", text);

  /* Bind and run. */
  device_input = to_device(device, input, sizeof(input));
  device_filter = to_device(device, filter, sizeof(filter));
  device_bias = to_device(device, bias, sizeof(bias));
  CHECK(shiftconv_device_allocate(device, sizeof(output), &device_output));
  CHECK(shiftconv_device_fill(device, device_output, 0xCD, sizeof(output), NULL));
  tensors.input = device_input;
  tensors.filter = device_filter;
  tensors.bias = device_bias;
  tensors.output = device_output;
  CHECK(shiftconv_bind(plan, device, &tensors, &binding));
  CHECK(shiftconv_binding_run(binding, NULL));
  CHECK(shiftconv_copy_to_host(device, output, device_output, sizeof(output), NULL));
  CHECK(shiftconv_stream_synchronize(device, NULL));

  if (properties.kind == SHIFTCONV_DEVICE_EMULATED) {
    CHECK(shiftconv_device_counters(device, SHIFTCONV_COUNTERS_TABLE, text, sizeof(text), NULL));
    printf("%s", text);
  }

  wrong = compare(output);
  CHECK(shiftconv_binding_destroy(binding));
  CHECK(shiftconv_device_free(device, device_output));
  CHECK(shiftconv_device_free(device, device_bias));
  CHECK(shiftconv_device_free(device, device_filter));
  CHECK(shiftconv_device_free(device, device_input));
  CHECK(shiftconv_plan_destroy(plan));
  CHECK(shiftconv_device_close(device));
  printf("%d of %d outputs differ from the host's sums\n", wrong, HEIGHT * WIDTH * FILTERS);
  return wrong == 0 ? 0 : 1;
}
