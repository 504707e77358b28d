//! The meaning of the collectives, in plain loops over the arrays of all devices.

use systole::ir::Array;

/// Every device gets the arrays of all, one after the other.
pub fn all_gather(shards: &[Array]) -> Vec<Array> {
    let all: Vec<f64> = shards.iter().flat_map(values).collect();
    let Some(first) = shards.first() else { return Vec::new() };
    let shape = with_devices(shards.len(), first.shape());
    let gathered = crate::array(first.dtype(), &shape, &all);
    shards.iter().map(|_| gathered.clone()).collect()
}

/// Device `j` gets the sum of part `j` of all, from device `j + 1` on around the ring, in `f32`.
pub fn reduce_scatter(shards: &[Array]) -> Vec<Array> {
    let n_devices = shards.len();
    let part = |device: usize, part: usize| {
        let all: Vec<f32> = values(&shards[device]).map(|x| x as f32).collect();
        let n = all.len() / n_devices;
        all[part * n..(part + 1) * n].to_vec()
    };
    (0..n_devices)
        .map(|device| {
            let mut sum = part((device + 1) % n_devices, device);
            for other in (2..=n_devices).map(|k| (device + k) % n_devices) {
                for (sum, x) in sum.iter_mut().zip(part(other, device)) {
                    *sum += x;
                }
            }
            let sum: Vec<f64> = sum.into_iter().map(f64::from).collect();
            crate::array(shards[device].dtype(), &shards[device].shape()[1..], &sum)
        })
        .collect()
}

/// Device `i` gets, as part `j`, part `i` of device `j`.
pub fn all_to_all(shards: &[Array]) -> Vec<Array> {
    let n_devices = shards.len();
    (0..n_devices)
        .map(|device| {
            let parts = shards.iter().flat_map(|shard| {
                let all: Vec<f64> = values(shard).collect();
                let n = all.len() / n_devices;
                all[device * n..(device + 1) * n].to_vec()
            });
            let all: Vec<f64> = parts.collect();
            crate::array(shards[device].dtype(), shards[device].shape(), &all)
        })
        .collect()
}

fn values(array: &Array) -> impl Iterator<Item = f64> {
    array.to_f32().into_iter().map(f64::from)
}

fn with_devices(n_devices: usize, shape: &[usize]) -> Vec<usize> {
    std::iter::once(n_devices).chain(shape.iter().copied()).collect()
}
