//! `#[derive(Carried)]`.

use super::hooks;
use crate::error::{self, Errors};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Data, DeriveInput, Fields, GenericParam, Generics, Ident, Type};

/// Expands `#[derive(Carried)]`.
pub(crate) fn expand_carried(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let hooks = hooks();
    let leaves = Ident::new("leaves", Span::mixed_site());
    let body = match &input.data {
        Data::Struct(data) => {
            let (pattern, visits) = fields(&data.fields, &hooks, &leaves);
            quote!(let Self #pattern = self; #visits)
        }
        Data::Enum(data) => {
            let arms = data.variants.iter().enumerate().map(|(number, variant)| {
                let name = &variant.ident;
                let (pattern, visits) = fields(&variant.fields, &hooks, &leaves);
                quote! {
                    Self::#name #pattern => {
                        #leaves.form("the variant of an enum", #number);
                        #visits
                    }
                }
            });
            if data.variants.is_empty() {
                quote!(match *self {})
            } else {
                quote!(match self { #(#arms)* })
            }
        }
        Data::Union(data) => {
            let mut errors = Errors::default();
            errors.push(&data.union_token, error::carried_union());
            return errors.into_tokens();
        }
    };
    let name = &input.ident;
    let (carried, value) = (bounds(&input, &hooks, "Carried"), bounds(&input, &hooks, "Value"));
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let (carried, value) = (&carried.where_clause, &value.where_clause);
    quote! {
        #[automatically_derived]
        impl #impl_generics #hooks::Carried for #name #ty_generics #carried {
            fn visit(&mut self, #leaves: &mut #hooks::Leaves<'_>) {
                let _ = &#leaves;
                #body
            }
        }

        #[automatically_derived]
        impl #impl_generics #hooks::Value for #name #ty_generics #value {}
    }
}

/// A pattern of all fields, and the visits of each.
fn fields(fields: &Fields, hooks: &TokenStream, leaves: &Ident) -> (TokenStream, TokenStream) {
    let names: Vec<Ident> = (0..fields.len())
        .map(|idx| Ident::new(&format!("field_{idx}"), Span::mixed_site()))
        .collect();
    let visits = fields.iter().zip(&names).map(|(field, name)| {
        let span = field.ty.span();
        quote_spanned!(span=> #hooks::Carried::visit(#name, #leaves);)
    });
    let visits = quote!(#(#visits)*);
    let pattern = match fields {
        Fields::Named(fields) => {
            let fields = fields.named.iter().map(|field| &field.ident);
            quote!({ #(#fields: #names),* })
        }
        Fields::Unnamed(_) => quote!(( #(#names),* )),
        Fields::Unit => TokenStream::new(),
    };
    (pattern, visits)
}

/// The generics with a bound for each field whose type names a type parameter.
fn bounds(input: &DeriveInput, hooks: &TokenStream, bound: &str) -> Generics {
    struct Mentions<'a> {
        params: &'a [Ident],
        found: bool,
    }
    impl<'ast> Visit<'ast> for Mentions<'_> {
        fn visit_ident(&mut self, name: &'ast Ident) {
            self.found |= self.params.contains(name);
        }
    }
    let params: Vec<Ident> = input
        .generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Type(param) => Some(param.ident.clone()),
            GenericParam::Lifetime(_) | GenericParam::Const(_) => None,
        })
        .collect();
    let types: Vec<&Type> = match &input.data {
        Data::Struct(data) => data.fields.iter().map(|field| &field.ty).collect(),
        Data::Enum(data) => {
            data.variants.iter().flat_map(|v| v.fields.iter().map(|field| &field.ty)).collect()
        }
        Data::Union(_) => Vec::new(),
    };
    let mut generics = input.generics.clone();
    let bound = Ident::new(bound, Span::mixed_site());
    for ty in types {
        let mut mentions = Mentions { params: &params, found: false };
        mentions.visit_type(ty);
        if mentions.found {
            generics.make_where_clause().predicates.push(syn::parse_quote!(#ty: #hooks::#bound));
        }
    }
    generics
}
