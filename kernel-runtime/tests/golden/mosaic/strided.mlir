module {
  func.func @strided(%arg0: i32, %arg1: memref<32x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<32x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @strided__window_0, window_bounds = array<i64: 32, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @strided__window_1, window_bounds = array<i64: 32, 128>}]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = "tpu.strided_load"(%arg1, %c0, %c0) {strides = array<i32: 2, 1>} : (memref<32x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<16x128xf32>
    %1 = "tpu.strided_load"(%arg1, %c1, %c0) {strides = array<i32: 2, 1>} : (memref<32x128xf32, #tpu.memory_space<vmem>>, index, index) -> vector<16x128xf32>
    "tpu.strided_store"(%1, %arg2, %c0, %c0) {strides = array<i32: 2, 1>} : (vector<16x128xf32>, memref<32x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    "tpu.strided_store"(%0, %arg2, %c1, %c0) {strides = array<i32: 2, 1>} : (vector<16x128xf32>, memref<32x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @strided__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @strided__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
