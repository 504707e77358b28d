//! From what the user wrote to Rust that traces it.

mod attributes;
mod call;
mod carried;
mod control;
mod function;
mod kernel;
mod launch;
mod tree;

pub(crate) use carried::expand_carried;
pub(crate) use function::expand_fn;
pub(crate) use kernel::{expand_kernel, idents};
pub(crate) use tree::expand_tree;

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;

/// The path of the hooks, by the name under which the user's crate knows `systole`.
fn hooks() -> TokenStream {
    match crate_name("systole") {
        Ok(FoundCrate::Name(name)) => {
            let name = Ident::new(&name, Span::call_site());
            quote!(::#name::__dsl)
        }
        // `systole` names itself `::systole`, which also holds in its own tests and examples.
        Ok(FoundCrate::Itself) | Err(_) => quote!(::systole::__dsl),
    }
}
