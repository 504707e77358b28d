module {
  func.func @slices(%arg0: i32, %arg1: memref<8x16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<4x8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @slices__window_0, window_bounds = array<i64: 8, 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @slices__window_1, window_bounds = array<i64: 4, 8, 128>}]} {
    %c0 = arith.constant 0 : index
    %0 = vector.load %arg1[%c0, %c0, %c0] : memref<8x16x128xf32, #tpu.memory_space<vmem>>, vector<8x16x128xf32>
    %1 = vector.extract_strided_slice %0 {offsets = [1, 4, 0], sizes = [1, 8, 128], strides = [1, 1, 1]} : vector<8x16x128xf32> to vector<1x8x128xf32>
    %2 = vector.extract_strided_slice %0 {offsets = [3, 4, 0], sizes = [1, 8, 128], strides = [1, 1, 1]} : vector<8x16x128xf32> to vector<1x8x128xf32>
    %3 = vector.extract_strided_slice %0 {offsets = [5, 4, 0], sizes = [1, 8, 128], strides = [1, 1, 1]} : vector<8x16x128xf32> to vector<1x8x128xf32>
    %4 = vector.extract_strided_slice %0 {offsets = [7, 4, 0], sizes = [1, 8, 128], strides = [1, 1, 1]} : vector<8x16x128xf32> to vector<1x8x128xf32>
    %5 = "tpu.concatenate"(%1, %2, %3, %4) {dimension = 0 : i32} : (vector<1x8x128xf32>, vector<1x8x128xf32>, vector<1x8x128xf32>, vector<1x8x128xf32>) -> vector<4x8x128xf32>
    "tpu.vector_store"(%5, %arg2, %c0, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<4x8x128xf32>, memref<4x8x128xf32, #tpu.memory_space<vmem>>, index, index, index) -> ()
    return
  }
  func.func @slices__window_0(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32, %c0_i32 : i32, i32, i32
  }
  func.func @slices__window_1(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32, %c0_i32 : i32, i32, i32
  }
}
