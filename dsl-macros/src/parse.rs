//! From tokens to what the user wrote. Mistakes of form are gathered; tokens after one are
//! skipped up to the next comma, so that every entry is looked at.

use crate::error::{self, Errors};
use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{
    Attribute, Block, Expr, FnArg, Ident, ItemFn, LitStr, Meta, Pat, Signature, Token, Type,
    Visibility,
};

/// The arguments of `#[tpu_kernel(..)]`.
#[derive(Default)]
pub(crate) struct KernelAttr {
    pub(crate) grid: Vec<GridAxis>,
    pub(crate) dims: Vec<(Ident, Expr)>,
    pub(crate) vmem_limit: Option<Expr>,
    pub(crate) name: Option<LitStr>,
}

/// `i: parallel = extent`.
pub(crate) struct GridAxis {
    pub(crate) name: Ident,
    pub(crate) parallel: bool,
    pub(crate) extent: Option<Expr>,
}

/// A kernel as it was written.
pub(crate) struct KernelItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Block,
    pub(crate) params: Vec<Param>,
}

/// A parameter of a kernel.
pub(crate) struct Param {
    /// Lint attributes, which go to the body.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) mutability: Option<Token![mut]>,
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) role: Role,
}

/// What a parameter is for.
pub(crate) enum Role {
    Comptime,
    Block(Box<BlockSpec>),
    Scratch(Expr),
    /// A mistake has been reported.
    Unknown,
}

/// `#[block(..)]` and the attributes that go with it.
pub(crate) struct BlockSpec {
    pub(crate) kind: RefKind,
    pub(crate) axes: Vec<BlockAxis>,
    pub(crate) buffered: Option<Expr>,
    pub(crate) streams: Option<(Ident, Expr)>,
}

/// Which reference a type names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RefKind {
    In,
    Out,
    InOut,
    Vmem,
    Smem,
}

/// `size: tile @ index`.
pub(crate) struct BlockAxis {
    pub(crate) dim: Ident,
    pub(crate) cover: Cover,
}

/// How a block covers an axis.
pub(crate) enum Cover {
    Whole,
    Blocked(Box<Expr>, Box<Expr>),
    Squeezed(Box<Expr>),
}

