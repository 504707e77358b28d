use systole::prelude::*;

#[tpu_kernel]
struct Kernel; //~ expected a function

fn main() {}
