//! Programs over a mesh of eight CPU devices, as XLA partitions them by Shardy's annotations.
use super::{f32_bytes, f32_values, plugins};
use systole::pjrt::{Buffer, Client, CompileOptions, ElementType, Executable, ExecuteOptions};

const N: usize = 8;

fn eight_devices() -> Vec<Client> {
    plugins()
        .iter()
        .map(|plugin| plugin.client_with(&[("cpu_device_count", (N as i64).into())]).unwrap())
        .collect()
}

/// Compiles for all devices, in reverse, so that partitions and devices are told apart.
fn compile(client: &Client, program: &str) -> Executable {
    let ids: Vec<i64> = client.devices().unwrap().iter().rev().map(|d| d.id().unwrap()).collect();
    let options = CompileOptions::default().partitions(N).devices(&ids);
    let executable = client.compile(program.as_bytes(), &options).unwrap();
    let got: Vec<i64> =
        executable.devices().unwrap().iter().map(|device| device.id().unwrap()).collect();
    assert_eq!(got, ids);
    executable
}

/// Runs on one array per device.
fn run(executable: &Executable, shape: &[i64], parts: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let client = executable.client();
    let buffers: Vec<Buffer> = executable
        .devices()
        .unwrap()
        .iter()
        .zip(parts)
        .map(|(device, part)| {
            client.buffer(ElementType::F32, shape, &f32_bytes(part), Some(device)).unwrap()
        })
        .collect();
    let args: Vec<[&Buffer; 1]> = buffers.iter().map(|buffer| [buffer]).collect();
    let args: Vec<&[&Buffer]> = args.iter().map(|list| list.as_slice()).collect();
    let execution = executable.execute_on_all(&args, &ExecuteOptions::default()).unwrap();
    execution.outputs.iter().map(|outputs| f32_values(&outputs[0].to_host().unwrap())).collect()
}

const AUTO: &str = "
module @program {
  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>
  func.func public @main(%0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}, {\"x\"}]>}) -> (tensor<8x4xf32>) {
    %1 = stablehlo.add %0, %0 : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}";

const MANUAL: &str = "
module @program {
  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>
  func.func public @main(%0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}, {\"x\"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{\"y\"}, {\"x\"}]>] out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\", \"y\"} (%2: tensor<2x2xf32>) {
      %c = stablehlo.constant dense<0.0> : tensor<f32>
      %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
      %4 = \"stablehlo.all_reduce\"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
        ^bb0(%5: tensor<f32>, %6: tensor<f32>):
          %7 = stablehlo.add %5, %6 : tensor<f32>
          stablehlo.return %7 : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      sdy.return %4 : tensor<2xf32>
    } : (tensor<8x4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}";

/// The shard of device `(x, y)` of an 8 by 4 array split by `y` and `x`.
fn shard(whole: &[f32], partition: usize) -> Vec<f32> {
    let (x, y) = (partition / 4, partition % 4);
    (0..2)
        .flat_map(|row| (0..2).map(move |col| (2 * y + row, 2 * x + col)))
        .map(|(row, col)| whole[row * 4 + col])
        .collect()
}

#[test]
fn xla_partitions_by_annotations() {
    let whole: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let parts: Vec<Vec<f32>> = (0..N).map(|i| shard(&whole, i)).collect();
    for client in eight_devices() {
        let program = compile(&client, AUTO);
        // The results are split as XLA found best, which only the optimised program tells.
        assert_eq!(program.outputs().unwrap(), [(ElementType::F32, vec![2, 2])]);
        let doubled = run(&program, &[2, 2], &parts);
        for (part, doubled) in parts.iter().zip(doubled) {
            assert_eq!(doubled, part.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
        }
        let sums = run(&compile(&client, MANUAL), &[2, 2], &parts);
        for sum in sums {
            let column = |col: usize| (0..8).map(|row| whole[row * 4 + col]).sum::<f32>();
            assert_eq!(sum, (0..4).map(column).collect::<Vec<_>>());
        }
    }
}
