//! PJRT: hand-written C structs and the safe wrapper over a loaded plugin.
