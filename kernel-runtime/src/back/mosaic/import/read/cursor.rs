//! A position in MLIR text, and the small pieces that text is made of.

use super::{Fault, MAX_DEPTH, Read};

/// A position in text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'t> {
    text: &'t [u8],
    pos: usize,
    depth: usize,
}

/// Letters of names: of ops, attributes, aliases and values.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

impl<'t> Cursor<'t> {
    /// At the start of a text.
    pub(crate) fn new(text: &'t [u8]) -> Cursor<'t> {
        Cursor { text, pos: 0, depth: 0 }
    }

    /// At a byte of the same text.
    pub(super) fn at(&self, pos: usize) -> Cursor<'t> {
        Cursor { pos, ..*self }
    }

    /// The position in bytes.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// A fault here.
    pub(crate) fn fault<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(Fault::new(self.pos, message))
    }

    /// A fault here: `what` was expected.
    pub(crate) fn expected<T>(&self, what: &str) -> Read<T> {
        let found = match self.text.get(self.pos) {
            None => "the end of the text".to_owned(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(*byte)),
            Some(byte) => format!("byte {byte:#04x}"),
        };
        self.fault(format!("expected {what}, found {found}"))
    }

    /// Goes one level deeper.
    pub(crate) fn enter(&mut self) -> Read<()> {
        if self.depth >= MAX_DEPTH {
            return self.fault(format!("it nests more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        Ok(())
    }

    /// Comes back one level.
    pub(crate) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Skips blanks and comments.
    pub(crate) fn skip_blank(&mut self) {
        loop {
            match self.text.get(self.pos) {
                Some(byte) if byte.is_ascii_whitespace() => self.pos += 1,
                Some(b'/') if self.text.get(self.pos + 1) == Some(&b'/') => {
                    let rest = &self.text[self.pos..];
                    let line = rest.iter().position(|&byte| byte == b'\n');
                    self.pos += line.unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// The next byte that is not blank.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.skip_blank();
        self.text.get(self.pos).copied()
    }

    /// The byte here, blank or not.
    pub(crate) fn byte(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    /// Moves behind so many bytes, or to the end.
    pub(crate) fn advance(&mut self, n: usize) {
        self.pos = (self.pos + n).min(self.text.len());
    }

    /// Takes a piece of punctuation if it is next.
    pub(crate) fn eat(&mut self, piece: &str) -> bool {
        self.skip_blank();
        let found = self.text[self.pos..].starts_with(piece.as_bytes());
        if found {
            self.pos += piece.len();
        }
        found
    }

    /// Takes a piece of punctuation.
    pub(crate) fn expect(&mut self, piece: &str) -> Read<()> {
        if self.eat(piece) { Ok(()) } else { self.expected(&format!("`{piece}`")) }
    }

    /// Whether the word is next, which it then is behind.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let mut probe = *self;
        let found = probe.word() == Some(word);
        if found {
            *self = probe;
        }
        found
    }

    /// A bare name that begins with a letter or `_`.
    pub(crate) fn word(&mut self) -> Option<&'t str> {
        let first = self.peek()?;
        (first.is_ascii_alphabetic() || first == b'_').then(|| self.name())
    }

    /// Name letters from here on; empty if there are none.
    pub(crate) fn name(&mut self) -> &'t str {
        let start = self.pos;
        while self.text.get(self.pos).is_some_and(|&byte| is_name(byte)) {
            self.pos += 1;
        }
        // Only ASCII letters were taken.
        std::str::from_utf8(&self.text[start..self.pos]).unwrap_or_default()
    }

    /// Decimal digits as a number, if any are next.
    pub(crate) fn digits(&mut self) -> Read<Option<u64>> {
        self.skip_blank();
        let start = self.pos;
        while self.text.get(self.pos).is_some_and(u8::is_ascii_digit) {
            self.pos += 1;
        }
        if start == self.pos {
            return Ok(None);
        }
        let text = std::str::from_utf8(&self.text[start..self.pos]).unwrap_or_default();
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Fault::new(start, format!("the number {} is too large", short(text)))),
        }
    }

    /// A string with its escapes resolved.
    pub(crate) fn string(&mut self) -> Read<Vec<u8>> {
        self.expect("\"")?;
        let start = self.pos;
        let mut bytes = Vec::new();
        loop {
            let Some(&byte) = self.text.get(self.pos) else {
                return Err(Fault::new(start, "the string that begins here does not end"));
            };
            self.pos += 1;
            match byte {
                b'"' => return Ok(bytes),
                b'\n' => return Err(Fault::new(start, "the string that begins here does not end")),
                b'\\' => bytes.push(self.escape()?),
                other => bytes.push(other),
            }
        }
    }

    fn escape(&mut self) -> Read<u8> {
        let hex = |byte: u8| char::from(byte).to_digit(16);
        let next = self.text.get(self.pos).copied();
        let after = self.text.get(self.pos + 1).copied();
        let (value, length) = match (next, next.and_then(hex), after.and_then(hex)) {
            (_, Some(high), Some(low)) => ((high * 16 + low) as u8, 2),
            (Some(b'n'), ..) => (b'\n', 1),
            (Some(b't'), ..) => (b'\t', 1),
            (Some(quoted @ (b'"' | b'\\')), ..) => (quoted, 1),
            _ => return self.expected("an escape: two hexadecimal digits, `n`, `t`, `\"` or `\\`"),
        };
        self.pos += length;
        Ok(value)
    }

    /// The text of a balanced pair of brackets that begins here, brackets included.
    pub(crate) fn balanced(&mut self) -> Read<&'t str> {
        let start = self.pos;
        let mut open: Vec<u8> = Vec::new();
        loop {
            let Some(&byte) = self.text.get(self.pos) else {
                return Err(Fault::new(start, "the bracket that opens here is never closed"));
            };
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                // `->` closes nothing.
                b'-' if self.text.get(self.pos + 1) == Some(&b'>') => self.pos += 1,
                b'<' => open.push(b'>'),
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b'{' => open.push(b'}'),
                b'>' | b')' | b']' | b'}' if open.pop() != Some(byte) => {
                    return self.fault(format!("`{}` closes nothing", char::from(byte)));
                }
                _ => {}
            }
            self.pos += 1;
            if open.is_empty() {
                return self.slice(start);
            }
        }
    }

    /// The text from a position up to here.
    pub(crate) fn slice(&self, start: usize) -> Read<&'t str> {
        std::str::from_utf8(&self.text[start..self.pos])
            .map_err(|_| Fault::new(start, "this is no UTF-8"))
    }
}

/// The first letters of a text that may be long.
pub(super) fn short(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
