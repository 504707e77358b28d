//! Gives the crate a hash of its own sources, `SYSTOLE_SOURCES`. Programs that are kept between runs
//! are found by the graphs of ops that they were made from; the hash stands for what turns graphs
//! into programs, so that a change there finds none of the old ones.
#![allow(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]

use std::io::Result;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let mut files = Vec::new();
    list(Path::new("src"), &mut files)?;
    files.sort();
    let mut hash = Fnv::default();
    for file in &files {
        hash.field(file.as_os_str().as_encoded_bytes());
        hash.field(&std::fs::read(file)?);
    }
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=SYSTOLE_SOURCES={:032x}", hash.0);
    Ok(())
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a of 128 bits: sources are no adversary, and no crate need be built for it.
struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    /// With its length, so that no two lists of fields are the same bytes.
    fn field(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(*byte))
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
