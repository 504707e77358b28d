func.func public @main(%a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<512x512xbf16>, tensor<512x512xbf16>) -> tensor<512x512xf32>
  return %c : tensor<512x512xf32>
}
