//! The plain fields of a JSON object, without a library: what settings and destinations mostly are.

/// The text of a field of the outermost object; none if there is no such field, or it is no text, or this is not JSON.
pub fn text_field(json: &str, name: &str) -> Option<String> {
    let value = field(json, name)?;
    let mut reader = Reader { rest: value };
    reader.text()
}

/// The number of a field, as `text_field` for texts.
pub fn number_field(json: &str, name: &str) -> Option<f64> {
    field(json, name)?.trim().parse().ok()
}

fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let mut reader = Reader { rest: json };
    reader.take('{')?;
    loop {
        reader.space();
        if reader.rest.starts_with('}') {
            return None;
        }
        let key = reader.text()?;
        reader.take(':')?;
        reader.space();
        let begin = reader.rest;
        reader.skip_value()?;
        if key == name {
            return Some(&begin[..begin.len() - reader.rest.len()]);
        }
        reader.space();
        if reader.take(',').is_none() {
            return None;
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }
    fn take(&mut self, wanted: char) -> Option<()> {
        self.space();
        self.rest = self.rest.strip_prefix(wanted)?;
        Some(())
    }
    fn text(&mut self) -> Option<String> {
        self.take('"')?;
        let mut out = String::new();
        let mut chars = self.rest.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => match chars.next()? {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    'b' => out.push('\u{8}'),
                    'f' => out.push('\u{c}'),
                    'u' => out.push(unicode(&mut chars)?),
                    other => out.push(other),
                },
                other => out.push(other),
            }
        }
        self.rest = chars.as_str();
        Some(out)
    }
    /// Without recursion: a stranger's text may nest as deep as it likes.
    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            self.space();
            match self.rest.chars().next()? {
                '"' => {
                    self.text()?;
                }
                '{' | '[' => {
                    depth += 1;
                    self.rest = &self.rest[1..];
                    continue;
                }
                '}' | ']' => {
                    depth = depth.checked_sub(1)?;
                    self.rest = &self.rest[1..];
                }
                ',' | ':' if depth > 0 => {
                    self.rest = &self.rest[1..];
                    continue;
                }
                _ => {
                    let end = self.rest.find([',', '}', ']', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len());
                    if end == 0 {
                        return None;
                    }
                    self.rest = &self.rest[end..];
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

fn unicode(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let mut unit = || -> Option<u32> { u32::from_str_radix(&chars.by_ref().take(4).collect::<String>(), 16).ok() };
    let first = unit()?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    if chars.next()? != '\\' || chars.next()? != 'u' {
        return None;
    }
    let second = u32::from_str_radix(&chars.by_ref().take(4).collect::<String>(), 16).ok()?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + second.wrapping_sub(0xdc00)).or(Some(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_outermost_object() {
        let json = r#"{"a":{"url":"inner"},"list":[1,{"url":"too"}],"url":"http:\/\/a\u00e9\ud83d\udcee","n": 12.5 }"#;
        assert_eq!(text_field(json, "url").as_deref(), Some("http://a\u{e9}\u{1f4ee}"));
        assert_eq!(number_field(json, "n"), Some(12.5));
        assert_eq!(text_field(json, "a"), None);
        assert_eq!(text_field(json, "none"), None);
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        for text in ["", "[]", "null", "{", "{\"url\"", "{\"url\":", "{\"url\":\"x", "{\"a\":1 \"url\":\"x\"}", "\u{0}"] {
            assert_eq!(text_field(text, "url"), None, "{text}");
        }
        let deep = "[".repeat(200_000);
        assert_eq!(text_field(&format!("{{\"a\":{deep}"), "url"), None);
    }
}
