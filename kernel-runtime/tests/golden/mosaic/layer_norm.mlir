module {
  func.func @layer_norm(%arg0: i32, %arg1: memref<32x384xbf16, #tpu.memory_space<vmem>>, %arg2: memref<1x384xbf16, #tpu.memory_space<vmem>>, %arg3: memref<32x384xbf16, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>], iteration_bounds = array<i64: 2>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @layer_norm__window_0, window_bounds = array<i64: 32, 384>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @layer_norm__window_1, window_bounds = array<i64: 1, 384>}, {transform_indices = @layer_norm__window_2, window_bounds = array<i64: 32, 384>}]} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : vector<32xf32>
    %cst_0 = arith.constant dense<0.00260416674> : vector<32x1xf32>
    %0 = vector.load %arg1[%c0, %c0] : memref<32x384xbf16, #tpu.memory_space<vmem>>, vector<32x384xbf16>
    %1 = arith.extf %0 : vector<32x384xbf16> to vector<32x384xf32>
    %2 = vector.multi_reduction <add>, %1, %cst [1] : vector<32x384xf32> to vector<32xf32>
    %3 = vector.shape_cast %2 : vector<32xf32> to vector<32x1xf32>
    %4 = arith.mulf %3, %cst_0 : vector<32x1xf32>
    %5 = vector.broadcast %4 : vector<32x1xf32> to vector<32x384xf32>
    %6 = arith.subf %1, %5 : vector<32x384xf32>
    %7 = arith.mulf %6, %6 : vector<32x384xf32>
    %8 = vector.multi_reduction <add>, %7, %cst [1] : vector<32x384xf32> to vector<32xf32>
    %9 = vector.shape_cast %8 : vector<32xf32> to vector<32x1xf32>
    %10 = arith.mulf %9, %cst_0 : vector<32x1xf32>
    %11 = math.sqrt %10 : vector<32x1xf32>
    %12 = vector.broadcast %11 : vector<32x1xf32> to vector<32x384xf32>
    %13 = arith.divf %6, %12 : vector<32x384xf32>
    %14 = vector.load %arg2[%c0, %c0] : memref<1x384xbf16, #tpu.memory_space<vmem>>, vector<1x384xbf16>
    %15 = arith.extf %14 : vector<1x384xbf16> to vector<1x384xf32>
    %16 = vector.broadcast %15 : vector<1x384xf32> to vector<32x384xf32>
    %17 = arith.mulf %13, %16 : vector<32x384xf32>
    %18 = arith.truncf %17 : vector<32x384xf32> to vector<32x384xbf16>
    "tpu.vector_store"(%18, %arg3, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<32x384xbf16>, memref<32x384xbf16, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @layer_norm__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
  func.func @layer_norm__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @layer_norm__window_2(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
}
