//! Names: what is in scope, and which names a piece of code mentions from outside of it.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    Arm, Block, Expr, ExprClosure, ExprForLoop, ExprIf, ExprLet, ExprMacro, ExprPath, ExprWhile,
    Ident, Item, Label, Lifetime, Local, Pat, PatIdent, StmtMacro, Type,
};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// `let mut x`: a region that mentions it carries it.
    Mutable,
    /// `let r = &mut x`, or a parameter of type `&mut T`: carried through the reference.
    MutableRef,
    /// `let x`.
    Plain,
    /// `let x;`.
    Deferred,
    /// Known while tracing.
    Comptime,
}

/// The names in scope.
#[derive(Default, Debug)]
pub(crate) struct Scopes {
    scopes: Vec<Vec<(Ident, Binding)>>,
}

impl Scopes {
    /// Opens a scope.
    pub(crate) fn push(&mut self) {
        self.scopes.push(Vec::new());
    }

    /// Closes the innermost scope.
    pub(crate) fn pop(&mut self) {
        self.scopes.pop();
    }

    /// Declares a name.
    pub(crate) fn declare(&mut self, name: Ident, binding: Binding) {
        match self.scopes.last_mut() {
            Some(scope) => scope.push((name, binding)),
            None => self.scopes.push(vec![(name, binding)]),
        }
    }

    /// Declares the names of a pattern; plain ones become `plain`.
    pub(crate) fn declare_pattern(&mut self, pattern: &Pat, plain: Binding) {
        for name in pattern_names(pattern) {
            let mutable = name.mutability.is_some();
            let by_mutable_ref = name.by_ref.is_some() && mutable;
            let binding = match (mutable, by_mutable_ref) {
                (_, true) => Binding::MutableRef,
                (true, false) => Binding::Mutable,
                (false, false) => plain,
            };
            self.declare(name.ident, binding);
        }
    }

    /// What a name stands for, with the place that declares it; `None` for an item.
    pub(crate) fn find(&self, name: &Ident) -> Option<(&Ident, Binding)> {
        let mut all = self.scopes.iter().rev().flat_map(|scope| scope.iter().rev());
        all.find(|(known, _)| known == name).map(|(known, binding)| (known, *binding))
    }
}

/// The names that a pattern binds.
pub(crate) fn pattern_names(pattern: &Pat) -> Vec<PatIdent> {
    struct Names(Vec<PatIdent>);
    impl<'ast> Visit<'ast> for Names {
        fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
            // A capitalized name is a constant or a variant, not a binding.
            let shown = pattern.ident.to_string();
            if !shown.starts_with(char::is_uppercase) {
                self.0.push(pattern.clone());
            }
            visit::visit_pat_ident(self, pattern);
        }
        fn visit_expr(&mut self, _: &'ast Expr) {}
    }
    let mut names = Names(Vec::new());
    names.visit_pat(pattern);
    names.0
}

/// The names that code mentions and does not bind itself, in the order of their first mention.
#[derive(Default)]
pub(crate) struct Free {
    bound: Scopes,
    pub(crate) names: Vec<Ident>,
    /// The names among them that are written through: `*x = ..`, `*x += ..`, `&mut *x`.
    pub(crate) written_through: Vec<Ident>,
}

impl Free {
    /// The free names of an expression.
    pub(crate) fn of_expr(expr: &Expr) -> Free {
        let mut free = Free::default();
        free.visit_expr(expr);
        free
    }

    /// Adds the free names of an expression.
    pub(crate) fn add_expr(&mut self, expr: &Expr) {
        self.visit_expr(expr);
    }

    /// Adds the free names of a block in which a pattern is bound.
    pub(crate) fn add_block(&mut self, pattern: Option<&Pat>, block: &Block) {
        self.bound.push();
        if let Some(pattern) = pattern {
            self.bound.declare_pattern(pattern, Binding::Plain);
        }
        self.visit_block(block);
        self.bound.pop();
    }

    fn mention(&mut self, name: &Ident) {
        if self.bound.find(name).is_none() && !self.names.contains(name) {
            self.names.push(name.clone());
        }
    }

