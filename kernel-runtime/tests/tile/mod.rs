//! Tests of the text form and the validator, mostly as `.tile` files; see `files`.

mod files;
mod fold;
mod numbers;
mod pin;
mod roundtrip;
