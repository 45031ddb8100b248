//! `cell_methods`: how the values of cells were made (CF 7.3).

use serde_json::{Value, json};

/// One method, and the dimensions that it was applied to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CellMethod {
    /// Names of dimensions, scalar coordinates or `area`, or standard names.
    pub names: Vec<String>,
    pub method: String,
    /// The part of the cells that it was applied to: `land`.
    pub r#where: Option<String>,
    /// What the method was applied over: `days`, `years`, or a part of the cells.
    pub over: Option<String>,
    /// `days` or `years`.
    pub within: Option<String>,
    /// Distances of the original values: one for all names, or one for each.
    pub intervals: Vec<(f64, String)>,
    pub comment: Option<String>,
}

/// The methods of an attribute, in order; why they do not parse.
pub(crate) fn parse(text: &str) -> Result<Vec<CellMethod>, String> {
    let mut rest = text.trim_start();
    let mut methods = Vec::new();
    if rest.is_empty() {
        return Err("it is empty".to_owned());
    }
    while !rest.is_empty() {
        methods.push(one(&mut rest)?);
    }
    Ok(methods)
}

/// The next word; a parenthesis ends it.
fn word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let end = rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')').unwrap_or(rest.len());
    let (word, tail) = rest.split_at(end);
    if word.is_empty() {
        return None;
    }
    *rest = tail.trim_start();
    Some(word)
}

fn one(rest: &mut &str) -> Result<CellMethod, String> {
    let mut names = Vec::new();
    let method = loop {
        let before = *rest;
        let word = word(rest).ok_or_else(|| format!("a name is expected at {:?}", shown(before)))?;
        match word.strip_suffix(':') {
            Some(name) if is_name(name) => names.push(name.to_owned()),
            Some(_) => return Err(format!("{word:?} is not the name of a dimension")),
            None if names.is_empty() => return Err(format!("{word:?} is not followed by a colon, as the name of a dimension is")),
            None if is_name(word) => break word.to_owned(),
            None => return Err(format!("{word:?} is not a method")),
        }
    };
    let mut made = CellMethod { names, method, r#where: None, over: None, within: None, intervals: Vec::new(), comment: None };
    loop {
        let before = *rest;
        let keyword = match word(rest) {
            Some(keyword @ ("where" | "over" | "within")) => keyword,
            _ => {
                *rest = before;
                break;
            }
        };
        let value = word(rest).filter(|value| is_name(value)).ok_or_else(|| format!("nothing follows {keyword:?}"))?;
        let is_period = matches!(value, "days" | "years");
        let slot = match keyword {
            "where" => &mut made.r#where,
            "within" if is_period => &mut made.within,
            "over" if is_period || made.r#where.is_some() => &mut made.over,
            "within" => return Err(format!("{value:?} follows \"within\": days or years are expected")),
            _ => return Err(format!("{value:?} follows \"over\": days or years are expected without \"where\"")),
        };
        if slot.replace(value.to_owned()).is_some() {
            return Err(format!("{keyword:?} occurs twice for the method {:?}", made.method));
        }
    }
    if rest.starts_with('(') {
        let inner = parenthesized(rest)?;
        about(inner, &mut made)?;
    }
    if rest.starts_with(')') {
        return Err("a parenthesis is closed that was not opened".to_owned());
    }
    Ok(made)
}

/// What is between parentheses, which may be nested.
fn parenthesized<'a>(rest: &mut &'a str) -> Result<&'a str, String> {
    let mut depth = 0u32;
    for (place, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let (inner, tail) = rest.split_at(place);
            *rest = tail.get(1..).unwrap_or_default().trim_start();
            return Ok(inner.get(1..).unwrap_or_default().trim());
        }
    }
    Err(format!("a parenthesis is not closed at {:?}", shown(rest)))
}

/// Intervals and a comment.
fn about(inner: &str, made: &mut CellMethod) -> Result<(), String> {
    let mut rest = inner;
    while let Some(after) = rest.strip_prefix("interval:") {
        rest = after.trim_start();
        let number = word(&mut rest).unwrap_or_default();
        let value: f64 = number.parse().map_err(|_| format!("the interval {number:?} is not a number"))?;
        if !value.is_finite() || value < 0.0 {
            return Err(format!("the interval {number:?} is not a length"));
        }
        let units = unit(&mut rest);
        if units.is_empty() {
            return Err(format!("the interval {number:?} has no units"));
        }
        made.intervals.push((value, units));
    }
    if !made.intervals.is_empty() && ![1, made.names.len()].contains(&made.intervals.len()) {
        return Err(format!("{} intervals for {} names", made.intervals.len(), made.names.len()));
    }
    let comment = match rest.strip_prefix("comment:") {
        Some(comment) => comment.trim(),
        // All that is not standardized is a comment (CF 7.3.2).
        None => rest.trim(),
    };
    made.comment = (!comment.is_empty()).then(|| comment.to_owned());
    Ok(())
}