    /// Notes a name under the dereferences, fields and indices of a place.
    fn mention_written(&mut self, place: &Expr, through: bool) {
        match place {
            Expr::Unary(inner) if matches!(inner.op, syn::UnOp::Deref(_)) => {
                self.mention_written(&inner.expr, true);
            }
            Expr::Field(inner) => self.mention_written(&inner.base, through),
            Expr::Index(inner) => self.mention_written(&inner.expr, through),
            Expr::Paren(inner) => self.mention_written(&inner.expr, through),
            Expr::Path(path) if through => {
                if let Some(name) = path.path.get_ident()
                    && self.bound.find(name).is_none()
                    && !self.written_through.contains(name)
                {
                    self.written_through.push(name.clone());
                }
            }
            _ => {}
        }
    }

    fn mention_tokens(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Ident(name) => self.mention(&name),
                TokenTree::Group(group) => self.mention_tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Free {
    fn visit_block(&mut self, block: &'ast Block) {
        self.bound.push();
        visit::visit_block(self, block);
        self.bound.pop();
    }

    fn visit_stmt_macro(&mut self, stmt: &'ast StmtMacro) {
        self.mention_tokens(stmt.mac.tokens.clone());
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            if let Some((_, diverge)) = &init.diverge {
                self.visit_expr(diverge);
            }
        }
        self.bound.declare_pattern(&local.pat, Binding::Plain);
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        if path.qself.is_none()
            && let Some(name) = path.path.get_ident()
        {
            self.mention(name);
        }
    }

    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        self.mention_written(&assign.left, false);
        visit::visit_expr_assign(self, assign);
    }

