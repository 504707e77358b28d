module @loops {
  func.func public @main(%0: tensor<64x128xf32>) -> (tensor<8x128xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<8> : tensor<i32>
    %c2 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<0.0e0> : tensor<8x128xf32>
    %c4 = stablehlo.constant dense<2> : tensor<i32>
    %1:3 = stablehlo.while(%2 = %c0, %3 = %c0, %4 = %c3) : tensor<i32>, tensor<i32>, tensor<8x128xf32> cond {
      %5 = stablehlo.compare LT, %2, %c1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %6 = stablehlo.multiply %2, %c1 : tensor<i32>
      %7 = stablehlo.dynamic_slice %0, %6, %c0, sizes = [8, 128] : (tensor<64x128xf32>, tensor<i32>, tensor<i32>) -> tensor<8x128xf32>
      %8 = stablehlo.remainder %2, %c4 : tensor<i32>
      %9 = stablehlo.compare EQ, %8, %c0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %10:2 = "stablehlo.if"(%9) ({
        %11 = stablehlo.exponential %7 : tensor<8x128xf32>
        %12 = stablehlo.add %4, %11 : tensor<8x128xf32>
        %13 = stablehlo.add %3, %c2 : tensor<i32>
        stablehlo.return %13, %12 : tensor<i32>, tensor<8x128xf32>
      }, {
        stablehlo.return %3, %4 : tensor<i32>, tensor<8x128xf32>
      }) : (tensor<i1>) -> (tensor<i32>, tensor<8x128xf32>)
      %14 = stablehlo.add %2, %c2 : tensor<i32>
      stablehlo.return %14, %10#0, %10#1 : tensor<i32>, tensor<i32>, tensor<8x128xf32>
    }
    %15 = stablehlo.convert %1#1 : (tensor<i32>) -> tensor<f32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<8x128xf32>
    %17 = stablehlo.divide %1#2, %16 : tensor<8x128xf32>
    return %17 : tensor<8x128xf32>
  }
}
