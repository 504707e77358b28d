//! Tensors from and to files and other crates' arrays.

use super::{code, tensor};
use systole::run::{DynTensor, Status, Tensor};

#[test]
fn safetensors_files_round_trip() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.safetensors");
    // Large enough to share memory with the device.
    let w = Tensor::<f32>::iota([256, 300], 1) * 0.5;
    let mask = w.gt(10.0);
    DynTensor::save_safetensors(&path, [("w", &w.to_dyn()), ("mask", &mask.to_dyn())]).unwrap();
    let all = DynTensor::load_safetensors(&path, |_| true).unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["mask", "w"]);
    assert_eq!(all["w"].to_array().unwrap(), w.to_array().unwrap());
    assert_eq!(all["mask"].to_array().unwrap(), mask.to_array().unwrap());
    // What is loaded is used in place, and survives ops that work in place.
    let mut x = all["w"].typed::<f32>().unwrap();
    x += 1.0;
    assert_eq!(x.to_vec().unwrap(), (&w + 1.0).to_vec().unwrap());
    assert_eq!(all["w"].to_array().unwrap(), w.to_array().unwrap());
    let some = DynTensor::load_safetensors(&path, |name| name == "w").unwrap();
    assert_eq!(some.len(), 1);
    assert_ne!(some["w"].status(), Status::Host);
}

#[test]
fn files_that_give_no_tensors_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.safetensors");
    let missing = DynTensor::load_safetensors(&path, |_| true).unwrap_err();
    assert_eq!(code(&missing), "run::input_file");
    std::fs::write(&path, b"no safetensors").unwrap();
    let damaged = DynTensor::load_safetensors(&path, |_| true).unwrap_err();
    assert!(damaged.to_string().contains("14 bytes"), "{damaged}");
    let header = br#"{"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.extend_from_slice(&[0; 8]);
    std::fs::write(&path, &file).unwrap();
    let wide = DynTensor::load_safetensors(&path, |_| true).unwrap_err();
    assert!(wide.to_string().contains("`ids`") && wide.to_string().contains("I64"), "{wide}");
    assert!(DynTensor::load_safetensors(&path, |name| name != "ids").unwrap().is_empty());
    let nowhere = dir.path().join("no folder/model.safetensors");
    let x = tensor(&[1.0], &[1]).to_dyn();
    let unwritable = DynTensor::save_safetensors(nowhere, [("x", &x)]).unwrap_err();
    assert_eq!(code(&unwritable), "run::output_file");
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_ndarray_become_tensors_whatever_their_strides() {
    let array = ndarray::Array::from_shape_fn((2, 3), |(row, col)| (row * 3 + col) as f32);
    let x = Tensor::from_ndarray(&array).unwrap();
    assert_eq!(x.to_vec().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let turned = Tensor::from_ndarray(&array.t()).unwrap();
    assert_eq!(turned.shape(), [3, 2]);
    assert_eq!(turned.to_vec().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!((x * 2.0).to_ndarray().unwrap(), (array * 2.0).into_dyn());
}
