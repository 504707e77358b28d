module {
  func.func @in_out_computed(%arg0: i32, %arg1: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<16x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 8>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @in_out_computed__window_0, window_bounds = array<i64: 16, 128>}, {transform_indices = @in_out_computed__window_1, window_bounds = array<i64: 16, 128>}]} {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %true = arith.constant true
    %c7_i32 = arith.constant 7 : i32
    %c2_i32 = arith.constant 2 : i32
    %c0 = arith.constant 0 : index
    %0 = arith.subi %arg0, %c1_i32 : i32
    %1 = arith.cmpi eq, %arg0, %c0_i32 : i32
    %2 = arith.select %1, %c7_i32, %0 : i32
    %3 = arith.select %true, %2, %arg0 : i32
    %4 = arith.andi %true, %1 : i1
    %5 = arith.divsi %arg0, %c2_i32 : i32
    %6 = arith.divsi %3, %c2_i32 : i32
    %7 = arith.cmpi ne, %5, %6 : i32
    %8 = arith.ori %4, %7 : i1
    %9 = arith.cmpi ne, %c0_i32, %c0_i32 : i32
    %10 = arith.ori %8, %9 : i1
    scf.if %10 {
      %13 = vector.load %arg1[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
      "tpu.vector_store"(%13, %arg2, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    } else {
    }
    %11 = vector.load %arg2[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %12 = arith.addf %11, %11 : vector<16x128xf32>
    "tpu.vector_store"(%12, %arg2, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @in_out_computed__window_0(%arg0: i32) -> (i32, i32) {
    %c2_i32 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.divsi %arg0, %c2_i32 : i32
    return %0, %c0_i32 : i32, i32
  }
  func.func @in_out_computed__window_1(%arg0: i32) -> (i32, i32) {
    %c2_i32 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.divsi %arg0, %c2_i32 : i32
    return %0, %c0_i32 : i32, i32
  }
}
