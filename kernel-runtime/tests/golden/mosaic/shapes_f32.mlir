module {
  func.func @shapes_f32(%arg0: i32, %arg1: memref<4x16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<128x64xf32, #tpu.memory_space<vmem>>, %arg3: memref<128x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @shapes_f32__window_0, window_bounds = array<i64: 4, 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @shapes_f32__window_1, window_bounds = array<i64: 128, 64>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @shapes_f32__window_2, window_bounds = array<i64: 128, 128>}]} {
    %c0 = arith.constant 0 : index
    %0 = vector.load %arg1[%c0, %c0, %c0] : memref<4x16x128xf32, #tpu.memory_space<vmem>>, vector<4x16x128xf32>
    %1 = vector.shape_cast %0 : vector<4x16x128xf32> to vector<64x128xf32>
    %2 = "tpu.transpose"(%1) {permutation = array<i64: 1, 0>} : (vector<64x128xf32>) -> vector<128x64xf32>
    "tpu.vector_store"(%2, %arg2, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<128x64xf32>, memref<128x64xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %3 = "tpu.concatenate"(%1, %1) {dimension = 0 : i32} : (vector<64x128xf32>, vector<64x128xf32>) -> vector<128x128xf32>
    %4 = vector.extract_strided_slice %3 {offsets = [1, 0], sizes = [1, 128], strides = [1, 1]} : vector<128x128xf32> to vector<1x128xf32>
    %5 = vector.broadcast %4 : vector<1x128xf32> to vector<128x128xf32>
    %6 = arith.maximumf %3, %5 : vector<128x128xf32>
    "tpu.vector_store"(%6, %arg3, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<128x128xf32>, memref<128x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @shapes_f32__window_0(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32, %c0_i32 : i32, i32, i32
  }
  func.func @shapes_f32__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @shapes_f32__window_2(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
