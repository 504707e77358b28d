//! The context, its dialects and its locations.

use melior::Context;
use melior::dialect::{DialectHandle, DialectRegistry};
use mlir_sys::{
    MlirAttribute, MlirContext, MlirLocation, MlirModule, MlirNamedAttribute, MlirStringRef,
    mlirDialectHandleInsertDialect, mlirGetDialectHandle__math__, mlirGetDialectHandle__vector__,
    mlirLocationCallSiteGet, mlirLocationFileLineColGet, mlirLocationUnknownGet, mlirModuleDestroy,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::rc::Rc;

/// How many modules a context serves before it is thrown away: MLIR never frees types,
/// attributes or locations before the context ends, so an immortal one would leak.
const MAX_USES: usize = 64;

/// The prefix of ops in the versioned form that libtpu reads.
pub(super) const STABLE: &str = "stable_mosaic";

/// An op in the stable form.
pub(super) struct StableOp {
    /// Its name there.
    pub(super) name: String,
    /// The attributes that a registered op has when nothing is said of them.
    pub(super) defaults: Vec<MlirNamedAttribute>,
}

/// A context and what is cached with it.
pub(super) struct Pooled {
    context: Context,
    pub(super) parsed: RefCell<HashMap<String, MlirAttribute>>,
    pub(super) stable_ops: RefCell<HashMap<String, Rc<StableOp>>>,
    n_uses: usize,
}

thread_local! {
    static POOL: Cell<Option<Box<Pooled>>> = const { Cell::new(None) };
}

impl Pooled {
    fn new() -> Pooled {
        let registry = DialectRegistry::new();
        for handle in [
            DialectHandle::func(),
            DialectHandle::arith(),
            DialectHandle::scf(),
            DialectHandle::memref(),
            DialectHandle::cf(),
        ] {
            handle.insert_dialect(&registry);
        }
        // SAFETY: the handles are static tables of MLIR, and the registry is alive.
        unsafe {
            for handle in [mlirGetDialectHandle__vector__(), mlirGetDialectHandle__math__()] {
                mlirDialectHandleInsertDialect(handle, registry.to_raw());
            }
        }
        // Threads would be started per context and have nothing to do.
        let context = Context::new_with_registry(&registry, false);
        for name in ["func", "arith", "scf", "memref", "cf", "vector", "math"] {
            context.get_or_load_dialect(name);
        }
        // `tpu.*` and `stable_mosaic.*` have no dialect outside libtpu.
        context.set_allow_unregistered_dialects(true);
        let (parsed, stable_ops) = (RefCell::default(), RefCell::default());
        Pooled { context, parsed, stable_ops, n_uses: 0 }
    }
}

/// One MLIR context, exclusively, with the modules built in it.
pub(crate) struct Session {
    pooled: Option<Box<Pooled>>,
    raw: MlirContext,
    modules: RefCell<Vec<MlirModule>>,
    is_stable: bool,
}

impl Session {
    /// A session on a pooled context of this thread, or a new one.
    pub(crate) fn new() -> Session {
        let pooled = POOL.take().unwrap_or_else(|| Box::new(Pooled::new()));
        let raw = pooled.context.to_raw();
        Session { pooled: Some(pooled), raw, modules: RefCell::default(), is_stable: false }
    }

    /// A session in which every op is made in the stable form: under the name
    /// `stable_mosaic.name`, unregistered, so that properties are plain attributes and any reader
    /// can parse it.
    pub(crate) fn stable() -> Session {
        let mut session = Session::new();
        session.is_stable = true;
        session
    }

    pub(super) fn is_stable(&self) -> bool {
        self.is_stable
    }

    pub(super) fn raw(&self) -> MlirContext {
        self.raw
    }

    pub(super) fn context(&self) -> Option<&Context> {
        self.pooled.as_ref().map(|pooled| &pooled.context)
    }

    pub(super) fn pooled(&self) -> Option<&Pooled> {
        self.pooled.as_deref()
    }

    pub(super) fn own(&self, module: MlirModule) {
        self.modules.borrow_mut().push(module);
    }

    /// The unknown location.
    pub(crate) fn unknown_location(&self) -> Location<'_> {
        // SAFETY: the context is alive as long as `self`.
        Location::wrap(unsafe { mlirLocationUnknownGet(self.raw) })
    }

    /// A place in a file.
    pub(crate) fn location(&self, file: &str, line: u32, column: u32) -> Location<'_> {
        // SAFETY: the context is alive; MLIR copies the name.
        Location::wrap(unsafe {
            mlirLocationFileLineColGet(self.raw, string_ref(file), line, column)
        })
    }

    /// `callee`, reached through a call at `caller`.
    pub(crate) fn call_site<'s>(
        &'s self,
        callee: Location<'s>,
        caller: Location<'s>,
    ) -> Location<'s> {
        // SAFETY: both locations belong to the context, which is alive.
        Location::wrap(unsafe { mlirLocationCallSiteGet(callee.raw, caller.raw) })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for module in self.modules.borrow_mut().drain(..) {
            // SAFETY: the session owns the module, and no handle outlives the session.
            unsafe { mlirModuleDestroy(module) }
        }
        if let Some(mut pooled) = self.pooled.take() {
            pooled.n_uses += 1;
            // A thread that is ending has no pool any more; the context is then dropped.
            if pooled.n_uses < MAX_USES {
                let _ = POOL.try_with(|pool| pool.set(Some(pooled)));
            }
        }
    }
}

/// Where an op was written.
#[derive(Clone, Copy)]
pub(crate) struct Location<'s> {
    pub(super) raw: MlirLocation,
    session: PhantomData<&'s Session>,
}

impl Location<'_> {
    pub(super) fn wrap(raw: MlirLocation) -> Self {
        Location { raw, session: PhantomData }
    }
}

/// Text as the C API takes it, for the duration of one call.
pub(super) fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
}
