//! Placeholder until the first example lands.
fn main() {}
