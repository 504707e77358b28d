module {
  func.func @squeezed(%arg0: i32, %arg1: i32, %arg2: memref<1x1x32x128xbf16, #tpu.memory_space<vmem>>, %arg3: memref<1x1x32x128xbf16, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>], iteration_bounds = array<i64: 2, 4>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @squeezed__window_0, window_bounds = array<i64: 1, 1, 32, 128>}, {transform_indices = @squeezed__window_1, window_bounds = array<i64: 1, 1, 32, 128>}]} {
    %c0 = arith.constant 0 : index
    %0 = vector.load %arg2[%c0, %c0, %c0, %c0] : memref<1x1x32x128xbf16, #tpu.memory_space<vmem>>, vector<1x1x32x128xbf16>
    %1 = vector.shape_cast %0 : vector<1x1x32x128xbf16> to vector<32x128xbf16>
    %2 = vector.shape_cast %1 : vector<32x128xbf16> to vector<1x1x32x128xbf16>
    "tpu.vector_store"(%2, %arg3, %c0, %c0, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 4, 0>, strides = array<i32>} : (vector<1x1x32x128xbf16>, memref<1x1x32x128xbf16, #tpu.memory_space<vmem>>, index, index, index, index) -> ()
    return
  }
  func.func @squeezed__window_0(%arg0: i32, %arg1: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %c0_i32, %c0_i32 : i32, i32, i32, i32
  }
  func.func @squeezed__window_1(%arg0: i32, %arg1: i32) -> (i32, i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %arg1, %c0_i32, %c0_i32 : i32, i32, i32, i32
  }
}
