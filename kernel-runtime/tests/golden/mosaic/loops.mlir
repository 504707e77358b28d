module {
  func.func @loops(%arg0: i32, %arg1: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<16x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @loops__window_0, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @loops__window_1, window_bounds = array<i64: 16, 128>}]} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0.000000e+00> : vector<16x128xf32>
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %cst_0 = arith.constant dense<0> : vector<16x128xi32>
    %c10_i32 = arith.constant 10 : i32
    %c3_i32 = arith.constant 3 : i32
    %c11_i32 = arith.constant 11 : i32
    %0 = vector.load %arg1[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %1 = arith.cmpf ogt, %0, %cst : vector<16x128xf32>
    %2 = arith.extui %1 : vector<16x128xi1> to vector<16x128xi32>
    %3:2 = scf.for %arg3 = %c0_i32 to %c4_i32 step %c1_i32 iter_args(%arg4 = %0, %arg5 = %2) -> (vector<16x128xf32>, vector<16x128xi32>)  : i32 {
      %9 = arith.cmpi ne, %arg5, %cst_0 : vector<16x128xi32>
      %10 = arith.sitofp %arg3 : i32 to f32
      %11 = vector.broadcast %10 : f32 to vector<16x128xf32>
      %12 = arith.mulf %arg4, %11 : vector<16x128xf32>
      %13 = arith.xori %9, %1 : vector<16x128xi1>
      %14 = arith.extui %13 : vector<16x128xi1> to vector<16x128xi32>
      %15 = arith.extui %13 : vector<16x128xi1> to vector<16x128xi32>
      scf.yield %12, %15 : vector<16x128xf32>, vector<16x128xi32>
    }
    %4 = arith.cmpi ne, %3#1, %cst_0 : vector<16x128xi32>
    %5 = arith.select %4, %3#0, %cst : vector<16x128xi1>, vector<16x128xf32>
    %6:2 = scf.while (%arg3 = %c0_i32, %arg4 = %5) : (i32, vector<16x128xf32>) -> (i32, vector<16x128xf32>) {
      %9 = arith.cmpi slt, %arg3, %c10_i32 : i32
      scf.condition(%9) %arg3, %arg4 : i32, vector<16x128xf32>
    } do {
    ^bb0(%arg3: i32, %arg4: vector<16x128xf32>):
      %9 = arith.addi %arg3, %c3_i32 : i32
      %10 = arith.addf %arg4, %arg4 : vector<16x128xf32>
      scf.yield %9, %10 : i32, vector<16x128xf32>
    }
    %7 = arith.cmpi sgt, %6#0, %c11_i32 : i32
    %8 = scf.if %7 -> (vector<16x128xf32>) {
      scf.yield %6#1 : vector<16x128xf32>
    } else {
      scf.yield %cst : vector<16x128xf32>
    }
    "tpu.vector_store"(%8, %arg2, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @loops__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @loops__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
