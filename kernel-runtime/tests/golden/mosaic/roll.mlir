module {
  func.func @roll(%arg0: i32, %arg1: memref<1xi32, #tpu.memory_space<smem>>, %arg2: memref<16x256xf32, #tpu.memory_space<vmem>>, %arg3: memref<16x256xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @roll__window_0, window_bounds = array<i64: 1>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @roll__window_1, window_bounds = array<i64: 16, 256>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @roll__window_2, window_bounds = array<i64: 16, 256>}]} {
    %c0 = arith.constant 0 : index
    %c256_i32 = arith.constant 256 : i32
    %c0_i32 = arith.constant 0 : i32
    %c15_i32 = arith.constant 15 : i32
    %0 = memref.load %arg1[%c0] : memref<1xi32, #tpu.memory_space<smem>>
    %1 = vector.load %arg2[%c0, %c0] : memref<16x256xf32, #tpu.memory_space<vmem>>, vector<16x256xf32>
    %2 = arith.remsi %0, %c256_i32 : i32
    %3 = arith.addi %2, %c256_i32 : i32
    %4 = arith.cmpi slt, %2, %c0_i32 : i32
    %5 = arith.select %4, %3, %2 : i32
    %6 = "tpu.dynamic_rotate"(%1, %5) {dimension = 1 : si32} : (vector<16x256xf32>, i32) -> vector<16x256xf32>
    %7 = "tpu.dynamic_rotate"(%6, %c15_i32) {dimension = 0 : si32} : (vector<16x256xf32>, i32) -> vector<16x256xf32>
    "tpu.vector_store"(%7, %arg3, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x256xf32>, memref<16x256xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @roll__window_0(%arg0: i32) -> i32 {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32 : i32
  }
  func.func @roll__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @roll__window_2(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
