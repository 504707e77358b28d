//! Counters that many threads add to.

/// Makes a struct of numbers, for its readers, and `LiveCounters` in the same module, which is
/// counted in.
macro_rules! counters {
    ($(#[$doc:meta])* $Counters:ident; $($(#[$field_doc:meta])* $name:ident,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
        #[non_exhaustive]
        pub struct $Counters {
            $($(#[$field_doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        struct LiveCounters {
            $($name: std::sync::atomic::AtomicU64,)*
        }

        impl LiveCounters {
            fn read(&self) -> $Counters {
                $Counters { $($name: self.$name.load(std::sync::atomic::Ordering::Relaxed),)* }
            }
        }
    };
}

pub(super) use counters;
