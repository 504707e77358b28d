//! `cache`: the results that are kept on disk.

use super::args::{CacheAction, CacheArgs};
use super::output::Output;
use super::table::{Align, Table, bytes, grouped};
use super::{Failure, Verdict};
use crate::aot;
use crate::cache::DiskCache;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::run::ProgramCache;
use serde::Serialize;
use std::path::PathBuf;

/// One cache, and what the command did with it: fields of [`crate::cache::Stats`],
/// [`crate::cache::Verified`] or [`crate::cache::Removed`].
#[derive(Serialize)]
struct Row<T> {
    cache: &'static str,
    dir: PathBuf,
    #[serde(flatten)]
    result: T,
}

/// Every cache on disk, by the name of what it holds. That of programs may be off.
fn all() -> Vec<(&'static str, DiskCache)> {
    let programs = ProgramCache::from_env().disk().cloned();
    let aot = aot::result_cache(&aot::result_cache_dir());
    std::iter::once(("aot", aot)).chain(programs.map(|cache| ("programs", cache))).collect()
}

pub(crate) fn run(args: &CacheArgs, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let verdict = match args.action {
        CacheAction::Stats => stats(output)?,
        CacheAction::Clear => clear(output)?,
        CacheAction::Verify => verify(output)?,
    };
    for (_, cache) in all() {
        output.diagnostics(&Diagnostics(unusable(&cache).into_iter().collect()));
    }
    Ok(verdict)
}

fn stats(output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let rows = rows(DiskCache::stats)?;
    let columns = [("entries", Align::Right), ("size", Align::Right), ("at most", Align::Right)];
    print(&rows, &columns, output, |stats| {
        vec![grouped(stats.n_entries), bytes(stats.bytes), bytes(stats.cap_bytes)]
    });
    Ok(Verdict::Good)
}

fn clear(output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let rows = rows(DiskCache::clear)?;
    let columns = [("removed", Align::Right), ("size", Align::Right)];
    print(&rows, &columns, output, |removed| {
        vec![grouped(removed.n_entries), bytes(removed.bytes)]
    });
    Ok(Verdict::Good)
}

fn verify(output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let rows = rows(DiskCache::verify)?;
    let columns =
        [("good", Align::Right), ("damaged, removed", Align::Right), ("unreadable", Align::Right)];
    print(&rows, &columns, output, |verified| {
        let counts = [verified.n_good, verified.n_damaged, verified.n_unreadable];
        counts.map(grouped).to_vec()
    });
    // What was damaged is mended; what cannot be read needs the user.
    Ok(Verdict::from_ok(rows.iter().all(|row| row.result.n_unreadable == 0)))
}

fn rows<T>(run: impl Fn(&DiskCache) -> std::io::Result<T>) -> Result<Vec<Row<T>>, Failure> {
    let mut failed = Diagnostics::default();
    let mut rows = Vec::new();
    for (name, cache) in all() {
        match run(&cache) {
            Ok(result) => rows.push(Row { cache: name, dir: cache.dir().to_owned(), result }),
            Err(error) => {
                let message = format!("the cache `{name}` cannot be read or changed: {error}");
                failed.push(Diagnostic::error(Code::CACHE_UNUSABLE, message).help(CURE));
            }
        }
    }
    if failed.is_empty() { Ok(rows) } else { Err(Failure::Failed(failed)) }
}

fn print<T: Serialize>(
    rows: &[Row<T>],
    columns: &[(&'static str, Align)],
    output: &mut Output<'_>,
    cells: impl Fn(&T) -> Vec<String>,
) {
    if output.json() {
        output.value(&rows);
        return;
    }
    let ends = [("cache", Align::Left), ("folder", Align::Left)];
    let mut table = Table::new(&[&ends[..1], columns, &ends[1..]].concat());
    for row in rows {
        let dir = row.dir.display().to_string();
        table.row([vec![row.cache.into()], cells(&row.result), vec![dir]].concat());
    }
    output.table(&table);
}

const CURE: &str = "SYSTOLE_CACHE_DIR says where caches are (SYSTOLE_PROGRAM_CACHE for compiled \
                    programs), SYSTOLE_CACHE_LIMIT how large each may grow; what a cache cannot \
                    hold is made anew each time";

/// What kept a cache from its work in this process, if anything did.
pub(crate) fn unusable(cache: &DiskCache) -> Option<Diagnostic> {
    let message = format!("a cache of results does not work as it should: {}", cache.problem()?);
    Some(Diagnostic::warning(Code::CACHE_UNUSABLE, message).help(CURE))
}
