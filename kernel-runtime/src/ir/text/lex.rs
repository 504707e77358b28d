//! Cuts the text into tokens.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
    /// `%name`, without the percent sign.
    Value(&'t str),
    /// A word.
    Word(&'t str),
    /// A number, in any notation; checked where it is used.
    Number(&'t str),
    /// A string, between its quotes, escapes and all.
    Str(&'t str),
    /// A punctuation character.
    Punct(char),
    /// A character that has no meaning here, or a string without an end.
    Bad(&'t str),
    /// The end of the text.
    End,
}

/// A token with its 1-based place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// The tokens of a text; the last is [`TokenKind::End`].
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let (line, column) = (lexer.line, lexer.column);
        let kind = lexer.next_kind();
        tokens.push(Token { kind, line, column });
        if kind == TokenKind::End {
            return tokens;
        }
    }
}

/// Whether the text is a word, so that a name can be printed without quotes.
pub(super) fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(is_word_char)
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

struct Lexer<'t> {
    rest: &'t str,
    line: u32,
    column: u32,
}

impl<'t> Lexer<'t> {
    fn skip_blank(&mut self) {
        loop {
            let n_blank = self.rest.len() - self.rest.trim_start().len();
            let n_comment = if self.rest[n_blank..].starts_with("//") {
                self.rest[n_blank..].find('\n').unwrap_or(self.rest.len() - n_blank)
            } else {
                0
            };
            if n_blank + n_comment == 0 {
                return;
            }
            self.take(n_blank + n_comment);
        }
    }

    /// Takes this many bytes, which end at a character boundary.
    fn take(&mut self, n_bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(n_bytes);
        self.rest = rest;
        for c in taken.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        taken
    }

    fn take_while(&mut self, mut keep: impl FnMut(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn next_kind(&mut self) -> TokenKind<'t> {
        let Some(first) = self.rest.chars().next() else {
            return TokenKind::End;
        };
        match first {
            '%' => {
                let name = &self.take_while({
                    let mut idx = 0;
                    move |c| {
                        idx += 1;
                        idx == 1 || is_word_char(c)
                    }
                })[1..];
                if name.is_empty() { TokenKind::Bad("%") } else { TokenKind::Value(name) }
            }
            '"' => self.string(),
            '-' if !self.rest[1..].starts_with(|c: char| c.is_ascii_alphanumeric()) => {
                TokenKind::Bad(self.take(1))
            }
            '-' | '0'..='9' => self.number(),
            c if c.is_ascii_alphabetic() || c == '_' => {
                TokenKind::Word(self.take_while(is_word_char))
            }
            '{' | '}' | '(' | ')' | '[' | ']' | ',' | ':' | '=' => {
                self.take(1);
                TokenKind::Punct(first)
            }
            other => TokenKind::Bad(self.take(other.len_utf8())),
        }
    }

    /// A number runs on through letters and points, and through a sign after an exponent's `e`.
    fn number(&mut self) -> TokenKind<'t> {
        let is_hex = self.rest.starts_with("0x");
        let mut previous = '\0';
        TokenKind::Number(self.take_while(move |c| {
            let sign = matches!(c, '-' | '+')
                && (previous == '\0' || !is_hex && matches!(previous, 'e' | 'E'));
            previous = c;
            sign || c.is_ascii_alphanumeric() || c == '.'
        }))
    }

    fn string(&mut self) -> TokenKind<'t> {
        let mut escaped = false;
        for (idx, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return TokenKind::Str(&self.take(idx + 1)[1..idx]),
                _ => {}
            }
        }
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        TokenKind::Bad(self.take(end))
    }
}

/// The text that a string token stands for; `None` if an escape is wrong.
pub(super) fn unescape(raw: &str) -> Option<String> {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next()? {
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            '0' => text.push('\0'),
            'u' => {
                let digits = chars.as_str().strip_prefix('{')?.split_once('}')?.0;
                text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                // The digits and both braces.
                for _ in 0..digits.chars().count() + 2 {
                    chars.next();
                }
            }
            same @ ('\\' | '"' | '\'') => text.push(same),
            _ => return None,
        }
    }
    Some(text)
}
