// The toolkit's headers decide every signature here. What they declare is exported: the rest of the project is built with
// hidden symbols, and the version scripts keep everything else inside.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop
