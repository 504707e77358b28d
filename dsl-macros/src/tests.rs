//! Tests of the expansion as a plain function: the table of messages, goldens, and a fuzzer.

use crate::error::NAMES;
use crate::expand::{expand_carried, expand_fn, expand_kernel};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn tests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

#[test]
fn every_message_has_a_case_of_its_name() {
    let missing: Vec<&&str> = NAMES
        .iter()
        .filter(|name| !tests_folder().join("ui/fail").join(format!("{name}.rs")).exists())
        .collect();
    assert!(missing.is_empty(), "no tests/ui/fail/<name>.rs for {missing:?}");
}

/// The items of a source file under one of the macros, as (attribute, arguments, item).
fn items(source: &str) -> Vec<(String, TokenStream, TokenStream)> {
    let file = syn::parse_file(source).unwrap();
    let mut found = Vec::new();
    for mut item in file.items {
        let attrs = match &mut item {
            syn::Item::Fn(item) => &mut item.attrs,
            syn::Item::Struct(item) => &mut item.attrs,
            _ => continue,
        };
        let is_macro = |attr: &syn::Attribute| {
            ["tpu_kernel", "tpu_fn", "derive"].iter().any(|name| attr.path().is_ident(name))
        };
        let Some(position) = attrs.iter().position(is_macro) else { continue };
        let attr = attrs.remove(position);
        let name = attr.path().get_ident().unwrap().to_string();
        let args = match attr.meta {
            syn::Meta::List(list) => list.tokens,
            syn::Meta::Path(_) | syn::Meta::NameValue(_) => TokenStream::new(),
        };
        found.push((name, args, quote::quote!(#item)));
    }
    found
}

fn expand(name: &str, args: TokenStream, item: TokenStream) -> TokenStream {
    match name {
        "tpu_kernel" => expand_kernel(args, item),
        "tpu_fn" => expand_fn(args, item),
        _ => expand_carried(item),
    }
}

#[test]
fn expansions_are_as_recorded() {
    // The runtime's tests trace the kernels of this file.
    let surface = "../../kernel-runtime/tests/trace/surface.rs";
    let source = std::fs::read_to_string(tests_folder().join(surface)).unwrap();
    for (name, args, item) in items(&source) {
        if name != "tpu_kernel" {
            continue;
        }
        let function: syn::ItemFn = syn::parse2(item.clone()).unwrap();
        let file = syn::parse2(expand(&name, args, item)).unwrap();
        let text = prettyplease::unparse(&file);
        let path = tests_folder().join(format!("golden/{}.expanded", function.sig.ident));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(recorded == text, "{} differs: look at the diff after BLESS=1", path.display());
    }
}

/// A small generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Tokens that the macros know, to put into random places.
const WORDS: &str = "if else for while loop match let mut ref return break continue ? in .. ..= @ \
    : , ; = == < && || ! & * + [ ] ( ) { } # | -> => ' 'a 0 1.5 \"s\" self Self In Out InOut Vmem \
    Smem Hbm grid dims name vmem_limit core bounds_checks off parallel arbitrary squeezed element block scratch \
    comptime prefetch extent pinned side_effects cost buffered streams unroll fn pub async const unsafe impl dyn where T i x m n \
    step_by move union struct enum 'static r#type _";

fn random_tree(random: &mut Random) -> TokenTree {
    let delimiters =
        [Delimiter::Parenthesis, Delimiter::Brace, Delimiter::Bracket, Delimiter::None];
    loop {
        if random.below(6) == 0 {
            let n = random.below(4);
            let inner = (0..n).map(|_| random_tree(random)).collect();
            return Group::new(delimiters[random.below(4)], inner).into();
        }
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        let word = words[random.below(words.len())];
        if let Ok(stream) = word.parse::<TokenStream>()
            && let Some(tree) = stream.into_iter().next()
        {
            return tree;
        }
    }
}

/// Deletes, repeats, swaps, replaces or inserts a token, at a random depth.
fn mutate(tokens: TokenStream, random: &mut Random) -> TokenStream {
    let mut trees: Vec<TokenTree> = tokens.into_iter().collect();
    if trees.is_empty() {
        return std::iter::once(random_tree(random)).collect();
    }
    let idx = random.below(trees.len());
    if let TokenTree::Group(group) = &trees[idx]
        && random.below(5) > 0
    {
        let inner = mutate(group.stream(), random);
        trees[idx] = Group::new(group.delimiter(), inner).into();
        return trees.into_iter().collect();
    }
    match random.below(5) {
        0 => {
            trees.remove(idx);
        }
        1 => trees.insert(idx, trees[idx].clone()),
        2 => {
            let other = random.below(trees.len());
            trees.swap(idx, other);
        }
        3 => trees[idx] = random_tree(random),
        _ => trees.insert(idx, random_tree(random)),
    }
    trees.into_iter().collect()
}

#[test]
fn fuzzed_expansion_never_panics_and_gives_rust() {
    let mut seeds = Vec::new();
    for folder in ["ui/pass", "ui/fail"] {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(tests_folder().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .collect();
        paths.sort();
        for path in paths {
            seeds.extend(items(&std::fs::read_to_string(path).unwrap()));
        }
    }
    assert!(seeds.len() > 60);
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = number("SYSTOLE_FUZZ_SECONDS");
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let names = ["tpu_kernel", "tpu_fn", "derive"];
    let mut random = Random(number("SYSTOLE_FUZZ_SEED").unwrap_or(0) ^ 0x9E37_79B9_7F4A_7C15);
    let mut n_runs = 0;
    while end.map_or(n_runs < 1000, |end| Instant::now() < end) {
        n_runs += 1;
        let (name, mut args, mut item) = seeds[random.below(seeds.len())].clone();
        let name = if random.below(20) == 0 { names[random.below(3)].to_owned() } else { name };
        if random.below(30) == 0 {
            item = (0..random.below(12)).map(|_| random_tree(&mut random)).collect();
        }
        for _ in 0..=random.below(4) {
            if random.below(4) == 0 {
                args = mutate(args, &mut random);
            } else {
                item = mutate(item, &mut random);
            }
        }
        let mut shown = String::new();
        write!(shown, "#[{name}({args})]\n{item}").unwrap();
        // As text again, so that tokens are those that a lexer makes; a lone `'` is none.
        let (Ok(args), Ok(item)) = (args.to_string().parse(), item.to_string().parse()) else {
            continue;
        };
        let expanded = std::panic::catch_unwind(|| expand(&name, args, item));
        let Ok(expanded) = expanded else { panic!("the macro panicked on\n{shown}") };
        if let Err(error) = syn::parse2::<syn::File>(expanded.clone()) {
            panic!("{error}: the expansion is no Rust\n{expanded}\n\nof\n{shown}");
        }
    }
}
