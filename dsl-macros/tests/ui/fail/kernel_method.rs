use systole::prelude::*;

struct S;

impl S {
    #[tpu_kernel]
    fn kernel(
        &self, //~ a kernel cannot be a method
        #[block(m)] o: Out<f32>,
    ) {
        o[..] = 0.0;
    }
}

fn main() {}
