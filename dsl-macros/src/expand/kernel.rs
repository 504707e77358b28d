//! `#[tpu_kernel]`: the constructor, the struct and its methods.

use super::call::{call_fn, key_fn, vjp_fn};
use super::function::looks_like_fn;
use super::hooks;
use super::launch::trace_fn;
use crate::check::{Dim, check};
use crate::error::{self, Errors};
use crate::parse::{KernelAttr, KernelItem, Param};
use proc_macro2::TokenStream;
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, GenericParam, Generics, Ident, ItemFn, Type};

/// A kernel, checked, with what its expansion needs.
pub(crate) struct Kernel {
    pub(crate) attr: KernelAttr,
    pub(crate) item: KernelItem,
    pub(crate) dims: Vec<Dim>,
    pub(crate) hooks: TokenStream,
    /// The generics of the function, and one parameter per `impl Trait`.
    pub(crate) generics: Generics,
    /// The name of the generated struct.
    pub(crate) name: Ident,
}

/// Expands `#[tpu_kernel]`.
pub(crate) fn expand_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut taken = Vec::new();
    idents(quote!(#attr #item), &mut taken);
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(parse_error) => {
            if looks_like_fn(item.clone()) {
                errors.push_syn(parse_error);
            } else {
                errors.push(&item, error::not_a_function());
            }
            return errors.into_tokens();
        }
    };
    let attr = KernelAttr::parse(attr, &mut errors);
    let mut item = KernelItem::parse(function, &mut errors);
    let dims = check(&attr, &item, &mut errors);
    if item.sig.receiver().is_some() {
        // A struct cannot stand where a method does.
        return errors.into_tokens();
    }
    let generics = name_impl_traits(&mut item, taken);
    let name = Ident::new(&struct_name(&item.sig.ident.to_string()), item.sig.ident.span());
    let kernel = Kernel { attr, item, dims, hooks: hooks(), generics, name };
    let trace = trace_fn(&kernel, &mut errors);
    if errors.is_empty() {
        let (params, key) = (params_const(&kernel), key_fn(&kernel));
        return expansion(&kernel, &TokenStream::new(), &quote!(#params #key #trace));
    }
    // Callers see the real signature, so that they get no second error.
    let hooks = &kernel.hooks;
    let broken = quote! {
        fn params(&self) -> &'static [#hooks::ParamSpec] {
            &[]
        }

        fn trace(
            &self,
            _: &[#hooks::ArgSpec],
        ) -> ::core::result::Result<#hooks::Kernel, #hooks::Diagnostics> {
            ::core::result::Result::Err(::core::default::Default::default())
        }
    };
    let stub = expansion(&kernel, &quote!(#[allow(dead_code, reason = "a stub")]), &broken);
    let errors = errors.into_tokens();
    quote!(#stub #errors)
}

/// Gives each `impl Trait` in the type of a compile-time parameter a name, for the struct: none of
/// those that the user mentions.
fn name_impl_traits(item: &mut KernelItem, mut taken: Vec<String>) -> Generics {
    struct Naming<'a> {
        initial: String,
        taken: &'a mut Vec<String>,
        params: &'a mut Vec<GenericParam>,
    }
    impl VisitMut for Naming<'_> {
        fn visit_type_mut(&mut self, ty: &mut Type) {
            visit_mut::visit_type_mut(self, ty);
            if let Type::ImplTrait(impl_trait) = ty {
                let mut name = self.initial.clone();
                let mut n = 1;
                while self.taken.contains(&name) {
                    n += 1;
                    name = format!("{}{n}", self.initial);
                }
                self.taken.push(name.clone());
                let name = Ident::new(&name, impl_trait.impl_token.span);
                let bounds = &impl_trait.bounds;
                self.params.push(syn::parse_quote!(#name: #bounds));
                *ty = syn::parse_quote!(#name);
            }
        }
    }
    let mut generics = item.sig.generics.clone();
    let mut named = Vec::new();
    for param in &mut item.params {
        if matches!(param.role, crate::parse::Role::Comptime) {
            let first = param.name.to_string().chars().find(|c| c.is_alphabetic());
            let initial = first.map_or_else(|| "F".to_owned(), |c| c.to_uppercase().to_string());
            let mut naming = Naming { initial, taken: &mut taken, params: &mut named };
            naming.visit_type_mut(&mut param.ty);
        }
    }
    generics.params.extend(named);
    generics
}

/// Adds every identifier among tokens.
pub(crate) fn idents(tokens: TokenStream, names: &mut Vec<String>) {
    for tree in tokens {
        match tree {
            proc_macro2::TokenTree::Ident(name) => names.push(name.to_string()),
            proc_macro2::TokenTree::Group(group) => idents(group.stream(), names),
            proc_macro2::TokenTree::Punct(_) | proc_macro2::TokenTree::Literal(_) => {}
        }
    }
}

/// The struct of the kernel `flash_attention` is `FlashAttentionKernel`.
///
/// It stands in the user's module, where a type of its name that comes from a glob import would be
/// hidden: without the suffix a kernel `tile` hid `Tile`, and a kernel `clone` hid `Clone`.
fn struct_name(function: &str) -> String {
    let name = function.strip_prefix("r#").unwrap_or(function);
    let words = name.split('_').filter(|word| !word.is_empty());
    let mut camel: String = words
        .map(|word| {
            let mut chars = word.chars();
            let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
            first + chars.as_str()
        })
        .collect();
    // A name of underscores alone leaves nothing, and no identifier starts with a digit.
    if camel.is_empty() || camel.starts_with(|c: char| c.is_numeric()) {
        camel.insert_str(0, "Unnamed");
    }
    camel + "Kernel"
}

/// What the compile-time parameters are called and typed.
fn comptime(kernel: &Kernel) -> (Vec<&Ident>, Vec<&Type>) {
    kernel.item.comptime().map(|param| (&param.name, &param.ty)).unzip()
}

/// `PhantomData` over the type and lifetime parameters, which no field may mention.
fn marker(generics: &Generics) -> TokenStream {
    let types = generics.type_params().map(|param| {
        let name = &param.ident;
        quote!(*const #name)
    });
    let lifetimes = generics.lifetimes().map(|param| {
        let lifetime = &param.lifetime;
        quote!(&#lifetime ())
    });
    quote!(::core::marker::PhantomData<fn() -> (#(#types,)* #(#lifetimes,)*)>)
}

/// The items; `lints` go to the struct, `methods` to the trait.
fn expansion(kernel: &Kernel, lints: &TokenStream, methods: &TokenStream) -> TokenStream {
    let Kernel { item, generics, name, hooks, .. } = kernel;
    let (docs, others): (Vec<&Attribute>, Vec<&Attribute>) =
        item.attrs.iter().partition(|attr| attr.path().is_ident("doc"));
    // An `expect` that the constructor does not meet would be reported.
    let others: Vec<_> =
        others.into_iter().filter(|attr| !attr.path().is_ident("expect")).collect();
    let (vis, function) = (&item.vis, &item.sig.ident);
    let (fields, types) = comptime(kernel);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let cfg: Vec<_> = others.iter().filter(|attr| attr.path().is_ident("cfg")).collect();
    let marker_ty = marker(generics);
    let summary = format!("The kernel [`{function}`] with its compile-time parameters.");
    let text = kernel.attr.name.as_ref().map_or_else(|| function.to_string(), |n| n.value());
    let text = text.strip_prefix("r#").unwrap_or(&text);
    let (call, with_vjp) = (call_fn(kernel), vjp_fn(kernel));
    quote! {
        #(#docs)* #(#others)*
        #[must_use = "a kernel does nothing until it is called or traced"]
        #vis fn #function #impl_generics (#(#fields: #types),*) -> #name #ty_generics #where_clause {
            #name {
                #(#fields,)*
                __state: ::core::default::Default::default(),
                __types: ::core::marker::PhantomData,
            }
        }

        #[doc = #summary]
        #(#cfg)*
        #lints
        #[derive(::core::clone::Clone)]
        #[must_use = "a kernel does nothing until it is called or traced"]
        #vis struct #name #impl_generics #where_clause {
            #(#fields: #types,)*
            __state: #hooks::KernelState,
            __types: #marker_ty,
        }

        #(#cfg)*
        impl #impl_generics #name #ty_generics #where_clause {
            /// Traces the kernel for arguments of these element types and shapes: one per extent,
            /// table and input, in order.
            ///
            /// # Errors
            /// Arguments that do not fit, and every mistake in the kernel's body.
            pub fn trace(
                &self,
                args: &[#hooks::ArgSpec],
            ) -> ::core::result::Result<#hooks::Kernel, #hooks::Diagnostics> {
                #hooks::KernelFn::trace(self, args)
            }

            #call

            #with_vjp
        }

        #(#cfg)*
        impl #impl_generics #hooks::KernelFn for #name #ty_generics #where_clause {
            fn name(&self) -> &str {
                #text
            }

            #methods
        }
    }
}

fn params_const(kernel: &Kernel) -> TokenStream {
    let hooks = &kernel.hooks;
    let spec = |param: &Param, of: TokenStream, dims: Vec<String>| {
        let (name, ty) = (param.name.to_string(), &param.ty);
        quote! {
            #hooks::ParamSpec {
                name: #name,
                kind: <#ty as #hooks::#of>::KIND,
                dtype: <#ty as #hooks::#of>::DTYPE,
                dims: &[#(#dims),*],
            }
        }
    };
    let tables = kernel.item.tables().map(|(param, axes)| {
        spec(param, quote!(TableRef), axes.iter().map(Ident::to_string).collect())
    });
    let blocks = kernel.item.blocks().map(|(param, block)| {
        let dims = block.axes.iter().map(|axis| axis.dim.to_string()).collect();
        spec(param, quote!(ParamRef), dims)
    });
    let specs = tables.chain(blocks);
    let extents: Vec<String> = kernel.item.extents().map(|param| param.name.to_string()).collect();
    let extents = (!extents.is_empty()).then(|| {
        quote! {
            fn extents(&self) -> &'static [&'static str] {
                &[#(#extents),*]
            }
        }
    });
    quote! {
        fn params(&self) -> &'static [#hooks::ParamSpec] {
            const { &[#(#specs),*] }
        }

        #extents
    }
}
