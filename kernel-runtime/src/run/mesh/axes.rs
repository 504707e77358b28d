//! Names and sizes of a mesh's axes, and the groups of devices that they make.

use std::fmt;
use std::sync::Arc;

/// Names and sizes of a mesh's axes, outermost first: devices are counted row-major.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Axes(Arc<[(String, usize)]>);

impl Axes {
    pub(crate) fn new(axes: Vec<(String, usize)>) -> Axes {
        Axes(axes.into())
    }

    /// Names and sizes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, usize)> + Clone {
        self.0.iter().map(|(name, size)| (name.as_str(), *size))
    }

    /// How many axes there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The size of an axis.
    pub(crate) fn size(&self, axis: usize) -> usize {
        self.0.get(axis).map_or(1, |(_, size)| *size)
    }

    /// The name of an axis.
    pub(crate) fn name(&self, axis: usize) -> &str {
        self.0.get(axis).map_or("", |(name, _)| name)
    }

    /// The axis of this name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == name)
    }

    /// How many devices there are.
    pub(crate) fn n_devices(&self) -> usize {
        self.iter().map(|(_, size)| size).product()
    }

    /// How far apart devices are that are neighbours along an axis.
    pub(crate) fn stride(&self, axis: usize) -> usize {
        self.iter().skip(axis + 1).map(|(_, size)| size).product()
    }

    /// Where a device stands along an axis.
    pub(crate) fn coordinate(&self, device: usize, axis: usize) -> usize {
        device / self.stride(axis) % self.size(axis)
    }

    /// Where a device stands among those that differ along these axes, the first the major one.
    pub(crate) fn rank(&self, device: usize, over: &[usize]) -> usize {
        over.iter().fold(0, |rank, &axis| rank * self.size(axis) + self.coordinate(device, axis))
    }

    /// How many devices differ along these axes alone.
    pub(crate) fn group_size(&self, over: &[usize]) -> usize {
        over.iter().map(|&axis| self.size(axis)).product()
    }

    /// Groups of devices that differ along these axes alone, each in the order of
    /// [`Axes::rank`].
    pub(crate) fn groups(&self, over: &[usize]) -> Vec<Vec<usize>> {
        let size = self.group_size(over);
        let is_first =
            |device: &usize| over.iter().all(|&axis| self.coordinate(*device, axis) == 0);
        let member = |first: usize, rank: usize| {
            let (device, _) = over.iter().rev().fold((first, rank), |(device, rest), &axis| {
                let size = self.size(axis);
                (device + rest % size * self.stride(axis), rest / size)
            });
            device
        };
        let group = |first| (0..size).map(|rank| member(first, rank)).collect();
        (0..self.n_devices()).filter(is_first).map(group).collect()
    }
}

/// `x=2, y=4`.
impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, (name, size)) in self.iter().enumerate() {
            let comma = if idx > 0 { ", " } else { "" };
            write!(f, "{comma}{name}={size}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_the_axes_that_they_are_over() {
        let axes = Axes::new(vec![("x".into(), 2), ("y".into(), 3)]);
        assert_eq!(axes.groups(&[0]), [[0, 3], [1, 4], [2, 5]]);
        assert_eq!(axes.groups(&[1]), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(axes.groups(&[1, 0]), [[0, 3, 1, 4, 2, 5]]);
        assert_eq!(axes.rank(4, &[1, 0]), 3);
        assert_eq!(axes.groups(&[]).len(), 6);
        assert_eq!(axes.to_string(), "x=2, y=3");
    }
}
