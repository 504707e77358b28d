//! Programs that really run, on every plugin.
use super::{clients, compile, f32_buffer, f32_bytes, f32_values};
use std::sync::mpsc;
use systole::pjrt::{Code, CompileOptions, ElementType, ExecuteOptions};

const ADD: &str = "
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = stablehlo.add %a, %b : tensor<2x3xf32>
  return %c : tensor<2x3xf32>
}";

#[test]
fn adds() {
    for client in clients() {
        let add = compile(&client, ADD);
        let a = f32_buffer(&client, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let b = f32_buffer(&client, &[2, 3], &[0.5; 6]);
        let c = add.execute(&[&a, &b]).unwrap();
        assert_eq!(c.len(), 1);
        assert_eq!(c[0].dims().unwrap(), [2, 3]);
        assert_eq!(c[0].element_type().unwrap(), ElementType::F32);
        assert_eq!(f32_values(&c[0].to_host().unwrap()), [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]);
    }
}

/// `a[i][k] = i + k`, `b[k][j] = k - j`, all exact in every type used here.
fn dot_case(m: i64, k: i64, n: i64) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let a: Vec<i64> = (0..m * k).map(|x| (x / k + x % k) % 7).collect();
    let b: Vec<i64> = (0..k * n).map(|x| (x / n - x % n) % 5).collect();
    let mut c = vec![0; (m * n) as usize];
    for i in 0..m {
        for j in 0..n {
            c[(i * n + j) as usize] =
                (0..k).map(|x| a[(i * k + x) as usize] * b[(x * n + j) as usize]).sum();
        }
    }
    (a, b, c)
}

fn dot_program(operand: &str, result: &str) -> String {
    format!(
        "func.func @main(%a: tensor<5x16x{operand}>, %b: tensor<16x3x{operand}>) -> tensor<5x3x{result}> {{
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<5x16x{operand}>, tensor<16x3x{operand}>) -> tensor<5x3x{result}>
  return %c : tensor<5x3x{result}>
}}"
    )
}

#[test]
fn multiplies_matrices_of_several_types() {
    type ToBytes = fn(i64) -> Vec<u8>;
    let f32_of: ToBytes = |x| (x as f32).to_le_bytes().to_vec();
    let bf16_of: ToBytes = |x| half::bf16::from_f32(x as f32).to_le_bytes().to_vec();
    let i8_of: ToBytes = |x| (x as i8).to_le_bytes().to_vec();
    let i32_of: ToBytes = |x| (x as i32).to_le_bytes().to_vec();
    let cases: [(ElementType, ToBytes, ElementType, ToBytes); 3] = [
        (ElementType::F32, f32_of, ElementType::F32, f32_of),
        (ElementType::Bf16, bf16_of, ElementType::F32, f32_of),
        (ElementType::S8, i8_of, ElementType::S32, i32_of),
    ];
    let (a, b, c) = dot_case(5, 16, 3);
    for client in clients() {
        for (operand, to_operand, result, to_result) in cases {
            let program = dot_program(operand.stablehlo_name(), result.stablehlo_name());
            let dot = compile(&client, &program);
            let bytes = |values: &[i64], to: ToBytes| -> Vec<u8> {
                values.iter().flat_map(|&x| to(x)).collect()
            };
            let a = client.buffer(operand, &[5, 16], &bytes(&a, to_operand), None).unwrap();
            let b = client.buffer(operand, &[16, 3], &bytes(&b, to_operand), None).unwrap();
            let got = dot.execute(&[&a, &b]).unwrap();
            assert_eq!(got[0].to_host().unwrap(), bytes(&c, to_result), "{operand:?}");
        }
    }
}