    fn visit_expr_binary(&mut self, expr: &'ast syn::ExprBinary) {
        if is_compound(&expr.op) {
            self.mention_written(&expr.left, false);
        }
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_reference(&mut self, expr: &'ast syn::ExprReference) {
        if expr.mutability.is_some() {
            self.mention_written(&expr.expr, false);
        }
        visit::visit_expr_reference(self, expr);
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        self.bound.push();
        for input in &closure.inputs {
            self.bound.declare_pattern(input, Binding::Plain);
        }
        self.visit_expr(&closure.body);
        self.bound.pop();
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        self.bound.push();
        self.bound.declare_pattern(&arm.pat, Binding::Plain);
        if let Some((_, guard)) = &arm.guard {
            self.visit_expr(guard);
        }
        self.visit_expr(&arm.body);
        self.bound.pop();
    }

    fn visit_expr_for_loop(&mut self, expr: &'ast ExprForLoop) {
        self.visit_expr(&expr.expr);
        self.add_block(Some(&expr.pat), &expr.body);
    }

    fn visit_expr_let(&mut self, expr: &'ast ExprLet) {
        self.visit_expr(&expr.expr);
        // Seen while its `if` or `while` has a scope open.
        self.bound.declare_pattern(&expr.pat, Binding::Plain);
    }

    fn visit_expr_if(&mut self, expr: &'ast ExprIf) {
        self.bound.push();
        self.visit_expr(&expr.cond);
        self.visit_block(&expr.then_branch);
        self.bound.pop();
        if let Some((_, otherwise)) = &expr.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, expr: &'ast ExprWhile) {
        self.bound.push();
        self.visit_expr(&expr.cond);
        self.visit_block(&expr.body);
        self.bound.pop();
    }

    fn visit_expr_macro(&mut self, expr: &'ast ExprMacro) {
        self.mention_tokens(expr.mac.tokens.clone());
    }

    fn visit_item(&mut self, _: &'ast Item) {}
    fn visit_type(&mut self, _: &'ast Type) {}
}

fn is_compound(op: &syn::BinOp) -> bool {
    use syn::BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign,
        ShlAssign, ShrAssign, SubAssign,
    };
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

/// Whether an expression names only what is known while tracing: compile-time parameters,
/// dimensions, constants and functions.
pub(crate) fn is_comptime(expr: &Expr, scopes: &Scopes) -> bool {
    struct Opaque(bool);
    impl<'ast> Visit<'ast> for Opaque {
        fn visit_expr(&mut self, expr: &'ast Expr) {
            match expr {
                Expr::Macro(_) | Expr::Closure(_) | Expr::Let(_) | Expr::Try(_) => self.0 = true,
                _ => visit::visit_expr(self, expr),
            }
        }
    }
    let mut opaque = Opaque(false);
    opaque.visit_expr(expr);
    !opaque.0
        && Free::of_expr(expr)
            .names
            .iter()
            .all(|name| scopes.find(name).is_none_or(|(_, binding)| binding == Binding::Comptime))
}

/// Whether the value of an expression is plain arithmetic on what is known while tracing, so that
/// a variable of this value is known, too.
pub(crate) fn is_comptime_arithmetic(expr: &Expr, scopes: &Scopes) -> bool {
    const METHODS: &[&str] = &[
        "abs",
        "checked_sub",
        "div_ceil",
        "ilog2",
        "is_empty",
        "is_multiple_of",
        "is_none",
        "is_power_of_two",
        "is_some",
        "len",
        "max",
        "min",
        "next_multiple_of",
        "next_power_of_two",
        "pow",
        "saturating_sub",
    ];
    let arithmetic = |expr: &Expr| is_comptime_arithmetic(expr, scopes);
    match expr {
        Expr::Lit(_) => true,
        Expr::Path(path) => match path.path.get_ident() {
            Some(name) => match scopes.find(name) {
                Some((_, binding)) => binding == Binding::Comptime,
                None => true,
            },
            None => path.qself.is_none(),
        },
        Expr::Binary(expr) => arithmetic(&expr.left) && arithmetic(&expr.right),
        Expr::Unary(expr) => arithmetic(&expr.expr),
        Expr::Paren(expr) => arithmetic(&expr.expr),
        Expr::Group(expr) => arithmetic(&expr.expr),
        Expr::Cast(expr) => arithmetic(&expr.expr),
        Expr::Field(expr) => arithmetic(&expr.base),
        Expr::MethodCall(expr) => {
            METHODS.contains(&expr.method.to_string().as_str())
                && arithmetic(&expr.receiver)
                && expr.args.iter().all(arithmetic)
        }
        _ => false,
    }
}

/// Whether a `return`, `?`, `break` or `continue` leaves the code.
pub(crate) fn has_escape(code: &[&Expr]) -> bool {
    let mut escape = Escape::default();
    for expr in code {
        escape.visit_expr(expr);
    }
    escape.found
}

#[derive(Default)]
struct Escape {
    found: bool,
    /// Loops and labeled blocks around the place, inside of the code.
    targets: Vec<Target>,
}

struct Target {
    label: Option<String>,
    is_loop: bool,
}

impl Escape {
    fn jump(&mut self, label: Option<&Lifetime>) {
        let inside = match label.map(|label| label.ident.to_string()) {
            Some(label) => self.targets.iter().any(|t| t.label.as_deref() == Some(&label)),
            None => self.targets.iter().any(|t| t.is_loop),
        };
        self.found |= !inside;
    }

    fn inside(&mut self, label: &Option<Label>, is_loop: bool, expr: &Expr) {
        let label = label.as_ref().map(|label| label.name.ident.to_string());
        self.targets.push(Target { label, is_loop });
        visit::visit_expr(self, expr);
        self.targets.pop();
    }
}

impl<'ast> Visit<'ast> for Escape {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Return(_) | Expr::Try(_) => self.found = true,
            Expr::Break(expr) => self.jump(expr.label.as_ref()),
            Expr::Continue(expr) => self.jump(expr.label.as_ref()),
            Expr::Closure(_) | Expr::Async(_) | Expr::Const(_) => return,
            Expr::Loop(inner) => return self.inside(&inner.label, true, expr),
            Expr::While(inner) => return self.inside(&inner.label, true, expr),
            Expr::ForLoop(inner) => return self.inside(&inner.label, true, expr),
            Expr::Block(inner) if inner.label.is_some() => {
                return self.inside(&inner.label, false, expr);
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_item(&mut self, _: &'ast Item) {}
}
