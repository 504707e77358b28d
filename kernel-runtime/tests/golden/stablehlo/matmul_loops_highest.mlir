module @matmul {
  func.func public @main(%0: tensor<128x1024xf32>, %1: tensor<1024x1024xf32>) -> (tensor<128x1024xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<0.0e0> : tensor<128x1024xf32>
    %c2 = stablehlo.constant dense<0.0e0> : tensor<16x128xf32>
    %c3 = stablehlo.constant dense<8> : tensor<i32>
    %c4 = stablehlo.constant dense<1> : tensor<i32>
    %c5 = stablehlo.constant dense<16> : tensor<i32>
    %c6 = stablehlo.constant dense<128> : tensor<i32>
    %c7 = stablehlo.constant dense<256> : tensor<i32>
    %c8 = stablehlo.constant dense<384> : tensor<i32>
    %c9 = stablehlo.constant dense<512> : tensor<i32>
    %c10 = stablehlo.constant dense<640> : tensor<i32>
    %c11 = stablehlo.constant dense<768> : tensor<i32>
    %c12 = stablehlo.constant dense<896> : tensor<i32>
    %2:3 = stablehlo.while(%3 = %c0, %4 = %c1, %5 = %c2) : tensor<i32>, tensor<128x1024xf32>, tensor<16x128xf32> cond {
      %6 = stablehlo.compare LT, %3, %c3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %7:3 = stablehlo.while(%8 = %c0, %9 = %4, %10 = %5) : tensor<i32>, tensor<128x1024xf32>, tensor<16x128xf32> cond {
        %11 = stablehlo.compare LT, %8, %c3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %11 : tensor<i1>
      } do {
        %12 = stablehlo.multiply %3, %c5 : tensor<i32>
        %13 = stablehlo.multiply %8, %c6 : tensor<i32>
        %14 = stablehlo.dynamic_slice %9, %12, %13, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %15 = stablehlo.multiply %3, %c5 : tensor<i32>
        %16 = stablehlo.dynamic_slice %0, %15, %c0, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %17 = stablehlo.multiply %8, %c6 : tensor<i32>
        %18 = stablehlo.dynamic_slice %1, %c0, %17, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %19 = stablehlo.reduce_precision %16, format = e8m7 : tensor<16x128xf32>
        %20 = stablehlo.convert %19 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %21 = stablehlo.subtract %16, %19 : tensor<16x128xf32>
        %22 = stablehlo.reduce_precision %21, format = e8m7 : tensor<16x128xf32>
        %23 = stablehlo.convert %22 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %24 = stablehlo.subtract %21, %22 : tensor<16x128xf32>
        %25 = stablehlo.reduce_precision %24, format = e8m7 : tensor<16x128xf32>
        %26 = stablehlo.convert %25 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %27 = stablehlo.reduce_precision %18, format = e8m7 : tensor<128x128xf32>
        %28 = stablehlo.convert %27 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %29 = stablehlo.subtract %18, %27 : tensor<128x128xf32>
        %30 = stablehlo.reduce_precision %29, format = e8m7 : tensor<128x128xf32>
        %31 = stablehlo.convert %30 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %32 = stablehlo.subtract %29, %30 : tensor<128x128xf32>
        %33 = stablehlo.reduce_precision %32, format = e8m7 : tensor<128x128xf32>
        %34 = stablehlo.convert %33 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %35 = stablehlo.dot_general %20, %34, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %36 = stablehlo.dot_general %23, %31, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %37 = stablehlo.add %35, %36 : tensor<16x128xf32>
        %38 = stablehlo.dot_general %26, %28, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %39 = stablehlo.add %37, %38 : tensor<16x128xf32>
        %40 = stablehlo.dot_general %20, %31, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %41 = stablehlo.add %39, %40 : tensor<16x128xf32>
        %42 = stablehlo.dot_general %23, %28, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %43 = stablehlo.add %41, %42 : tensor<16x128xf32>
        %44 = stablehlo.dot_general %20, %28, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %45 = stablehlo.add %43, %44 : tensor<16x128xf32>
        %46 = stablehlo.add %c2, %45 : tensor<16x128xf32>
        %47 = stablehlo.multiply %3, %c5 : tensor<i32>
        %48 = stablehlo.dynamic_slice %0, %47, %c6, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %49 = stablehlo.multiply %8, %c6 : tensor<i32>
        %50 = stablehlo.dynamic_slice %1, %c6, %49, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %51 = stablehlo.reduce_precision %48, format = e8m7 : tensor<16x128xf32>
        %52 = stablehlo.convert %51 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %53 = stablehlo.subtract %48, %51 : tensor<16x128xf32>
        %54 = stablehlo.reduce_precision %53, format = e8m7 : tensor<16x128xf32>
        %55 = stablehlo.convert %54 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %56 = stablehlo.subtract %53, %54 : tensor<16x128xf32>
        %57 = stablehlo.reduce_precision %56, format = e8m7 : tensor<16x128xf32>
        %58 = stablehlo.convert %57 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %59 = stablehlo.reduce_precision %50, format = e8m7 : tensor<128x128xf32>
        %60 = stablehlo.convert %59 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %61 = stablehlo.subtract %50, %59 : tensor<128x128xf32>
        %62 = stablehlo.reduce_precision %61, format = e8m7 : tensor<128x128xf32>
        %63 = stablehlo.convert %62 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %64 = stablehlo.subtract %61, %62 : tensor<128x128xf32>
        %65 = stablehlo.reduce_precision %64, format = e8m7 : tensor<128x128xf32>
        %66 = stablehlo.convert %65 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %67 = stablehlo.dot_general %52, %66, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %68 = stablehlo.dot_general %55, %63, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %69 = stablehlo.add %67, %68 : tensor<16x128xf32>
        %70 = stablehlo.dot_general %58, %60, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %71 = stablehlo.add %69, %70 : tensor<16x128xf32>
        %72 = stablehlo.dot_general %52, %63, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %73 = stablehlo.add %71, %72 : tensor<16x128xf32>
        %74 = stablehlo.dot_general %55, %60, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %75 = stablehlo.add %73, %74 : tensor<16x128xf32>
        %76 = stablehlo.dot_general %52, %60, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %77 = stablehlo.add %75, %76 : tensor<16x128xf32>
        %78 = stablehlo.add %46, %77 : tensor<16x128xf32>
        %79 = stablehlo.multiply %3, %c5 : tensor<i32>
        %80 = stablehlo.dynamic_slice %0, %79, %c7, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %81 = stablehlo.multiply %8, %c6 : tensor<i32>
        %82 = stablehlo.dynamic_slice %1, %c7, %81, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %83 = stablehlo.reduce_precision %80, format = e8m7 : tensor<16x128xf32>
        %84 = stablehlo.convert %83 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %85 = stablehlo.subtract %80, %83 : tensor<16x128xf32>
        %86 = stablehlo.reduce_precision %85, format = e8m7 : tensor<16x128xf32>
        %87 = stablehlo.convert %86 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %88 = stablehlo.subtract %85, %86 : tensor<16x128xf32>
        %89 = stablehlo.reduce_precision %88, format = e8m7 : tensor<16x128xf32>
        %90 = stablehlo.convert %89 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %91 = stablehlo.reduce_precision %82, format = e8m7 : tensor<128x128xf32>
        %92 = stablehlo.convert %91 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %93 = stablehlo.subtract %82, %91 : tensor<128x128xf32>
        %94 = stablehlo.reduce_precision %93, format = e8m7 : tensor<128x128xf32>
        %95 = stablehlo.convert %94 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %96 = stablehlo.subtract %93, %94 : tensor<128x128xf32>
        %97 = stablehlo.reduce_precision %96, format = e8m7 : tensor<128x128xf32>
        %98 = stablehlo.convert %97 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %99 = stablehlo.dot_general %84, %98, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %100 = stablehlo.dot_general %87, %95, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %101 = stablehlo.add %99, %100 : tensor<16x128xf32>
        %102 = stablehlo.dot_general %90, %92, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %103 = stablehlo.add %101, %102 : tensor<16x128xf32>
        %104 = stablehlo.dot_general %84, %95, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %105 = stablehlo.add %103, %104 : tensor<16x128xf32>
        %106 = stablehlo.dot_general %87, %92, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %107 = stablehlo.add %105, %106 : tensor<16x128xf32>
        %108 = stablehlo.dot_general %84, %92, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %109 = stablehlo.add %107, %108 : tensor<16x128xf32>
        %110 = stablehlo.add %78, %109 : tensor<16x128xf32>
        %111 = stablehlo.multiply %3, %c5 : tensor<i32>
        %112 = stablehlo.dynamic_slice %0, %111, %c8, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %113 = stablehlo.multiply %8, %c6 : tensor<i32>
        %114 = stablehlo.dynamic_slice %1, %c8, %113, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %115 = stablehlo.reduce_precision %112, format = e8m7 : tensor<16x128xf32>
        %116 = stablehlo.convert %115 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %117 = stablehlo.subtract %112, %115 : tensor<16x128xf32>
        %118 = stablehlo.reduce_precision %117, format = e8m7 : tensor<16x128xf32>
        %119 = stablehlo.convert %118 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %120 = stablehlo.subtract %117, %118 : tensor<16x128xf32>
        %121 = stablehlo.reduce_precision %120, format = e8m7 : tensor<16x128xf32>
        %122 = stablehlo.convert %121 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %123 = stablehlo.reduce_precision %114, format = e8m7 : tensor<128x128xf32>
        %124 = stablehlo.convert %123 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %125 = stablehlo.subtract %114, %123 : tensor<128x128xf32>
        %126 = stablehlo.reduce_precision %125, format = e8m7 : tensor<128x128xf32>
        %127 = stablehlo.convert %126 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %128 = stablehlo.subtract %125, %126 : tensor<128x128xf32>
        %129 = stablehlo.reduce_precision %128, format = e8m7 : tensor<128x128xf32>
        %130 = stablehlo.convert %129 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %131 = stablehlo.dot_general %116, %130, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %132 = stablehlo.dot_general %119, %127, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %133 = stablehlo.add %131, %132 : tensor<16x128xf32>
        %134 = stablehlo.dot_general %122, %124, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %135 = stablehlo.add %133, %134 : tensor<16x128xf32>
        %136 = stablehlo.dot_general %116, %127, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %137 = stablehlo.add %135, %136 : tensor<16x128xf32>
        %138 = stablehlo.dot_general %119, %124, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %139 = stablehlo.add %137, %138 : tensor<16x128xf32>
        %140 = stablehlo.dot_general %116, %124, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %141 = stablehlo.add %139, %140 : tensor<16x128xf32>
        %142 = stablehlo.add %110, %141 : tensor<16x128xf32>
        %143 = stablehlo.multiply %3, %c5 : tensor<i32>
        %144 = stablehlo.dynamic_slice %0, %143, %c9, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %145 = stablehlo.multiply %8, %c6 : tensor<i32>
        %146 = stablehlo.dynamic_slice %1, %c9, %145, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %147 = stablehlo.reduce_precision %144, format = e8m7 : tensor<16x128xf32>
        %148 = stablehlo.convert %147 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %149 = stablehlo.subtract %144, %147 : tensor<16x128xf32>
        %150 = stablehlo.reduce_precision %149, format = e8m7 : tensor<16x128xf32>
        %151 = stablehlo.convert %150 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %152 = stablehlo.subtract %149, %150 : tensor<16x128xf32>
        %153 = stablehlo.reduce_precision %152, format = e8m7 : tensor<16x128xf32>
        %154 = stablehlo.convert %153 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %155 = stablehlo.reduce_precision %146, format = e8m7 : tensor<128x128xf32>
        %156 = stablehlo.convert %155 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %157 = stablehlo.subtract %146, %155 : tensor<128x128xf32>
        %158 = stablehlo.reduce_precision %157, format = e8m7 : tensor<128x128xf32>
        %159 = stablehlo.convert %158 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %160 = stablehlo.subtract %157, %158 : tensor<128x128xf32>
        %161 = stablehlo.reduce_precision %160, format = e8m7 : tensor<128x128xf32>
        %162 = stablehlo.convert %161 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %163 = stablehlo.dot_general %148, %162, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %164 = stablehlo.dot_general %151, %159, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %165 = stablehlo.add %163, %164 : tensor<16x128xf32>
        %166 = stablehlo.dot_general %154, %156, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %167 = stablehlo.add %165, %166 : tensor<16x128xf32>
        %168 = stablehlo.dot_general %148, %159, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %169 = stablehlo.add %167, %168 : tensor<16x128xf32>
        %170 = stablehlo.dot_general %151, %156, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %171 = stablehlo.add %169, %170 : tensor<16x128xf32>
        %172 = stablehlo.dot_general %148, %156, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %173 = stablehlo.add %171, %172 : tensor<16x128xf32>
        %174 = stablehlo.add %142, %173 : tensor<16x128xf32>
        %175 = stablehlo.multiply %3, %c5 : tensor<i32>
        %176 = stablehlo.dynamic_slice %0, %175, %c10, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %177 = stablehlo.multiply %8, %c6 : tensor<i32>
        %178 = stablehlo.dynamic_slice %1, %c10, %177, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %179 = stablehlo.reduce_precision %176, format = e8m7 : tensor<16x128xf32>
        %180 = stablehlo.convert %179 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %181 = stablehlo.subtract %176, %179 : tensor<16x128xf32>
        %182 = stablehlo.reduce_precision %181, format = e8m7 : tensor<16x128xf32>
        %183 = stablehlo.convert %182 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %184 = stablehlo.subtract %181, %182 : tensor<16x128xf32>
        %185 = stablehlo.reduce_precision %184, format = e8m7 : tensor<16x128xf32>
        %186 = stablehlo.convert %185 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %187 = stablehlo.reduce_precision %178, format = e8m7 : tensor<128x128xf32>
        %188 = stablehlo.convert %187 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %189 = stablehlo.subtract %178, %187 : tensor<128x128xf32>
        %190 = stablehlo.reduce_precision %189, format = e8m7 : tensor<128x128xf32>
        %191 = stablehlo.convert %190 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %192 = stablehlo.subtract %189, %190 : tensor<128x128xf32>
        %193 = stablehlo.reduce_precision %192, format = e8m7 : tensor<128x128xf32>
        %194 = stablehlo.convert %193 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %195 = stablehlo.dot_general %180, %194, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %196 = stablehlo.dot_general %183, %191, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %197 = stablehlo.add %195, %196 : tensor<16x128xf32>
        %198 = stablehlo.dot_general %186, %188, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %199 = stablehlo.add %197, %198 : tensor<16x128xf32>
        %200 = stablehlo.dot_general %180, %191, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %201 = stablehlo.add %199, %200 : tensor<16x128xf32>
        %202 = stablehlo.dot_general %183, %188, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %203 = stablehlo.add %201, %202 : tensor<16x128xf32>
        %204 = stablehlo.dot_general %180, %188, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %205 = stablehlo.add %203, %204 : tensor<16x128xf32>
        %206 = stablehlo.add %174, %205 : tensor<16x128xf32>
        %207 = stablehlo.multiply %3, %c5 : tensor<i32>
        %208 = stablehlo.dynamic_slice %0, %207, %c11, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %209 = stablehlo.multiply %8, %c6 : tensor<i32>
        %210 = stablehlo.dynamic_slice %1, %c11, %209, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %211 = stablehlo.reduce_precision %208, format = e8m7 : tensor<16x128xf32>
        %212 = stablehlo.convert %211 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %213 = stablehlo.subtract %208, %211 : tensor<16x128xf32>
        %214 = stablehlo.reduce_precision %213, format = e8m7 : tensor<16x128xf32>
        %215 = stablehlo.convert %214 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %216 = stablehlo.subtract %213, %214 : tensor<16x128xf32>
        %217 = stablehlo.reduce_precision %216, format = e8m7 : tensor<16x128xf32>
        %218 = stablehlo.convert %217 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %219 = stablehlo.reduce_precision %210, format = e8m7 : tensor<128x128xf32>
        %220 = stablehlo.convert %219 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %221 = stablehlo.subtract %210, %219 : tensor<128x128xf32>
        %222 = stablehlo.reduce_precision %221, format = e8m7 : tensor<128x128xf32>
        %223 = stablehlo.convert %222 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %224 = stablehlo.subtract %221, %222 : tensor<128x128xf32>
        %225 = stablehlo.reduce_precision %224, format = e8m7 : tensor<128x128xf32>
        %226 = stablehlo.convert %225 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %227 = stablehlo.dot_general %212, %226, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %228 = stablehlo.dot_general %215, %223, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %229 = stablehlo.add %227, %228 : tensor<16x128xf32>
        %230 = stablehlo.dot_general %218, %220, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %231 = stablehlo.add %229, %230 : tensor<16x128xf32>
        %232 = stablehlo.dot_general %212, %223, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %233 = stablehlo.add %231, %232 : tensor<16x128xf32>
        %234 = stablehlo.dot_general %215, %220, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %235 = stablehlo.add %233, %234 : tensor<16x128xf32>
        %236 = stablehlo.dot_general %212, %220, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %237 = stablehlo.add %235, %236 : tensor<16x128xf32>
        %238 = stablehlo.add %206, %237 : tensor<16x128xf32>
        %239 = stablehlo.multiply %3, %c5 : tensor<i32>
        %240 = stablehlo.dynamic_slice %0, %239, %c12, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %241 = stablehlo.multiply %8, %c6 : tensor<i32>
        %242 = stablehlo.dynamic_slice %1, %c12, %241, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %243 = stablehlo.reduce_precision %240, format = e8m7 : tensor<16x128xf32>
        %244 = stablehlo.convert %243 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %245 = stablehlo.subtract %240, %243 : tensor<16x128xf32>
        %246 = stablehlo.reduce_precision %245, format = e8m7 : tensor<16x128xf32>
        %247 = stablehlo.convert %246 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %248 = stablehlo.subtract %245, %246 : tensor<16x128xf32>
        %249 = stablehlo.reduce_precision %248, format = e8m7 : tensor<16x128xf32>
        %250 = stablehlo.convert %249 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %251 = stablehlo.reduce_precision %242, format = e8m7 : tensor<128x128xf32>
        %252 = stablehlo.convert %251 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %253 = stablehlo.subtract %242, %251 : tensor<128x128xf32>
        %254 = stablehlo.reduce_precision %253, format = e8m7 : tensor<128x128xf32>
        %255 = stablehlo.convert %254 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %256 = stablehlo.subtract %253, %254 : tensor<128x128xf32>
        %257 = stablehlo.reduce_precision %256, format = e8m7 : tensor<128x128xf32>
        %258 = stablehlo.convert %257 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %259 = stablehlo.dot_general %244, %258, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %260 = stablehlo.dot_general %247, %255, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %261 = stablehlo.add %259, %260 : tensor<16x128xf32>
        %262 = stablehlo.dot_general %250, %252, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %263 = stablehlo.add %261, %262 : tensor<16x128xf32>
        %264 = stablehlo.dot_general %244, %255, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %265 = stablehlo.add %263, %264 : tensor<16x128xf32>
        %266 = stablehlo.dot_general %247, %252, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %267 = stablehlo.add %265, %266 : tensor<16x128xf32>
        %268 = stablehlo.dot_general %244, %252, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %269 = stablehlo.add %267, %268 : tensor<16x128xf32>
        %270 = stablehlo.add %238, %269 : tensor<16x128xf32>
        %271 = stablehlo.dynamic_update_slice %9, %270, %12, %13 : (tensor<128x1024xf32>, tensor<16x128xf32>, tensor<i32>, tensor<i32>) -> tensor<128x1024xf32>
        %272 = stablehlo.add %8, %c4 : tensor<i32>
        stablehlo.return %272, %271, %270 : tensor<i32>, tensor<128x1024xf32>, tensor<16x128xf32>
      }
      %273 = stablehlo.add %3, %c4 : tensor<i32>
      stablehlo.return %273, %7#1, %7#2 : tensor<i32>, tensor<128x1024xf32>, tensor<16x128xf32>
    }
    return %2#1 : tensor<128x1024xf32>
  }
}