#[test]
fn returns_several_outputs_of_different_rank() {
    let program = "
func.func @main(%a: tensor<2x3xf32>) -> (tensor<f32>, tensor<3x2xf32>, tensor<2xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %i = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
  return %sum, %t, %i : tensor<f32>, tensor<3x2xf32>, tensor<2xi32>
}";
    for client in clients() {
        let executable = compile(&client, program);
        let expected = [
            (ElementType::F32, vec![]),
            (ElementType::F32, vec![3, 2]),
            (ElementType::S32, vec![2]),
        ];
        assert_eq!(executable.outputs().unwrap(), expected);
        let a = f32_buffer(&client, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let out = executable.execute(&[&a]).unwrap();
        assert_eq!(f32_values(&out[0].to_host().unwrap()), [21.0]);
        assert_eq!(f32_values(&out[1].to_host().unwrap()), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(out[2].to_host().unwrap(), [7, 0, 0, 0, 8, 0, 0, 0]);
    }
}

#[test]
fn tells_what_is_wrong_with_a_program() {
    for client in clients() {
        let bad = "func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {
  return %a : tensor<2xf32>
}";
        let error = client.compile(bad.as_bytes(), &CompileOptions::default()).unwrap_err();
        assert_eq!(error.call, "PJRT_Client_Compile");
        assert!(error.message.contains("tensor<3xf32>"), "{error}");
        // A plugin that reads beyond the text would see what follows it here.
        let error = client.compile(&b"nonsense tail"[..8], &CompileOptions::default()).unwrap_err();
        assert!(!error.message.is_empty() && !error.message.contains("tail"), "{error}");
        client.compile(b"", &CompileOptions::default()).unwrap_err();
    }
}

#[test]
fn rejects_wrong_arguments() {
    let clients = clients();
    let add = compile(&clients[0], ADD);
    let a = f32_buffer(&clients[0], &[2, 3], &[0.0; 6]);
    let error = add.execute(&[&a]).unwrap_err();
    assert!(error.message.contains('2'), "{error}");
    let small = f32_buffer(&clients[0], &[2], &[0.0; 2]);
    add.execute(&[&a, &small]).unwrap_err();
    let foreign = f32_buffer(&clients[1], &[2, 3], &[0.0; 6]);
    let error = add.execute(&[&a, &foreign]).unwrap_err();
    assert!(error.message.contains("argument 1 belongs to another client"), "{error}");
    let short = clients[0].buffer(ElementType::F32, &[2, 3], &[0; 20], None).unwrap_err();
    assert!(short.message.contains("has 24 bytes, got 20"), "{short}");
    let huge = clients[0].buffer(ElementType::F32, &[i64::MAX, 8], &[], None).unwrap_err();
    assert_eq!(huge.code, Code::InvalidArgument);
}

#[test]
fn takes_empty_and_scalar_arrays() {
    for client in clients() {
        let empty = f32_buffer(&client, &[0, 4], &[]);
        assert!(empty.to_host().unwrap().is_empty());
        let scalar = f32_buffer(&client, &[], &[2.5]);
        assert!(scalar.dims().unwrap().is_empty());
        assert_eq!(f32_values(&scalar.to_host().unwrap()), [2.5]);
    }
}

#[test]
fn survives_a_serialize_round_trip() {
    for client in clients() {
        let add = compile(&client, ADD);
        let bytes = add.serialize().unwrap();
        drop(add);
        let again = client.deserialize(&bytes).unwrap();
        let a = f32_buffer(&client, &[2, 3], &[1.0; 6]);
        let out = again.execute(&[&a, &a]).unwrap();
        assert_eq!(f32_values(&out[0].to_host().unwrap()), [2.0; 6]);
        client.deserialize(b"rubbish").unwrap_err();
    }
}

#[test]
fn donates_an_argument_unless_it_is_kept() {
    let program = "
func.func @main(%a: tensor<64xf32> {tf.aliasing_output = 0 : i32}) -> tensor<64xf32> {
  %b = stablehlo.add %a, %a : tensor<64xf32>
  return %b : tensor<64xf32>
}";
    for client in clients() {
        let double = compile(&client, program);
        let a = f32_buffer(&client, &[64], &[1.5; 64]);
        let keep = ExecuteOptions { keep_arguments: vec![0], want_events: true };
        let kept = double.execute_on_all(&[&[&a]], &keep).unwrap();
        kept.done[0].wait().unwrap();
        assert!(!a.is_deleted().unwrap());
        let out = double.execute(&[&a]).unwrap();
        assert!(a.is_deleted().unwrap());
        assert_eq!(f32_values(&out[0].to_host().unwrap()), [3.0; 64]);
        a.to_host().unwrap_err();
        double.execute(&[&a]).unwrap_err();
    }
}

#[test]
fn fires_events_and_callbacks() {
    for client in clients() {
        let add = compile(&client, ADD);
        let a = f32_buffer(&client, &[2, 3], &[1.0; 6]);
        let options = ExecuteOptions { want_events: true, ..ExecuteOptions::default() };
        let execution = add.execute_on_all(&[&[&a, &a]], &options).unwrap();
        let (sender, receiver) = mpsc::channel();
        let ready = execution.outputs[0][0].ready().unwrap();
        ready.on_ready(move |result| sender.send(result).unwrap()).unwrap();
        drop(ready);
        receiver.recv().unwrap().unwrap();
        execution.done[0].wait().unwrap();
        assert!(execution.done[0].is_ready().unwrap());
        let copy = execution.outputs[0][0].start_to_host().unwrap();
        assert_eq!(copy.wait().unwrap(), f32_bytes(&[2.0; 6]));
    }
}

#[test]
fn describes_a_compiled_program() {
    for client in clients() {
        let module = format!("module @my_name {{ {ADD} }}");
        let add = compile(&client, &module);
        assert!(add.name().unwrap().contains("my_name"));
        assert_eq!(add.n_outputs().unwrap(), 1);
        let memory = add.memory().unwrap();
        assert_eq!((memory.argument_bytes, memory.output_bytes), (48, 24));
        let (format, code) = add.optimized().unwrap();
        assert!(format.starts_with("hlo"), "{format}");
        assert!(!code.is_empty());
        // Newer plugins do not implement it: either answer must come back whole.
        if let Err(error) = add.cost() {
            assert_eq!(error.code, Code::Unimplemented);
        }
    }
}

#[test]
fn works_from_several_threads() {
    for client in clients() {
        let add = compile(&client, ADD);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (client, add) = (&client, &add);
                scope.spawn(move || {
                    let x = thread as f32;
                    let a = f32_buffer(client, &[2, 3], &[x; 6]);
                    for _round in 0..50 {
                        let out = add.execute(&[&a, &a]).unwrap();
                        assert_eq!(f32_values(&out[0].to_host().unwrap()), [2.0 * x; 6]);
                    }
                });
            }
        });
    }
}
