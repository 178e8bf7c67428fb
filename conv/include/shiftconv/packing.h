/** @file packing.h
 *  Filters that stay the same from run to run. Some plans begin a run by making something of the filter: the filters of the phases
 *  of a transposed convolution, the taps of a flipped filter in order, taps lengthened by zeros, or sums for a zero point of the
 *  input. Those launches can be made a plan of their own, which runs once and writes what it makes into a buffer of its own, the
 *  packed filter. Not part of shiftconv.h.
 */
#ifndef SHIFTCONV_PACKING_H
#define SHIFTCONV_PACKING_H

#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Separates a plan into one that packs the filter and one that does the rest. Both are plans like any other: they are described,
 *  bound, run and destroyed as such. `plan` itself stays as it is.
 *
 *    packing  reads filter (and filter_scale), writes packed_filter, and needs no workspace
 *    rest     reads packed_filter and the other tensors of `plan`, and needs a workspace as other plans do
 *
 *  Each takes the tensors of `plan` and packed_filter. Those that it does not touch may be NULL: *rest does not need the filter
 *  where it reads nothing of it but what was packed, as of transposed convolutions in phases, of flipped filters, of
 *  lengthened or joined taps and of merged groups, and the filter's memory may be given back.
 *
 *  One run of *packing suffices for any number of runs of *rest, each of which gives the bits that a run of `plan` gives. Runs of
 *  *rest only read packed_filter, so they may overlap in time, in any streams, each with a workspace of its own; between runs a
 *  workspace may be used for anything else. A run of *packing must be complete before they begin, and none of them may run while
 *  it runs again, which it has to after a change of the filter.
 *
 *  shiftconv_plan_to_bytes is for `plan`, not for its parts.
 *  @param packing receives a handle; to destroy by shiftconv_plan_destroy.
 *  @param rest    likewise.
 *  Errors: SHIFTCONV_STATUS_UNSUPPORTED where a run makes nothing of its filter, as most plans, and for a part; the handles stay as
 *  they were. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_separate_packing(shiftconv_plan_t plan, shiftconv_plan_t* packing,
                                                                 shiftconv_plan_t* rest);

/** Writes the bytes that shiftconv_tensors_t.packed_filter of either part has room for; they are aligned to 256. 0 for plans that
 *  are no part of another: they keep what they make of the filter in their workspace. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_packed_filter_size(shiftconv_plan_t plan, size_t* bytes);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_PACKING_H */
