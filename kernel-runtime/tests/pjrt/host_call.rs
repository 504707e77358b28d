//! Rust functions called from inside compiled programs.
use super::{clients, compile, f32_buffer, f32_bytes, f32_values};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use systole::pjrt::{ElementType, HostCall};

/// `call(x + x) + x`.
fn program(call: &HostCall) -> String {
    format!(
        "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{
  %a = stablehlo.add %x, %x : tensor<2x3xf32>
  %b = stablehlo.custom_call @{}(%a) {{api_version = 4 : i32, backend_config = {}}}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = stablehlo.add %b, %x : tensor<2x3xf32>
  return %c : tensor<2x3xf32>
}}",
        HostCall::TARGET,
        call.backend_config()
    )
}

#[test]
fn calls_a_rust_function() {
    for client in clients() {
        let n_calls = Arc::new(AtomicUsize::new(0));
        let counter = n_calls.clone();
        let call = HostCall::new(client.plugin(), move |frame| {
            counter.fetch_add(1, Ordering::Relaxed);
            let input = &frame.inputs[0];
            assert_eq!((input.element_type, input.dims), (ElementType::F32, &[2_i64, 3][..]));
            let tenfold: Vec<f32> = f32_values(input.bytes).iter().map(|x| 10.0 * x).collect();
            frame.outputs[0].bytes.copy_from_slice(&f32_bytes(&tenfold));
            Ok(())
        })
        .unwrap();
        let executable = compile(&client, &program(&call));
        for round in 1..=3 {
            let x = f32_buffer(&client, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
            let out = executable.execute(&[&x]).unwrap();
            let got = f32_values(&out[0].to_host().unwrap());
            assert_eq!(got, [21.0, 42.0, 63.0, 84.0, 105.0, 126.0]);
            assert_eq!(n_calls.load(Ordering::Relaxed), round);
        }
    }
}

#[test]
fn turns_errors_and_panics_into_errors_of_the_execution() {
    for client in clients() {
        let failing = HostCall::new(client.plugin(), |_frame| Err("no\0 luck".into())).unwrap();
        let panicking = HostCall::new(client.plugin(), |_frame| panic!("oh")).unwrap();
        let cases = [(failing, "no  luck"), (panicking, "the host function panicked")];
        let x = f32_buffer(&client, &[2, 3], &[1.0; 6]);
        for (call, text) in cases {
            let executable = compile(&client, &program(&call));
            let run = || executable.execute(&[&x]).and_then(|out| out[0].to_host());
            let error = run().unwrap_err();
            assert!(error.message.contains(text), "{error}");
            drop(call);
            let error = run().unwrap_err();
            assert!(error.message.contains("is gone"), "{error}");
        }
    }
}
