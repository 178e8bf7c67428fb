# Variants of kernels' sources: mistakes that people make, on top of the mechanical mutants. They are compiled for the nightly tests.
# Those of an algorithm's kernel are in the folder of its tests: mutants.cmake.
#
# shiftconv_mutant(<kernel> <name> <HAZARD|VALUE|CORRECT> <what is wrong> <site> <replacement>...)
#   sites: statements that the source marks, or pieces of them; see tests/edited_copy/edited_copy.py
# shiftconv_mutant_from_defect(<kernel> <name> <HAZARD|VALUE> <what is wrong>): of tests/conv/kernel/defects.cmake
#   HAZARD   the machine has to report it
#   VALUE    every byte is written and ordered, only the number is wrong: nothing but a comparison with a reference can see it
#   CORRECT  unusual but legal: the machine must not report anything

# ---- scalar_exchange -----------------------------------------------------------------------------------------------------------
shiftconv_mutant(scalar_exchange flag_without_release HAZARD
  "The flag that publishes a total is stored without release"
  total_published "*const_cast<volatile uint32_t*>($(total_published.1)) = $(total_published.2);")
shiftconv_mutant(scalar_exchange flag_without_acquire HAZARD
  "The flag that publishes a total is polled without acquire"
  total_awaited.cond "*const_cast<const volatile uint32_t*>($(total_awaited.cond.first.1)) == $(total_awaited.cond.last)")
