module @gather {
  func.func public @main(%0: tensor<300xi32>, %1: tensor<500x8x128xf32>) -> (tensor<300x8x128xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<0.0e0> : tensor<300x8x128xf32>
    %c2 = stablehlo.constant dense<300> : tensor<i32>
    %c3 = stablehlo.constant dense<1> : tensor<i32>
    %2:2 = stablehlo.while(%3 = %c0, %4 = %c1) : tensor<i32>, tensor<300x8x128xf32> cond {
      %5 = stablehlo.compare LT, %3, %c2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %6 = stablehlo.dynamic_slice %0, %3, sizes = [1] : (tensor<300xi32>, tensor<i32>) -> tensor<1xi32>
      %7 = stablehlo.reshape %6 : (tensor<1xi32>) -> tensor<i32>
      %8 = stablehlo.dynamic_slice %1, %7, %c0, %c0, sizes = [1, 8, 128] : (tensor<500x8x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x128xf32>
      %9 = stablehlo.reshape %8 : (tensor<1x8x128xf32>) -> tensor<8x128xf32>
      %10 = stablehlo.dynamic_slice %4, %3, %c0, %c0, sizes = [1, 8, 128] : (tensor<300x8x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x128xf32>
      %11 = stablehlo.reshape %10 : (tensor<1x8x128xf32>) -> tensor<8x128xf32>
      %12 = stablehlo.reshape %9 : (tensor<8x128xf32>) -> tensor<1x8x128xf32>
      %13 = stablehlo.dynamic_update_slice %4, %12, %3, %c0, %c0 : (tensor<300x8x128xf32>, tensor<1x8x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<300x8x128xf32>
      %14 = stablehlo.add %3, %c3 : tensor<i32>
      stablehlo.return %14, %13 : tensor<i32>, tensor<300x8x128xf32>
    }
    return %2#1 : tensor<300x8x128xf32>
  }
}
