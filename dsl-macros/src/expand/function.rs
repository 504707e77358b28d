//! `#[tpu_fn]`.

use super::control::Lower;
use super::hooks;
use crate::error::{self, Errors};
use crate::parse::FnItem;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::visit_mut::VisitMut;
use syn::{Block, Signature};

/// Expands `#[tpu_fn]`.
pub(crate) fn expand_fn(attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    if !attr.is_empty() {
        errors.push(&attr, error::function_argument());
    }
    let mut function: FnItem = match syn::parse2(item.clone()) {
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
    let hooks = hooks();
    let mut lower = Lower::new(&hooks, &mut errors);
    lower.declare_inputs(&mut function.sig);
    if let Some(body) = &mut function.body {
        lower.visit_block_mut(body);
    }
    let FnItem { attrs, vis, defaultness, sig, body } = &function;
    let Some(body) = body else {
        let errors = errors.into_tokens();
        return quote!(#(#attrs)* #vis #defaultness #sig; #errors);
    };
    if !errors.is_empty() {
        let stub = stub(sig);
        let errors = errors.into_tokens();
        return quote!(#(#attrs)* #vis #defaultness #stub #errors);
    }
    let statements = statements(body);
    quote! {
        #(#attrs)* #vis #defaultness #sig {
            #[allow(unused_imports, reason = "only stores need it")]
            use #hooks::HostStore as _;
            #statements
        }
    }
}

/// Whether tokens look like a function that merely fails to parse.
pub(crate) fn looks_like_fn(item: TokenStream) -> bool {
    item.into_iter().any(|tree| matches!(tree, proc_macro2::TokenTree::Ident(word) if word == "fn"))
}

/// The statements of a body.
pub(crate) fn statements(body: &Block) -> TokenStream {
    body.stmts.iter().map(ToTokens::to_token_stream).collect()
}

/// A function of this signature without its body, so that callers see no second error.
fn stub(sig: &Signature) -> TokenStream {
    let span = Span::mixed_site().located_at(sig.ident.span());
    let body = quote_spanned!(span=> { ::core::unimplemented!("the kernel has errors") });
    quote! {
        #[allow(unused_variables, unused_mut, clippy::unimplemented, reason = "a stub")]
        #sig #body
    }
}
