//! What calls a kernel: `call`, `with_vjp`, and the key by which the runtime knows it again.

use super::kernel::{Kernel, idents};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Generics, Ident, Type};

/// `call`, which takes an argument per input and gives a result per output.
pub(super) fn call_fn(kernel: &Kernel) -> TokenStream {
    let hooks = &kernel.hooks;
    let arrays = kernel.item.blocks().filter(|(_, block)| block.kind.is_input());
    let inputs = kernel.item.extents().chain(kernel.item.tables().map(|(param, _)| param));
    let inputs: Vec<&Ident> =
        inputs.chain(arrays.map(|(param, _)| param)).map(|param| &param.name).collect();
    let outputs: Vec<&Type> = kernel
        .item
        .blocks()
        .filter(|(_, block)| block.kind.is_output())
        .map(|(param, _)| &param.ty)
        .collect();
    let results: Vec<Ident> = (0..outputs.len())
        .map(|n| Ident::new(&format!("result_{n}"), Span::mixed_site()))
        .collect();
    let given = Ident::new("given", Span::mixed_site());
    let args: Vec<Ident> = (0..inputs.len()).map(|n| format_ident!("__Arg{n}")).collect();
    let (caller, generics) = match args.split_first() {
        None => (quote!(#hooks::HostCaller), quote!()),
        Some((first, rest)) => (
            quote!(<#first as #hooks::CallArg<'__call>>::Caller),
            quote! {
                <
                    '__call,
                    #first: #hooks::CallArg<'__call>,
                    #(#rest: #hooks::CallArg<'__call, Caller = #first::Caller>,)*
                >
            },
        ),
    };
    let elements = outputs.iter().map(|ty| quote!(<#ty as #hooks::ParamRef>::Elem));
    let elements: Vec<TokenStream> = elements.collect();
    let types = elements.iter().map(|elem| quote!(<#caller as #hooks::Caller>::Output<#elem>));
    let values = elements
        .iter()
        .zip(&results)
        .map(|(elem, result)| quote!(<#caller as #hooks::Caller>::typed::<#elem>(#result)));
    let (types, values) = match results.len() {
        1 => (quote!(#(#types)*), quote!(#(#values)*)),
        _ => (quote!((#(#types),*)), quote!((#(#values),*))),
    };
    let span = Span::mixed_site().located_at(kernel.item.sig.ident.span());
    quote_spanned! {span=>
        /// Runs the kernel on arguments, one per extent, table and input in order: host arrays are
        /// interpreted on the CPU, and on tensors the kernel is an op like others. Gives one result
        /// per output, with its element type.
        ///
        /// A tensor for an `InOut` parameter lends its memory to the result if it is given by
        /// value, and nobody holds a clone of it; one given by reference is copied. On tensors the
        /// kernel is traced once for equal compile-time parameters and types of the arguments, and
        /// by each call if a parameter is a closure that captures something.
        ///
        /// # Errors
        /// Arguments that do not fit, mistakes in the kernel, and hazards met while it runs.
        #[track_caller]
        #[allow(clippy::too_many_arguments, reason = "as many as the kernel has arrays")]
        pub fn call #generics (
            &self,
            #(#inputs: #args),*
        ) -> ::core::result::Result<#types, #hooks::Diagnostics> {
            let #given = <#caller as #hooks::Caller>::call(
                self,
                &self.__state,
                &[#(#hooks::CallArg::into_arg(#inputs)),*],
            )?;
            let [#(#results),*] = #hooks::take(#hooks::KernelFn::name(self), #given)?;
            ::core::result::Result::Ok(#values)
        }
    }
}

/// `with_vjp`, which gives calls on tensors a gradient.
pub(super) fn vjp_fn(kernel: &Kernel) -> TokenStream {
    let hooks = &kernel.hooks;
    let span = Span::mixed_site().located_at(kernel.item.sig.ident.span());
    quote_spanned! {span=>
        /// Gives calls on tensors a gradient: `vjp` takes the inputs, the outputs, and the gradient
        /// by each output, and gives that by each input, or none where there is none.
        pub fn with_vjp<
            __Gradients: #hooks::Outcome<
                Tree = ::std::vec::Vec<::core::option::Option<#hooks::DynTensor>>,
            >,
        >(
            mut self,
            vjp: impl ::core::ops::Fn(
                &[#hooks::DynTensor],
                &[#hooks::DynTensor],
                &[#hooks::DynTensor],
            ) -> __Gradients
            + ::core::marker::Send
            + ::core::marker::Sync
            + 'static,
        ) -> Self {
            self.__state.set_vjp(vjp);
            self
        }
    }
}

/// `key`: what tells this kernel from others.
pub(super) fn key_fn(kernel: &Kernel) -> TokenStream {
    let hooks = &kernel.hooks;
    let names = generic_names(&kernel.generics);
    let key = Ident::new("key", Span::mixed_site());
    let told = kernel.item.comptime().map(|param| {
        let (name, ty) = (&param.name, &param.ty);
        let mut mentioned = Vec::new();
        idents(quote!(#ty), &mut mentioned);
        // Of what is generic, nothing is known but its size: its `Eq`, if it has one, may hold for
        // types that borrow, which no key can keep.
        match mentioned.iter().any(|name| names.contains(name)) {
            true => quote!(#hooks::KeyBySize::add_to(&#hooks::Comptime(&self.#name), &mut #key)),
            false => quote!((&&&#hooks::Comptime(&self.#name)).add_to(&mut #key)),
        }
    });
    quote! {
        fn key(&self) -> ::core::option::Option<#hooks::KernelKey<'_>> {
            #[allow(unused_imports, reason = "each type of parameter needs one of them")]
            use #hooks::{KeyByBits as _, KeyByEq as _, KeyBySize as _};
            #[allow(unused_mut, reason = "without parameters nothing is added")]
            let mut #key = #hooks::KernelKey::of::<Self>();
            (true #(&& #told)*).then_some(#key)
        }
    }
}

/// The names of type and lifetime parameters.
fn generic_names(generics: &Generics) -> Vec<String> {
    let types = generics.type_params().map(|param| param.ident.to_string());
    types.chain(generics.lifetimes().map(|param| param.lifetime.ident.to_string())).collect()
}
