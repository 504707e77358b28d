//! Diagnostics as text with the source lines they speak of.

use super::{Diagnostic, Diagnostics, Label, Severity, Span};
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Renders diagnostics as rustc does: message, the source lines with their labels, notes, help.
///
/// Source files are looked for in the current folder and those above it, since paths are relative
/// to the workspace that was built. A file that is not found is named without its text.
pub fn render(diagnostics: &Diagnostics, color: bool) -> String {
    render_with(diagnostics, color, &read_source)
}

/// [`render`] with source texts from elsewhere.
pub fn render_with(
    diagnostics: &Diagnostics,
    color: bool,
    source_of: &dyn Fn(&str) -> Option<String>,
) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut sources: BTreeMap<Arc<str>, Option<String>> = BTreeMap::new();
    for label in diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
        let file = &label.span.file;
        sources.entry(file.clone()).or_insert_with(|| source_of(file));
    }
    let rendered: Vec<String> =
        diagnostics.iter().map(|d| renderer.render(&[group(d, &sources)])).collect();
    rendered.join("\n\n")
}

type Sources = BTreeMap<Arc<str>, Option<String>>;

fn group<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.as_str());
    let mut elements: Vec<Element<'a>> = Vec::new();
    let mut files: Vec<&Arc<str>> = Vec::new();
    for label in &diagnostic.labels {
        if !files.contains(&&label.span.file) {
            files.push(&label.span.file);
        }
    }
    let primary = diagnostic.labels.first();
    for file in files {
        let labels = diagnostic.labels.iter().filter(|label| label.span.file == *file);
        match sources.get(file).and_then(Option::as_deref) {
            Some(source) => elements.push(snippet(source, labels, primary).into()),
            None => elements.extend(labels.flat_map(origin)),
        }
    }
    elements.extend(diagnostic.notes.iter().map(|n| Level::NOTE.message(n.as_str()).into()));
    elements.extend(diagnostic.help.iter().map(|h| Level::HELP.message(h.as_str()).into()));
    title.elements(elements)
}

fn snippet<'a>(
    source: &'a str,
    labels: impl Iterator<Item = &'a Label>,
    primary: Option<&Label>,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let mut snippet = Snippet::source(source);
    for label in labels {
        let kind = if primary.is_some_and(|primary| std::ptr::eq(primary, label)) {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        let text = (!label.text.is_empty()).then_some(label.text.as_str());
        snippet = snippet
            .path(label.span.file.as_ref())
            .annotation(kind.span(token_at(source, &label.span)).label(text));
    }
    snippet
}

fn origin(label: &Label) -> Vec<Element<'_>> {
    let span = &label.span;
    let place =
        Origin::path(span.file.as_ref()).line(span.line as usize).char_column(span.column as usize);
    let text = (!label.text.is_empty()).then(|| Level::NOTE.message(label.text.as_str()).into());
    std::iter::once(place.into()).chain(text).collect()
}

/// The bytes of the word or sign at a place; at the end of the source if it is shorter than the
/// span says, since it may have been edited after the build.
fn token_at(source: &str, span: &Span) -> Range<usize> {
    let line_start = match span.line.checked_sub(2) {
        None => 0,
        Some(n) => {
            source.match_indices('\n').nth(n as usize).map_or(source.len(), |(at, _)| at + 1)
        }
    };
    let line = source[line_start..].lines().next().unwrap_or_default();
    let column = (span.column as usize).saturating_sub(1);
    let offset = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let rest = &line[offset..];
    let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let len = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
    line_start + offset..line_start + offset + len
}

fn read_source(file: &str) -> Option<String> {
    let path = Path::new(file);
    if path.is_absolute() {
        return std::fs::read_to_string(path).ok();
    }
    let here = std::env::current_dir().ok()?;
    here.ancestors().find_map(|folder| std::fs::read_to_string(folder.join(path)).ok())
}

#[cfg(test)]
mod tests {
    use super::super::Code;
    use super::*;

    const SOURCE: &str = "fn f() {\n    acc[..] += dot(a, b);\n}\n";

    fn at(line: u32, column: u32) -> Span {
        Span { file: Arc::from("src/f.rs"), line, column }
    }

    fn render_on(diagnostic: Diagnostic, source: Option<&str>) -> String {
        render_with(&diagnostic.into(), false, &|_| source.map(str::to_owned))
    }

    fn mistake() -> Diagnostic {
        Diagnostic::error(Code::IR_SHAPE, "sizes differ: 64 and 128")
            .at(at(2, 16), "k = 64 on one side")
            .at(at(2, 20), "")
            .note("a fact")
            .help("transpose `b`")
    }

    #[test]
    fn shows_the_line_and_underlines_the_word() {
        let text = render_on(mistake(), Some(SOURCE));
        for part in [
            "error[ir::shape]: sizes differ: 64 and 128",
            "src/f.rs:2:16",
            "acc[..] += dot(a, b);",
            "^^^",
            "k = 64 on one side",
            "note: a fact",
            "help: transpose `b`",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn names_the_place_without_the_source() {
        let text = render_on(mistake(), None);
        assert!(text.contains("src/f.rs:2:16") && text.contains("k = 64"), "{text}");
    }

    #[test]
    fn place_outside_the_source_does_not_panic() {
        for (line, column) in [(0, 0), (1, 99), (99, 1), (3, 2), (4, 1)] {
            let diagnostic = Diagnostic::warning(Code::IR_TYPE, "m").at(at(line, column), "here");
            for source in ["", "\n", SOURCE, "ä = ö\n"] {
                assert!(render_on(diagnostic.clone(), Some(source)).contains("warning[ir::type]"));
            }
        }
    }
}