shiftconv_mutant(scalar_exchange total_stored_behind_its_flag HAZARD
  "The total is stored after the flag that publishes it"
  total_stored ""
  total_published "$
      $(total_stored)")
shiftconv_mutant(scalar_exchange flag_of_another_warp HAZARD
  "A warp publishes the total that a thread of another warp stores"
  total_published "}
      if ($(publisher.cond.first) == $(publisher.cond.last) + 32) {
      $")
shiftconv_mutant(scalar_exchange flag_not_awaited HAZARD
  "A CTA reads the total of the CTA in front of it without looking at the flag"
  total_awaited.cond "false && $")
shiftconv_mutant(scalar_exchange one_copy_may_be_pending HAZARD
  "The buffer is handed over while its cp.async may be under way"
  copies_awaited.callee "ptx::copyAsyncWaitGroup<1>")
shiftconv_mutant(scalar_exchange one_thread_waits_for_all_copies HAZARD
  "cp.async.wait_group of one thread says nothing about the copies of the others"
  copies_awaited "if (threadIdx.x % 32 == 0) $
      __syncwarp();")
shiftconv_mutant(scalar_exchange barrier_of_one_warp HAZARD
  "A named barrier expects fewer threads than use it"
  totals_there.2 "$ / 2")
shiftconv_mutant(scalar_exchange totals_in_one_slot CORRECT
  "The barrier of the next full buffer keeps a total from being overwritten before the other warp has read it"
  total_of_warp.[1] "0"
  totals_read.[1] "0"
  totals_read.[3] "0")
shiftconv_mutant(scalar_exchange buffer_released_before_it_is_read HAZARD
  "A buffer is given back to the loaders before its chunk is read"
  buffer_released ""
  chunk_read "$(buffer_released)
      $")
shiftconv_mutant(scalar_exchange lanes_exchange_without_barrier HAZARD
  "Lanes read what other lanes of the warp store, without __syncwarp"
  lanes_exchange "__shared__ uint32_t values[128];
      values[threadIdx.x] = $(lanes_exchange.2);
      $(lanes_exchange.left) = values[threadIdx.x - (threadIdx.x % 32 >= $(lanes_exchange.3) ? $(lanes_exchange.3) : 0)];")
shiftconv_mutant(scalar_exchange flag_between_fences CORRECT
  "Relaxed accesses to the flag between fences order as release and acquire do"
  total_published "__threadfence();
      *const_cast<volatile uint32_t*>($(total_published.1)) = $(total_published.2);"
  total_awaited.cond "*const_cast<const volatile uint32_t*>($(total_awaited.cond.first.1)) == $(total_awaited.cond.last)"
  total_read "__threadfence();
      $")

# ---- last_block_sum ------------------------------------------------------------------------------------------------------------
shiftconv_mutant(last_block_sum fence_of_the_cta_only HAZARD
  "The fence between partial sum and counter has the scope of the CTA"
  partial_fenced.callee "__threadfence_block")
shiftconv_mutant(last_block_sum counted_before_the_partial_sum HAZARD
  "A CTA counts itself as finished before it stores its partial sum"
  partial_stored ""
  count_fenced "$(partial_stored)
      $")
shiftconv_mutant(last_block_sum counter_not_atomic HAZARD
  "CTAs count themselves with a load and a store"
  counted "const uint32_t before = *$(counted.right.first.1);
      *$(counted.right.first.1) = before + 1;
      $(counted.left) = before == $(counted.right.last);")
shiftconv_mutant(last_block_sum everybody_adds_up HAZARD
  "Every CTA adds up the partial sums, whether the others have stored theirs or not"
  last_goes_on.cond "$ && gridDim.x == 0")
shiftconv_mutant(last_block_sum sums_in_one_slot CORRECT
  "The barriers between the two uses of the warp sums order them"
  others_added.[1] "0")
# ---- tensormap_edit ------------------------------------------------------------------------------------------------------------
shiftconv_mutant(tensormap_edit map_shared_by_ctas HAZARD
  "All CTAs edit one tensor map"
  map_slot.right "$ - blockIdx.x")
shiftconv_mutant(tensormap_edit other_map_acquired HAZARD
  "The acquire fence names another tensor map than the copy uses"
  map_acquired.1 "$ - blockIdx.x + (blockIdx.x ^ 1)")
shiftconv_mutant(tensormap_edit map_acquired_once HAZARD
  "The map changes every round, but is acquired in the first only"
  map_acquired "if ($(rounds.name) == blockIdx.x) $")
shiftconv_mutant(tensormap_edit map_acquired_by_another_thread HAZARD
  "The thread that acquires the map is not the one that uses it, and nothing orders the two"
  copying_thread "if (threadIdx.x == 1) $(map_acquired)
      $"
  map_acquired "")
shiftconv_mutant(tensormap_edit map_acquired_by_every_lane CORRECT
  "All lanes acquire the map before one of them uses it"
  copying_thread "$(map_acquired)
      $"
  map_acquired "")
shiftconv_mutant(tensormap_edit map_stored_by_threads HAZARD
  "The map is published with ordinary stores instead of tensormap.cp_fenceproxy"
  map_published "reinterpret_cast<uint32_t*>($(map_published.1))[threadIdx.x] = $(map_published.2.1)[threadIdx.x];
      __syncwarp();")
shiftconv_mutant(tensormap_edit matrix_overwritten_while_it_is_read HAZARD
  "The next matrix is loaded while other warps still read the last one"
  matrix_read "")
# ---- epilogue_tile -------------------------------------------------------------------------------------------------------------
shiftconv_mutant(epilogue_tile proxy_fence_behind_the_barrier CORRECT
  "The storing thread executes the proxy fence behind the barrier: it lies on the path of causality (PTX ISA, causality order)"
  tile_fenced ""
  tile_written "$
      if (threadIdx.x == 0) $(tile_fenced)")
shiftconv_mutant(epilogue_tile one_tile_for_all_turns HAZARD
  "The next segments are staged in the tile that the last store still reads"
  staging_tile.[1] "0")
shiftconv_mutant(epilogue_tile waits_for_the_wrong_number_of_stores HAZARD
  "The wait lets both stores go on that may still read"
  tile_free.callee "ptx::bulkWaitGroupRead<kTiles>")
shiftconv_mutant(epilogue_tile leaves_while_a_store_reads HAZARD
  "The CTA is gone, and its shared memory with it, while the last store still reads"
  stores_done "")
shiftconv_mutant(epilogue_tile waits_until_sources_are_read CORRECT
  "The kernel's end completes the stores; the CTA only has to wait until they have read"
  stores_done.callee "ptx::bulkWaitGroupRead<0>")
shiftconv_mutant(epilogue_tile largest_without_an_atomic HAZARD
  "Warps merge their maxima with a load and a store"
  largest_merged "if (threadIdx.x % 32 == 0 && *$(largest_merged.1).largest < __uint_as_float($(largest_merged.2)))
        *$(largest_merged.1).largest = __uint_as_float($(largest_merged.2));")
