use systole::prelude::*;

#[derive(Carried)]
union Both { //~ `Carried` cannot be derived for a union
    a: u32,
    b: f32,
}

fn main() {}
