module {
  func.func @masked_store(%arg0: i32, %arg1: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<16x128xbf16, #tpu.memory_space<vmem>>, %arg3: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg4: memref<16x128xbf16, #tpu.memory_space<vmem>>, %arg5: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg6: memref<16x128xbf16, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @masked_store__window_0, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @masked_store__window_1, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @masked_store__window_2, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @masked_store__window_3, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @masked_store__window_4, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @masked_store__window_5, window_bounds = array<i64: 16, 128>}]} {
    %c0_i32 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : vector<16x128xf32>
    %0 = vector.load %arg3[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    "tpu.vector_store"(%0, %arg5, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %1 = vector.load %arg4[%c0, %c0] : memref<16x128xbf16, #tpu.memory_space<vmem>>, vector<16x128xbf16>
    "tpu.vector_store"(%1, %arg6, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xbf16>, memref<16x128xbf16, #tpu.memory_space<vmem>>, index, index) -> ()
    %2 = vector.load %arg1[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %3 = vector.load %arg2[%c0, %c0] : memref<16x128xbf16, #tpu.memory_space<vmem>>, vector<16x128xbf16>
    %4 = arith.cmpf olt, %2, %cst : vector<16x128xf32>
    "tpu.vector_store"(%2, %arg5, %c0, %c0, %4) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>} : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index, vector<16x128xi1>) -> ()
    %5 = vector.load %arg6[%c0, %c0] : memref<16x128xbf16, #tpu.memory_space<vmem>>, vector<16x128xbf16>
    %6 = arith.select %4, %3, %5 : vector<16x128xi1>, vector<16x128xbf16>
    "tpu.vector_store"(%6, %arg6, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xbf16>, memref<16x128xbf16, #tpu.memory_space<vmem>>, index, index) -> ()
    %7 = vector.load %arg5[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    "tpu.vector_store"(%7, %arg5, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @masked_store__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @masked_store__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @masked_store__window_2(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @masked_store__window_3(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @masked_store__window_4(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @masked_store__window_5(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
