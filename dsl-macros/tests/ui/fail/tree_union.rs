use systole::run::Tree;

#[derive(Tree)]
union Both { //~ `Tree` cannot be derived for a union
    a: u32,
    b: f32,
}

fn main() {}
