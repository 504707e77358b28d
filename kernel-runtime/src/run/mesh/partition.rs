//! How a tensor is split over a mesh.

use super::axes::Axes;
use crate::diag::Code;
use crate::ir::Shape;
use crate::run::graph::Ty;
use crate::run::op::OpError;
use smallvec::SmallVec;
use std::fmt;

/// How a tensor is split over a mesh: by axis of the tensor, the mesh axes that it is split over.
///
/// It is written as a list of names: `["x", ""]` splits the rows of a matrix over the mesh axis `x`
/// and its columns not at all, and `["y x"]` splits a vector over `y` first and each part over `x`.
/// Axes of the tensor beyond the list are not split, and devices that differ along mesh axes that
/// the list does not name have the same elements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Partition {
    axes: Vec<Vec<String>>,
}

impl Partition {
    /// Every device has the whole tensor.
    pub fn replicated() -> Partition {
        Partition::default()
    }

    /// By axis of the tensor, names of mesh axes with spaces between them.
    pub fn new<'a>(axes: impl IntoIterator<Item = &'a str>) -> Partition {
        let names = |axis: &str| axis.split_whitespace().map(str::to_owned).collect();
        Partition { axes: axes.into_iter().map(names).collect() }
    }

    /// What it means for a tensor on a mesh.
    pub(crate) fn resolve(&self, name: &str, mesh: &Axes, ty: &Ty) -> Result<Split, OpError> {
        let rank = ty.shape.len();
        if self.axes.len() > rank {
            return Err(mesh_error(format!(
                "`{name}`: the partition {self} has {} entries, but {ty} has {rank} axes",
                self.axes.len()
            )));
        }
        let mut split = Split::replicated(rank);
        let mut used: Vec<usize> = Vec::new();
        for (dim, names) in self.axes.iter().enumerate() {
            let over = mesh.all_of(name, names)?;
            if let Some(&twice) = over.iter().find(|axis| used.contains(axis)) {
                return Err(mesh_error(format!(
                    "`{name}`: the partition {self} splits over mesh axis `{}` twice",
                    mesh.name(twice)
                ))
                .help("an axis of the mesh splits at most one axis of a tensor"));
            }
            used.extend(&over);
            let (size, n_parts) = (ty.shape[dim], mesh.group_size(&over));
            if size % n_parts != 0 {
                return Err(mesh_error(format!(
                    "`{name}`: axis {dim} of {ty} has {size} elements, which cannot be split \
                     evenly into {n_parts}, the size of mesh axis `{}` of {mesh}",
                    names.join(" ")
                ))
                .help(format!("pad it to {} elements", size.next_multiple_of(n_parts))));
            }
            split.0[dim] = over.into_iter().collect();
        }
        Ok(split)
    }
}

/// An error about meshes.
pub(crate) fn mesh_error(message: String) -> OpError {
    OpError { code: Code::TENSOR_MESH, message, help: None }
}

impl Axes {
    /// The axes of these names, each once.
    pub(crate) fn all_of(&self, name: &str, names: &[String]) -> Result<Vec<usize>, OpError> {
        let mut found = Vec::new();
        for axis in names {
            let Some(idx) = self.find(axis) else {
                return Err(mesh_error(format!("`{name}`: the mesh has no axis `{axis}`"))
                    .help(format!("its axes are {self}")));
            };
            if found.contains(&idx) {
                return Err(mesh_error(format!("`{name}`: mesh axis `{axis}` is named twice")));
            }
            found.push(idx);
        }
        Ok(found)
    }
}

impl<'a, const N: usize> From<[&'a str; N]> for Partition {
    fn from(axes: [&'a str; N]) -> Partition {
        Partition::new(axes)
    }
}

impl<'a> From<&[&'a str]> for Partition {
    fn from(axes: &[&'a str]) -> Partition {
        Partition::new(axes.iter().copied())
    }
}

impl From<&Partition> for Partition {
    fn from(partition: &Partition) -> Partition {
        partition.clone()
    }
}

/// `["x", ""]`.
impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.axes.iter().map(|names| names.join(" ")).collect();
        write!(f, "{axes:?}")
    }
}

/// A partition for a tensor of known rank on a known mesh: by axis of the tensor, the positions of
/// the mesh axes that it is split over, major first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Split(pub(crate) SmallVec<[SmallVec<[usize; 2]>; 4]>);

impl Split {
    pub(crate) fn replicated(rank: usize) -> Split {
        Split(std::iter::repeat_with(SmallVec::new).take(rank).collect())
    }

    /// The mesh axes that split no axis of the tensor.
    pub(crate) fn unused(&self, mesh: &Axes) -> Vec<usize> {
        let is_used = |axis: &usize| self.0.iter().any(|over| over.contains(axis));
        (0..mesh.len()).filter(|axis| !is_used(axis)).collect()
    }

    /// The shape of each device's part.
    pub(crate) fn local(&self, mesh: &Axes, shape: &[usize]) -> Shape {
        let parts = self.0.iter().map(|over| mesh.group_size(over));
        shape.iter().zip(parts).map(|(&size, n_parts)| size / n_parts.max(1)).collect()
    }

    /// The shape of the whole, of which each device has a part of this shape.
    pub(crate) fn global(&self, mesh: &Axes, shape: &[usize]) -> Shape {
        let parts = self.0.iter().map(|over| mesh.group_size(over));
        shape.iter().zip(parts).map(|(&size, n_parts)| size * n_parts).collect()
    }

    /// Where the part of a device begins.
    pub(crate) fn start(&self, mesh: &Axes, shape: &[usize], device: usize) -> Shape {
        let local = self.local(mesh, shape);
        let ranks = self.0.iter().map(|over| mesh.rank(device, over));
        local.iter().zip(ranks).map(|(&size, rank)| size * rank).collect()
    }

    /// As names.
    pub(crate) fn partition(&self, mesh: &Axes) -> Partition {
        let names = |over: &SmallVec<[usize; 2]>| {
            over.iter().map(|&axis| mesh.name(axis).to_owned()).collect()
        };
        Partition { axes: self.0.iter().map(names).collect() }
    }

    /// As Shardy writes it on the mesh `@mesh`: `<@mesh, [{"x"}, {}]>`.
    pub(crate) fn text(&self, mesh: &Axes) -> String {
        let dim = |over: &SmallVec<[usize; 2]>| {
            let names: Vec<String> =
                over.iter().map(|&axis| format!("\"{}\"", mesh.name(axis))).collect();
            format!("{{{}}}", names.join(", "))
        };
        let dims: Vec<String> = self.0.iter().map(dim).collect();
        format!("<@mesh, [{}]>", dims.join(", "))
    }
}
