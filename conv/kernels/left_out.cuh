// Kernels that a quick build leaves out: those that no ordinary test runs, and whose code other kernels that it has share (see
// docs/performance/build-times.md). An algorithm's folder names them in left_out_of_quick_builds.txt, of which CMake makes a macro
// SHIFTCONV_LEAVES_OUT_<kernel> for each.
#pragma once

#define SHIFTCONV_SECOND_OF(FIRST, SECOND, ...) SECOND
#define SHIFTCONV_NAME_OF(...) SHIFTCONV_SECOND_OF(__VA_ARGS__)
#define SHIFTCONV_JOIN_NOW(A, B) A##B
#define SHIFTCONV_JOIN(A, B) SHIFTCONV_JOIN_NOW(A, B)
#define SHIFTCONV_DEFINE_KEPT(...) __VA_ARGS__
#define SHIFTCONV_DEFINE_LEFT_OUT(...)

/// The definition of the kernel NAME, which follows, unless the build leaves it out. The macro of a kernel that is left out puts an
/// argument ahead of KEPT.
#define SHIFTCONV_KERNEL(NAME, ...) \
  SHIFTCONV_JOIN(SHIFTCONV_DEFINE_, SHIFTCONV_NAME_OF(SHIFTCONV_LEAVES_OUT_##NAME, KEPT, ))(__VA_ARGS__)
