// One kernel of the epilogue alone, for architectures without the conversions to narrow types.
#include "tests/gemm/epilogue_direct.cuh"