/// Units up to the next key.
fn unit(rest: &mut &str) -> String {
    let end = ["interval:", "comment:"].iter().filter_map(|key| rest.find(key)).min().unwrap_or(rest.len());
    let (unit, tail) = rest.split_at(end);
    *rest = tail;
    unit.trim().to_owned()
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-.+@/".contains(c))
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

impl CellMethod {
    /// As a JSON object without what is not given.
    pub fn json(&self) -> Value {
        let mut object = json!({ "names": self.names, "method": self.method });
        let options = [("where", &self.r#where), ("over", &self.over), ("within", &self.within), ("comment", &self.comment)];
        if let Some(object) = object.as_object_mut() {
            for (key, value) in options.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
                object.insert(key.to_owned(), json!(value));
            }
            if !self.intervals.is_empty() {
                let intervals: Vec<Value> = self.intervals.iter().map(|(value, units)| json!({ "value": value, "units": units })).collect();
                object.insert("intervals".to_owned(), Value::Array(intervals));
            }
        }
        object
    }
}

/// Methods as a JSON array.
pub(crate) fn json(methods: &[CellMethod]) -> Value {
    Value::Array(methods.iter().map(CellMethod::json).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_convention() {
        let text = |methods: &str| parse(methods).map(|methods| json(&methods).to_string());
        let cases = [
            ("time: mean", r#"[{"method":"mean","names":["time"]}]"#),
            (
                "time: mean (interval: 1 hr comment: sampled instantaneously)",
                r#"[{"comment":"sampled instantaneously","intervals":[{"units":"hr","value":1.0}],"method":"mean","names":["time"]}]"#,
            ),
            (
                "lat: lon: standard_deviation (interval: 0.1 degree_N interval: 0.2 degree_E)",
                r#"[{"intervals":[{"units":"degree_N","value":0.1},{"units":"degree_E","value":0.2}],"method":"standard_deviation","names":["lat","lon"]}]"#,
            ),
            ("area: mean where sea_ice over sea", r#"[{"method":"mean","names":["area"],"over":"sea","where":"sea_ice"}]"#),
            (
                "time: maximum within days time: mean over days",
                r#"[{"method":"maximum","names":["time"],"within":"days"},{"method":"mean","names":["time"],"over":"days"}]"#,
            ),
            ("lat: lon: mean (area-weighted)", r#"[{"comment":"area-weighted","method":"mean","names":["lat","lon"]}]"#),
            (
                "time: mean (with (nested) words) area: point",
                r#"[{"comment":"with (nested) words","method":"mean","names":["time"]},{"method":"point","names":["area"]}]"#,
            ),
        ];
        for (given, wanted) in cases {
            assert_eq!(text(given).as_deref(), Ok(wanted), "{given}");
        }
    }

    #[test]
    fn what_does_not_parse_says_why() {
        let cases = [
            ("", "it is empty"),
            ("mean", "\"mean\" is not followed by a colon, as the name of a dimension is"),
            ("time:", "a name is expected at \"\""),
            ("time: mean (interval: one hr)", "the interval \"one\" is not a number"),
            ("time: mean (interval: 1)", "the interval \"1\" has no units"),
            ("time: mean (interval: 1 hr", "a parenthesis is not closed at \"(interval: 1 hr\""),
            ("time: mean within weeks", "\"weeks\" follows \"within\": days or years are expected"),
            ("time: mean over land", "\"land\" follows \"over\": days or years are expected without \"where\""),
            ("area: mean where", "nothing follows \"where\""),
            ("area: mean where land where sea", "\"where\" occurs twice for the method \"mean\""),
            ("lat: lon: time: mean (interval: 1 m interval: 2 m)", "2 intervals for 3 names"),
            ("time: mean) area: mean", "a parenthesis is closed that was not opened"),
        ];
        for (given, wanted) in cases {
            assert_eq!(parse(given).err().as_deref(), Some(wanted), "{given}");
        }
    }
}
