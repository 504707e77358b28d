//! What a kernel's parts must agree on: names, dimensions, grid extents.

use crate::error::{self, Errors};
use crate::parse::{Cover, KernelAttr, KernelItem, Param, RefKind, Role};
use quote::ToTokens;
use syn::{Expr, Ident, ReturnType, Type};

/// A dimension and where its size comes from.
pub(crate) struct Dim {
    pub(crate) name: Ident,
    pub(crate) source: DimSource,
}

/// Where a dimension's size comes from.
pub(crate) enum DimSource {
    /// From the shape of an input.
    Input,
    /// From an input and a `#[comptime]` parameter of the same name, which must agree.
    InputAndComptime,
    /// From a `#[comptime]` parameter of the same name.
    Comptime,
    /// From this expression of the `dims(..)` clause.
    Clause(Expr),
    /// From nowhere: an error has been reported.
    Nowhere,
}

/// Checks a kernel; gives its dimensions, those of inputs first.
pub(crate) fn check(attr: &KernelAttr, item: &KernelItem, errors: &mut Errors) -> Vec<Dim> {
    // What a broken part would have given is no second mistake.
    let complete = errors.is_empty();
    check_signature(item, errors);
    let dims = dims(attr, item, complete, errors);
    check_names(attr, item, &dims, errors);
    if complete {
        check_extents(attr, item, errors);
    }
    dims
}

fn check_signature(item: &KernelItem, errors: &mut Errors) {
    let sig = &item.sig;
    let qualifiers: [(&dyn ToTokens, &str, bool); 4] = [
        (&sig.constness, "const", sig.constness.is_some()),
        (&sig.asyncness, "async", sig.asyncness.is_some()),
        (&sig.unsafety, "unsafe", sig.unsafety.is_some()),
        (&sig.abi, "extern", sig.abi.is_some()),
    ];
    for (tokens, name, present) in qualifiers {
        if present {
            errors.push(tokens, error::kernel_qualifier(&name));
        }
    }
    if let Some(variadic) = &sig.variadic {
        errors.push(variadic, error::kernel_qualifier(&"variadic"));
    }
    match &sig.output {
        ReturnType::Default => {}
        ReturnType::Type(_, ty) if matches!(&**ty, Type::Tuple(t) if t.elems.is_empty()) => {}
        ReturnType::Type(_, ty) => errors.push(ty, error::kernel_result()),
    }
    let failed = item.params.len() < sig.inputs.len()
        || item.params.iter().any(|param| matches!(param.role, Role::Unknown));
    let has_output = item.params.iter().any(|param| match &param.role {
        Role::Block(block) => block.kind != RefKind::In,
        Role::Comptime | Role::Scratch(_) | Role::Unknown => false,
    });
    if !has_output && !failed {
        errors.push(&sig.ident, error::kernel_without_output());
    }
    for param in item.comptime() {
        check_lifetimes(&param.ty, errors);
    }
}

/// References in the type of a `#[comptime]` parameter become fields of a struct, where their
/// lifetime has to be named.
fn check_lifetimes(ty: &Type, errors: &mut Errors) {
    struct Elided<'a>(&'a mut Errors);
    impl<'ast> syn::visit::Visit<'ast> for Elided<'_> {
        fn visit_type_reference(&mut self, ty: &'ast syn::TypeReference) {
            if ty.lifetime.is_none() {
                self.0.push(&ty.and_token, error::comptime_lifetime());
            }
            syn::visit::visit_type_reference(self, ty);
        }
        // `Fn(&T)` has its own rules.
        fn visit_parenthesized_generic_arguments(
            &mut self,
            _: &'ast syn::ParenthesizedGenericArguments,
        ) {
        }
        fn visit_type_bare_fn(&mut self, _: &'ast syn::TypeBareFn) {}
    }
    syn::visit::Visit::visit_type(&mut Elided(errors), ty);
}

fn dims(attr: &KernelAttr, item: &KernelItem, complete: bool, errors: &mut Errors) -> Vec<Dim> {
    let mut dims: Vec<Dim> = Vec::new();
    let is_comptime = |name: &Ident| item.comptime().any(|param| param.name == *name);
    for (_, block) in item.blocks().filter(|(_, block)| block.kind != RefKind::Out) {
        for axis in &block.axes {
            if dims.iter().any(|dim| dim.name == axis.dim) {
                continue;
            }
            let source = match is_comptime(&axis.dim) {
                true => DimSource::InputAndComptime,
                false => DimSource::Input,
            };
            dims.push(Dim { name: axis.dim.clone(), source });
        }
    }
    for (name, value) in &attr.dims {
        if dims.iter().any(|dim| dim.name == *name) {
            errors.push(name, error::repeated_dims_entry(name));
        } else {
            dims.push(Dim { name: name.clone(), source: DimSource::Clause(value.clone()) });
        }
    }
    for (_, block) in item.blocks().filter(|(_, block)| block.kind == RefKind::Out) {
        for axis in &block.axes {
            if dims.iter().any(|dim| dim.name == axis.dim) {
                continue;
            }
            let source = if is_comptime(&axis.dim) {
                DimSource::Comptime
            } else {
                if complete {
                    errors.push(&axis.dim, error::unknown_dimension(&axis.dim));
                }
                DimSource::Nowhere
            };
            dims.push(Dim { name: axis.dim.clone(), source });
        }
    }
    dims
}

fn check_names(attr: &KernelAttr, item: &KernelItem, dims: &[Dim], errors: &mut Errors) {
    for (idx, param) in item.params.iter().enumerate() {
        if item.params[..idx].iter().any(|known| known.name == param.name) {
            errors.push(&param.name, error::name_taken(&param.name));
        }
    }
    for dim in dims {
        if matches!(dim.source, DimSource::InputAndComptime | DimSource::Comptime) {
            continue;
        }
        if item.params.iter().any(|param| param.name == dim.name) {
            errors.push(&dim.name, error::name_taken(&dim.name));
        }
    }
    for axis in &attr.grid {
        if dims.iter().any(|dim| dim.name == axis.name) {
            errors.push(&axis.name, error::axis_is_dimension(&axis.name));
        } else if item.params.iter().any(|param| param.name == axis.name) {
            errors.push(&axis.name, error::name_taken(&axis.name));
        }
    }
}

fn check_extents(attr: &KernelAttr, item: &KernelItem, errors: &mut Errors) {
    for axis in &attr.grid {
        let walked = item
            .blocks()
            .any(|(_, block)| block.axes.iter().any(|entry| entry.cover.walks(&axis.name)));
        if axis.extent.is_none() && !walked {
            errors.push(&axis.name, error::axis_without_extent(&axis.name));
        }
    }
}

impl Cover {
    /// Whether the block moves along this grid axis, one block a step.
    pub(crate) fn walks(&self, axis: &Ident) -> bool {
        let index = match self {
            Cover::Whole => return false,
            Cover::Blocked(_, index) | Cover::Squeezed(index) => index,
        };
        matches!(&**index, Expr::Path(path) if path.path.is_ident(axis))
    }
}

impl KernelItem {
    /// The `#[comptime]` parameters.
    pub(crate) fn comptime(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| matches!(param.role, Role::Comptime))
    }

    /// The `#[block]` parameters.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (&Param, &crate::parse::BlockSpec)> {
        self.params.iter().filter_map(|param| match &param.role {
            Role::Block(block) => Some((param, &**block)),
            Role::Comptime | Role::Scratch(_) | Role::Unknown => None,
        })
    }
}
