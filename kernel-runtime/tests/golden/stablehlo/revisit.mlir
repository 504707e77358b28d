module @revisit {
  func.func public @main(%0: tensor<800x128xf32>) -> (tensor<8x128xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<0.0e0> : tensor<8x128xf32>
    %c2 = stablehlo.constant dense<100> : tensor<i32>
    %c3 = stablehlo.constant dense<1> : tensor<i32>
    %c4 = stablehlo.constant dense<8> : tensor<i32>
    %1:2 = stablehlo.while(%2 = %c0, %3 = %c1) : tensor<i32>, tensor<8x128xf32> cond {
      %4 = stablehlo.compare LT, %2, %c2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %5 = stablehlo.multiply %2, %c4 : tensor<i32>
      %6 = stablehlo.dynamic_slice %0, %5, %c0, sizes = [8, 128] : (tensor<800x128xf32>, tensor<i32>, tensor<i32>) -> tensor<8x128xf32>
      %7 = stablehlo.compare EQ, %2, %c0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %8 = stablehlo.add %3, %6 : tensor<8x128xf32>
      %9 = stablehlo.select %7, %6, %8 : tensor<i1>, tensor<8x128xf32>
      %10 = stablehlo.add %2, %c3 : tensor<i32>
      stablehlo.return %10, %9 : tensor<i32>, tensor<8x128xf32>
    }
    return %1#1 : tensor<8x128xf32>
  }
}
