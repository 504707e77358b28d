//! The distinct ids of a batch.

use super::{Bags, radix};

/// The distinct ids of a batch, and where each id of the batch is among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unique {
    /// Each id once, rising.
    pub ids: Vec<i32>,
    /// For each id of the batch its position in `ids`.
    pub inverse: Vec<u32>,
}

impl Unique {
    /// How often each id occurs.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.ids.len()];
        for &at in &self.inverse {
            counts[at as usize] += 1;
        }
        counts
    }
}

impl Bags {
    /// The distinct ids.
    pub fn unique(&self) -> Unique {
        // A sort beats marking rows in a bitmap, whose accesses are all over a large table.
        let mut unique = Unique { ids: Vec::new(), inverse: vec![0; self.ids().len()] };
        for item in radix::sort(self.items(), self.rows() as u64) {
            let id = radix::key(item) as i32;
            if unique.ids.last() != Some(&id) {
                unique.ids.push(id);
            }
            unique.inverse[radix::payload(item) as usize] = unique.ids.len() as u32 - 1;
        }
        unique
    }

    /// The positions of all ids, ordered by id; positions of one id rise.
    pub fn sorted_positions(&self) -> Vec<u32> {
        radix::sort(self.items(), self.rows() as u64).into_iter().map(radix::payload).collect()
    }

    /// Ids as keys, positions as payloads.
    fn items(&self) -> Vec<u64> {
        // Ids are at least 0.
        (0..).zip(self.ids()).map(|(at, &id)| radix::item(id as u32, at)).collect()
    }
}