/// Parses entries separated by commas. After an entry that does not parse, skips to the next.
fn entries(
    tokens: TokenStream,
    errors: &mut Errors,
    mut entry: impl FnMut(ParseStream<'_>, &mut Errors) -> syn::Result<()>,
) {
    let parser = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let parsed = entry(input, errors);
            let clean = parsed.is_ok() && (input.is_empty() || input.peek(Token![,]));
            if let Err(error) = parsed {
                errors.push_syn(error);
            } else if !clean {
                errors.push_syn(input.error("expected `,`"));
            }
            while !input.is_empty() && !input.peek(Token![,]) {
                input.parse::<TokenTree>()?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    };
    if let Err(error) = parser.parse2(tokens) {
        errors.push_syn(error);
    }
}

/// Parses with `parse`, but says `message` at the first token if that fails there.
fn or_say<T>(
    input: ParseStream<'_>,
    message: &str,
    parse: impl FnOnce(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    let (span, start) = (input.span(), input.cursor());
    parse(input).map_err(|error| {
        let at_start = input.cursor() == start;
        if at_start || input.is_empty() { syn::Error::new(span, message) } else { error }
    })
}

impl KernelAttr {
    /// Parses the arguments of `#[tpu_kernel(..)]`.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> KernelAttr {
        let mut attr = KernelAttr::default();
        let mut seen: Vec<String> = Vec::new();
        entries(tokens, errors, |input, errors| {
            let key: Ident = input.call(syn::ext::IdentExt::parse_any)?;
            let name = key.to_string();
            if seen.contains(&name) {
                errors.push(&key, error::repeated_key(&name));
            }
            seen.push(name.clone());
            match name.as_str() {
                "grid" => {
                    let inner = parenthesized(input, &error::expected_grid_axis())?;
                    attr.grid = grid(inner, errors);
                }
                "dims" => {
                    let inner = parenthesized(input, &error::expected_dim())?;
                    attr.dims = dims(inner, errors);
                }
                "vmem_limit" => {
                    let message = error::expected_vmem_limit();
                    let inner = parenthesized(input, &message)?;
                    attr.vmem_limit = Some(
                        syn::parse2(inner).map_err(|_| syn::Error::new(key.span(), &message))?,
                    );
                }
                "name" => {
                    attr.name = Some(or_say(input, &error::expected_name(), |input| {
                        input.parse::<Token![=]>()?;
                        input.parse()
                    })?);
                }
                "core" => return Err(syn::Error::new(key.span(), error::later_key(&name))),
                _ => return Err(syn::Error::new(key.span(), error::unknown_key(&name))),
            }
            Ok(())
        });
        attr
    }
}

fn parenthesized(input: ParseStream<'_>, message: &str) -> syn::Result<TokenStream> {
    or_say(input, message, |input| {
        let inner;
        syn::parenthesized!(inner in input);
        inner.parse()
    })
}

fn grid(tokens: TokenStream, errors: &mut Errors) -> Vec<GridAxis> {
    let mut axes: Vec<GridAxis> = Vec::new();
    entries(tokens, errors, |input, errors| {
        let name: Ident = or_say(input, &error::expected_grid_axis(), |input| input.parse())?;
        let mut parallel = false;
        if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            let semantics: Ident =
                or_say(input, &error::expected_grid_axis(), |input| input.parse())?;
            match semantics.to_string().as_str() {
                "parallel" => parallel = true,
                "arbitrary" => {}
                other => errors.push(&semantics, error::unknown_semantics(&other)),
            }
        }
        let extent = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Some(or_say(input, &error::expected_grid_axis(), |input| input.parse())?)
        } else {
            None
        };
        if axes.iter().any(|axis| axis.name == name) {
            errors.push(&name, error::repeated_axis(&name));
        }
        axes.push(GridAxis { name, parallel, extent });
        Ok(())
    });
    axes
}

fn dims(tokens: TokenStream, errors: &mut Errors) -> Vec<(Ident, Expr)> {
    let mut dims = Vec::new();
    entries(tokens, errors, |input, _| {
        dims.push(or_say(input, &error::expected_dim(), |input| {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            Ok((name, input.parse()?))
        })?);
        Ok(())
    });
    dims
}

impl KernelItem {
    /// Takes a function apart.
    pub(crate) fn parse(item: ItemFn, errors: &mut Errors) -> KernelItem {
        let ItemFn { attrs, vis, sig, block } = item;
        let params = sig.inputs.iter().filter_map(|arg| param(arg, errors)).collect();
        KernelItem { attrs, vis, sig, body: *block, params }
    }
}

fn param(arg: &FnArg, errors: &mut Errors) -> Option<Param> {
    let arg = match arg {
        FnArg::Receiver(receiver) => {
            errors.push(receiver, error::kernel_method());
            return None;
        }
        FnArg::Typed(arg) => arg,
    };
    let (name, mutability) = match &*arg.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            (pat.ident.clone(), pat.mutability)
        }
        other => {
            errors.push(other, error::parameter_pattern());
            return None;
        }
    };
    let mut attrs = Attrs::default();
    for attr in &arg.attrs {
        attrs.add(attr, errors);
    }
    let role = attrs.role(&name, &arg.ty, errors);
    Some(Param { attrs: attrs.lints, mutability, name, ty: (*arg.ty).clone(), role })
}

/// The attributes of a parameter.
#[derive(Default)]
struct Attrs {
    lints: Vec<Attribute>,
    comptime: Option<Attribute>,
    block: Option<Vec<BlockAxis>>,
    scratch: Option<Option<Expr>>,
    buffered: Option<(Attribute, Option<Expr>)>,
    streams: Option<(Attribute, Option<(Ident, Expr)>)>,
    /// Whether an attribute was wrong, so that a missing role is no news.
    failed: bool,
}

