/* ShiftConv: forward convolution on NVIDIA Hopper and Blackwell GPUs, as a C API (C99, usable from C++).
 *
 * Phases
 *   describe   fill a shiftconv_problem_t                        shiftconv_problem_validate, shiftconv_problem_describe
 *              of two matrices: shiftconv_gemm
 *   support    ask an algorithm: yes, or a reason                shiftconv_support
 *   plan       from the properties of a device                   shiftconv_plan_create, shiftconv_plan_describe
 *              or by measurement on a device, with a cache file  shiftconv_plan_autotune
 *   bind       give a plan the addresses of its tensors, once    shiftconv_bind
 *   run        enqueue the work in a stream                      shiftconv_binding_run, shiftconv_binding_run_with (other tensors),
 *                                                                shiftconv_run (without a binding)
 *
 * Devices are NVIDIA GPUs, through the CUDA driver, and emulated devices, which execute the PTX of the same kernels on the
 * host. The library links nothing of CUDA and works on machines that have no CUDA driver. Emulated devices are in a
 * library of their own, libshiftconv_emulated.so, which this one loads from its own folder when one is opened.
 *
 * Rules that hold for every function
 *  - Errors. A function that can fail returns shiftconv_status_t. On anything but SHIFTCONV_STATUS_SUCCESS,
 *    shiftconv_last_error() gives one sentence that names the argument or field and the limit. A function that fails leaves its
 *    output arguments unchanged, unless stated otherwise. No exception leaves the library.
 *  - Threads. Any function may be called from several host threads at once, also on the same handles.
 *  - Handles. A handle is a number that is never used again. Using a handle after it was closed, closing it twice, or passing
 *    one of another kind is an error like any other.
 *  - Structures. Every structure begins with `size`, its sizeof as the caller compiled it; the _INIT macros set it. Fields that
 *    the caller's version lacks take the values of the _INIT macro. Bytes that the library does not know must be 0. A size
 *    below that of the structure's first release (SHIFTCONV_*_SIZE_0_2, _0_3) is refused.
 *  - Texts. Functions that write text take (buffer, size, needed). They write at most `size` bytes, the terminating zero
 *    included, and set *needed to the size of the whole text with its zero. A text that does not fit is cut, and the call
 *    succeeds; compare *needed with `size`. `buffer` may be NULL when `size` is 0. `needed` may be NULL.
 *  - Strings returned as const char* belong to the library. The caller never frees them.
 */
#ifndef SHIFTCONV_SHIFTCONV_H
#define SHIFTCONV_SHIFTCONV_H

#include "device.h"
#include "helpers.h"
#include "plan.h"
#include "problem.h"
#include "run.h"
#include "status.h"

#endif /* SHIFTCONV_SHIFTCONV_H */
