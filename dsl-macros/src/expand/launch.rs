//! The launcher: from arguments to the traced body.

use super::control::{Lower, at};
use super::function::statements;
use super::kernel::{Kernel, idents};
use crate::check::DimSource;
use crate::error::Errors;
use crate::free::Binding;
use crate::parse::{BlockSpec, Cover, Param, Role};
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
    let grid = grid(kernel, &launch, errors);
    let blocks = kernel
        .item
        .blocks()
        .enumerate()
        .map(|(idx, (param, block))| block_sizes(kernel, &launch, idx, param, block, errors));
    let blocks: TokenStream = blocks.collect();
    let walks = walks(kernel, &launch);
    let axes: Vec<&Ident> = kernel.attr.grid.iter().map(|axis| &axis.name).collect();
    let n_axes = axes.len();
    let mut references = TokenStream::new();
    let mut block_idx = 0;
    for param in &kernel.item.params {
        match &param.role {
            Role::Block(block) => {
                references.extend(window(kernel, &launch, block_idx, param, block, errors));
                block_idx += 1;
            }
            Role::Scratch(_) | Role::Comptime | Role::Unknown => {}
        }
    }
    for param in &kernel.item.params {
        if let Role::Scratch(shape) = &param.role {
            let (name, text, ty) = (&param.name, param.name.to_string(), &param.ty);
            let shape = lowered(shape, kernel, errors);
            let call = quote_spanned!(name.span()=> #launch.scratch(#text, #shape));
            references.extend(quote!(let #name: #ty = #call;));
        }
    }
    let vmem_limit = kernel
        .attr
        .vmem_limit
        .as_ref()
        .map(|limit| quote_spanned!(limit.span()=> #launch.vmem_limit(#limit);));
    let body_args = body_names(kernel);
    let generic_args = turbofish(kernel);
    let span = kernel.item.sig.ident.span();
    let hooks_here = at(hooks, span);
    let begin = quote_spanned! {span=>
        #hooks_here::Launch::begin(#hooks::KernelFn::name(self), #hooks::KernelFn::params(self), #args)
    };
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
            #grid
            #blocks
            #walks
            let (#launch, [#(#axes),*]) = #ready?;
            #vmem_limit
            #references
            #launch.run(|| __body #generic_args (#(#body_args),*))
        }
    }
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

fn grid(kernel: &Kernel, launch: &Ident, errors: &mut Errors) -> TokenStream {
    let hooks = &kernel.hooks;
    let mut tokens = TokenStream::new();
    for (idx, axis) in kernel.attr.grid.iter().enumerate() {
        let text = axis.name.to_string();
        let semantics = match axis.parallel {
            true => quote!(#hooks::Semantics::Parallel),
            false => quote!(#hooks::Semantics::Arbitrary),
        };
        tokens.extend(quote!(#launch.axis(#text, #semantics);));
        if let Some(extent) = &axis.extent {
            let span = extent.span();
            let extent = lowered(extent, kernel, errors);
            tokens.extend(quote_spanned!(span=> #launch.extent(#idx, #extent);));
        }
    }
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
    });
    let covers: Vec<TokenStream> = covers.collect();
    quote_spanned!(param.name.span()=> #launch.block(#idx, &[#(#covers),*]);)
}

/// Infers the extents that no `grid(..)` clause gives.
fn walks(kernel: &Kernel, launch: &Ident) -> TokenStream {
    let mut tokens = TokenStream::new();
    for (grid_axis, axis) in kernel.attr.grid.iter().enumerate() {
        if axis.extent.is_some() {
            continue;
        }
        for (param_idx, (param, block)) in kernel.item.blocks().enumerate() {
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
    let axes: Vec<&Ident> = kernel.attr.grid.iter().map(|axis| &axis.name).collect();
    let indices = block.axes.iter().map(|axis| match &axis.cover {
        Cover::Whole => quote_spanned!(axis.dim.span()=> #launch.index(0usize)),
        Cover::Blocked(_, index) | Cover::Squeezed(index) => {
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
    let (name, ty) = (&param.name, &param.ty);
    let entries = Ident::new("entries", Span::mixed_site());
    let open = quote_spanned!(name.span()=> #launch.open_window());
    let close = quote_spanned!(name.span()=> #launch.param(#idx, &#entries, #buffered, #streams));
    quote! {
        let #name: #ty = {
            let [#(#axes),*] = #open;
            let _ = (#(&#axes,)*);
            let #entries = [#(#indices),*];
            #close
        };
    }
}

/// The dimensions that the body sees under a name of their own.
fn own_dims(kernel: &Kernel) -> impl Iterator<Item = &Ident> {
    kernel.dims.iter().filter_map(|dim| match dim.source {
        DimSource::Input | DimSource::Clause(_) => Some(&dim.name),
        DimSource::InputAndComptime | DimSource::Comptime | DimSource::Nowhere => None,
    })
}

/// What the body is called with.
fn body_names(kernel: &Kernel) -> Vec<&Ident> {
    let params = kernel.item.params.iter().map(|param| &param.name);
    let axes = kernel.attr.grid.iter().map(|axis| &axis.name);
    params.chain(own_dims(kernel)).chain(axes).collect()
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
        fn __body #generics (#(#params,)* #(#dims,)* #(#axes,)*) #where_clause {
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
    for (_, value) in &kernel.attr.dims {
        tokens.extend(value.to_token_stream());
    }
    tokens.extend(kernel.attr.vmem_limit.as_ref().map(ToTokens::to_token_stream));
    for param in &kernel.item.params {
        match &param.role {
            Role::Block(block) => {
                for axis in &block.axes {
                    axis.dim.to_tokens(&mut tokens);
                    match &axis.cover {
                        Cover::Whole => {}
                        Cover::Blocked(tile, index) => tokens.extend(quote!(#tile #index)),
                        Cover::Squeezed(index) => index.to_tokens(&mut tokens),
                    }
                }
                let (buffered, streams) = (&block.buffered, block.streams.as_ref().map(|s| &s.1));
                tokens.extend(quote!(#buffered #streams));
            }
            Role::Scratch(shape) => shape.to_tokens(&mut tokens),
            Role::Comptime | Role::Unknown => {}
        }
    }
    let mut names = Vec::new();
    idents(tokens, &mut names);
    names
}
