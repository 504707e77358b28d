//! Rust source, split into code and comments. Not a parser: just enough that words in strings do not count.

/// One text file. `code` and `comments` have the lines and columns of `text`, with spaces for what is not theirs.
pub(crate) struct Source {
    /// Relative to the repository's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Empty unless the file is Rust; strings and character literals are blank.
    pub(crate) code: String,
    pub(crate) comments: String,
}

/// A function with a body.
pub(crate) struct Function {
    pub(crate) name: String,
    /// 1-based.
    pub(crate) line: usize,
    /// Lines between its braces that hold code.
    pub(crate) n_lines: usize,
    /// Attributes and modifiers before `fn`.
    pub(crate) head: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let (code, comments) = if path.ends_with(".rs") { split(text) } else { Default::default() };
        Source { path: path.to_owned(), text: text.to_owned(), code, comments }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.text[..offset].matches('\n').count() + 1
    }

    /// Where `word` stands in the code as a whole identifier.
    pub(crate) fn words(&self, word: &str) -> Vec<usize> {
        let is_whole = |&start: &usize| {
            let before = self.code[..start].chars().next_back();
            let after = self.code[start + word.len()..].chars().next();
            !before.is_some_and(is_ident) && !after.is_some_and(is_ident)
        };
        self.code.match_indices(word).map(|(start, _)| start).filter(is_whole).collect()
    }

    pub(crate) fn functions(&self) -> Vec<Function> {
        self.words("fn").into_iter().filter_map(|start| self.function_at(start)).collect()
    }

    fn function_at(&self, start: usize) -> Option<Function> {
        let rest = self.code[start + 2..].trim_start();
        let name: String = rest.chars().take_while(|&c| is_ident(c) || c == '$').collect();
        // `fn(i32) -> i32` is a type.
        let open = (!name.is_empty()).then(|| body_start(&self.code, start))??;
        let body = &self.code[open + 1..matching_brace(&self.code, open)?];
        let head_start = self.code[..start].rfind(['{', '}', ';']).map_or(0, |end| end + 1);
        Some(Function {
            name,
            line: self.line_of(start),
            n_lines: body.lines().filter(|line| !line.trim().is_empty()).count(),
            head: self.code[head_start..start].to_owned(),
        })
    }
}

pub(crate) fn is_ident(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The brace that opens the body of the function at `start`; none for one that is only declared.
fn body_start(code: &str, start: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, c) in code[start..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(start + offset),
            ';' if depth == 0 => return None,
            _ => {}
        }
        // Left the parentheses around it: a fragment inside a macro call.
        if depth < 0 {
            return None;
        }
    }
    None
}

fn matching_brace(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + offset);
        }
    }
    None
}

/// What a stretch of source is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

fn split(text: &str) -> (String, String) {
    let (mut code, mut comments) = (String::new(), String::new());
    let mut at = 0;
    while at < text.len() {
        let (kind, length) = next_piece(&text[at..], text[..at].chars().next_back());
        let piece = &text[at..at + length];
        code.push_str(&keep_if(kind == Kind::Code, piece));
        comments.push_str(&keep_if(kind == Kind::Comment, piece));
        at += length;
    }
    (code, comments)
}

/// The piece itself, or as many bytes of blanks, so that offsets and lines stay.
fn keep_if(keep: bool, piece: &str) -> String {
    if keep {
        return piece.to_owned();
    }
    piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// Kind and length in bytes of the comment, literal, identifier or single character that `rest` begins with.
fn next_piece(rest: &str, before: Option<char>) -> (Kind, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    if first == '"' {
        return (Kind::Literal, string(rest));
    }
    if first == '\'' {
        return character(rest).map_or((Kind::Code, 1), |length| (Kind::Literal, length));
    }
    if is_ident(first) && !before.is_some_and(is_ident) {
        let length = rest.find(|c| !is_ident(c)).unwrap_or(rest.len());
        if matches!(&rest[..length], "r" | "br" | "cr")
            && let Some(end) = raw_string(&rest[length..])
        {
            return (Kind::Literal, length + end);
        }
        return (Kind::Code, length);
    }
    (Kind::Code, first.len_utf8())
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (offset, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return offset + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `rest` follows the `r`: hashes, quote, text, quote, as many hashes. None for a raw identifier, `r#fn`.
fn raw_string(rest: &str) -> Option<usize> {
    let n_hashes = rest.bytes().take_while(|&byte| byte == b'#').count();
    let text = rest[n_hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(n_hashes));
    let length = text.find(&closing).map_or(text.len(), |end| end + closing.len());
    Some(n_hashes + 1 + length)
}

/// The length of the character literal that `rest` begins with; none for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inner = &rest[1..];
    if inner.starts_with('\\') {
        let escape = inner.chars().take(2).map(char::len_utf8).sum::<usize>();
        return Some(1 + escape + inner[escape..].find('\'')? + 1);
    }
    let c = inner.chars().next()?;
    inner[c.len_utf8()..].starts_with('\'').then_some(1 + c.len_utf8() + 1)
}
