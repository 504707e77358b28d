module {
  func.func @rank_one(%arg0: i32, %arg1: memref<1024xf32, #tpu.memory_space<vmem>>, %arg2: memref<1024xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @rank_one__window_0, window_bounds = array<i64: 1024>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @rank_one__window_1, window_bounds = array<i64: 1024>}]} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : vector<1xf32>
    %0 = vector.load %arg1[%c0] : memref<1024xf32, #tpu.memory_space<vmem>>, vector<1024xf32>
    %1 = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<1x1024xi32>
    %2 = vector.shape_cast %1 : vector<1x1024xi32> to vector<1024xi32>
    %3 = arith.sitofp %2 : vector<1024xi32> to vector<1024xf32>
    %4 = arith.addf %0, %3 : vector<1024xf32>
    %5 = vector.shape_cast %4 : vector<1024xf32> to vector<1x1024xf32>
    %6 = vector.multi_reduction <add>, %5, %cst [1] : vector<1x1024xf32> to vector<1xf32>
    %7 = vector.shape_cast %6 : vector<1xf32> to vector<1x1xf32>
    %8 = vector.shape_cast %7 : vector<1x1xf32> to vector<1xf32>
    %9 = vector.broadcast %8 : vector<1xf32> to vector<1024xf32>
    %10 = arith.divf %4, %9 : vector<1024xf32>
    "tpu.vector_store"(%10, %arg2, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i32>} : (vector<1024xf32>, memref<1024xf32, #tpu.memory_space<vmem>>, index) -> ()
    return
  }
  func.func @rank_one__window_0(%arg0: i32) -> i32 {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32 : i32
  }
  func.func @rank_one__window_1(%arg0: i32) -> i32 {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32 : i32
  }
}
