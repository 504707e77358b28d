//! From tokens to what the user wrote. Mistakes of form are gathered; tokens after one are
//! skipped up to the next comma, so that every entry is looked at.

use crate::error::{self, Errors};
use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{
    AttrStyle, Attribute, Block, Expr, FnArg, Ident, ItemFn, LitStr, Meta, Pat, Signature, Token,
    Type, Visibility,
};

/// The arguments of `#[tpu_kernel(..)]`.
#[derive(Default)]
pub(crate) struct KernelAttr {
    /// What runs the kernel, and the key that says so.
    pub(crate) core: Option<(Ident, CoreKind)>,
    pub(crate) grid: Vec<GridAxis>,
    /// The axes of the mesh of devices, with their sizes.
    pub(crate) mesh: Vec<(Ident, Expr)>,
    pub(crate) dims: Vec<(Ident, Expr)>,
    pub(crate) vmem_limit: Option<Expr>,
    pub(crate) side_effects: Option<SideEffects>,
    /// Whether the chip does not check the bounds of copies.
    pub(crate) unchecked_bounds: bool,
    /// `flops`, `transcendentals` or `bytes`, with its value.
    pub(crate) cost: Vec<(Ident, Expr)>,
    pub(crate) name: Option<LitStr>,
}

/// Which part of a SparseCore runs a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CoreKind {
    Sparse,
    SparseScalar,
}

/// What a call does beside giving its outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SideEffects {
    Dataflow,
    Always,
}

/// How the steps along a grid axis depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Semantics {
    Parallel,
    Arbitrary,
    CoreParallel,
}

/// `i: parallel = extent`.
pub(crate) struct GridAxis {
    pub(crate) name: Ident,
    pub(crate) semantics: Semantics,
    /// The word after the colon, if there is one.
    pub(crate) stated: Option<Ident>,
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
    Scratch(Expr, RefKind),
    /// A table in SMEM, by the names of its axes.
    Prefetch(Vec<Ident>),
    /// The extent of a grid axis, given by the call.
    Extent,
    /// A mistake has been reported.
    Unknown,
}

/// `#[block(..)]` and the attributes that go with it.
pub(crate) struct BlockSpec {
    pub(crate) kind: RefKind,
    pub(crate) axes: Vec<BlockAxis>,
    pub(crate) buffered: Option<Expr>,
    pub(crate) streams: Option<(Ident, Expr)>,
    pub(crate) pinned: Option<Ident>,
}

/// Which reference a type names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RefKind {
    In,
    Out,
    InOut,
    Hbm,
    HbmOut,
    HbmInOut,
    SmemIn,
    SmemOut,
    SmemInOut,
    Vmem,
    Smem,
    Spmem,
    Buffers,
    Permits,
    Semaphore,
}

impl RefKind {
    /// Whether it stands for an array of the caller.
    pub(crate) fn is_param(self) -> bool {
        self.is_input() || self.is_output()
    }

    /// Whether the call takes an array for it.
    pub(crate) fn is_input(self) -> bool {
        matches!(
            self,
            RefKind::In
                | RefKind::InOut
                | RefKind::Hbm
                | RefKind::HbmInOut
                | RefKind::SmemIn
                | RefKind::SmemInOut
        )
    }

    /// Whether the call gives an array back for it.
    pub(crate) fn is_output(self) -> bool {
        matches!(
            self,
            RefKind::Out
                | RefKind::InOut
                | RefKind::HbmOut
                | RefKind::HbmInOut
                | RefKind::SmemOut
                | RefKind::SmemInOut
        )
    }

    /// Whether it stays in HBM.
    pub(crate) fn is_far(self) -> bool {
        matches!(self, RefKind::Hbm | RefKind::HbmOut | RefKind::HbmInOut)
    }

    /// Whether its block is in scalar memory.
    pub(crate) fn is_scalar(self) -> bool {
        matches!(self, RefKind::SmemIn | RefKind::SmemOut | RefKind::SmemInOut)
    }

