// raw_rows of 8-bit floats and integers, which are multiplied as f16. See raw_rows.cuh.
#include "conv/algorithms/raw_rows/kernels.cuh"

namespace shiftconv::kernels::raw_rows {

SHIFTCONV_RAW_ROWS_KERNELS(bytes, __half, 1)

}  // namespace shiftconv::kernels::raw_rows
