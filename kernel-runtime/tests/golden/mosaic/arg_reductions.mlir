module {
  func.func @arg_reductions(%arg0: i32, %arg1: memref<16x256xf32, #tpu.memory_space<vmem>>, %arg2: memref<16x256xi32, #tpu.memory_space<vmem>>, %arg3: memref<16x256xi32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @arg_reductions__window_0, window_bounds = array<i64: 16, 256>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @arg_reductions__window_1, window_bounds = array<i64: 16, 256>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @arg_reductions__window_2, window_bounds = array<i64: 16, 256>}]} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<2147483647> : vector<16xi32>
    %cst_0 = arith.constant dense<2147483647> : vector<16x256xi32>
    %0 = vector.load %arg1[%c0, %c0] : memref<16x256xf32, #tpu.memory_space<vmem>>, vector<16x256xf32>
    %1 = vector.load %arg2[%c0, %c0] : memref<16x256xi32, #tpu.memory_space<vmem>>, vector<16x256xi32>
    %2 = "tpu.reduce_index"(%0) {axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>} : (vector<16x256xf32>) -> vector<16xi32>
    %3 = vector.shape_cast %2 : vector<16xi32> to vector<16x1xi32>
    %4 = vector.multi_reduction <minsi>, %1, %cst [1] : vector<16x256xi32> to vector<16xi32>
    %5 = vector.shape_cast %4 : vector<16xi32> to vector<16x1xi32>
    %6 = vector.broadcast %5 : vector<16x1xi32> to vector<16x256xi32>
    %7 = arith.cmpi eq, %1, %6 : vector<16x256xi32>
    %8 = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<16x256xi32>
    %9 = arith.select %7, %8, %cst_0 : vector<16x256xi1>, vector<16x256xi32>
    %10 = vector.multi_reduction <minsi>, %9, %cst [1] : vector<16x256xi32> to vector<16xi32>
    %11 = vector.shape_cast %10 : vector<16xi32> to vector<16x1xi32>
    %12 = arith.addi %3, %11 : vector<16x1xi32>
    %13 = vector.broadcast %12 : vector<16x1xi32> to vector<16x256xi32>
    "tpu.vector_store"(%13, %arg3, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x256xi32>, memref<16x256xi32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @arg_reductions__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @arg_reductions__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @arg_reductions__window_2(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
