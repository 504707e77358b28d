"builtin.module"() ({
  "stable_mosaic.func.func"() ({
  ^bb0(%i: i32, %k: i32, %a: memref<128x256xbf16, #tpu.memory_space<vmem>>, %b: memref<256x256xbf16, #tpu.memory_space<vmem>>, %c: memref<128x256xf32, #tpu.memory_space<vmem>>):
    %zero = "stable_mosaic.arith.constant"() {value = 0 : index} : () -> index loc("kernel.rs":1:1)
    %first = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32 loc("kernel.rs":2:8)
    %is_first = "stable_mosaic.arith.cmpi"(%k, %first) {predicate = 0 : i64} : (i32, i32) -> i1 loc("kernel.rs":2:8)
    "stable_mosaic.scf.if"(%is_first) ({
      %init = "stable_mosaic.arith.constant"() {value = dense<0.000000e+00> : vector<128x256xf32>} : () -> vector<128x256xf32> loc("kernel.rs":3:9)
      "stable_mosaic.tpu.vector_store"(%init, %c, %zero, %zero) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<128x256xf32>, memref<128x256xf32, #tpu.memory_space<vmem>>, index, index) -> () loc("kernel.rs":3:9)
      "stable_mosaic.scf.yield"() : () -> () loc("kernel.rs":4:5)
    }, {
      "stable_mosaic.scf.yield"() : () -> () loc("kernel.rs":4:5)
    }) : (i1) -> () loc("kernel.rs":2:5)
    %x = "stable_mosaic.vector.load"(%a, %zero, %zero) : (memref<128x256xbf16, #tpu.memory_space<vmem>>, index, index) -> vector<128x256xbf16> loc("kernel.rs":5:18)
    %y = "stable_mosaic.vector.load"(%b, %zero, %zero) : (memref<256x256xbf16, #tpu.memory_space<vmem>>, index, index) -> vector<256x256xbf16> loc("kernel.rs":5:25)
    %none = "stable_mosaic.arith.constant"() {value = dense<0.000000e+00> : vector<128x256xf32>} : () -> vector<128x256xf32> loc("kernel.rs":5:14)
    %xy = "stable_mosaic.tpu.matmul"(%x, %y, %none) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_lhs_hint = false, transpose_rhs = false} : (vector<128x256xbf16>, vector<256x256xbf16>, vector<128x256xf32>) -> vector<128x256xf32> loc("kernel.rs:5:14 > helper.rs":9:5)
    %old = "stable_mosaic.vector.load"(%c, %zero, %zero) : (memref<128x256xf32, #tpu.memory_space<vmem>>, index, index) -> vector<128x256xf32> loc("kernel.rs":5:5)
    %new = "stable_mosaic.arith.addf"(%old, %xy) {fastmath = #arith.fastmath<none>} : (vector<128x256xf32>, vector<128x256xf32>) -> vector<128x256xf32> loc("kernel.rs":5:5)
    "stable_mosaic.tpu.vector_store"(%new, %c, %zero, %zero) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<128x256xf32>, memref<128x256xf32, #tpu.memory_space<vmem>>, index, index) -> () loc("kernel.rs":5:5)
    "stable_mosaic.func.return"() : () -> () loc("kernel.rs":6:1)
  }) {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], function_type = (i32, i32, memref<128x256xbf16, #tpu.memory_space<vmem>>, memref<256x256xbf16, #tpu.memory_space<vmem>>, memref<128x256xf32, #tpu.memory_space<vmem>>) -> (), iteration_bounds = array<i64: 2, 2>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, sym_name = "matmul", tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @index_a, window_bounds = array<i64: 128, 256>}, {transform_indices = @index_b, window_bounds = array<i64: 256, 256>}, {transform_indices = @index_c, window_bounds = array<i64: 128, 256>}]} : () -> () loc("kernel.rs":1:1)
  "stable_mosaic.func.func"() ({
  ^bb0(%i: i32, %k: i32):
    "stable_mosaic.func.return"(%i, %k) : (i32, i32) -> () loc("kernel.rs":1:1)
  }) {function_type = (i32, i32) -> (i32, i32), sym_name = "index_a"} : () -> () loc("kernel.rs":1:1)
  "stable_mosaic.func.func"() ({
  ^bb0(%i: i32, %k: i32):
    %z = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32 loc("kernel.rs":1:1)
    "stable_mosaic.func.return"(%k, %z) : (i32, i32) -> () loc("kernel.rs":1:1)
  }) {function_type = (i32, i32) -> (i32, i32), sym_name = "index_b"} : () -> () loc("kernel.rs":1:1)
  "stable_mosaic.func.func"() ({
  ^bb0(%i: i32, %k: i32):
    %z = "stable_mosaic.arith.constant"() {value = 0 : i32} : () -> i32 loc("kernel.rs":1:1)
    "stable_mosaic.func.return"(%i, %z) : (i32, i32) -> () loc("kernel.rs":1:1)
  }) {function_type = (i32, i32) -> (i32, i32), sym_name = "index_c"} : () -> () loc("kernel.rs":1:1)
}) {stable_mosaic.version = 13 : i64} : () -> () loc("kernel.rs":1:1)
