//! How XLA split the results of a program: read from the optimised program, since there is no other
//! way to ask.

use super::axes::Axes;
use super::partition::Split;
use crate::aot::proto::{Field, fields};
use smallvec::SmallVec;

/// Numbers of fields in `xla/service/hlo.proto` and `xla/xla_data.proto`.
mod number {
    /// `HloModuleProtoWithConfig.hlo_module`.
    pub(super) const MODULE: u64 = 1;
    /// `HloModuleProto.spmd_output_sharding`.
    pub(super) const OUTPUT: u64 = 12;
    pub(super) const TYPE: u64 = 1;
    pub(super) const TILE_DIMS: u64 = 3;
    pub(super) const DEVICES: u64 = 4;
    pub(super) const PARTS: u64 = 5;
    pub(super) const REPLICATE_ON_LAST: u64 = 6;
    pub(super) const LAST_TILE_DIMS: u64 = 8;
    pub(super) const IOTA_DIMS: u64 = 9;
    pub(super) const IOTA_PERM: u64 = 10;
}

/// `OpSharding.Type`.
mod kind {
    pub(super) const REPLICATED: u64 = 0;
    pub(super) const TUPLE: u64 = 2;
    pub(super) const OTHER: u64 = 3;
}

/// By result, how it is split; none where that cannot be said in terms of the mesh. `ranks` are
/// those of the results.
pub(super) fn of_results(
    (format, program): (&str, &[u8]),
    mesh: &Axes,
    ranks: &[usize],
) -> Vec<Option<Split>> {
    let module = match format {
        "hlo_with_config" => find(program, number::MODULE).map_or(&[][..], Field::bytes),
        _ => program,
    };
    let Some(sharding) = find(module, number::OUTPUT).map(Field::bytes) else {
        return vec![None; ranks.len()];
    };
    let kind = find(sharding, number::TYPE).map_or(kind::REPLICATED, Field::int);
    let parts: Vec<&[u8]> = match kind {
        kind::TUPLE => all(sharding, number::PARTS).map(Field::bytes).collect(),
        _ => vec![sharding; ranks.len()],
    };
    let split = |(idx, &rank): (usize, &usize)| of_result(parts.get(idx)?, mesh, rank);
    ranks.iter().enumerate().map(split).collect()
}

fn find(message: &[u8], number: u64) -> Option<Field<'_>> {
    all(message, number).last()
}

fn all(message: &[u8], number: u64) -> impl Iterator<Item = Field<'_>> {
    fields(message).filter(move |(found, _)| *found == number).map(|(_, field)| field)
}

fn ints(message: &[u8], number: u64) -> Vec<usize> {
    all(message, number).flat_map(Field::ints).map(|int| int as usize).collect()
}

fn of_result(sharding: &[u8], mesh: &Axes, rank: usize) -> Option<Split> {
    match find(sharding, number::TYPE).map_or(kind::REPLICATED, Field::int) {
        kind::REPLICATED => return Some(Split::replicated(rank)),
        kind::OTHER => {}
        _ => return None,
    }
    let tiles = ints(sharding, number::TILE_DIMS);
    let devices = devices(sharding, tiles.iter().product())?;
    let n_devices = mesh.n_devices();
    let replicates =
        find(sharding, number::REPLICATE_ON_LAST).is_some_and(|field| field.int() != 0);
    // What the dims beyond the tensor's own stand for: 0 is replication.
    let last = ints(sharding, number::LAST_TILE_DIMS);
    if devices.len() != n_devices
        || tiles.len() < rank
        || last.iter().any(|&kind| kind as u64 != kind::REPLICATED)
        || (tiles.len() > rank && !replicates && last.is_empty())
    {
        return None;
    }
    // By device, its tile along each axis of the tensor.
    let mut places = vec![Vec::new(); n_devices];
    for (place, &device) in devices.iter().enumerate() {
        let mut rest = place;
        let mut tile: Vec<usize> = tiles
            .iter()
            .rev()
            .map(|&n| {
                let idx = rest % n.max(1);
                rest /= n.max(1);
                idx
            })
            .collect();
        tile.reverse();
        *places.get_mut(device)? = tile;
    }
    let dims = (0..rank).map(|dim| of_axis(&places, dim, tiles[dim], mesh));
    Some(Split(dims.collect::<Option<_>>()?))
}

