//! The attributes of statements that are lowered.

use super::control::compound_method;
use syn::{AttrStyle, Attribute, Expr};

/// The attributes of a statement that may be lowered, such as `#[cfg(..)]`, but for `#[unroll]`: what
/// takes its place has them too. Those of a store are at its leftmost part.
pub(super) fn attributes(expr: &Expr) -> Vec<Attribute> {
    let attrs = match expr {
        Expr::If(expr) => &expr.attrs,
        Expr::ForLoop(expr) => &expr.attrs,
        Expr::While(expr) => &expr.attrs,
        Expr::Macro(expr) => &expr.attrs,
        Expr::Assign(expr) => match &*expr.left {
            Expr::Index(place) => &place.attrs,
            _ => return Vec::new(),
        },
        Expr::Binary(expr) if compound_method(&expr.op).is_some() => match &*expr.left {
            Expr::Index(place) => &place.attrs,
            _ => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let kept = attrs.iter().filter(|attr| !attr.path().is_ident("unroll"));
    // `#![..]` at the start of a body stands before what the body becomes.
    kept.map(|attr| Attribute { style: AttrStyle::Outer, ..attr.clone() }).collect()
}
