//! What a kernel's parts must agree on: names, dimensions, grid extents.

use crate::error::{self, Errors};
use crate::expand::idents;
use crate::parse::{CoreKind, Cover, GridAxis, KernelAttr, KernelItem, Param, Role};
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
    check_core(attr, errors);
    check_order(item, errors);
    check_dynamic_extents(attr, item, errors);
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
        Role::Block(block) => block.kind.is_output(),
        Role::Comptime | Role::Scratch(..) | Role::Prefetch(_) | Role::Extent | Role::Unknown => {
            false
        }
    });
    if !has_output && !failed {
        errors.push(&sig.ident, error::kernel_without_output());
    }
    for param in item.comptime() {
        check_lifetimes(&param.ty, errors);
    }
}

/// The grid of a SparseCore kernel is its cores, and the subcores of each.
fn check_core(attr: &KernelAttr, errors: &mut Errors) {
    let Some((key, kind)) = &attr.core else { return };
    let (n_axes, form) = match kind {
        CoreKind::Sparse => (2, "grid(c = cores, s = subcores)"),
        CoreKind::SparseScalar => (1, "grid(c = cores)"),
    };
    if attr.grid.len() != n_axes {
        errors.push(key, error::sparse_grid(&form));
    }
    for axis in &attr.grid {
        if let Some(stated) = &axis.stated {
            errors.push(stated, error::sparse_semantics(&axis.name));
        }
    }
}

/// Extents come first, then tables, then arrays: the call takes them in this order.
fn check_order(item: &KernelItem, errors: &mut Errors) {
    let rank = |param: &Param| match &param.role {
        Role::Extent => Some(0),
        Role::Prefetch(_) => Some(1),
        Role::Block(_) => Some(2),
        Role::Comptime | Role::Scratch(..) | Role::Unknown => None,
    };
    let mut highest: Option<(usize, &Ident)> = None;
    for param in &item.params {
        let Some(rank) = rank(param) else { continue };
        match highest {
            Some((before, other)) if rank < before => {
                let kind = if rank == 0 { "extents" } else { "prefetched tables" };
                errors.push(&param.name, error::leading_parameter(&param.name, &kind, other));
            }
            _ => highest = Some((rank, &param.name)),
        }
    }
}

/// Each `#[extent]` is that of one axis, as it is.
fn check_dynamic_extents(attr: &KernelAttr, item: &KernelItem, errors: &mut Errors) {
    for axis in &attr.grid {
        let Some(extent) = &axis.extent else { continue };
        let mut mentioned = Vec::new();
        idents(extent.to_token_stream(), &mut mentioned);
        let computed = item.extents().find(|param| {
            !axis.is_extent(&param.name) && mentioned.contains(&param.name.to_string())
        });
        if let Some(param) = computed {
            errors.push(extent, error::extent_expression(&param.name));
        }
    }
    for param in item.extents() {
        let mut axes = attr.grid.iter().filter(|axis| axis.is_extent(&param.name));
        if axes.next().is_none() && errors.is_empty() {
            errors.push(&param.name, error::extent_unused(&param.name));
        }
        if let Some(second) = axes.next() {
            errors.push(&second.extent, error::extent_twice(&param.name));
        }
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
    let tables = item.tables().flat_map(|(param, axes)| {
        // The one axis of a table without names is known by the table alone.
        axes.iter().filter(|axis| **axis != param.name)
    });
    let inputs = item.blocks().filter(|(_, block)| block.kind.is_input());
    let inputs = inputs.flat_map(|(_, block)| block.axes.iter().map(|axis| &axis.dim));
    for name in tables.chain(inputs) {
        if dims.iter().any(|dim| dim.name == *name) {
            continue;
        }
        let source = match is_comptime(name) {
            true => DimSource::InputAndComptime,
            false => DimSource::Input,
        };
        dims.push(Dim { name: name.clone(), source });
    }
    for (name, value) in &attr.dims {
        if dims.iter().any(|dim| dim.name == *name) {
            errors.push(name, error::repeated_dims_entry(name));
        } else {
            dims.push(Dim { name: name.clone(), source: DimSource::Clause(value.clone()) });
        }
    }
    for (_, block) in item.blocks().filter(|(_, block)| !block.kind.is_input()) {
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
    for (name, _) in &attr.mesh {
        let is_taken = dims.iter().any(|dim| dim.name == *name)
            || item.params.iter().any(|param| param.name == *name)
            || attr.grid.iter().any(|axis| axis.name == *name);
        if is_taken {
            errors.push(name, error::axis_is_mesh_axis(name));
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

impl GridAxis {
    /// Whether the axis has this `#[extent]` parameter as its extent.
    pub(crate) fn is_extent(&self, param: &Ident) -> bool {
        matches!(&self.extent, Some(Expr::Path(path)) if path.path.is_ident(param))
    }
}

impl Cover {
    /// Whether the block moves along this grid axis, one block a step.
    pub(crate) fn walks(&self, axis: &Ident) -> bool {
        let index = match self {
            Cover::Whole | Cover::Element(..) => return false,
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
            Role::Comptime
            | Role::Scratch(..)
            | Role::Prefetch(_)
            | Role::Extent
            | Role::Unknown => None,
        })
    }

    /// The `#[prefetch]` parameters, with the names of their axes.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&Param, &[Ident])> {
        self.params.iter().filter_map(|param| match &param.role {
            Role::Prefetch(axes) => Some((param, axes.as_slice())),
            Role::Comptime | Role::Scratch(..) | Role::Block(_) | Role::Extent | Role::Unknown => {
                None
            }
        })
    }

    /// The `#[extent]` parameters.
    pub(crate) fn extents(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| matches!(param.role, Role::Extent))
    }
}
