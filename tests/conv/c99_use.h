/* The part of the tests that is compiled as C99. */
#ifndef SHIFTCONV_TESTS_C99_USE_H
#define SHIFTCONV_TESTS_C99_USE_H

#ifdef __cplusplus
extern "C" {
#endif

/* A 1x1x4x8 image of ones convolved with a 1x2 filter of ones, through the whole C API on the emulated device. Returns NULL when
 * every output is right, else the name of the step that failed. */
const char* shiftconv_c99_use(void);

#ifdef __cplusplus
}
#endif

#endif
