module {
  func.func @flash_loop(%arg0: i32, %arg1: memref<1x256x128xbf16, #tpu.memory_space<vmem>>, %arg2: memref<1x256x128xbf16, #tpu.memory_space<vmem>>, %arg3: memref<1x256x128xbf16, #tpu.memory_space<vmem>>, %arg4: memref<1x256x128xbf16, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>], iteration_bounds = array<i64: 2>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @flash_loop__window_0, window_bounds = array<i64: 1, 256, 128>}, {transform_indices = @flash_loop__window_1, window_bounds = array<i64: 1, 256, 128>}, {transform_indices = @flash_loop__window_2, window_bounds = array<i64: 1, 256, 128>}, {transform_indices = @flash_loop__window_3, window_bounds = array<i64: 1, 256, 128>}]} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<-1.000000e+30> : vector<256x1xf32>
    %cst_0 = arith.constant dense<0.000000e+00> : vector<256x1xf32>
    %cst_1 = arith.constant dense<0.000000e+00> : vector<256x128xf32>
    %c0_i32 = arith.constant 0 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %c128_i32 = arith.constant 128 : i32
    %cst_2 = arith.constant dense<-1.000000e+30> : vector<256x128xf32>
    %cst_3 = arith.constant dense<0xFF800000> : vector<256xf32>
    %cst_4 = arith.constant dense<0.000000e+00> : vector<256xf32>
    %0 = vector.load %arg1[%c0, %c0, %c0] : memref<1x256x128xbf16, #tpu.memory_space<vmem>>, vector<1x256x128xbf16>
    %1 = vector.shape_cast %0 : vector<1x256x128xbf16> to vector<256x128xbf16>
    %2 = "tpu.iota"() {dimensions = array<i32: 0>} : () -> vector<256x128xi32>
    %3 = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<256x128xi32>
    %4:3 = scf.for %arg5 = %c0_i32 to %c2_i32 step %c1_i32 iter_args(%arg6 = %cst, %arg7 = %cst_0, %arg8 = %cst_1) -> (vector<256x1xf32>, vector<256x1xf32>, vector<256x128xf32>)  : i32 {
      %9 = arith.muli %arg5, %c128_i32 : i32
      %10 = "tpu.assume_multiple"(%9) {multiple = 128 : i32} : (i32) -> i32
      %11 = arith.index_cast %10 : i32 to index
      %12 = vector.load %arg2[%c0, %11, %c0] : memref<1x256x128xbf16, #tpu.memory_space<vmem>>, vector<1x128x128xbf16>
      %13 = vector.shape_cast %12 : vector<1x128x128xbf16> to vector<128x128xbf16>
      %14 = "tpu.assume_multiple"(%9) {multiple = 128 : i32} : (i32) -> i32
      %15 = arith.index_cast %14 : i32 to index
      %16 = vector.load %arg3[%c0, %15, %c0] : memref<1x256x128xbf16, #tpu.memory_space<vmem>>, vector<1x128x128xbf16>
      %17 = vector.shape_cast %16 : vector<1x128x128xbf16> to vector<128x128xbf16>
      %18 = "tpu.matmul"(%1, %13, %cst_1) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs = false, transpose_lhs_hint = false, transpose_rhs = false} : (vector<256x128xbf16>, vector<128x128xbf16>, vector<256x128xf32>) -> vector<256x128xf32>
      %19 = arith.muli %arg5, %c128_i32 : i32
      %20 = vector.broadcast %19 : i32 to vector<256x128xi32>
      %21 = arith.addi %3, %20 : vector<256x128xi32>
      %22 = arith.cmpi sge, %2, %21 : vector<256x128xi32>
      %23 = arith.select %22, %18, %cst_2 : vector<256x128xi1>, vector<256x128xf32>
      %24 = vector.multi_reduction <maximumf>, %23, %cst_3 [1] : vector<256x128xf32> to vector<256xf32>
      %25 = vector.shape_cast %24 : vector<256xf32> to vector<256x1xf32>
      %26 = arith.maximumf %arg6, %25 : vector<256x1xf32>
      %27 = vector.broadcast %26 : vector<256x1xf32> to vector<256x128xf32>
      %28 = arith.subf %23, %27 : vector<256x128xf32>
      %29 = math.exp2 %28 : vector<256x128xf32>
      %30 = arith.subf %arg6, %26 : vector<256x1xf32>
      %31 = math.exp2 %30 : vector<256x1xf32>
      %32 = vector.multi_reduction <add>, %29, %cst_4 [1] : vector<256x128xf32> to vector<256xf32>
      %33 = vector.shape_cast %32 : vector<256xf32> to vector<256x1xf32>
      %34 = arith.mulf %arg7, %31 : vector<256x1xf32>
      %35 = arith.addf %34, %33 : vector<256x1xf32>
      %36 = arith.truncf %29 : vector<256x128xf32> to vector<256x128xbf16>
      %37 = "tpu.matmul"(%36, %17, %cst_1) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_lhs_hint = false, transpose_rhs = false} : (vector<256x128xbf16>, vector<128x128xbf16>, vector<256x128xf32>) -> vector<256x128xf32>
      %38 = vector.broadcast %31 : vector<256x1xf32> to vector<256x128xf32>
      %39 = arith.mulf %arg8, %38 : vector<256x128xf32>
      %40 = arith.addf %39, %37 : vector<256x128xf32>
      scf.yield %26, %35, %40 : vector<256x1xf32>, vector<256x1xf32>, vector<256x128xf32>
    }
    %5 = vector.broadcast %4#1 : vector<256x1xf32> to vector<256x128xf32>
    %6 = arith.divf %4#2, %5 : vector<256x128xf32>
    %7 = arith.truncf %6 : vector<256x128xf32> to vector<256x128xbf16>
    %8 = vector.shape_cast %7 : vector<256x128xbf16> to vector<1x256x128xbf16>
    "tpu.vector_store"(%8, %arg4, %c0, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x256x128xbf16>, memref<1x256x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> ()
    return
  }
  func.func @flash_loop__window_0(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32, %c0_i32 : i32, i32, i32
  }
  func.func @flash_loop__window_1(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32, %c0_i32 : i32, i32, i32
  }
  func.func @flash_loop__window_2(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32, %c0_i32 : i32, i32, i32
  }
  func.func @flash_loop__window_3(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32, %c0_i32 : i32, i32, i32
  }
}