    /// Whether the body owns it, so that each pass over the body needs it anew.
    pub(crate) fn is_owned(self) -> bool {
        matches!(self, RefKind::Buffers | RefKind::Permits)
    }
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
    Element(Box<Expr>, Box<Expr>),
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
                    attr.dims = dims(inner, &error::expected_dim(), errors);
                }
                "mesh" => {
                    let inner = parenthesized(input, &error::expected_mesh_axis())?;
                    attr.mesh = dims(inner, &error::expected_mesh_axis(), errors);
                    for (idx, (name, _)) in attr.mesh.iter().enumerate() {
                        if attr.mesh[..idx].iter().any(|(other, _)| other == name) {
                            errors.push(name, error::repeated_mesh_axis(name));
                        }
                    }
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
                "side_effects" => {
                    let message = error::expected_side_effects();
                    let inner = parenthesized(input, &message)?;
                    attr.side_effects = Some(side_effects(&key, inner, &message)?);
                }
                "bounds_checks" => {
                    let message = error::expected_bounds_checks();
                    let inner = parenthesized(input, &message)?;
                    match syn::parse2::<Ident>(inner) {
                        Ok(off) if off == "off" => attr.unchecked_bounds = true,
                        _ => return Err(syn::Error::new(key.span(), message)),
                    }
                }
                "cost" => {
                    let inner = parenthesized(input, &error::expected_cost())?;
                    attr.cost = cost(inner, errors);
                }
                "core" => {
                    let message = error::expected_core();
                    let inner = parenthesized(input, &message)?;
                    let kind = core(&key, inner, &message)?;
                    attr.core = Some((key, kind));
                }
                _ => return Err(syn::Error::new(key.span(), error::unknown_key(&name))),
            }
            Ok(())
        });
        attr
    }
}

fn side_effects(key: &Ident, tokens: TokenStream, message: &str) -> syn::Result<SideEffects> {
    let kind = syn::parse2::<Ident>(tokens).map_err(|_| syn::Error::new(key.span(), message))?;
    match kind.to_string().as_str() {
        "dataflow" => Ok(SideEffects::Dataflow),
        "always" => Ok(SideEffects::Always),
        _ => Err(syn::Error::new(kind.span(), message)),
    }
}

fn core(key: &Ident, tokens: TokenStream, message: &str) -> syn::Result<CoreKind> {
    let kind = syn::parse2::<Ident>(tokens).map_err(|_| syn::Error::new(key.span(), message))?;
    match kind.to_string().as_str() {
        "sparse" => Ok(CoreKind::Sparse),
        "sparse_scalar" => Ok(CoreKind::SparseScalar),
        _ => Err(syn::Error::new(kind.span(), message)),
    }
}

fn cost(tokens: TokenStream, errors: &mut Errors) -> Vec<(Ident, Expr)> {
    let mut cost: Vec<(Ident, Expr)> = Vec::new();
    entries(tokens, errors, |input, errors| {
        let (name, value) = or_say(input, &error::expected_cost(), |input| {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            Ok((name, input.parse::<Expr>()?))
        })?;
        let known = ["flops", "transcendentals", "bytes"].iter().any(|known| name == known);
        if !known {
            return Err(syn::Error::new(name.span(), error::expected_cost()));
        }
        if cost.iter().any(|(other, _)| *other == name) {
            errors.push(&name, error::repeated_key(&name));
        }
        cost.push((name, value));
        Ok(())
    });
    cost
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
        let mut meaning = Semantics::Arbitrary;
        let mut stated = None;
        if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            let semantics: Ident =
                or_say(input, &error::expected_grid_axis(), |input| input.parse())?;
            match semantics.to_string().as_str() {
                "parallel" => meaning = Semantics::Parallel,
                "arbitrary" => {}
                "core_parallel" => meaning = Semantics::CoreParallel,
                other => errors.push(&semantics, error::unknown_semantics(&other)),
            }
            stated = Some(semantics);
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
        axes.push(GridAxis { name, semantics: meaning, stated, extent });
        Ok(())
    });
    axes
}