impl Attrs {
    fn add(&mut self, attr: &Attribute, errors: &mut Errors) {
        let path = attr.path();
        let name = path.get_ident().map(Ident::to_string).unwrap_or_default();
        match name.as_str() {
            "comptime" => self.comptime = Some(attr.clone()),
            "block" => {
                let tokens = attribute_tokens(attr);
                if tokens.is_empty() {
                    errors.push(attr, error::empty_block());
                }
                self.block = Some(block_axes(tokens, errors));
            }
            "scratch" => {
                let shape = argument::<Expr>(attr, error::expected_scratch_shape(), errors);
                self.scratch = Some(shape);
            }
            "buffered" => {
                let n = argument::<Expr>(attr, error::expected_buffers(), errors);
                self.buffered = Some((attr.clone(), n));
            }
            "streams" => {
                let streams = argument::<Named>(attr, error::expected_streams(), errors);
                self.streams = Some((attr.clone(), streams.map(|named| (named.name, named.value))));
            }
            "allow" | "expect" | "warn" | "deny" | "forbid" => self.lints.push(attr.clone()),
            "doc" => {}
            "prefetch" => {
                errors.push(path, error::later_attribute(&name));
                self.failed = true;
            }
            _ => {
                let shown = quote::quote!(#path).to_string().replace(' ', "");
                errors.push(path, error::unknown_attribute(&shown));
                self.failed = true;
            }
        }
    }

    fn role(&mut self, name: &Ident, ty: &Type, errors: &mut Errors) -> Role {
        let n_roles = usize::from(self.comptime.is_some())
            + usize::from(self.block.is_some())
            + usize::from(self.scratch.is_some());
        if n_roles > 1 {
            errors.push(name, error::parameter_with_two_roles(name));
            return Role::Unknown;
        }
        let shown = quote::quote!(#ty).to_string().replace(' ', "");
        let kind = match ref_kind(ty) {
            Ok(kind) => kind,
            Err(later) => {
                errors.push(ty, error::later_type(&later));
                return Role::Unknown;
            }
        };
        if self.block.is_none() {
            for attr in [self.buffered.as_ref().map(|b| &b.0), self.streams.as_ref().map(|s| &s.0)]
                .into_iter()
                .flatten()
            {
                let attr_name = attr.path().get_ident().map(Ident::to_string).unwrap_or_default();
                errors.push(attr, error::attribute_needs_block(&attr_name));
            }
        }
        if let Some(axes) = self.block.take() {
            let Some(kind @ (RefKind::In | RefKind::Out | RefKind::InOut)) = kind else {
                errors.push(ty, error::block_type(name));
                return Role::Unknown;
            };
            let streams = self.streams.take().and_then(|(_, streams)| streams);
            if let Some((axis, _)) = &streams
                && !axes.iter().any(|known| known.dim == *axis)
            {
                errors.push(axis, error::streams_axis(axis));
            }
            let buffered = self.buffered.take().and_then(|(_, n)| n);
            return Role::Block(Box::new(BlockSpec { kind, axes, buffered, streams }));
        }
        if let Some(shape) = self.scratch.take() {
            if !matches!(kind, Some(RefKind::Vmem | RefKind::Smem)) {
                errors.push(ty, error::scratch_type(name));
                return Role::Unknown;
            }
            return shape.map_or(Role::Unknown, Role::Scratch);
        }
        match (&self.comptime, kind) {
            (Some(_), None) => return Role::Comptime,
            (Some(_), Some(_)) => errors.push(ty, error::comptime_type(name, &shown)),
            (None, _) if self.failed => {}
            (None, None) => errors.push(name, error::parameter_without_role(name)),
            (None, Some(RefKind::Vmem | RefKind::Smem)) => {
                errors.push(name, error::scratch_without_shape(name, &shown));
            }
            (None, Some(RefKind::In | RefKind::Out | RefKind::InOut)) => {
                errors.push(name, error::reference_without_block(name, &shown));
            }
        }
        Role::Unknown
    }
}

/// Which reference a type names, by its last path segment; `Err` for one that is yet to come.
fn ref_kind(ty: &Type) -> Result<Option<RefKind>, String> {
    let Type::Path(path) = ty else { return Ok(None) };
    let Some(segment) = path.path.segments.last() else { return Ok(None) };
    Ok(Some(match segment.ident.to_string().as_str() {
        "In" => RefKind::In,
        "Out" => RefKind::Out,
        "InOut" => RefKind::InOut,
        "Vmem" => RefKind::Vmem,
        "Smem" => RefKind::Smem,
        later @ ("Hbm" | "Buffers" | "Semaphore") => return Err(later.to_owned()),
        _ => return Ok(None),
    }))
}

fn attribute_tokens(attr: &Attribute) -> TokenStream {
    match &attr.meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
    }
}

fn argument<T: Parse>(attr: &Attribute, message: String, errors: &mut Errors) -> Option<T> {
    let tokens = attribute_tokens(attr);
    match syn::parse2(tokens) {
        Ok(argument) => Some(argument),
        Err(_) => {
            errors.push(attr, message);
            None
        }
    }
}

/// `name: value`.
struct Named {
    name: Ident,
    value: Expr,
}

impl Parse for Named {
    fn parse(input: ParseStream<'_>) -> syn::Result<Named> {
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(Named { name, value: input.parse()? })
    }
}

fn block_axes(tokens: TokenStream, errors: &mut Errors) -> Vec<BlockAxis> {
    let mut axes = Vec::new();
    entries(tokens, errors, |input, errors| {
        axes.push(block_axis(input, errors)?);
        Ok(())
    });
    axes
}

fn block_axis(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<BlockAxis> {
    let expected = error::expected_block_axis();
    let dim: Ident = or_say(input, &expected, |input| input.parse())?;
    if input.peek(Token![@]) {
        return Err(syn::Error::new(dim.span(), error::block_without_size(&dim)));
    }
    if !input.peek(Token![:]) {
        return Ok(BlockAxis { dim, cover: Cover::Whole });
    }
    input.parse::<Token![:]>()?;
    if input.peek(Token![..]) {
        input.parse::<Token![..]>()?;
        if input.peek(Token![@]) {
            return Err(syn::Error::new(dim.span(), error::whole_with_index(&dim)));
        }
        return Ok(BlockAxis { dim, cover: Cover::Whole });
    }
    let fork = input.fork();
    if let Ok(word) = fork.parse::<Ident>() {
        if word == "element" && (fork.peek(syn::token::Paren) || fork.peek(Token![@])) {
            errors.push(&word, error::element_block());
            while !input.is_empty() && !input.peek(Token![,]) {
                input.parse::<TokenTree>()?;
            }
            return Ok(BlockAxis { dim, cover: Cover::Whole });
        }
        if word == "squeezed" && fork.peek(Token![@]) {
            input.parse::<Ident>()?;
            input.parse::<Token![@]>()?;
            let index = or_say(input, &expected, |input| input.parse())?;
            return Ok(BlockAxis { dim, cover: Cover::Squeezed(Box::new(index)) });
        }
    }
    let tile: Expr = or_say(input, &expected, |input| input.parse())?;
    if !input.peek(Token![@]) {
        return Err(syn::Error::new_spanned(&tile, error::block_without_index(&dim)));
    }
    input.parse::<Token![@]>()?;
    let index = or_say(input, &expected, |input| input.parse())?;
    Ok(BlockAxis { dim, cover: Cover::Blocked(Box::new(tile), Box::new(index)) })
}

/// A function under `#[tpu_fn]`: a body, or none in a trait.
pub(crate) struct FnItem {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) defaultness: Option<Token![default]>,
    pub(crate) sig: Signature,
    pub(crate) body: Option<Block>,
}

impl Parse for FnItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<FnItem> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let defaultness = input.parse()?;
        let sig = input.parse()?;
        let body = if input.peek(Token![;]) {
            input.parse::<Token![;]>()?;
            None
        } else {
            let content;
            let brace_token = syn::braced!(content in input);
            attrs.extend(content.call(Attribute::parse_inner)?);
            Some(Block { brace_token, stmts: content.call(Block::parse_within)? })
        };
        Ok(FnItem { attrs, vis, defaultness, sig, body })
    }
}
