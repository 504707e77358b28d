//! What the suite runs on.

use std::sync::{Arc, OnceLock};
use systole::back::interp;
use systole::back::stablehlo::{Options, Padding};
use systole::diag::{Code, Diagnostics};
use systole::ir::array::ArrayData;
use systole::ir::{Array, DType, f8e4m3fn, f8e5m2, i4};
use systole::pjrt::Plugin;
use systole::run::XlaDevice;
use systole::valid::Valid;

/// A back end under test.
pub(crate) struct Backend {
    /// The first part of the names of its trials.
    pub(crate) name: &'static str,
    /// Whether it must give the very results of the table, not only within the row's ULP.
    pub(crate) exact: bool,
    kind: Kind,
}

enum Kind {
    Interp,
    Xla {
        plugin: fn() -> systole::pjrt::Result<Plugin>,
        device: OnceLock<Result<XlaDevice, String>>,
    },
}

/// Every back end.
pub(crate) fn all() -> Vec<Arc<Backend>> {
    let xla = |name, plugin| Backend {
        name,
        exact: false,
        kind: Kind::Xla { plugin, device: OnceLock::new() },
    };
    vec![
        Arc::new(Backend { name: "interp", exact: true, kind: Kind::Interp }),
        Arc::new(xla("stablehlo", Plugin::cpu)),
        Arc::new(xla("stablehlo_second", Plugin::cpu_second)),
    ]
}

impl Backend {
    /// The codes with which it may refuse an op.
    pub(crate) fn refusal(&self) -> Option<Code> {
        match self.kind {
            Kind::Interp => None,
            Kind::Xla { .. } => Some(Code::STABLEHLO_UNSUPPORTED),
        }
    }

    /// Runs a kernel.
    pub(crate) fn run(&self, valid: &Valid, inputs: &[Array]) -> Result<Vec<Array>, Diagnostics> {
        match &self.kind {
            Kind::Interp => Ok(interp::run(valid, inputs, &interp::Options::default())?.outputs),
            Kind::Xla { plugin, device } => {
                // A missing plugin fails every trial, with the words that say how to get it.
                let device = device.get_or_init(|| {
                    plugin()
                        .and_then(|plugin| plugin.client_with(&[("cpu_device_count", 1.into())]))
                        .map(XlaDevice::new)
                        .map_err(|error| error.to_string())
                });
                let options =
                    Options { locations: true, padding: Padding::Poison, ..Options::default() };
                match device {
                    Ok(device) => device.run_with(valid, inputs, &options),
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

/// Changes the last element by a bit that counts: an eighth of a float's value, the lowest bit of
/// an integer.
pub(crate) fn spoil(array: &mut Array) {
    let bits = match array.dtype() {
        DType::F32 => 1 << 20,
        DType::BF16 => 1 << 4,
        DType::F16 => 1 << 7,
        _ => 1,
    };
    fn flip<T: Copy>(values: &mut [T], flip: impl Fn(T) -> T) {
        if let Some(last) = values.last_mut() {
            *last = flip(*last);
        }
    }
    match array.data_mut() {
        ArrayData::Bool(v) | ArrayData::U8(v) => flip(v, |x| x ^ 1),
        ArrayData::I4(v) => flip(v, |x| i4::from_low_bits(i64::from(x) ^ 1)),
        ArrayData::I8(v) => flip(v, |x| x ^ 1),
        ArrayData::I16(v) => flip(v, |x| x ^ 1),
        ArrayData::I32(v) => flip(v, |x| x ^ 1),
        ArrayData::U16(v) => flip(v, |x| x ^ 1),
        ArrayData::U32(v) => flip(v, |x| x ^ 1),
        ArrayData::F8E4M3FN(v) => flip(v, |x| f8e4m3fn::from_bits(x.to_bits() ^ 1)),
        ArrayData::F8E5M2(v) => flip(v, |x| f8e5m2::from_bits(x.to_bits() ^ 1)),
        ArrayData::BF16(v) => flip(v, |x| half::bf16::from_bits(x.to_bits() ^ bits as u16)),
        ArrayData::F16(v) => flip(v, |x| half::f16::from_bits(x.to_bits() ^ bits as u16)),
        ArrayData::F32(v) => flip(v, |x| f32::from_bits(x.to_bits() ^ bits)),
    }
}
