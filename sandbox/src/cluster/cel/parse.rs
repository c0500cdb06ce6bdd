//! CEL text to an expression; what is not known is an error.

/// One expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Bool(bool),
    Int(i64),
    Text(String),
    /// `self`, `oldSelf`.
    Name(String),
    Field(Box<Self>, String),
    /// `has`, `size`, `duration`, `timestamp`, of one argument.
    Call(String, Box<Self>),
    Not(Box<Self>),
    Binary(&'static str, Box<Self>, Box<Self>),
    Choice(Box<Self>, Box<Self>, Box<Self>),
}

impl Expr {
    pub(super) fn names(&self, wanted: &str) -> bool {
        match self {
            Self::Bool(_) | Self::Int(_) | Self::Text(_) => false,
            Self::Name(name) => name == wanted,
            Self::Field(of, _) | Self::Call(_, of) | Self::Not(of) => of.names(wanted),
            Self::Binary(_, a, b) => a.names(wanted) || b.names(wanted),
            Self::Choice(a, b, c) => [a, b, c].into_iter().any(|e| e.names(wanted)),
        }
    }
}

pub(super) fn expression(text: &str) -> Result<Expr, String> {
    let mut reader = Reader { tokens: tokens(text)?, at: 0 };
    let expression = reader.choice()?;
    match reader.tokens.get(reader.at) {
        None => Ok(expression),
        Some(token) => Err(format!("unexpected {token:?}")),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Int(i64),
    Text(String),
    Word(String),
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 18] =
    ["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "?", ":", "(", ")", "."];

/// From loose to tight.
const LEVELS: [&[&str]; 5] =
    [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/"]];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let (mut rest, mut tokens) = (text.trim_start(), Vec::new());
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            (Token::Int(rest[..length].parse().map_err(|_| format!("number {rest:?} is too large"))?), length)
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Token::Word(rest[..length].into()), length)
        } else if first == '\'' || first == '"' {
            let inside = &rest[1..];
            let end = inside.find(first).ok_or_else(|| format!("text without end: {rest}"))?;
            if inside[..end].contains('\\') {
                return Err("escapes in text are not supported by this sandbox".into());
            }
            (Token::Text(inside[..end].into()), end + 2)
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| format!("{first:?} is not supported by this sandbox"))?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn sign(&mut self, among: &[&'static str]) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Sign(sign)) if among.contains(sign) => {
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        self.sign(&[sign]).map(|_| ()).ok_or_else(|| format!("{sign:?} is missing"))
    }

    fn choice(&mut self) -> Result<Expr, String> {
        let condition = self.binary(&LEVELS)?;
        if self.sign(&["?"]).is_none() {
            return Ok(condition);
        }
        let yes = self.choice()?;
        self.expect(":")?;
        let no = self.choice()?;
        Ok(Expr::Choice(condition.into(), yes.into(), no.into()))
    }

    fn binary(&mut self, levels: &[&[&'static str]]) -> Result<Expr, String> {
        let Some((signs, tighter)) = levels.split_first() else { return self.unary() };
        let mut left = self.binary(tighter)?;
        while let Some(sign) = self.sign(signs) {
            left = Expr::Binary(sign, left.into(), self.binary(tighter)?.into());
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, String> {
        if self.sign(&["!"]).is_some() {
            return Ok(Expr::Not(self.unary()?.into()));
        }
        if self.sign(&["-"]).is_some() {
            return Ok(Expr::Binary("-", Expr::Int(0).into(), self.unary()?.into()));
        }
        let mut of = self.primary()?;
        while self.sign(&["."]).is_some() {
            match self.tokens.get(self.at).cloned() {
                Some(Token::Word(name)) => {
                    self.at += 1;
                    of = Expr::Field(of.into(), name);
                }
                other => return Err(format!("a field name is missing before {other:?}")),
            }
        }
        Ok(of)
    }

    fn primary(&mut self) -> Result<Expr, String> {
        if self.sign(&["("]).is_some() {
            let inside = self.choice()?;
            self.expect(")")?;
            return Ok(inside);
        }
        let token = self.tokens.get(self.at).cloned().ok_or("the rule ends too early")?;
        self.at += 1;
        match token {
            Token::Int(number) => Ok(Expr::Int(number)),
            Token::Text(text) => Ok(Expr::Text(text)),
            Token::Word(word) => self.word(word),
            Token::Sign(sign) => Err(format!("unexpected {sign:?}")),
        }
    }

    fn word(&mut self, word: String) -> Result<Expr, String> {
        if matches!(word.as_str(), "has" | "size" | "duration" | "timestamp") {
            self.expect("(")?;
            let argument = self.choice()?;
            self.expect(")")?;
            if word == "has" && !matches!(argument, Expr::Field(..)) {
                return Err("has() takes a field".into());
            }
            return Ok(Expr::Call(word, argument.into()));
        }
        match word.as_str() {
            "true" | "false" => Ok(Expr::Bool(word == "true")),
            "self" | "oldSelf" => Ok(Expr::Name(word)),
            _ => Err(format!("{word} is not supported by this sandbox")),
        }
    }
}
