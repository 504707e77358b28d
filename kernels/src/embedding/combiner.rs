//! How the rows of a bag become one.

use super::bags::CHUNK;
use super::{Bags, bad_bags};
use rayon::prelude::*;
use systole::diag::Diagnostics;

/// How the rows of a bag are combined, `w` being the weights: 1 where none are given.
///
/// An empty bag gives zeros, and so does one whose weights are all 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Combiner {
    /// `sum(w row)`; with weights this is the weighted sum.
    #[default]
    Sum,
    /// `sum(w row) / sum(w)`.
    Mean,
    /// `sum(w row) / sqrt(sum(w^2))`.
    Sqrtn,
}

impl Combiner {
    /// Every combiner.
    pub const ALL: &[Combiner] = &[Combiner::Sum, Combiner::Mean, Combiner::Sqrtn];

    /// Its name: `sum`, `mean` or `sqrtn`.
    pub fn name(self) -> &'static str {
        match self {
            Combiner::Sum => "sum",
            Combiner::Mean => "mean",
            Combiner::Sqrtn => "sqrtn",
        }
    }

    /// The factor of every row of a bag of `n` ids without weights.
    pub fn gain(self, n: usize) -> f32 {
        match self {
            Combiner::Sum => 1.0,
            Combiner::Mean => (1.0 / n as f64) as f32,
            Combiner::Sqrtn => (1.0 / (n as f64).sqrt()) as f32,
        }
    }

    /// What weights of a bag are divided by; 1 if they are all 0.
    fn divisor(self, weights: &[f32]) -> f64 {
        if weights.iter().all(|&weight| weight == 0.0) {
            return 1.0;
        }
        let weights = weights.iter().map(|&weight| f64::from(weight));
        match self {
            Combiner::Sum => 1.0,
            Combiner::Mean => weights.sum(),
            Combiner::Sqrtn => weights.map(|weight| weight * weight).sum::<f64>().sqrt(),
        }
    }
}

impl Bags {
    /// The factor of each row, so that every combiner is a sum of rows times gains. Computed in
    /// `f64` and rounded once.
    ///
    /// # Errors
    /// If the weights of a bag sum to 0 without all being 0, or to almost 0: it has no mean.
    pub fn gains(&self, combiner: Combiner) -> Result<Vec<f32>, Diagnostics> {
        let Some(weights) = self.weights() else {
            return Ok(self.gains_by_length(combiner));
        };
        if combiner == Combiner::Sum {
            return Ok(weights.to_vec());
        }
        let mut gains = weights.to_vec();
        for bag in 0..self.n_bags() {
            let gains = &mut gains[self.range(bag)];
            let divisor = combiner.divisor(gains);
            for gain in &mut *gains {
                *gain = (f64::from(*gain) / divisor) as f32;
            }
            if let Some(gain) = gains.iter().find(|gain| !gain.is_finite()) {
                return Err(bad_bags(
                    format!("the weights of bag {bag} sum to {divisor:e}, a gain is {gain}"),
                    "give weights that do not cancel, or combine by `Combiner::Sum`",
                ));
            }
        }
        Ok(gains)
    }

    fn gains_by_length(&self, combiner: Combiner) -> Vec<f32> {
        let n_ids = self.ids().len();
        if combiner == Combiner::Sum {
            return vec![1.0; n_ids];
        }
        if let Some(hot) = self.fixed_hot() {
            return vec![combiner.gain(hot); n_ids];
        }
        let mut gains = Vec::with_capacity(n_ids);
        for pair in self.offsets().windows(2) {
            let gain = combiner.gain((pair[1] - pair[0]) as usize);
            gains.resize(pair[1] as usize, gain);
        }
        gains
    }

    /// The bags as a weighted sum in which no bag names a row twice: ids rise within each bag, and
    /// the gains of equal ones are added, in the order they were given.
    ///
    /// # Errors
    /// As [`Bags::gains`].
    pub fn merge_repeats(&self, combiner: Combiner) -> Result<Bags, Diagnostics> {
        let gains = self.gains(combiner)?;
        // Bags are short, so tasks take many.
        let n_bags_per_task = (CHUNK / self.max_hot().max(1)).max(1);
        let starts: Vec<usize> = (0..self.n_bags()).step_by(n_bags_per_task).collect();
        let parts: Vec<Merged> = starts
            .into_par_iter()
            .map(|start| {
                let mut merged = Merged::default();
                for bag in start..(start + n_bags_per_task).min(self.n_bags()) {
                    let range = self.range(bag);
                    merged.push_bag(&self.ids()[range.clone()], &gains[range]);
                }
                merged
            })
            .collect();
        let mut offsets = Vec::with_capacity(self.offsets().len());
        offsets.push(0);
        let (mut ids, mut weights) = (Vec::new(), Vec::new());
        for part in parts {
            let base = ids.len() as u32;
            offsets.extend(part.ends.iter().map(|end| base + end));
            ids.extend(part.ids);
            weights.extend(part.gains);
        }
        Ok(Bags::from_parts(self.rows(), offsets, ids, Some(weights)))
    }
}

#[derive(Default)]
struct Merged {
    ends: Vec<u32>,
    ids: Vec<i32>,
    gains: Vec<f32>,
    /// Of the bag at hand, kept to save allocations.
    sorted: Vec<(i32, f32)>,
}

impl Merged {
    fn push_bag(&mut self, ids: &[i32], gains: &[f32]) {
        self.sorted.clear();
        self.sorted.extend(ids.iter().copied().zip(gains.iter().copied()));
        // Stable, so that sums do not depend on how the sort moves equal ids.
        self.sorted.sort_by_key(|(id, _)| *id);
        let start = self.ids.len();
        for &(id, gain) in &self.sorted {
            match self.gains.last_mut() {
                Some(last) if self.ids.len() > start && self.ids.last() == Some(&id) => {
                    *last += gain;
                }
                _ => {
                    self.ids.push(id);
                    self.gains.push(gain);
                }
            }
        }
        self.ends.push(self.ids.len() as u32);
    }
}
