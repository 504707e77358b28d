//! Lowers a body: control flow, comparisons and stores become calls of the tracing hooks.
//!
//! Everything else stays as the user wrote it, on the user's spans. Hidden locals have the span
//! of the macro's definition, so that they meet no name of the user's.

use super::attributes::attributes;
use crate::error::{self, Errors};
use crate::free::{
    Binding, Free, Scopes, has_escape, is_comptime, is_comptime_arithmetic, pattern_names,
};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprClosure, ExprForLoop, ExprIf, ExprIndex,
    ExprMacro, ExprWhile, FnArg, Ident, Item, Lifetime, Local, Pat, RangeLimits, Signature, Stmt,
    Type,
};

/// The lowering of one function body.
pub(crate) struct Lower<'a> {
    /// The path of the hooks: `::systole::__dsl`.
    hooks: &'a TokenStream,
    errors: &'a mut Errors,
    scopes: Scopes,
    /// The loops around the place, and the labeled blocks, innermost last.
    loops: Vec<LoopAround>,
}

struct LoopAround {
    label: Option<Ident>,
    device: bool,
}

impl<'a> Lower<'a> {
    pub(crate) fn new(hooks: &'a TokenStream, errors: &'a mut Errors) -> Lower<'a> {
        let mut scopes = Scopes::default();
        scopes.push();
        Lower { hooks, errors, scopes, loops: Vec::new() }
    }

    /// Declares a name of the function.
    pub(crate) fn declare(&mut self, name: &Ident, binding: Binding) {
        self.scopes.declare(name.clone(), binding);
    }

    /// Declares the parameters of a function; those under `#[comptime]` lose the attribute.
    pub(crate) fn declare_inputs(&mut self, sig: &mut Signature) {
        for input in &mut sig.inputs {
            match input {
                FnArg::Receiver(receiver) => {
                    let name = Ident::new("self", receiver.self_token.span);
                    let binding = match (&receiver.reference, &receiver.mutability) {
                        (Some(_), Some(_)) => Binding::MutableRef,
                        (None, Some(_)) => Binding::Mutable,
                        _ => Binding::Plain,
                    };
                    self.declare(&name, binding);
                }
                FnArg::Typed(arg) => {
                    let n_attrs = arg.attrs.len();
                    arg.attrs.retain(|attr| !attr.path().is_ident("comptime"));
                    let plain = if arg.attrs.len() < n_attrs {
                        Binding::Comptime
                    } else {
                        plain_binding(Some(&arg.ty))
                    };
                    self.scopes.declare_pattern(&arg.pat, plain);
                }
            }
        }
    }

    /// The path of the hooks at the user's place: a call is located by its first token.
    fn hooks_at(&self, span: Span) -> TokenStream {
        at(self.hooks, span)
    }

    fn hidden(&self, name: &str) -> Ident {
        Ident::new(name, Span::mixed_site())
    }

    /// The outer variables among free names that may change, as they were declared: `let mut`
    /// ones, mutable references, and what is written through like one.
    fn carried(&self, free: &Free) -> Vec<(Ident, Binding)> {
        let mut carried = Vec::new();
        for name in &free.names {
            match self.scopes.find(name) {
                Some((declared, binding @ (Binding::Mutable | Binding::MutableRef))) => {
                    carried.push((declared.clone(), binding));
                }
                Some((declared, Binding::Plain)) if free.written_through.contains(name) => {
                    carried.push((declared.clone(), Binding::MutableRef));
                }
                _ => {}
            }
        }
        carried
    }

    /// `[control.var("m", &mut m), ..]`.
    fn vars(&self, control: &Ident, carried: &[(Ident, Binding)]) -> TokenStream {
        let vars = carried.iter().map(|(name, binding)| {
            let (text, place) = var_place(name, *binding);
            quote_spanned!(name.span()=> #control.var(#text, #place))
        });
        quote!([#(#vars),*])
    }

    fn lower_if(&mut self, expr: &mut ExprIf) -> Option<Expr> {
        let arms = arms(expr);
        let escapes = has_escape(&arms.iter().collect::<Vec<_>>());
        let cond = strip_comptime(&mut expr.cond, self.errors);
        let lets = has_let(&expr.cond);
        if cond || lets || escapes || is_comptime(&expr.cond, &self.scopes) {
            self.scopes.push();
            let wrap = escapes && !cond && !is_comptime(&expr.cond, &self.scopes);
            self.host_condition(&mut expr.cond, wrap || lets);
            self.visit_block_mut(&mut expr.then_branch);
            self.scopes.pop();
            if let Some((_, otherwise)) = &mut expr.else_branch {
                self.visit_expr_mut(otherwise);
            }
            return None;
        }
        self.check_deferred(expr);
        let mut free = Free::default();
        free.add_block(None, &expr.then_branch);
        if let Some((_, otherwise)) = &expr.else_branch {
            free.add_expr(otherwise);
        }
        let carried = self.carried(&free);
        let (span, cond_span) = (hidden_at(expr.if_token.span), expr.cond.span());
        self.visit_expr_mut(&mut expr.cond);
        self.visit_block_mut(&mut expr.then_branch);
        if let Some((_, otherwise)) = &mut expr.else_branch {
            self.visit_expr_mut(otherwise);
        }
        let (hooks, control) = (self.hooks_at(cond_span), self.hidden("control"));
        let (then, other, value) =
            (self.hidden("then"), self.hidden("otherwise"), self.hidden("value"));
        let vars = self.vars(&control, &carried);
        let cond = strip_parens(&expr.cond);
        let then_tail = hidden_at(tail_span(&expr.then_branch));
        let then_block = rebuilt(&expr.then_branch, then_tail);
        let begin = quote_spanned!(cond_span=> #hooks::begin_if(#cond));
        let other_arm = match &expr.else_branch {
            None => quote!(()),
            Some((_, otherwise)) => {
                let tail = match &**otherwise {
                    Expr::Block(block) => tail_span(&block.block),
                    other => other.span(),
                };
                let tail = hidden_at(tail);
                match &**otherwise {
                    Expr::Block(block) => rebuilt(&block.block, tail),
                    other => quote_spanned!(tail=> #other),
                }
            }
        };
        let bind = quote_spanned!(then_tail=> let #value = #then_block;);
        Some(parsed(quote_spanned! {span=> {
            let mut #control = #begin;
            let #then = if #control.enter_then(#vars) {
                #bind
                #control.leave_then(#vars);
                ::core::option::Option::Some(#value)
            } else {
                ::core::option::Option::None
            };
            let #other = if #control.enter_else(#vars) {
                ::core::option::Option::Some(#other_arm)
            } else {
                ::core::option::Option::None
            };
            #control.finish(#then, #other, #vars)
        }}))
    }

    /// Lowers the parts of a condition that stays one of the host.
    fn host_condition(&mut self, cond: &mut Expr, wrap: bool) {
        match cond {
            Expr::Let(expr) => {
                self.visit_expr_mut(&mut expr.expr);
                self.scopes.declare_pattern(&expr.pat, Binding::Plain);
            }
            Expr::Binary(expr) if matches!(expr.op, BinOp::And(_)) && has_let_binary(expr) => {
                self.host_condition(&mut expr.left, wrap);
                self.host_condition(&mut expr.right, wrap);
            }
            _ => {
                let span = cond.span();
                self.visit_expr_mut(cond);
                if wrap {
                    let (hooks, inner) = (self.hooks_at(span), strip_parens(cond));
                    *cond = parsed(quote_spanned!(span=> #hooks::host_condition(#inner)));
                }
            }
        }
    }

    /// Reports variables without a value that get their first one in a lowered `if`.
    fn check_deferred(&mut self, expr: &ExprIf) {
        struct Assigned(Vec<Ident>);
        impl<'ast> syn::visit::Visit<'ast> for Assigned {
            fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
                if let Expr::Path(path) = &*assign.left
                    && let Some(name) = path.path.get_ident()
                {
                    self.0.push(name.clone());
                }
                syn::visit::visit_expr_assign(self, assign);
            }
        }
        let mut assigned = Assigned(Vec::new());
        syn::visit::visit_expr_if(&mut assigned, expr);
        for name in assigned.0 {
            if let Some((_, Binding::Deferred)) = self.scopes.find(&name) {
                self.errors.push(&name, error::deferred_init(&name));
            }
        }
    }

    /// Reports variables of which only rustc knows whether they are there, and that hide others: what
    /// a name after them means decides how control flow around it is lowered.
    fn check_conditional(&mut self, local: &Local) {
        let is_cfg = |attr: &Attribute| attr.path().is_ident("cfg");
        let Some(attr) = local.attrs.iter().find(|attr| is_cfg(attr)) else { return };
        for name in pattern_names(&local.pat) {
            if self.scopes.find(&name.ident).is_some() {
                self.errors.push(attr, error::conditional_variable(&name.ident));
            }
        }
    }

    fn lower_for(&mut self, expr: &mut ExprForLoop) -> Option<Expr> {
        let unroll = self.take_unroll(&mut expr.attrs);
        let range = if unroll { None } else { literal_range(&expr.expr) };
        let Some(mut range) = range else {
            self.visit_expr_mut(&mut expr.expr);
            self.loops.push(LoopAround { label: label(&expr.label), device: false });
            self.scopes.push();
            self.scopes.declare_pattern(&expr.pat, Binding::Plain);
            self.visit_block_mut(&mut expr.body);
            self.scopes.pop();
            self.loops.pop();
            return None;
        };
        let mut free = Free::default();
        free.add_block(Some(&expr.pat), &expr.body);
        let carried = self.carried(&free);
        for bound in [&mut range.lo, &mut range.hi, &mut range.step] {
            self.visit_expr_mut(bound);
        }
        self.loops.push(LoopAround { label: label(&expr.label), device: true });
        self.scopes.push();
        self.scopes.declare_pattern(&expr.pat, Binding::Plain);
        self.visit_block_mut(&mut expr.body);
        self.scopes.pop();
        self.loops.pop();
        let (hooks, control) = (self.hooks_at(range.span), self.hidden("control"));
        let vars = self.vars(&control, &carried);
        let (pat, body) = (&expr.pat, &expr.body.stmts);
        let Range { lo, hi, step, inclusive, span } = range;
        let outer = hidden_at(expr.for_token.span);
        let begin = Ident::new(if inclusive { "begin_for_inclusive" } else { "begin_for" }, span);
        let begin = quote_spanned!(span=> #hooks::#begin(#lo, #hi, #step));
        Some(parsed(quote_spanned! {outer=> {
            let mut #control = #begin;
            while let ::core::option::Option::Some(#pat) = #control.next(#vars) {
                #(#body)*
            }
        }}))
    }

    fn take_unroll(&mut self, attrs: &mut Vec<syn::Attribute>) -> bool {
        let before = attrs.len();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("unroll")) {
            if !matches!(attr.meta, syn::Meta::Path(_)) {
                self.errors.push(attr, error::unroll_argument());
            }
        }
        attrs.retain(|attr| !attr.path().is_ident("unroll"));
        attrs.len() < before
    }

    fn lower_while(&mut self, expr: &mut ExprWhile) -> Option<Expr> {
        let body = Expr::Block(syn::ExprBlock {
            attrs: Vec::new(),
            label: None,
            block: expr.body.clone(),
        });
        // A `break` in the body ends this loop, so it leaves the body.
        let escapes = has_escape(&[&body, &expr.cond]);
        let comptime = strip_comptime(&mut expr.cond, self.errors);
        let lets = has_let(&expr.cond);
        if comptime || lets || escapes || is_comptime(&expr.cond, &self.scopes) {
            self.scopes.push();
            let wrap = escapes && !comptime;
            self.host_condition(&mut expr.cond, wrap || lets);
            self.loops.push(LoopAround { label: label(&expr.label), device: false });
            self.visit_block_mut(&mut expr.body);
            self.loops.pop();
            self.scopes.pop();
            return None;
        }
        let mut free = Free::default();
        free.add_expr(&expr.cond);
        free.add_block(None, &expr.body);
        let carried = self.carried(&free);
        let (span, cond_span) = (hidden_at(expr.while_token.span), expr.cond.span());
        self.visit_expr_mut(&mut expr.cond);
        self.loops.push(LoopAround { label: label(&expr.label), device: false });
        self.visit_block_mut(&mut expr.body);
        self.loops.pop();
        let (hooks, control, value) =
            (self.hooks_at(cond_span), self.hidden("control"), self.hidden("condition"));
        let vars = carried.iter().map(|(name, binding)| {
            let (text, place) = var_place(name, *binding);
            let hooks = at(&hooks, name.span());
            quote_spanned!(name.span()=> #hooks::while_var(&#control, #text, #place))
        });
        let vars = quote!([#(#vars),*]);
        let cond = strip_parens(&expr.cond);
        let begin = quote_spanned!(cond_span=> #hooks::While::new());
        let test = quote_spanned!(cond_span=> #control.test(#value, #vars));
        let body = &expr.body.stmts;
        Some(parsed(quote_spanned! {span=> {
            let mut #control = #begin;
            while #control.enter(#vars) {
                let #value = #cond;
                if !#test {
                    break;
                }
                #(#body)*
            }
        }}))
    }

    fn lower_binary(&mut self, expr: &mut ExprBinary) -> Option<Expr> {
        if let Some(method) = compound_method(&expr.op) {
            let Expr::Index(place) = &mut *expr.left else { return self.keep(expr) };
            let span = expr.right.span();
            self.visit_expr_mut(&mut expr.right);
            return Some(self.store(place, (&expr.right, span), method));
        }
        if let Some(name) = comparison(&expr.op) {
            let (left_span, right_span) = (expr.left.span(), expr.right.span());
            visit_mut::visit_expr_binary_mut(self, expr);
            let (hooks, name) = (self.hooks_at(left_span), Ident::new(name, left_span));
            let left = reference(&expr.left, left_span);
            let right = reference(&expr.right, right_span);
            return Some(parsed(quote_spanned! {left_span=>
                #hooks::#name(#left, #right)
            }));
        }
        let begin = match expr.op {
            BinOp::And(_) => "begin_and",
            BinOp::Or(_) => "begin_or",
            _ => return self.keep(expr),
        };
        self.lower_logic(expr, begin)
    }

    fn keep(&mut self, expr: &mut ExprBinary) -> Option<Expr> {
        visit_mut::visit_expr_binary_mut(self, expr);
        None
    }

    fn lower_logic(&mut self, expr: &mut ExprBinary, begin: &str) -> Option<Expr> {
        let escapes = has_escape(&[&expr.right]);
        let comptime =
            is_comptime(&expr.left, &self.scopes) && is_comptime(&expr.right, &self.scopes);
        if escapes || comptime {
            self.host_condition(&mut expr.left, escapes);
            self.host_condition(&mut expr.right, escapes);
            return None;
        }
        let carried = self.carried(&Free::of_expr(&expr.right));
        let (left_span, right_span) = (expr.left.span(), expr.right.span());
        visit_mut::visit_expr_binary_mut(self, expr);
        let hooks = self.hooks_at(left_span);
        let (control, value) = (self.hidden("logic"), self.hidden("right"));
        let vars = self.vars(&control, &carried);
        let (left, right) = (strip_parens(&expr.left), strip_parens(&expr.right));
        let begin = Ident::new(begin, left_span);
        let begin = quote_spanned!(left_span=> #hooks::#begin(#left));
        let finish = quote_spanned!(right_span=> #control.finish(#value, #vars));
        Some(parsed(quote_spanned! {hidden_at(left_span)=> {
            let mut #control = #begin;
            let #value = if #control.enter(#vars) {
                ::core::option::Option::Some(#right)
            } else {
                ::core::option::Option::None
            };
            #finish
        }}))
    }

    /// `place[index] = value`, by the hook `method`.
    fn store(
        &mut self,
        place: &mut ExprIndex,
        (value, value_span): (&Expr, Span),
        method: &str,
    ) -> Expr {
        let span = place.expr.span();
        self.visit_expr_mut(&mut place.expr);
        self.visit_expr_mut(&mut place.index);
        // A local of the user's, not a hidden one: rustc shows an error about a hidden one at the
        // macro's attribute. It is out of scope before the user can meet it.
        let stored = Ident::new("__dsl_stored", value_span);
        let (memory, index) = (&place.expr, &place.index);
        let method = Ident::new(method, span);
        let call = quote_spanned!(span=> #memory.#method(#index, #stored));
        parsed(quote_spanned! {hidden_at(span)=> {
            let #stored = #value;
            #call
        }})
    }

    fn check_jump(&mut self, what: &str, tokens: &dyn ToTokens, target: Option<Option<&Lifetime>>) {
        let mut crossed = false;
        for around in self.loops.iter().rev() {
            crossed |= around.device;
            let reached = match target {
                // `return` and `?` leave every loop.
                None => false,
                Some(None) => true,
                Some(Some(label)) => around.label.as_ref() == Some(&label.ident),
            };
            if reached {
                break;
            }
        }
        if crossed {
            self.errors.push(tokens, error::leaves_device_loop(&what));
        }
    }

    fn visit_closure(&mut self, closure: &mut ExprClosure) {
        let loops = std::mem::take(&mut self.loops);
        self.scopes.push();
        for input in &closure.inputs {
            let ty = match input {
                Pat::Type(pat) => Some(&*pat.ty),
                _ => None,
            };
            self.scopes.declare_pattern(input, plain_binding(ty));
        }
        self.visit_expr_mut(&mut closure.body);
        self.scopes.pop();
        self.loops = loops;
    }

    fn visit_macro(&mut self, expr: &ExprMacro) -> Option<Expr> {
        if !expr.mac.path.is_ident("comptime") {
            return None;
        }
        match expr.mac.parse_body::<Expr>() {
            Ok(mut inner) => {
                self.visit_expr_mut(&mut inner);
                Some(inner)
            }
            Err(_) => {
                self.errors.push(&expr.mac, error::comptime_argument());
                None
            }
        }
    }
}

impl VisitMut for Lower<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        self.scopes.push();
        visit_mut::visit_block_mut(self, block);
        self.scopes.pop();
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if let Stmt::Macro(mac) = stmt
            && mac.mac.path.is_ident("comptime")
        {
            let expr = Expr::Macro(ExprMacro { attrs: mac.attrs.clone(), mac: mac.mac.clone() });
            *stmt = Stmt::Expr(expr, mac.semi_token);
        }
        visit_mut::visit_stmt_mut(self, stmt);
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        self.check_conditional(local);
        let mut plain = match &local.pat {
            Pat::Type(pat) => plain_binding(Some(&pat.ty)),
            _ => Binding::Plain,
        };
        match &mut local.init {
            None => plain = Binding::Deferred,
            Some(init) => {
                if let Expr::Reference(reference) = &*init.expr
                    && reference.mutability.is_some()
                {
                    plain = Binding::MutableRef;
                }
                if is_comptime_arithmetic(&init.expr, &self.scopes) {
                    plain = Binding::Comptime;
                }
                self.visit_expr_mut(&mut init.expr);
                if let Some((_, diverge)) = &mut init.diverge {
                    self.visit_expr_mut(diverge);
                }
            }
        }
        self.scopes.declare_pattern(&local.pat, plain);
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        self.scopes.push();
        self.scopes.declare_pattern(&arm.pat, Binding::Plain);
        if let Some((_, guard)) = &mut arm.guard {
            self.host_condition(guard, true);
        }
        self.visit_expr_mut(&mut arm.body);
        self.scopes.pop();
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let attrs = attributes(expr);
        let lowered = match expr {
            Expr::If(inner) => self.lower_if(inner),
            Expr::ForLoop(inner) => self.lower_for(inner),
            Expr::While(inner) => self.lower_while(inner),
            Expr::Loop(inner) => {
                self.loops.push(LoopAround { label: label(&inner.label), device: false });
                self.visit_block_mut(&mut inner.body);
                self.loops.pop();
                None
            }
            Expr::Block(inner) if inner.label.is_some() => {
                self.loops.push(LoopAround { label: label(&inner.label), device: false });
                self.visit_block_mut(&mut inner.block);
                self.loops.pop();
                None
            }
            Expr::Binary(inner) => self.lower_binary(inner),
            Expr::Assign(inner) => {
                if let Expr::Index(place) = &mut *inner.left {
                    let span = inner.right.span();
                    self.visit_expr_mut(&mut inner.right);
                    Some(self.store(place, (&inner.right, span), "__dsl_store"))
                } else {
                    visit_mut::visit_expr_assign_mut(self, inner);
                    None
                }
            }
            Expr::Closure(inner) => {
                self.visit_closure(inner);
                None
            }
            Expr::Macro(inner) => self.visit_macro(inner),
            Expr::Repeat(inner) => {
                self.visit_expr_mut(&mut inner.expr);
                None
            }
            Expr::Let(inner) => {
                self.visit_expr_mut(&mut inner.expr);
                self.scopes.declare_pattern(&inner.pat, Binding::Plain);
                None
            }
            Expr::Return(_) | Expr::Try(_) | Expr::Break(_) | Expr::Continue(_) => {
                self.visit_jump(expr);
                visit_mut::visit_expr_mut(self, expr);
                None
            }
            Expr::Const(_) => None,
            _ => {
                visit_mut::visit_expr_mut(self, expr);
                None
            }
        };
        if let Some(lowered) = lowered {
            *expr = if attrs.is_empty() { lowered } else { parsed(quote!(#(#attrs)* #lowered)) };
        }
    }

    fn visit_item_mut(&mut self, _: &mut Item) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_path_mut(&mut self, _: &mut syn::Path) {}
    fn visit_angle_bracketed_generic_arguments_mut(
        &mut self,
        _: &mut syn::AngleBracketedGenericArguments,
    ) {
    }
}

impl Lower<'_> {
    fn visit_jump(&mut self, expr: &Expr) {
        match expr {
            Expr::Return(jump) => self.check_jump("return", &jump.return_token, None),
            Expr::Try(jump) => self.check_jump("?", &jump.question_token, None),
            Expr::Break(jump) => {
                self.check_jump("break", &jump.break_token, Some(jump.label.as_ref()));
            }
            Expr::Continue(jump) => {
                self.check_jump("continue", &jump.continue_token, Some(jump.label.as_ref()));
            }
            _ => {}
        }
    }
}

/// Tokens, all of them at one place.
pub(crate) fn at(tokens: &TokenStream, span: Span) -> TokenStream {
    tokens
        .clone()
        .into_iter()
        .map(|mut tree| {
            tree.set_span(span);
            tree
        })
        .collect()
}

/// The span of hidden names, shown at the user's place.
fn hidden_at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// The text of a carried variable's name, and the place that is handed over.
fn var_place(name: &Ident, binding: Binding) -> (String, TokenStream) {
    let text = name.to_string();
    let place = match binding {
        Binding::MutableRef => quote_spanned!(name.span()=> &mut *#name),
        _ => quote_spanned!(name.span()=> &mut #name),
    };
    (text, place)
}

fn plain_binding(ty: Option<&Type>) -> Binding {
    match ty {
        Some(Type::Reference(ty)) if ty.mutability.is_some() => Binding::MutableRef,
        _ => Binding::Plain,
    }
}

fn label(label: &Option<syn::Label>) -> Option<Ident> {
    label.as_ref().map(|label| label.name.ident.clone())
}

/// Both arms of an `if`, as expressions.
fn arms(expr: &ExprIf) -> Vec<Expr> {
    let then = Expr::Block(syn::ExprBlock {
        attrs: Vec::new(),
        label: None,
        block: expr.then_branch.clone(),
    });
    let otherwise = expr.else_branch.as_ref().map(|(_, otherwise)| (**otherwise).clone());
    std::iter::once(then).chain(otherwise).collect()
}

/// Takes `comptime!(..)` off a condition; whether it was there.
fn strip_comptime(cond: &mut Expr, errors: &mut Errors) -> bool {
    let Expr::Macro(mac) = cond else { return false };
    if !mac.mac.path.is_ident("comptime") {
        return false;
    }
    match mac.mac.parse_body::<Expr>() {
        Ok(inner) => *cond = inner,
        Err(_) => errors.push(&mac.mac, error::comptime_argument()),
    }
    true
}

fn has_let(cond: &Expr) -> bool {
    match cond {
        Expr::Let(_) => true,
        Expr::Binary(expr) => has_let_binary(expr),
        _ => false,
    }
}

fn has_let_binary(expr: &ExprBinary) -> bool {
    matches!(expr.op, BinOp::And(_)) && (has_let(&expr.left) || has_let(&expr.right))
}

fn comparison(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Eq(_) => "eq",
        BinOp::Ne(_) => "ne",
        BinOp::Lt(_) => "lt",
        BinOp::Le(_) => "le",
        BinOp::Gt(_) => "gt",
        BinOp::Ge(_) => "ge",
        _ => return None,
    })
}

pub(super) fn compound_method(op: &BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::AddAssign(_) => "__dsl_add_assign",
        BinOp::SubAssign(_) => "__dsl_sub_assign",
        BinOp::MulAssign(_) => "__dsl_mul_assign",
        BinOp::DivAssign(_) => "__dsl_div_assign",
        BinOp::RemAssign(_) => "__dsl_rem_assign",
        BinOp::BitAndAssign(_) => "__dsl_bitand_assign",
        BinOp::BitOrAssign(_) => "__dsl_bitor_assign",
        BinOp::BitXorAssign(_) => "__dsl_bitxor_assign",
        BinOp::ShlAssign(_) => "__dsl_shl_assign",
        BinOp::ShrAssign(_) => "__dsl_shr_assign",
        _ => return None,
    })
}

/// A range that stands as such in the header of a `for`.
struct Range {
    lo: Expr,
    hi: Expr,
    step: Expr,
    inclusive: bool,
    span: Span,
}

fn literal_range(expr: &Expr) -> Option<Range> {
    match expr {
        Expr::Paren(inner) => literal_range(&inner.expr),
        Expr::Group(inner) => literal_range(&inner.expr),
        Expr::Range(range) => {
            let (lo, hi) = (range.start.as_deref()?, range.end.as_deref()?);
            // Not on the user's span: clippy would take the user's `0` for this literal.
            let one = parsed(quote!(1usize));
            Some(Range {
                lo: strip_parens(lo).clone(),
                hi: strip_parens(hi).clone(),
                step: one,
                inclusive: matches!(range.limits, RangeLimits::Closed(_)),
                span: lo.span(),
            })
        }
        Expr::MethodCall(call) if call.method == "step_by" && call.args.len() == 1 => {
            let range = literal_range(&call.receiver)?;
            Some(Range { step: call.args.first()?.clone(), ..range })
        }
        _ => None,
    }
}

/// `&expr`, with parentheses where they are needed only.
fn reference(expr: &Expr, span: Span) -> Expr {
    Expr::Reference(syn::ExprReference {
        attrs: Vec::new(),
        and_token: syn::Token![&](span),
        mutability: None,
        expr: Box::new(strip_parens(expr).clone()),
    })
}

fn strip_parens(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) if inner.attrs.is_empty() => strip_parens(&inner.expr),
        _ => expr,
    }
}

/// A block with braces of the macro, so that rustc does not call them unused.
fn rebuilt(block: &Block, span: Span) -> TokenStream {
    let stmts = &block.stmts;
    quote_spanned!(span=> { #(#stmts)* })
}

fn tail_span(block: &Block) -> Span {
    block.stmts.last().map_or_else(|| block.span(), |stmt| stmt.span())
}

/// Generated tokens as an expression: kept as they are, since they need no further lowering.
fn parsed(tokens: TokenStream) -> Expr {
    Expr::Verbatim(tokens)
}