fn dims(tokens: TokenStream, message: &str, errors: &mut Errors) -> Vec<(Ident, Expr)> {
    let mut dims = Vec::new();
    entries(tokens, errors, |input, _| {
        dims.push(or_say(input, message, |input| {
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
        let attrs = attrs.into_iter().map(outer).collect();
        let params = sig.inputs.iter().filter_map(|arg| param(arg, errors)).collect();
        KernelItem { attrs, vis, sig, body: *block, params }
    }
}

/// An attribute as it stands before a function, also if it was at the start of its body.
fn outer(attr: Attribute) -> Attribute {
    Attribute { style: AttrStyle::Outer, ..attr }
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
    /// Whether `#[scratch]` has no shape.
    bare_scratch: bool,
    prefetch: Option<Vec<Ident>>,
    extent: Option<Attribute>,
    pinned: Option<(Attribute, Option<Ident>)>,
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
                self.bare_scratch = matches!(attr.meta, Meta::Path(_));
                let shape = match self.bare_scratch {
                    true => Some(syn::parse_quote_spanned!(attr.span()=> [0usize; 0])),
                    false => argument::<Expr>(attr, error::expected_scratch_shape(), errors),
                };
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
            "prefetch" => self.prefetch = Some(table_axes(attribute_tokens(attr), errors)),
            "extent" => {
                if !attribute_tokens(attr).is_empty() {
                    errors.push(attr, error::extent_argument());
                }
                self.extent = Some(attr.clone());
            }
            "pinned" => {
                let space = argument::<Ident>(attr, error::expected_pin(), errors);
                let fits = |space: &Ident| *space == "hbm" || *space == "vmem";
                if let Some(space) = space.as_ref().filter(|space| !fits(space)) {
                    errors.push(space, error::expected_pin());
                }
                self.pinned = Some((attr.clone(), space.filter(fits)));
            }
            "allow" | "expect" | "warn" | "deny" | "forbid" => self.lints.push(attr.clone()),
            "doc" => {}
            _ => {
                let shown = quote::quote!(#path).to_string().replace(' ', "");
                errors.push(path, error::unknown_attribute(&shown));
                self.failed = true;
            }
        }
    }

    /// The attributes that say how a block is fetched or where its array lies.
    fn fetch_attributes(&self) -> impl Iterator<Item = &Attribute> {
        let buffered = self.buffered.as_ref().map(|(attr, _)| attr);
        let streams = self.streams.as_ref().map(|(attr, _)| attr);
        let pinned = self.pinned.as_ref().map(|(attr, _)| attr);
        [buffered, streams, pinned].into_iter().flatten()
    }

    fn block_role(&mut self, kind: RefKind, axes: Vec<BlockAxis>, errors: &mut Errors) -> Role {
        if kind.is_far() {
            for axis in axes.iter().filter(|axis| !matches!(axis.cover, Cover::Whole)) {
                errors.push(&axis.dim, error::far_block(&axis.dim));
            }
            for attr in self.fetch_attributes() {
                errors.push(attr, error::far_attribute());
            }
        }
        if let Some((attr, _)) = self.streams.as_ref().filter(|_| kind.is_scalar()) {
            errors.push(attr, error::scalar_streams());
        }
        let streams = self.streams.take().and_then(|(_, streams)| streams);
        if let Some((axis, _)) = &streams
            && !axes.iter().any(|known| known.dim == *axis)
        {
            errors.push(axis, error::streams_axis(axis));
        }
        let buffered = self.buffered.take().and_then(|(_, n)| n);
        let pinned = self.pinned.take().and_then(|(_, space)| space);
        Role::Block(Box::new(BlockSpec { kind, axes, buffered, streams, pinned }))
    }

    fn role(&mut self, name: &Ident, ty: &Type, errors: &mut Errors) -> Role {
        let n_roles = usize::from(self.comptime.is_some())
            + usize::from(self.block.is_some())
            + usize::from(self.scratch.is_some())
            + usize::from(self.prefetch.is_some())
            + usize::from(self.extent.is_some());
        if n_roles > 1 {
            errors.push(name, error::parameter_with_two_roles(name));
            return Role::Unknown;
        }
        let shown = quote::quote!(#ty).to_string().replace(' ', "");
        let kind = ref_kind(ty);
        if self.block.is_none() {
            for attr in self.fetch_attributes() {
                let attr_name = attr.path().get_ident().map(Ident::to_string).unwrap_or_default();
                errors.push(attr, error::attribute_needs_block(&attr_name));
            }
        }
        if let Some(axes) = self.block.take() {
            let Some(kind) = kind.filter(|kind| kind.is_param()) else {
                errors.push(ty, error::block_type(name));
                return Role::Unknown;
            };
            return self.block_role(kind, axes, errors);
        }
        if let Some(shape) = self.scratch.take() {
            let Some(kind) = kind.filter(|kind| !kind.is_param()) else {
                errors.push(ty, error::scratch_type(name));
                return Role::Unknown;
            };
            if self.bare_scratch && !matches!(kind, RefKind::Permits | RefKind::Semaphore) {
                errors.push(name, error::expected_scratch_shape());
                return Role::Unknown;
            }
            return shape.map_or(Role::Unknown, |shape| Role::Scratch(shape, kind));
        }
        if let Some(axes) = self.prefetch.take() {
            if kind != Some(RefKind::Smem) {
                errors.push(ty, error::prefetch_type(name));
                return Role::Unknown;
            }
            // A table of one axis needs no name for it.
            return Role::Prefetch(if axes.is_empty() { vec![name.clone()] } else { axes });
        }
        if self.extent.is_some() {
            if !is_scalar(ty) {
                errors.push(ty, error::extent_type(name));
                return Role::Unknown;
            }
            return Role::Extent;
        }
        match (&self.comptime, kind) {
            (Some(_), None) => return Role::Comptime,
            (Some(_), Some(_)) => errors.push(ty, error::comptime_type(name, &shown)),
            (None, _) if self.failed => {}
            (None, None) => errors.push(name, error::parameter_without_role(name)),
            (None, Some(kind)) if kind.is_param() => {
                errors.push(name, error::reference_without_block(name, &shown));
            }
            (None, Some(_)) => errors.push(name, error::scratch_without_shape(name, &shown)),
        }
        Role::Unknown
    }
}

/// Which reference a type names, by its last path segment.
fn ref_kind(ty: &Type) -> Option<RefKind> {
    let Type::Path(path) = ty else { return None };
    Some(match path.path.segments.last()?.ident.to_string().as_str() {
        "In" => RefKind::In,
        "Out" => RefKind::Out,
        "InOut" => RefKind::InOut,
        "Vmem" => RefKind::Vmem,
        "Hbm" => RefKind::Hbm,
        "HbmOut" => RefKind::HbmOut,
        "HbmInOut" => RefKind::HbmInOut,
        "SmemIn" => RefKind::SmemIn,
        "SmemOut" => RefKind::SmemOut,
        "SmemInOut" => RefKind::SmemInOut,
        "Smem" => RefKind::Smem,
        "Spmem" => RefKind::Spmem,
        "Buffers" => RefKind::Buffers,
        "Permits" => RefKind::Permits,
        "Semaphore" | "DmaSemaphore" => RefKind::Semaphore,
        _ => return None,
    })
}

/// Whether a type is `Scalar<..>`, by its last path segment.
fn is_scalar(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|segment| segment.ident == "Scalar")
}

/// The names of a table's axes.
fn table_axes(tokens: TokenStream, errors: &mut Errors) -> Vec<Ident> {
    let mut axes = Vec::new();
    entries(tokens, errors, |input, _| {
        axes.push(or_say(input, &error::expected_table_axis(), |input| input.parse())?);
        Ok(())
    });
    axes
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
    entries(tokens, errors, |input, _| {
        axes.push(block_axis(input)?);
        Ok(())
    });
    axes
}

fn block_axis(input: ParseStream<'_>) -> syn::Result<BlockAxis> {
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
            input.parse::<Ident>()?;
            let size = or_say(input, &error::element_block(), |input| {
                let inner;
                syn::parenthesized!(inner in input);
                inner.parse()
            })?;
            if !input.peek(Token![@]) {
                return Err(syn::Error::new(word.span(), error::element_block()));
            }
            input.parse::<Token![@]>()?;
            let offset = or_say(input, &expected, |input| input.parse())?;
            return Ok(BlockAxis { dim, cover: Cover::Element(Box::new(size), Box::new(offset)) });
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
            attrs.extend(content.call(Attribute::parse_inner)?.into_iter().map(outer));
            Some(Block { brace_token, stmts: content.call(Block::parse_within)? })
        };
        Ok(FnItem { attrs, vis, defaultness, sig, body })
    }
}
