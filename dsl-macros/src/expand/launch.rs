//! The launcher: from arguments to the traced body.

use super::control::{Lower, at};
use super::function::statements;
use super::kernel::{Kernel, idents};
use crate::check::DimSource;
use crate::error::Errors;
use crate::free::Binding;
use crate::parse::{BlockSpec, CoreKind, Cover, Param, Role, Semantics, SideEffects};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Attribute, Expr, Ident};

/// `fn trace`, with the body as a function inside of it.
///
/// The body is a nested function, not a closure, so that rustc's messages name the user's
/// variables.
pub(crate) fn trace_fn(kernel: &Kernel, errors: &mut Errors) -> TokenStream {
    let hooks = &kernel.hooks;
    let launch = Ident::new("launch", Span::mixed_site());
    let args = Ident::new("args", Span::mixed_site());
    let body_fn = body_fn(kernel, errors);
    let comptime = kernel.item.comptime().map(|param| {
        let name = &param.name;
        let span = param.ty.span();
        let clone = quote_spanned!(span=> ::core::clone::Clone::clone);
        quote!(let #name = #clone(&self.#name);)
    });
    let dims = dims(kernel, &launch);
    let mesh = mesh(kernel, &launch, errors);
    let grid = grid(kernel, &launch, errors);
    let n_tables = kernel.item.tables().count();
    let blocks = kernel.item.blocks().enumerate().map(|(idx, (param, block))| {
        block_sizes(kernel, &launch, n_tables + idx, param, block, errors)
    });
    let blocks: TokenStream = blocks.collect();
    let walks = walks(kernel, &launch);
    let axes: Vec<&Ident> = kernel.attr.grid.iter().map(|axis| &axis.name).collect();
    let n_axes = axes.len();
    let mut references = TokenStream::new();
    let mut spec_idx = 0;
    for (param, _) in kernel.item.tables() {
        let (name, ty) = (&param.name, &param.ty);
        let declare = quote_spanned!(name.span()=> #launch.table(#spec_idx));
        references.extend(quote!(let #name: #ty = #declare;));
        spec_idx += 1;
    }
    for (param, block) in kernel.item.blocks() {
        references.extend(window(kernel, &launch, spec_idx, param, block, errors));
        spec_idx += 1;
    }
    references.extend(scratch(kernel, &launch, errors));
    let vmem_limit = kernel
        .attr
        .vmem_limit
        .as_ref()
        .map(|limit| quote_spanned!(limit.span()=> #launch.vmem_limit(#limit);));
    let compile_params = compile_params(kernel, &launch);
    let extents = extents(kernel, &kernel.item.extents().collect::<Vec<_>>());
    let body_args = body_args(kernel);
    let generic_args = turbofish(kernel);
    let span = kernel.item.sig.ident.span();
    let hooks_here = at(hooks, span);
    // Not on the user's span: a kernel that `macro_rules!` writes may have its name from elsewhere.
    let (name, params) =
        (quote!(#hooks::KernelFn::name(self)), quote!(#hooks::KernelFn::params(self)));
    let extent_names = quote!(#hooks::KernelFn::extents(self));
    let begin =
        quote_spanned!(span=> #hooks_here::Launch::begin(#name, #extent_names, #params, #args));
    let ready = quote_spanned!(span=> #launch.grid::<#n_axes>());
    quote! {
        fn trace(
            &self,
            #args: &[#hooks::ArgSpec],
        ) -> ::core::result::Result<#hooks::Kernel, #hooks::Diagnostics> {
            #body_fn
            #[allow(unused_mut, reason = "a kernel may have neither given dimensions nor a grid")]
            let mut #launch = #begin?;
            #(#comptime)*
            #dims
            #mesh
            #grid
            #blocks
            #walks
            let (#launch, [#(#axes),*]) = #ready?;
            #vmem_limit
            #compile_params
            #references
            #launch.run(|| {
                #extents
                __body #generic_args (#(#body_args),*)
            })
        }
    }
}

/// Declares scratch.
fn scratch(kernel: &Kernel, launch: &Ident, errors: &mut Errors) -> TokenStream {
    let mut references = TokenStream::new();
    for param in &kernel.item.params {
        if let Role::Scratch(shape, _) = &param.role {
            let (name, text, ty) = (&param.name, param.name.to_string(), &param.ty);
            let shape = lowered(shape, kernel, errors);
            let call = quote_spanned!(name.span()=> #launch.scratch(#text, &#shape));
            references.extend(quote!(let #name: #ty = #call;));
        }
    }
    references
}

/// Sets what the attribute says of side effects and cost.
fn compile_params(kernel: &Kernel, launch: &Ident) -> TokenStream {
    let hooks = &kernel.hooks;
    let mut tokens = TokenStream::new();
    let kind = kernel.attr.side_effects.map(|effects| match effects {
        SideEffects::Dataflow => quote!(#hooks::SideEffects::Dataflow),
        SideEffects::Always => quote!(#hooks::SideEffects::Always),
    });
    tokens.extend(kind.map(|kind| quote!(#launch.side_effects(#kind);)));
    if kernel.attr.unchecked_bounds {
        tokens.extend(quote!(#launch.unchecked_bounds();));
    }
    if !kernel.attr.cost.is_empty() {
        let stated = ["flops", "transcendentals", "bytes"].map(|name| {
            match kernel.attr.cost.iter().find(|(known, _)| known == name) {
                Some((_, value)) => {
                    quote_spanned!(value.span()=> ::core::option::Option::Some(#value))
                }
                None => quote!(::core::option::Option::None),
            }
        });
        tokens.extend(quote!(#launch.cost([#(#stated),*]);));
    }
    tokens
}

/// The values of these `#[extent]` parameters, for the ops that follow.
fn extents(kernel: &Kernel, params: &[&Param]) -> TokenStream {
    let hooks = &kernel.hooks;
    let values = params.iter().filter_map(|param| {
        let (name, ty) = (&param.name, &param.ty);
        let axis = kernel.attr.grid.iter().position(|axis| axis.is_extent(name))?;
        let value = quote_spanned!(name.span()=> #hooks::grid_extent(#axis));
        Some(quote!(let #name: #ty = #value;))
    });
    values.collect()
}

/// Lowers an expression of an attribute like one of the body.
fn lowered(expr: &Expr, kernel: &Kernel, errors: &mut Errors) -> Expr {
    let mut expr = expr.clone();
    let mut lower = Lower::new(&kernel.hooks, errors);
    declare(kernel, &mut lower);
    lower.visit_expr_mut(&mut expr);
    expr
}

fn declare(kernel: &Kernel, lower: &mut Lower<'_>) {
    for param in &kernel.item.params {
        let binding = match (&param.role, param.mutability) {
            (Role::Comptime, None) => Binding::Comptime,
            (Role::Comptime, Some(_)) => Binding::Mutable,
            _ => Binding::Plain,
        };
        lower.declare(&param.name, binding);
    }
    for dim in &kernel.dims {
        lower.declare(&dim.name, Binding::Comptime);
    }
    for axis in &kernel.attr.grid {
        lower.declare(&axis.name, Binding::Plain);
    }
    for (name, _) in &kernel.attr.mesh {
        lower.declare(name, Binding::Plain);
    }
}

fn dims(kernel: &Kernel, launch: &Ident) -> TokenStream {
    let mut tokens = TokenStream::new();
    for dim in &kernel.dims {
        let (name, text) = (&dim.name, dim.name.to_string());
        tokens.extend(match &dim.source {
            DimSource::Input => quote!(let #name: usize = #launch.dim(#text);),
            DimSource::InputAndComptime | DimSource::Comptime => {
                let origin = format!("the parameter `{text}`");
                quote_spanned!(name.span()=> #launch.given(#text, #name, #origin);)
            }
            DimSource::Clause(value) => {
                let given =
                    quote_spanned!(value.span()=> #launch.given(#text, #value, "`dims(..)`"));
                quote!(let #name: usize = #given;)
            }
            DimSource::Nowhere => TokenStream::new(),
        });
    }
    tokens
}

/// Declares the mesh; its axes are variables from there on.
fn mesh(kernel: &Kernel, launch: &Ident, errors: &mut Errors) -> TokenStream {
    let mut tokens = TokenStream::new();
    for (name, size) in &kernel.attr.mesh {
        let text = name.to_string();
        let span = size.span();
        let size = lowered(size, kernel, errors);
        let axis = quote_spanned!(span=> #launch.mesh_axis(#text, #size));
        tokens.extend(quote! {
            #[allow(unused_variables, reason = "the body may need other axes alone")]
            let #name = #axis;
        });
    }
    tokens
}

fn grid(kernel: &Kernel, launch: &Ident, errors: &mut Errors) -> TokenStream {
    let hooks = &kernel.hooks;
    let mut tokens = TokenStream::new();
    let core = kernel.attr.core.as_ref().map(|(_, kind)| match kind {
        CoreKind::Sparse => quote!(#launch.core(#hooks::Core::Sparse);),
        CoreKind::SparseScalar => quote!(#launch.core(#hooks::Core::SparseScalar);),
    });
    for (idx, axis) in kernel.attr.grid.iter().enumerate() {
        let text = axis.name.to_string();
        let semantics = match axis.semantics {
            Semantics::Parallel => quote!(#hooks::Semantics::Parallel),
            Semantics::Arbitrary => quote!(#hooks::Semantics::Arbitrary),
            Semantics::CoreParallel => quote!(#hooks::Semantics::CoreParallel),
        };
        tokens.extend(quote!(#launch.axis(#text, #semantics);));
        let dynamic = kernel.item.extents().position(|param| axis.is_extent(&param.name));
        if let Some(operand) = dynamic {
            tokens.extend(quote!(#launch.dynamic_extent(#idx, #operand);));
        } else if let Some(extent) = &axis.extent {
            let span = extent.span();
            let extent = lowered(extent, kernel, errors);
            tokens.extend(quote_spanned!(span=> #launch.extent(#idx, #extent);));
        }
    }
    tokens.extend(core);
    tokens
}

fn block_sizes(
    kernel: &Kernel,
    launch: &Ident,
    idx: usize,
    param: &Param,
    block: &BlockSpec,
    errors: &mut Errors,
) -> TokenStream {
    let hooks = &kernel.hooks;
    let covers = block.axes.iter().map(|axis| match &axis.cover {
        Cover::Whole => quote!(#hooks::Cover::Whole),
        Cover::Squeezed(_) => quote!(#hooks::Cover::Squeezed),
        Cover::Blocked(tile, _) => {
            let tile = lowered(tile, kernel, errors);
            quote!(#hooks::Cover::Blocked(#tile))
        }
        Cover::Element(size, _) => {
            let size = lowered(size, kernel, errors);
            quote!(#hooks::Cover::Element(#size))
        }
    });
    let covers: Vec<TokenStream> = covers.collect();
    quote_spanned!(param.name.span()=> #launch.block(#idx, &[#(#covers),*]);)
}

/// Infers the extents that no `grid(..)` clause gives.
fn walks(kernel: &Kernel, launch: &Ident) -> TokenStream {
    let mut tokens = TokenStream::new();
    let n_tables = kernel.item.tables().count();
    for (grid_axis, axis) in kernel.attr.grid.iter().enumerate() {
        if axis.extent.is_some() {
            continue;
        }
        for (block_idx, (param, block)) in kernel.item.blocks().enumerate() {
            let param_idx = n_tables + block_idx;
            for (param_axis, entry) in block.axes.iter().enumerate() {
                if entry.cover.walks(&axis.name) {
                    tokens.extend(quote_spanned! {param.name.span()=>
                        #launch.walk(#grid_axis, #param_idx, #param_axis);
                    });
                }
            }
        }
    }
    tokens
}

fn window(
    kernel: &Kernel,
    launch: &Ident,
    idx: usize,
    param: &Param,
    block: &BlockSpec,
    errors: &mut Errors,
) -> TokenStream {
    let hooks = &kernel.hooks;
    if block.kind.is_far() {
        let (name, ty) = (&param.name, &param.ty);
        let far = quote_spanned!(name.span()=> #launch.far(#idx));
        return quote!(let #name: #ty = #far;);
    }
    let axes: Vec<&Ident> = kernel.attr.grid.iter().map(|axis| &axis.name).collect();
    let indices = block.axes.iter().map(|axis| match &axis.cover {
        Cover::Whole => quote_spanned!(axis.dim.span()=> #launch.index(0usize)),
        Cover::Blocked(_, index) | Cover::Squeezed(index) | Cover::Element(_, index) => {
            let span = index.span();
            let index = lowered(index, kernel, errors);
            quote_spanned!(span=> #launch.index(#index))
        }
    });
    let indices: Vec<TokenStream> = indices.collect();
    let option = |value: Option<TokenStream>| match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    };
    let buffered = option(block.buffered.as_ref().map(|n| quote!(#n)));
    let streams = option(block.streams.as_ref().and_then(|(axis, n)| {
        let axis = block.axes.iter().position(|known| known.dim == *axis)?;
        Some(quote!((#axis, #n)))
    }));
    let pinned = option(block.pinned.as_ref().map(|space| match space == "vmem" {
        true => quote!(#hooks::MemorySpace::Vmem),
        false => quote!(#hooks::MemorySpace::Hbm),
    }));
    let (name, ty) = (&param.name, &param.ty);
    let [entries, tables] = ["entries", "tables"].map(|name| Ident::new(name, Span::mixed_site()));
    let open = quote_spanned!(name.span()=> #launch.open_window());
    let close = quote_spanned!(name.span()=> #launch.param(
        #idx,
        &#entries,
        #hooks::Fetch { buffering: #buffered, streams: #streams, pinned: #pinned },
    ));
    let seen = kernel.item.tables().enumerate().map(|(idx, (table, _))| {
        let (name, ty) = (&table.name, &table.ty);
        quote!(let #name: #ty = #hooks::TableRef::of(#tables[#idx]);)
    });
    let seen: TokenStream = seen.collect();
    let seen_names = kernel.item.tables().map(|(table, _)| &table.name);
    let mentioned = mentioned_extents(kernel, block);
    let extents = extents(kernel, &mentioned);
    quote! {
        let #name: #ty = {
            let ([#(#axes),*], #tables) = #open;
            #seen
            #extents
            let _ = (#(&#axes,)* #(&#seen_names,)* &#tables);
            let #entries = [#(#indices),*];
            #close
        };
    }
}

/// The `#[extent]` parameters that the index expressions of a block name.
fn mentioned_extents<'k>(kernel: &'k Kernel, block: &BlockSpec) -> Vec<&'k Param> {
    let mut names = Vec::new();
    for axis in &block.axes {
        match &axis.cover {
            Cover::Whole => {}
            Cover::Blocked(_, index) | Cover::Squeezed(index) | Cover::Element(_, index) => {
                idents(index.to_token_stream(), &mut names);
            }
        }
    }
    kernel.item.extents().filter(|param| names.contains(&param.name.to_string())).collect()
}

/// The dimensions that the body sees under a name of their own.
fn own_dims(kernel: &Kernel) -> impl Iterator<Item = &Ident> {
    kernel.dims.iter().filter_map(|dim| match dim.source {
        DimSource::Input | DimSource::Clause(_) => Some(&dim.name),
        DimSource::InputAndComptime | DimSource::Comptime | DimSource::Nowhere => None,
    })
}

/// What the body is called with, each time that it is traced.
fn body_args(kernel: &Kernel) -> Vec<TokenStream> {
    let params = kernel.item.params.iter().map(|param| {
        let name = &param.name;
        match param.role {
            Role::Comptime => {
                quote_spanned!(param.ty.span()=> ::core::clone::Clone::clone(&#name))
            }
            Role::Scratch(_, kind) if kind.is_owned() => {
                quote_spanned!(name.span()=> #name.__again())
            }
            Role::Block(_)
            | Role::Scratch(..)
            | Role::Prefetch(_)
            | Role::Extent
            | Role::Unknown => quote!(#name),
        }
    });
    let axes = kernel.attr.grid.iter().map(|axis| &axis.name);
    let axes = axes.chain(kernel.attr.mesh.iter().map(|(name, _)| name));
    params.chain(own_dims(kernel).chain(axes).map(ToTokens::to_token_stream)).collect()
}

fn turbofish(kernel: &Kernel) -> TokenStream {
    let args = kernel.generics.params.iter().filter_map(|param| match param {
        syn::GenericParam::Type(param) => Some(&param.ident),
        syn::GenericParam::Const(param) => Some(&param.ident),
        // Late-bound lifetimes cannot be named in a call.
        syn::GenericParam::Lifetime(_) => None,
    });
    quote!(::<#(#args),*>)
}

fn body_fn(kernel: &Kernel, errors: &mut Errors) -> TokenStream {
    let hooks = &kernel.hooks;
    let mut body = kernel.item.body.clone();
    let mut lower = Lower::new(hooks, errors);
    declare(kernel, &mut lower);
    lower.visit_block_mut(&mut body);
    let unused = quote!(#[allow(unused_variables, reason = "the body may not need it")]);
    let elsewhere = attribute_names(kernel);
    let params = kernel.item.params.iter().map(|param| {
        let Param { attrs, mutability, name, ty, .. } = param;
        // Used outside of the body, so rustc must not call it unused.
        let unused = elsewhere.contains(&name.to_string()).then_some(&unused);
        quote!(#unused #(#attrs)* #mutability #name: #ty)
    });
    let dims = own_dims(kernel).map(|name| quote!(#unused #name: usize));
    let axes = kernel.attr.grid.iter().map(|axis| {
        let name = &axis.name;
        quote!(#unused #name: #hooks::Scalar<i32>)
    });
    let mesh = kernel.attr.mesh.iter().map(|(name, _)| quote!(#unused #name: #hooks::MeshAxis));
    let generics = &kernel.generics;
    let where_clause = &generics.where_clause;
    let statements = statements(&body);
    let lints = kernel.item.attrs.iter().filter(|attr| is_lint(attr));
    quote! {
        #(#lints)*
        #[allow(
            clippy::too_many_arguments,
            clippy::type_complexity,
            reason = "dimensions and grid indices are handed over as well"
        )]
        fn __body #generics (#(#params,)* #(#dims,)* #(#axes,)* #(#mesh,)*) #where_clause {
            #[allow(unused_imports, reason = "only stores need it")]
            use #hooks::HostStore as _;
            #statements
        }
    }
}

/// Whether an attribute sets the level of lints: those of a kernel are about its body.
pub(crate) fn is_lint(attr: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid"].iter().any(|name| attr.path().is_ident(name))
}

/// Every name that the attributes mention.
fn attribute_names(kernel: &Kernel) -> Vec<String> {
    let mut tokens = TokenStream::new();
    for axis in &kernel.attr.grid {
        tokens.extend(axis.extent.as_ref().map(ToTokens::to_token_stream));
    }
    for (_, value) in kernel.attr.dims.iter().chain(&kernel.attr.mesh) {
        tokens.extend(value.to_token_stream());
    }
    tokens.extend(kernel.attr.vmem_limit.as_ref().map(ToTokens::to_token_stream));
    tokens.extend(kernel.attr.cost.iter().map(|(_, value)| value.to_token_stream()));
    for param in &kernel.item.params {
        match &param.role {
            Role::Block(block) => {
                for axis in &block.axes {
                    axis.dim.to_tokens(&mut tokens);
                    match &axis.cover {
                        Cover::Whole => {}
                        Cover::Blocked(tile, index) | Cover::Element(tile, index) => {
                            tokens.extend(quote!(#tile #index));
                        }
                        Cover::Squeezed(index) => index.to_tokens(&mut tokens),
                    }
                }
                let (buffered, streams) = (&block.buffered, block.streams.as_ref().map(|s| &s.1));
                tokens.extend(quote!(#buffered #streams));
            }
            Role::Scratch(shape, _) => shape.to_tokens(&mut tokens),
            Role::Prefetch(axes) => tokens.extend(quote!(#(#axes)*)),
            Role::Comptime | Role::Extent | Role::Unknown => {}
        }
    }
    let mut names = Vec::new();
    idents(tokens, &mut names);
    names
}
