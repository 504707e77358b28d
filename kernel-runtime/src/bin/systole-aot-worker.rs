//! The worker process of `systole::aot` for executables that cannot be their own, such as tests.

fn main() {
    systole::aot::init();
    eprintln!("systole-aot-worker is started by systole::aot, not by hand");
    std::process::exit(2);
}
