//! Two devices of one CPU client.
use super::{f32_bytes, f32_values, plugins};
use systole::pjrt::{Buffer, Client, CompileOptions, ElementType, ExecuteOptions};

fn two_devices() -> Vec<Client> {
    plugins()
        .iter()
        .map(|plugin| plugin.client_with(&[("cpu_device_count", 2.into())]).unwrap())
        .collect()
}

const DOUBLE: &str = "
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = stablehlo.add %a, %a : tensor<2xf32>
  return %b : tensor<2xf32>
}";

const SUM_OVER_REPLICAS: &str = "
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = \"stablehlo.all_reduce\"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}";

#[test]
fn runs_on_the_device_that_was_asked_for() {
    for client in two_devices() {
        let devices = client.devices().unwrap();
        assert_eq!(devices.len(), 2);
        assert_eq!(client.n_global_devices().unwrap(), 2);
        let id = devices[1].id().unwrap();
        let double =
            client.compile(DOUBLE.as_bytes(), &CompileOptions::default().devices(&[id])).unwrap();
        assert_eq!(double.devices().unwrap()[0].id().unwrap(), id);
        let bytes = f32_bytes(&[1.0, 2.0]);
        let here = client.buffer(ElementType::F32, &[2], &bytes, Some(&devices[0])).unwrap();
        let there = here.copy_to(&devices[1]).unwrap();
        let out = double.execute(&[&there]).unwrap();
        assert_eq!(out[0].device().unwrap().id().unwrap(), id);
        assert_eq!(f32_values(&out[0].to_host().unwrap()), [2.0, 4.0]);
    }
}

#[test]
fn reduces_over_two_replicas() {
    for client in two_devices() {
        let options = CompileOptions::default().replicas(2);
        let sum = client.compile(SUM_OVER_REPLICAS.as_bytes(), &options).unwrap();
        assert_eq!(sum.n_devices(), 2);
        let parts: Vec<Buffer> = sum
            .devices()
            .unwrap()
            .iter()
            .zip([[1.0, 2.0], [10.0, 20.0]])
            .map(|(device, values)| {
                client.buffer(ElementType::F32, &[2], &f32_bytes(&values), Some(device)).unwrap()
            })
            .collect();
        let execution =
            sum.execute_on_all(&[&[&parts[0]], &[&parts[1]]], &ExecuteOptions::default()).unwrap();
        for outputs in execution.outputs {
            assert_eq!(f32_values(&outputs[0].to_host().unwrap()), [11.0, 22.0]);
        }
        let error = sum.execute(&[&parts[0]]).unwrap_err();
        assert!(error.message.contains("argument lists: expected 2, got 1"), "{error}");
    }
}
