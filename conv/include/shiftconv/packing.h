/** @file packing.h
 *  Filters that stay the same from run to run. Some plans begin a run by making something of the filter in the workspace: the
 * filters of the phases of a transposed convolution, or sums for a zero point of the input. Those launches can be made a plan of
 * their own, which runs once. Not part of shiftconv.h.
 */
#ifndef SHIFTCONV_PACKING_H
#define SHIFTCONV_PACKING_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Separates a plan into one that packs the filter and one that does the rest. Both are plans like any other: they are described,
 * bound, run and destroyed as such, and take the tensors of `plan`. `plan` itself stays as it is.
 *
 *  Runs of *rest find in their workspace what a run of *packing has left there. So the workspace belongs to them and the filter
 * from then on: nothing else may be written into it. A run of *packing before, in the order of the stream, suffices for any number
 * of runs of *rest with the same workspace, whatever the other tensors are; they give the bits that runs of `plan` give. After a
 * change of the filter, run *packing again. Runs that may overlap in time need a workspace each, as those of `plan` do.
 *
 *  shiftconv_plan_to_bytes is for `plan`, not for its parts.
 *  @param packing receives a handle; to destroy by shiftconv_plan_destroy.
 *  @param rest    likewise.
 *  Errors: SHIFTCONV_STATUS_UNSUPPORTED where a run makes nothing of its filter, as most plans; the handles stay as they were. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_separate_packing(shiftconv_plan_t plan, shiftconv_plan_t* packing,
                                                                 shiftconv_plan_t* rest);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_PACKING_H */
