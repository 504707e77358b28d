//! What Pallas for TPUs has, and how it stands here: documentation alone.
//!
//! *Same* means that the feature is there with its meaning, *better* that it is there with more, and
//! *not yet* that it is missing and refused where it would be written. Mosaic's limits hold for both:
//! a form that libtpu 0.0.51 does not compile is an error at the user's line.
//!
//! The last column names what proves a row: cases of `tests/conformance/pallas`, which follow Pallas' own
//! test suites, tests elsewhere as `folder/file::function`, and mistakes that the macros refuse as
//! `ui/name`. A test fails if a row has no proof, or names one that does not exist.
//!
//! # Grids and blocks
//!
//! | Pallas | here | how | proof |
//! |---|---|---|---|
//! | grid, `program_id`, `num_programs` | same | `grid(i, j)`; `i`, `i.last()`, `i.extent()` | `axes_have_names`, `steps_know_their_number`, `number_of_steps`, `three_axes_last_one_fastest` |
//! | grid extents and block counts | better | extents follow from shapes and blocks, and are checked against each other | `block_with_another_rank`, `array_of_another_shape_in_place`, `trace/launch::a_compile_time_dimension_must_agree_with_the_arguments` |
//! | dynamic grid extents | same | `#[extent] n: Scalar<i32>`, `grid(i = n)`; no compile for another extent | `extent_of_the_call`, `extents_of_the_call_by_three`, `blocks_of_the_first_steps` |
//! | `num_programs` in the index of a block | same | `size: tile @ i.last() - i`, `size: tile @ i.extent()`, of extents of the call too | `number_of_steps_in_an_index`, `index_of_an_output_by_the_number_of_steps`, `extent_in_an_index`, `last_step_in_an_index`, `extent_that_leads_outside` |
//! | `dimension_semantics` | same | `grid(i: parallel, l: arbitrary)` | `parallel_steps_in_any_order`, `parallel_axis_after_an_arbitrary_one`, `output_of_a_parallel_axis_shared` |
//! | `core_parallel`, `subcore_parallel` | same | `grid(c: core_parallel)`; the grid of SparseCore kernels | `remote/kernels::cores_of_a_device_run_at_the_same_time`, `remote/refuse::axes_over_cores_fit_the_chip`, `sparse/rows::a_gather_takes_the_rows_that_ids_name` |
//! | `BlockSpec`, whole and edge blocks | better | padding of edge blocks that reaches a result is an error of the interpreter | `blocks_of_8x128_in_24x128_i32`, `edge_block_is_cut`, `edges_along_all_axes`, `padding_that_reaches_a_result` |
//! | squeezed dimensions | same | `size: squeezed @ i` | `squeezed_axes`, `axes_have_names` |
//! | `Element(n)` | same | `size: element(n) @ offset` | `windows_by_elements`, `overlapping_windows`, `windows_from_a_table` |
//! | `Element(n, padding)` | not yet | a window lies inside its array | `padding_of_windows_is_missing`, `window_past_the_end` |
//! | `BoundedSlice`, `Indirect` | not yet | | `windows_of_any_length_are_missing` |
//! | `Buffered(1)`, `Buffered(2)` | same | `#[buffered(1)]`; more than two are refused, as the pipeline of a grid has no more | `one_buffer_each`, `two_buffers_and_one`, `three_buffers` |
//! | several transfers per block | better | `#[streams(k: 4)]` | `blocks_fetched_in_parts` |
//! | `RevisitMode` | not yet | blocks are revisited in consecutive steps | `output_revisited_in_any_order`, `output_revisited_in_a_row` |
//! | scalar prefetch | better | `#[prefetch] ids: Smem<i32>`, in indices and bodies; an entry that leads outside is named by the interpreter | `blocks_by_table`, `two_tables`, `tables_with_scratch_and_extents`, `program_of_a_table`, `entry_that_names_no_block` |
//! | `input_output_aliases`, with prefetch too | better | `InOut<T>`: old contents are in the block; several at once | `updated_in_place`, `updated_in_place_beside_a_table`, `two_updated_in_place`, `block_left_and_visited_again` |
//! | `ANY` and HBM operands | same | `Hbm<T>`, `HbmOut<T>`, `HbmInOut<T>` | `hbm_to_hbm`, `hbm_to_vmem`, `array_in_hbm_updated_in_place` |
//! | memory-space pinning | same | `#[pinned(vmem)]`, `#[pinned(hbm)]` | `input_pinned_to_vmem` |
//! | operands and outputs in SMEM | better | `SmemIn<T>`, `SmemOut<T>`, `SmemInOut<T>`, whole or in blocks; undefined scalars, indices outside and steps that write one block are errors | `scalar_input`, `scalar_input_in_blocks`, `matrices_of_scalars`, `scalar_output`, `scalar_output_in_blocks`, `blocks_of_scalars_updated_in_place`, `scalar_output_undefined`, `scalar_output_of_a_parallel_axis_shared`, `scalars_of_bf16`, `ui/scalar_streams`, `ui/stores_to_scalar_input` |
//! | scratch in VMEM and SMEM | better | reads before the first write are errors of the interpreter | `scratch_in_vmem_and_smem`, `scratch_outlives_steps`, `undefined_scratch` |
//! | `run_scoped` | better | `run_scoped(scratch::<Vmem<f32>>(..), body)`; what a scope leaves in flight or signalled is an error | `dma/scoped::a_scope_holds_a_buffer_and_gives_what_it_computes`, `dma/scoped::scopes_after_each_other_share_vmem` |
//! | cost estimates | better | counted from the kernel; `cost(..)` states what is known better | `cost_is_stated`, `trace/tables::attributes_say_what_the_compiler_should_know` |
//! | `has_side_effects`, three kinds | same | `side_effects(dataflow)`, `side_effects(always)` | `side_effects_and_cost`, `ui/expected_side_effects` |
//! | `vmem_limit_bytes` | better | chosen from the kernel's own buffers where it is not given | `vmem_limit_of_the_kernel`, `vmem_limit_that_suffices`, `vmem_is_full` |
//! | `disable_bounds_checks` | better | `bounds_checks(off)`; the interpreter checks all the same | `trace/tables::attributes_say_what_the_compiler_should_know`, `mosaic/call::the_chips_checks_of_copies_can_be_left_out` |
//! | `allow_input_fusion`, `flags`, fuser | not yet | | `ui/unknown_key` |
//!
//! # Control flow and memory
//!
//! | Pallas | here | how | proof |
//! |---|---|---|---|
//! | `pl.when`, `cond`, `fori_loop`, `while_loop` | better | `if`, `for`, `while` of Rust, on variables of any carried type | `nested_branches`, `branches_give_two_values`, `loop_in_a_loop_on_conditions`, `carried_tile_changes_its_shape` |
//! | unrolled loops | same | `#[unroll] for` | `loop_unrolled`, `loop_of_unrolled_parts` |
//! | loads and stores with `pl.ds`, strides | same | `x[(ds(start, n).stride(2), ..)]`; 32-bit types, not along the lanes | `rows_from_a_table`, `stride_of_both`, `one_row_of_each_from_a_table`, `stride_of_zero` |
//! | masked loads and stores | better | of every element type, with strides too | `store_with_a_mask`, `store_of_bf16_with_a_mask`, `masked_store_in_steps`, `what_a_mask_leaves_out` |
//! | `multiple_of` | better | `x.multiple_of(8)`, checked by the interpreter | `start_with_a_promise`, `start_that_breaks_its_promise` |
//! | indices into VMEM by tiles of integers | not yet | `take_along_axis`, or a table and a block | `array_of_indices_on_an_axis`, `ui/indexes_with_a_range_of_scalars` |
//!
//! # Ops
//!
//! | Pallas | here | how | proof |
//! |---|---|---|---|
//! | arithmetic, comparisons, `where`, casts | better | one meaning on every back end, tested to the ULP | `comparison_of_arrays_with_nan`, `select_by_bool_of_i8`, `cast_of_f32_to_bf16`, `sum_of_i8` |
//! | `exp` to `erf`, `tan`, `atan2`, `erf_inv`, `pow` | same | methods; `expm1` besides | `exp`, `tan`, `power`, `inverse_of_erf`, `power_of_two_numbers` |
//! | `nextafter` | not yet | | `nextafter_is_missing` |
//! | `is_finite`, `clamp`, population count, leading zeros | same | `is_finite`, `clamp`, `count_ones`, `leading_zeros` | `finite_or_not`, `clamped`, `bits_counted` |
//! | `reciprocal(approx=True)` | same | `reciprocal_approx` | `reciprocal`, `reciprocal_to_some_bits` |
//! | reshape, broadcast, transpose, concatenate, slice | same | what libtpu refuses is an error with the cure | `lanes_split_into_rows`, `column_spread_over_lanes`, `leading_axes_swapped`, `joined_at_any_row` |
//! | `einshape` | same | `x.einshape("a(bc)->(ab)c", &[('b', 4)])` | `einshape_splits_and_joins`, `einshape_orders_axes` |
//! | `roll`, with a stride | better | `roll`, `roll_strided`: more rows and larger strides than one rotation allows, of every element type | `rolled_by_more_than_a_register`, `rolled_by_an_entry`, `rolled_with_a_stride`, `bytes_rolled` |
//! | `take_along_axis` | better | along axes of several registers, of narrow types and `bool` too | `lanes_by_indices`, `lanes_of_two_registers_by_indices`, `bytes_by_indices`, `index_outside_of_a_tile` |
//! | reductions, `argmax`, `argmin` | better | of integers too; `sum_all`, `max_all`, `min_all`, `any`, `all` to scalars | `sum_along_axis_0_of_i32`, `max_of_all_31x300_i32`, `argmax_of_ints`, `any_and_all_with_one_false` |
//! | `dot_general`, all transposes, precisions | same | `dot`, `dot_t`, `dot_with`; of matrices, without batch axes | `product_with_the_left_side_transposed`, `product_f32_in_three_passes`, `product_of_bytes`, `product_of_batches` |
//! | running sums (`cumsum`) | not yet | a product with a triangle of ones | `running_sums_are_missing` |
//! | explicit control of the matrix unit (`matmul_push_rhs`, `matmul_acc_lhs`, `matmul_pop`) | better | [`MatrixUnit`](crate::trace::MatrixUnit), on 7x; what is left in the unit, or taken out of turn, is an error of the interpreter | `unit_multiplies`, `unit_sums_up`, `units_share_the_work`, `mxu/mod::units_used_out_of_turn_are_told` |
//! | `bitcast` to another width | same | `bitcast_rows` | `rows_of_bf16_as_words`, `words_as_rows_of_bf16`, `bits_as_another_type` |
//! | `pack_elementwise`, `unpack_elementwise` | same | `pack`, `unpack` of bf16 and of integers of 8 and 16 bits | `packed_as_bf16`, `unpacked_from_bf16`, `interleaved_by_bits` |
//! | `stochastic_round` | better | to bf16, on v4 as well, and by the interpreter | `rounded_at_random` |
//! | int4, float8 (`e4m3fn`, `e5m2`) | better | `i4`, `f8e4m3fn`, `f8e5m2` are stored, copied, cast and multiplied, with bits as `ml_dtypes` has them; what would compute with them is refused with the cure | `every_i4_as_bf16`, `every_f8e4m3fn_as_f32`, `f32_rounded_to_f8e5m2`, `i4_in_blocks_of_64_of_128`, `f8e4m3fn_in_copies`, `product_of_int4`, `product_of_bf16_by_float8`, `sum_of_int4` |
//! | uint4, `float8_e4m3b11fnuz` | not yet | | `uint4_is_missing`, `float8_with_a_larger_bias_is_missing` |
//! | `prng_seed`, `prng_random_bits` | better | real bits in the interpreter, which tells of bits without a seed | `bits_of_the_core_differ`, `bits_without_a_seed` |
//! | `jax.random` in kernels | same | `threefry_bits`, `threefry_fold_in`, `uniform`, `normal`: the numbers of JAX; `philox_4x32` | `bits_of_threefry`, `trace/functions::threefry_gives_the_numbers_of_jax` |
//!
//! # Copies, semaphores, cores
//!
//! | Pallas | here | how | proof |
//! |---|---|---|---|
//! | `make_async_copy`, start and wait | better | `copy_into(src, slot)` gives a handle that owns what it copies: a forgotten or second wait does not compile | `copies_ahead_in_a_loop`, `ring_of_three`, `read_before_the_wait`, `copy_without_a_wait`, `ui/waits_twice` |
//! | semaphores | same | `Semaphore`, `DmaSemaphore` | `signal_and_wait`, `semaphore_by_index`, `semaphore_is_read`, `wait_that_nothing_ends` |
//! | `emit_pipeline` | better | [`pipeline`](crate::trace::pipeline): fetches run blocks ahead, not steps; blocks that do not fit, or are left and come back, are errors with the numbers | `pipeline/kernels::a_matrix_product_is_right`, `pipeline/misuse::an_extent_that_leads_outside_is_told`, `pipeline/misuse::a_block_that_is_left_and_visited_again_is_told` |
//! | accumulators of `emit_pipeline`, `explicit_allocations` | same | `pipeline_fold`, `HbmInOut<T>`; buffers are scratch of the kernel | `pipeline/kernels::a_matrix_product_is_right`, `pipeline/kernels::an_array_is_updated_in_place`, `pipeline/misuse::a_block_that_is_left_and_visited_again_is_told` |
//! | blocks of a pipeline that reach over the end | better | the part that is there is copied, and padding that reaches a result is an error of the interpreter; along the last axis blocks are cut by whole 128 elements | `pipeline/ragged::what_is_there_of_the_last_blocks_is_fetched_and_sent`, `pipeline/ragged::the_rest_of_a_block_is_undefined`, `pipeline/ragged::an_array_is_updated_in_place_to_its_end`, `pipeline/ragged::what_no_copy_takes_is_told_with_the_cure` |
//! | remote copies, barriers, meshes | better | `mesh(ring = n)`, `remote_copy`, `barrier`; the interpreter runs all devices, finds races by vector clocks and names who waits for whom | `remote/kernels::blocks_go_around_and_are_added_up`, `remote/bugs::devices_that_wait_in_a_circle`, `remote/bugs::a_read_that_nothing_orders_with_the_copy_of_another_device`, `remote/refuse::a_number_outside_the_mesh_is_proven` |
//! | `core_map` | not yet | a kernel is called as a whole | `core_maps_are_missing` |
//!
//! # SparseCores
//!
//! Subcores run in the interpreter: at the same time if they share memory or meet at barriers, else
//! one after the other.
//!
//! | Pallas | here | how | proof |
//! |---|---|---|---|
//! | `VectorSubcoreMesh` | same | `#[tpu_kernel(core(sparse), grid(c = 2, s = 16))]` | `sparse/rows::a_gather_takes_the_rows_that_ids_name`, `sparse/aot::gathers_become_streams` |
//! | `ScalarSubcoreMesh` | same | `#[tpu_kernel(core(sparse_scalar), grid(c = 2))]` | `sparse/rows::scalar_subcores_compute_with_scalars`, `sparse/aot::scalar_subcores_compile` |
//! | both in one kernel | not yet | | `ui/expected_core` |
//! | `VMEM`, `VMEM_SHARED`, `SMEM` scratch | better | `Vmem<T>`, `Buffers<T, N>`, `Spmem<T>`, `Smem<T>`; budgets, alignment to 8 words, widths, arrays over 16 GiB and relayouts are told before libtpu compiles | `sparse/aot::scatters_that_add_become_streams_that_add` |
//! | gathers and scatters by a list of ids | better | `table.gather(ids, rows)` owns the rows and the list until its wait; ids outside and rows scattered twice are errors of the interpreter | `sparse/rows::a_scatter_puts_rows_where_ids_say`, `sparse/misuse::ids_outside_of_the_table_are_told`, `sparse/misuse::a_scatter_that_lists_a_row_twice_is_told` |
//! | `add=True`, `Indices(.., ignored_value)` | same | `gather(..).accumulate().skipping(-1)`; a scatter that would add to HBM is refused | `sparse/rows::gathers_add_rows_and_leave_out_what_is_skipped`, `sparse/aot::gathers_that_add_become_streams_that_add` |
//! | ids in a register | same | `table.gather(ids[..], rows)` | `sparse/aot::ids_in_a_register_become_streams` |
//! | gathers of a dynamic number of rows | not yet | `skipping` | `sparse/rows::gathers_add_rows_and_leave_out_what_is_skipped` |
//! | `subcore_barrier` | better | `subcore_barrier()`; the interpreter runs the subcores at the same time, finds races in memory that they share, and who stays away from a barrier | `sparse/meeting::subcores_add_up_in_the_memory_they_share`, `sparse/meeting::adding_to_memory_that_another_subcore_clears_is_a_race`, `sparse/meeting::a_barrier_that_one_subcore_does_not_pass_is_told` |
//! | `load_gather`, `store_scatter`, `addupdate_scatter` | same | `load_idx`, `store_idx`, `add_idx`, each with a mask too | `sparse/registers::ops_on_registers_are_plain_loops` |
//! | `load_expanded`, `store_compressed` | same | of the same names | `sparse/registers::ops_on_registers_are_plain_loops` |
//! | masked loads and stores | better | `load_masked`, `store_masked` leave elements in their places | `sparse/registers::ops_on_registers_are_plain_loops` |
//! | `cumsum`, `cummax`, `cummin` | same | `scan_sum`, `scan_max`, `scan_min`, with a mask | `sparse/registers::ops_on_registers_are_plain_loops` |
//! | `sort_key_val`, `scan_count` | same | `sort`, `sort_descending`, `sort_masked`, `scan_count` | `sparse/registers::ops_on_registers_are_plain_loops` |
//! | population count, first set bit | same | `mask.count()`, `mask.first_true()` | `sparse/registers::ops_on_registers_are_plain_loops` |
//! | reductions | better | `argmax` and `argmin` too | `sparse/registers::ops_on_registers_are_plain_loops` |
//! | arithmetic and functions | better | `exp2` and `round_even` too, and of scalars | `sparse/registers::ops_on_registers_are_plain_loops` |
//! | `fetch_and_add`, signals to a subcore | not yet | | `sparse_words_are_missing` |
//! | `parallel_loop` | not yet | | `sparse_words_are_missing` |
//! | chips without SparseCores | better | refused with the chips that have them | `sparse/misuse::chips_without_a_sparse_core_are_named_with_the_cure` |
//!
//! # Debugging and checking
//!
//! | Pallas | here | how | proof |
//! |---|---|---|---|
//! | `debug_print` | same | `device_print`, scalars and tiles | `prints` |
//! | `debug_check`, assertions | same | `device_assert` | `assertion_that_holds`, `assertion_that_fails` |
//! | `named_scope`, `delay` | same | `named_scope`, `delay` | `scopes_and_a_delay`, `delay` |
//! | `trace_value` | not yet | | `trace_values_are_missing` |
//! | `interpret=True`, `InterpretParams` | better | always on: bounds, undefined elements, races, output blocks, alignment, copies in flight | `undefined_output`, `rows_past_the_end`, `read_before_the_wait`, `output_left_and_revisited` |
//! | cycles without a TPU | better | per Rust line; kernels that read tables by a twin with the tables of one call | `aot/estimate::estimates_every_chip_that_libtpu_has_a_model_for`, `aot/pinned::the_twin_executes_the_products_that_the_tables_ask_for` |
//! | `jvp`, `vmap` of kernels | not yet | gradients are kernels given by hand | `run/kernel::kernels_with_a_vjp_have_gradients` |
