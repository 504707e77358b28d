//! Reshapes and permutations written as one expression.

use super::context::{self, At};
use super::handle::Tile;
use crate::diag::Code;
use crate::ir::ty::Sizes;
use crate::ir::{Element, Shape};
use smallvec::SmallVec;
use std::panic::Location;

/// The axes of one side, each a group of letters.
type Groups = Vec<Vec<char>>;

impl<T: Element> Tile<T> {
    /// Splits, permutes and merges axes: `x.einshape("a(bc)->b(ac)", &[('b', 4)])` splits the second
    /// axis into `b` of 4 and `c` of the rest, brings `b` to the front, and merges `a` with `c`.
    ///
    /// Each letter is an axis, letters in parentheses are one axis that varies the last letter
    /// fastest. Of the letters of a group all sizes but one must be given.
    #[track_caller]
    pub fn einshape(self, equation: &str, sizes: &[(char, usize)]) -> Tile<T> {
        let at = Location::caller();
        if self.handle.is_poison() {
            return self;
        }
        let from = self.shape();
        match plan(equation, sizes, &from) {
            Ok((split, order, merged)) => {
                let split = self.reshaped(&split, at);
                let is_in_order = order.iter().copied().eq(0..order.len());
                let permuted = if is_in_order { split } else { split.permute(&order) };
                permuted.reshaped(&merged, at)
            }
            Err(why) => {
                let message = format!("`einshape` \"{equation}\" of {}: {why}", Sizes(&from));
                let help = "write both sides with the same letters, as in \"(ab)c->b(ac)\"";
                context::with(|t| t.error_with_help(Code::IR_SHAPE, message, help, at));
                Tile::new(context::Handle::POISON)
            }
        }
    }

    #[track_caller]
    fn reshaped(self, shape: &[usize], _: At) -> Tile<T> {
        if *self.shape() == *shape { self } else { self.reshape(shape) }
    }
}

type Plan = (Shape, SmallVec<[usize; 4]>, Shape);

/// The shape of all letters, their order in the result, and the shape of the result.
fn plan(equation: &str, given: &[(char, usize)], from: &[usize]) -> Result<Plan, String> {
    let (left, right) = equation.split_once("->").ok_or("there is no `->`")?;
    let (left, right) = (groups(left)?, groups(right)?);
    if left.len() != from.len() {
        return Err(format!("the left side has {} axes, the tile {}", left.len(), from.len()));
    }
    let mut letters: Vec<(char, usize)> = Vec::new();
    for (group, &size) in left.iter().zip(from) {
        letters.extend(group_sizes(group, size, given)?);
    }
    for (idx, &(letter, _)) in letters.iter().enumerate() {
        if letters[..idx].iter().any(|&(other, _)| other == letter) {
            return Err(format!("`{letter}` stands twice on the left side"));
        }
    }
    let place = |letter: &char| letters.iter().position(|(known, _)| known == letter);
    let mut order = SmallVec::new();
    for letter in right.iter().flatten() {
        let Some(place) = place(letter) else {
            return Err(format!("`{letter}` stands on the right side alone"));
        };
        if order.contains(&place) {
            return Err(format!("`{letter}` stands twice on the right side"));
        }
        order.push(place);
    }
    if let Some(missing) = (0..letters.len()).find(|place| !order.contains(place)) {
        return Err(format!("`{}` stands on the left side alone", letters[missing].0));
    }
    let size = |letter: &char| place(letter).map_or(1, |place| letters[place].1);
    let merged = right.iter().map(|group| group.iter().map(size).product()).collect();
    Ok((letters.iter().map(|&(_, size)| size).collect(), order, merged))
}

fn groups(side: &str) -> Result<Groups, String> {
    let mut groups = Groups::new();
    let mut open: Option<Vec<char>> = None;
    for c in side.chars().filter(|c| !c.is_whitespace()) {
        match (c, &mut open) {
            ('(', None) => open = Some(Vec::new()),
            (')', Some(group)) if !group.is_empty() => groups.extend(open.take()),
            (c, Some(group)) if c.is_alphabetic() => group.push(c),
            (c, None) if c.is_alphabetic() => groups.push(vec![c]),
            (c, _) => return Err(format!("`{c}` does not belong there")),
        }
    }
    if open.is_some() {
        return Err("a parenthesis is not closed".to_owned());
    }
    Ok(groups)
}

/// The letters of an axis with their sizes.
fn group_sizes(
    group: &[char],
    size: usize,
    given: &[(char, usize)],
) -> Result<Vec<(char, usize)>, String> {
    let known =
        |letter: &char| given.iter().find(|(other, _)| other == letter).map(|&(_, size)| size);
    let unknown: Vec<char> = group.iter().copied().filter(|c| known(c).is_none()).collect();
    let product: usize = group.iter().filter_map(known).product();
    if unknown.len() > 1 {
        return Err(format!("give the size of `{}` or `{}`", unknown[0], unknown[1]));
    }
    let fits = match unknown.is_empty() {
        true => product == size,
        false => product > 0 && size.is_multiple_of(product),
    };
    if !fits {
        return Err(format!("an axis of {size} cannot be split by {product}"));
    }
    let rest = size / product.max(1);
    Ok(group.iter().map(|letter| (*letter, known(letter).unwrap_or(rest))).collect())
}