/// The devices in the order of the tiles.
fn devices(sharding: &[u8], n_devices: usize) -> Option<Vec<usize>> {
    let listed = ints(sharding, number::DEVICES);
    if !listed.is_empty() {
        return Some(listed);
    }
    let dims = ints(sharding, number::IOTA_DIMS);
    let perm = ints(sharding, number::IOTA_PERM);
    if dims.iter().product::<usize>() != n_devices || perm.iter().any(|&dim| dim >= dims.len()) {
        return None;
    }
    let strides: Vec<usize> = (0..dims.len()).map(|dim| dims[dim + 1..].iter().product()).collect();
    let device = |place: usize| {
        let (device, _) = perm.iter().rev().fold((0, place), |(device, rest), &dim| {
            (device + rest % dims[dim] * strides[dim], rest / dims[dim])
        });
        device
    };
    Some((0..n_devices).map(device).collect())
}

/// The mesh axes that an axis of the tensor is split over.
fn of_axis(
    places: &[Vec<usize>],
    dim: usize,
    n_tiles: usize,
    mesh: &Axes,
) -> Option<SmallVec<[usize; 2]>> {
    // A step along a mesh axis is so many tiles; the larger the steps, the more major the axis.
    let step = |axis: usize| places.get(mesh.stride(axis))?.get(dim).copied();
    let first = *places.first()?.get(dim)?;
    let mut over: SmallVec<[usize; 2]> = (0..mesh.len())
        .filter(|&axis| mesh.size(axis) > 1 && step(axis).is_some_and(|tile| tile > first))
        .collect();
    over.sort_by_key(|&axis| std::cmp::Reverse(step(axis)));
    let fits = mesh.group_size(&over) == n_tiles
        && places
            .iter()
            .enumerate()
            .all(|(device, tile)| tile.get(dim) == Some(&mesh.rank(device, &over)));
    fits.then_some(over)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh() -> Axes {
        Axes::new(vec![("x".into(), 2), ("y".into(), 4)])
    }

    /// `{devices=[4,2]<=[2,4]T(1,0)}`: rows over `y`, columns over `x`.
    const BOTH: [u8; 16] = [0x08, 3, 0x1a, 2, 4, 2, 0x4a, 2, 2, 4, 0x52, 2, 1, 0, 0x38, 0];
    /// `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`: rows over `x`.
    const ROWS: [u8; 16] = [0x08, 3, 0x1a, 3, 2, 1, 4, 0x4a, 1, 8, 0x52, 1, 0, 0x30, 1, 0x38];

    #[test]
    fn tiles_become_axes_of_the_mesh() {
        let split = of_result(&BOTH, &mesh(), 2).unwrap();
        assert_eq!(split.text(&mesh()), "<@mesh, [{\"y\"}, {\"x\"}]>");
        let split = of_result(&ROWS[..15], &mesh(), 2).unwrap();
        assert_eq!(split.text(&mesh()), "<@mesh, [{\"x\"}, {}]>");
        assert_eq!(of_result(&[], &mesh(), 3), Some(Split::replicated(3)));
        // Eight tiles in the order of the devices are over both axes.
        let all = [0x08, 3, 0x1a, 1, 8, 0x4a, 1, 8, 0x52, 1, 0];
        let split = of_result(&all, &mesh(), 1).unwrap();
        assert_eq!(split.text(&mesh()), "<@mesh, [{\"x\", \"y\"}]>");
        // Devices in an order that no axes make.
        let odd = [0x08, 3, 0x1a, 1, 8, 0x22, 8, 0, 2, 1, 3, 4, 5, 6, 7];
        assert_eq!(of_result(&odd, &mesh(), 1), None);
    }

    #[test]
    fn the_results_are_those_of_the_module() {
        let mut module = vec![0x62, 18, 0x08, 2, 0x2a, 14];
        module.extend_from_slice(&BOTH[..14]);
        let found = of_results(("hlo", &module), &mesh(), &[2, 2]);
        assert!(found[0].is_some() && found[1].is_none());
        let mut wrapped = vec![0x0a, module.len() as u8];
        wrapped.extend_from_slice(&module);
        assert_eq!(of_results(("hlo_with_config", &wrapped), &mesh(), &[2, 2]), found);
        assert_eq!(of_results(("hlo", &[]), &mesh(), &[1]), [None]);
    }
}
