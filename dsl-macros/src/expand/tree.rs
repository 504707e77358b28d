//! `#[derive(Tree)]`.

use super::control::at;
use super::hooks;
use crate::error::{self, Errors};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Data, DeriveInput, Field, Fields, GenericParam, Generics, Ident};

/// A field, and whether it belongs to the program instead of its arguments.
struct Entry<'a> {
    field: &'a Field,
    /// The variable that the field is bound to.
    name: Ident,
    is_static: bool,
}

/// Expands `#[derive(Tree)]`.
pub(crate) fn expand_tree(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut errors = Errors::default();
    refuse(&input.attrs, &mut errors);
    let variants: Vec<(TokenStream, Vec<Entry<'_>>, &Fields)> = match &input.data {
        Data::Struct(data) => {
            vec![(quote!(Self), entries(&data.fields, &mut errors), &data.fields)]
        }
        Data::Enum(data) => data
            .variants
            .iter()
            .map(|variant| {
                refuse(&variant.attrs, &mut errors);
                let name = &variant.ident;
                (quote!(Self::#name), entries(&variant.fields, &mut errors), &variant.fields)
            })
            .collect(),
        Data::Union(data) => {
            errors.push(&data.union_token, error::tree_union());
            return errors.into_tokens();
        }
    };
    if !errors.is_empty() {
        return errors.into_tokens();
    }
    expansion(&input, &variants)
}

fn expansion(
    input: &DeriveInput,
    variants: &[(TokenStream, Vec<Entry<'_>>, &Fields)],
) -> TokenStream {
    let hooks = hooks();
    let (f, visitor) =
        (Ident::new("f", Span::mixed_site()), Ident::new("visitor", Span::mixed_site()));
    let is_enum = matches!(input.data, Data::Enum(_));
    let maps = variants.iter().map(|(path, entries, fields)| {
        let values = entries.iter().map(|Entry { field, name, is_static }| {
            let span = field.ty.span();
            match is_static {
                true => quote_spanned!(span=> ::core::clone::Clone::clone(#name)),
                false => quote_spanned!(span=> #hooks::Tree::map_leaves(#name, #f)),
            }
        });
        let (pattern, made) =
            (build(fields, entries, None), build(fields, entries, Some(values.collect())));
        quote!(#path #pattern => #path #made,)
    });
    let visits = variants.iter().enumerate().map(|(number, (path, entries, fields))| {
        let visits = entries.iter().map(|Entry { field, name, is_static }| {
            let span = field.ty.span();
            match is_static {
                true => {
                    let hooks = at(&hooks, span);
                    let ty = &field.ty;
                    quote_spanned!(span=> #hooks::StaticVisitor::value::<#ty>(#visitor, #name);)
                }
                false => quote_spanned!(span=> #hooks::Tree::visit_static(#name, #visitor);),
            }
        });
        let pattern = build(fields, entries, None);
        let variant = is_enum.then(|| quote!(#visitor.value(&#number);));
        quote!(#path #pattern => { #variant #(#visits)* })
    });
    // A reference to an enum without variants still needs an arm.
    let this = if variants.is_empty() { quote!(*self) } else { quote!(self) };
    let name = &input.ident;
    let generics = bounds(input, variants, &hooks);
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let where_clause = &generics.where_clause;
    quote! {
        #[automatically_derived]
        impl #impl_generics #hooks::Tree for #name #ty_generics #where_clause {
            fn map_leaves(
                &self,
                #f: &mut dyn ::core::ops::FnMut(&#hooks::DynTensor) -> #hooks::DynTensor,
            ) -> Self {
                let _ = &#f;
                match #this { #(#maps)* }
            }

            fn visit_static(&self, #visitor: &mut #hooks::StaticVisitor<'_>) {
                let _ = &#visitor;
                match #this { #(#visits)* }
            }
        }
    }
}

fn entries<'a>(fields: &'a Fields, errors: &mut Errors) -> Vec<Entry<'a>> {
    let entry = |(idx, field): (usize, &'a Field)| {
        // Where rustc shows what is wrong with the field's type.
        let span = Span::mixed_site().located_at(field.ty.span());
        let name = Ident::new(&format!("field_{idx}"), span);
        Entry { field, name, is_static: is_static(&field.attrs, errors) }
    };
    fields.iter().enumerate().map(entry).collect()
}

/// Whether the attributes of a field have `#[tree(static)]`.
fn is_static(attrs: &[Attribute], errors: &mut Errors) -> bool {
    let mut found = false;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("tree")) {
        let is_known = attr.parse_args::<syn::Token![static]>().map(|_| ()).is_ok();
        if is_known {
            found = true;
        } else {
            errors.push(attr, error::tree_attribute());
        }
    }
    found
}

/// `#[tree(..)]` stands on fields alone.
fn refuse(attrs: &[Attribute], errors: &mut Errors) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("tree")) {
        errors.push(attr, error::tree_attribute());
    }
}

/// The fields as a pattern that binds them, or with these values.
fn build(fields: &Fields, entries: &[Entry<'_>], values: Option<Vec<TokenStream>>) -> TokenStream {
    let names = entries.iter().map(|entry| entry.name.to_token_stream());
    let values = values.unwrap_or_else(|| names.collect());
    match fields {
        Fields::Named(fields) => {
            let fields = fields.named.iter().map(|field| &field.ident);
            quote!({ #(#fields: #values),* })
        }
        Fields::Unnamed(_) => quote!(( #(#values),* )),
        Fields::Unit => TokenStream::new(),
    }
}

/// The generics with bounds for each field whose type names a type parameter.
fn bounds(
    input: &DeriveInput,
    variants: &[(TokenStream, Vec<Entry<'_>>, &Fields)],
    hooks: &TokenStream,
) -> Generics {
    struct Mentions<'a> {
        params: &'a [&'a Ident],
        found: bool,
    }
    impl<'ast> Visit<'ast> for Mentions<'_> {
        fn visit_ident(&mut self, name: &'ast Ident) {
            self.found |= self.params.contains(&name);
        }
    }
    let params: Vec<&Ident> = input
        .generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Type(param) => Some(&param.ident),
            GenericParam::Lifetime(_) | GenericParam::Const(_) => None,
        })
        .collect();
    let mut generics = input.generics.clone();
    for entry in variants.iter().flat_map(|(_, entries, _)| entries) {
        let ty = &entry.field.ty;
        let mut mentions = Mentions { params: &params, found: false };
        mentions.visit_type(ty);
        if mentions.found {
            let bound = match entry.is_static {
                true => quote!(::core::clone::Clone + ::core::hash::Hash),
                false => quote!(#hooks::Tree),
            };
            generics.make_where_clause().predicates.push(syn::parse_quote!(#ty: #bound));
        }
    }
    generics
}
