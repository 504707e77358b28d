//! Buffers that share host memory.
use super::{clients, compile, f32_bytes, f32_values};
use std::sync::Arc;
use systole::ir::{Array, DType};
use systole::pjrt::{AlignedBytes, ElementType, HostBytes};

const N: usize = 1 << 18;

const ADD_IN_PLACE: &str = "
func.func @main(%a: tensor<262144xf32> {tf.aliasing_output = 0 : i32}) -> tensor<262144xf32> {
  %b = stablehlo.add %a, %a : tensor<262144xf32>
  return %b : tensor<262144xf32>
}";

#[test]
fn memory_is_held_until_the_buffer_is_gone() {
    for client in clients() {
        let mut bytes = AlignedBytes::zeroed(N * 4);
        assert_eq!(bytes.bytes().as_ptr().addr() % 64, 0);
        let values: Vec<f32> = (0..N).map(|i| i as f32).collect();
        bytes.as_mut_slice().copy_from_slice(&f32_bytes(&values));
        let bytes = Arc::new(bytes);
        let buffer = client.buffer_sharing(ElementType::F32, &[N as i64], &bytes, None).unwrap();
        buffer.ready().unwrap().wait().unwrap();
        // Not copied: the plugin holds our memory.
        assert_eq!(Arc::strong_count(&bytes), 2);
        assert_eq!(f32_values(&buffer.to_host().unwrap()), values);
        // A program that may reuse its argument's memory leaves ours alone.
        let doubled = compile(&client, ADD_IN_PLACE).execute(&[&buffer]).unwrap();
        let expected: Vec<f32> = values.iter().map(|x| 2.0 * x).collect();
        assert_eq!(f32_values(&doubled[0].to_host().unwrap()), expected);
        assert_eq!(f32_values(bytes.bytes()), values);
        drop((buffer, doubled));
        assert_eq!(Arc::strong_count(&bytes), 1);
    }
}

#[test]
fn memory_of_any_alignment_will_do() {
    for client in clients() {
        let values: Vec<f64> = (0..N).map(|i| i as f64).collect();
        let array = Arc::new(Array::from_f64(DType::F32, &[N], &values).unwrap());
        let buffer = client.buffer_sharing(ElementType::F32, &[N as i64], &array, None).unwrap();
        assert_eq!(buffer.to_host().unwrap(), array.as_bytes());
        let error = client.buffer_sharing(ElementType::F32, &[3], &array, None).unwrap_err();
        assert!(error.message.contains("has 12 bytes"), "{error}");
        drop(buffer);
        let mut array = array;
        while Arc::get_mut(&mut array).is_none() {
            std::thread::yield_now();
        }
    }
}
