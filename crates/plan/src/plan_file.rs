// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan as it is written: which settings hold for every run, which are varied, and the order of
//! the runs.
//!
//! A setting is a flag of `teiji measure` or of the lab by its long name, and its value the words
//! that would be typed. What those mean is not known here: the parser of the flags checks them.
//! Each setting knows where it was written.

use crate::plan_error::{PlanError, PlanErrors, SourceSpan};
use crate::{Limit, Phase};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// `true` or `false`: the flag stands there, or not.
    Switch(bool),
    /// What follows the flag, once for each word; of several, the flag is repeated.
    Words(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Switch(on) => write!(f, "{on}"),
            Value::Words(words) if words.is_empty() => f.write_str("none"),
            Value::Words(words) => f.write_str(&words.join(" + ")),
        }
    }
}

/// One flag and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The flag's long name.
    pub key: String,
    pub value: Value,
    pub at: SourceSpan,
}

/// One flag and all the values it takes in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The flag's long name.
    pub key: String,
    /// In the order written; at least one, no two alike.
    pub values: Vec<Setting>,
}

/// What a flag is set to in the short form of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuickOverrides {
    /// The flag's long name.
    pub key: String,
    /// As a setting, if it can be one.
    pub setting: Option<Setting>,
    /// As a factor with these values, if it can be one.
    pub factor: Option<Factor>,
    pub at: SourceSpan,
}

/// The order of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOrder {
    /// How often each combination runs.
    pub repeat: u32,
    /// Whether each round of all combinations has an order of its own.
    pub shuffle: bool,
    /// What that order follows from; none: it is chosen when the plan is begun, and written down.
    pub seed: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub title: Option<String>,
    /// What holds for every run.
    pub measure: Vec<Setting>,
    /// What is varied, the slowest first.
    pub vary: Vec<Factor>,
    /// Combinations that are left out: those in which all of these hold.
    pub exclude: Vec<Vec<Setting>>,
    /// Combinations that are added.
    pub include: Vec<Vec<Setting>>,
    /// What takes the place of settings and factors of the same name in the short form.
    pub quick: Vec<QuickOverrides>,
    /// In what order.
    pub order: RunOrder,
    /// What each combination has to hold.
    pub limits: Vec<Limit>,
    /// Where the first line is.
    pub at: SourceSpan,
}

/// Most combinations times repeats: at a second each they take half a day. A plan that has more was
/// not meant, and one in a folder that somebody sent takes memory for each.
pub(crate) const MAX_RUNS: usize = 50_000;
/// Plans that include one another, deep.
const DEEPEST: usize = 16;

/// The setting of which many values are written as `1..50`. Runs that differ in nothing else are
/// pooled.
pub const PHASE: &str = "phase";

/// How a plan's files are read; for tests, from nowhere.
pub type ReadFile<'a> = dyn FnMut(&Path) -> io::Result<String> + 'a;

impl Plan {
    /// Reads a plan and what it includes.
    ///
    /// # Errors
    /// All that is wrong with how it is written, each with its place.
    pub fn read(path: &Path, read: &mut ReadFile<'_>) -> Result<Self, PlanErrors> {
        Plan::of_file(path, None, read, 0)
    }

    fn of_file(
        path: &Path,
        included: Option<&SourceSpan>,
        read: &mut ReadFile<'_>,
        depth: usize,
    ) -> Result<Self, PlanErrors> {
        let unreadable = |source| PlanError::Unreadable {
            path: path.to_owned(),
            included: included.cloned(),
            source,
        };
        let text = read(path).map_err(unreadable)?;
        let source = Source { file: Arc::from(path), text: &text };
        let (document, errors) = DeTable::parse_recoverable(&text);
        let wrong = |error: toml::de::Error| {
            let at = source.span_at(error.span().map_or(0, |span| span.start));
            PlanError::at(&at, error.message().trim())
        };
        PlanErrors::none_of(errors.into_iter().map(wrong).collect())?;
        let mut plan = Plan {
            title: None,
            measure: Vec::new(),
            vary: Vec::new(),
            exclude: Vec::new(),
            include: Vec::new(),
            quick: Vec::new(),
            order: RunOrder { repeat: 1, shuffle: false, seed: None },
            limits: Vec::new(),
            at: source.span_at(0),
        };
        let mut base = None;
        let mut errors = Vec::new();
        for (key, value) in source.in_order(document.get_ref()) {
            let at = source.span_at(key.span().start);
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("include", DeValue::String(other)) => base = Some((other.to_string(), at)),
                (name, value) => errors
                    .extend(source.part(&mut plan, name, value, &at).err().into_iter().flatten()),
            }
        }
        PlanErrors::none_of(errors)?;
        let Some((other, at)) = base else { return Ok(plan) };
        if depth == DEEPEST {
            return Err(PlanError::at(
                &at,
                format!("plans include one another {DEEPEST} deep: is this a circle?"),
            )
            .into());
        }
        let other = path.parent().unwrap_or(Path::new("")).join(other);
        Ok(plan.upon(
            Plan::of_file(&other, Some(&at), read, depth + 1)?,
            document.get_ref().contains_key("order"),
        ))
    }

    /// The short form: what `[quick]` says in the place of the rest, each combination once.
    ///
    /// # Errors
    /// When the plan has none, or its value for a factor is not a list.
    pub fn quick(mut self) -> Result<Self, PlanError> {
        if self.quick.is_empty() {
            return Err(PlanError::at(&self.at, "this plan has no short form: no table [quick]"));
        }
        for quick in std::mem::take(&mut self.quick) {
            let key = quick.key;
            if let Some(known) = self.vary.iter_mut().find(|factor| factor.key == key) {
                *known = quick.factor.ok_or_else(|| {
                    PlanError::at(&quick.at, format!("'{key}' is varied: give a list of values"))
                })?;
                continue;
            }
            let what = format!(
                "'{key}' takes text, numbers, true or false, or a list of texts and numbers"
            );
            let setting = quick.setting.ok_or_else(|| PlanError::at(&quick.at, what))?;
            put(&mut self.measure, setting, |setting| &setting.key);
        }
        // Combinations that the short form does not have need not be left out of it.
        let vary = &self.vary;
        let occurs = |setting: &Setting| {
            let factor = vary.iter().find(|factor| factor.key == setting.key);
            factor
                .is_none_or(|factor| factor.values.iter().any(|value| value.value == setting.value))
        };
        self.exclude.retain(|settings| settings.iter().all(occurs));
        self.order.repeat = 1;
        Ok(self)
    }

    /// The plan without these flags: no setting and no factor of it has one of them any more, and
    /// what was excluded or added by one of them is not.
    pub fn without(mut self, keys: &[&str]) -> Self {
        let stays = |key: &str| !keys.contains(&key);
        self.measure.retain(|setting| stays(&setting.key));
        self.vary.retain(|factor| stays(&factor.key));
        self.quick.retain(|quick| stays(&quick.key));
        for combinations in [&mut self.exclude, &mut self.include] {
            combinations.retain(|settings| settings.iter().all(|setting| stays(&setting.key)));
        }
        self
    }

    /// Whether this is one of several values of a factor.
    pub fn varies(&self, key: &str, value: &str) -> bool {
        let factor = self.vary.iter().find(|factor| factor.key == key);
        factor.is_some_and(|factor| {
            factor.values.len() > 1
                && factor.values.iter().any(|known| known.value.to_string() == value)
        })
    }

    /// The plan without this one of several values of a factor, and without what was excluded or
    /// added by it.
    pub fn without_value(mut self, key: &str, value: &str) -> Self {
        if !self.varies(key, value) {
            return self;
        }
        let is_it = |setting: &Setting| setting.key == key && setting.value.to_string() == value;
        let factors = self.vary.iter_mut().filter(|factor| factor.key == key);
        factors.for_each(|factor| factor.values.retain(|setting| !is_it(setting)));
        for combinations in [&mut self.exclude, &mut self.include] {
            combinations.retain(|settings| !settings.iter().any(is_it));
        }
        self
    }

    /// This plan on top of an included one: settings and factors of the same name take the other's
    /// place, all else is added.
    fn upon(self, base: Plan, has_order: bool) -> Plan {
        let mut measure = base.measure;
        self.measure.into_iter().for_each(|own| put(&mut measure, own, |setting| &setting.key));
        let mut vary = base.vary;
        self.vary.into_iter().for_each(|own| put(&mut vary, own, |factor| &factor.key));
        let mut limits = base.limits;
        limits.retain(|limit| self.limits.iter().all(|own| own.name() != limit.name()));
        limits.extend(self.limits);
        Plan {
            title: self.title.or(base.title),
            measure,
            vary,
            exclude: [base.exclude, self.exclude].concat(),
            include: [base.include, self.include].concat(),
            quick: if self.quick.is_empty() { base.quick } else { self.quick },
            order: if has_order { self.order } else { base.order },
            limits,
            at: self.at,
        }
    }
}

/// Puts a setting or a factor in the place of that of the same name, or behind all.
fn put<T>(all: &mut Vec<T>, own: T, key: impl Fn(&T) -> &String) {
    match all.iter_mut().find(|known| key(known) == key(&own)) {
        Some(known) => *known = own,
        None => all.push(own),
    }
}

/// The parts of a plan, and how each is written.
const FORMS: [(&str, &str); 8] = [
    ("title", "title = \"TEXT\""),
    ("measure", "a table of flags, [measure]"),
    ("vary", "a table of flags with their values, [vary]"),
    ("exclude", "tables, [[exclude]]"),
    ("include", "tables, [[include]], or the path of another plan, include = \"other.toml\""),
    ("quick", "a table of flags, [quick], that replace others in the short form"),
    ("order", "a table, [order], of repeat, shuffle and seed"),
    ("limits", "a table of figures, [limits], such as max = \"100us\""),
];

/// A file that is being read.
struct Source<'a> {
    file: Arc<Path>,
    text: &'a str,
}

type Entry<'t, 'i> = (&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>);

impl Source<'_> {
    fn span_at(&self, offset: usize) -> SourceSpan {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_at = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        SourceSpan {
            file: Arc::clone(&self.file),
            line,
            column: before[line_at..].chars().count() + 1,
        }
    }

    /// The entries of a table as they are written, one below the other.
    fn in_order<'t, 'i>(&self, table: &'t DeTable<'i>) -> Vec<Entry<'t, 'i>> {
        let mut entries: Vec<Entry<'t, 'i>> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    /// Reads one part of a plan into it.
    fn part(
        &self,
        plan: &mut Plan,
        name: &str,
        value: &DeValue<'_>,
        at: &SourceSpan,
    ) -> Result<(), PlanErrors> {
        match (name, value) {
            ("title", DeValue::String(title)) => plan.title = Some(title.to_string()),
            ("measure", DeValue::Table(table)) => plan.measure = self.settings(table)?,
            ("vary", DeValue::Table(table)) => plan.vary = self.factors(table)?,
            ("quick", DeValue::Table(table)) => plan.quick = self.quick(table),
            ("order", DeValue::Table(table)) => plan.order = self.order(table)?,
            ("limits", DeValue::Table(table)) => plan.limits = self.limits(table)?,
            ("exclude", DeValue::Array(tables)) => {
                plan.exclude = self.combinations("exclude", tables)?
            }
            ("include", DeValue::Array(tables)) => {
                plan.include = self.combinations("include", tables)?
            }
            _ => {
                let form = FORMS.iter().find(|(known, _)| *known == name).map(|(_, form)| form);
                let what = form
                    .map(|form| format!("'{name}' is written as {form}"))
                    .unwrap_or_else(|| {
                        let names = FORMS.map(|(name, _)| name).join(", ");
                        format!("unknown key '{name}'; the keys of a plan are {names}")
                    });
                return Err(PlanError::at(at, what).into());
            }
        }
        Ok(())
    }

    fn settings(&self, table: &DeTable<'_>) -> Result<Vec<Setting>, PlanErrors> {
        let setting = |(key, value): Entry<'_, '_>| {
            let at = self.span_at(key.span().start);
            self.setting(key.get_ref(), value, &at)
        };
        PlanErrors::all(self.in_order(table).into_iter().map(setting))
    }

    fn setting(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        at: &SourceSpan,
    ) -> Result<Setting, PlanErrors> {
        let value = match value.get_ref() {
            DeValue::Boolean(on) => Value::Switch(*on),
            DeValue::Array(parts) => {
                let words = PlanErrors::all(parts.iter().map(|part| self.word(key, part)))?;
                Value::Words(words)
            }
            _ => Value::Words(vec![self.word(key, value)?]),
        };
        // To leave a flag out is a value like the others: no load, no priority, no kernel of the
        // lab.
        let none = Value::Words(vec!["none".to_owned()]);
        let value = if value == none { Value::Words(Vec::new()) } else { value };
        Ok(Setting { key: key.to_owned(), value, at: at.clone() })
    }

    fn word(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, PlanError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => {
                let digits = number.as_str().replace('_', "");
                let whole = i64::from_str_radix(&digits, number.radix());
                whole
                    .map(|whole| whole.to_string())
                    .map_err(|error| self.wrong(value, format!("'{digits}': {error}")))
            }
            DeValue::Float(number) => Ok(number.as_str().replace('_', "")),
            _ => Err(self.wrong(
                value,
                format!(
                    "'{key}' takes text, numbers, true or false, or a list of texts and numbers"
                ),
            )),
        }
    }

    fn wrong(&self, value: &Spanned<DeValue<'_>>, what: String) -> PlanError {
        PlanError::at(&self.span_at(value.span().start), what)
    }

    fn factors(&self, table: &DeTable<'_>) -> Result<Vec<Factor>, PlanErrors> {
        PlanErrors::all(
            self.in_order(table).into_iter().map(|(key, value)| self.factor(key.get_ref(), value)),
        )
    }

    fn factor(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Factor, PlanErrors> {
        let listed: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
            DeValue::Array(listed) => listed.iter().collect(),
            _ if self.phases(key, value).is_some() => vec![value],
            _ => {
                let what = format!(
                    "'{key}' is varied: give a list of its values, or put it into [measure]"
                );
                return Err(self.wrong(value, what).into());
            }
        };
        let each = |one: &Spanned<DeValue<'_>>| match self.phases(key, one) {
            Some(phases) => Ok(phases),
            None => {
                self.setting(key, one, &self.span_at(one.span().start)).map(|setting| vec![setting])
            }
        };
        let settings = PlanErrors::all(listed.into_iter().map(each))?.concat();
        let mut values: Vec<Setting> = Vec::new();
        let mut errors = Vec::new();
        for setting in settings {
            match values.iter().find(|known| known.value == setting.value) {
                Some(known) => {
                    let what = format!("'{}' is listed already, at {}", setting.value, known.at);
                    errors.push(PlanError::at(&setting.at, what));
                }
                None => values.push(setting),
            }
        }
        PlanErrors::none_of(errors)?;
        if values.is_empty() {
            return Err(self
                .wrong(value, format!("'{key}' has no value, and so no run would be left"))
                .into());
        }
        Ok(Factor { key: key.to_owned(), values })
    }

    /// Each phase of a list such as `1..50`.
    fn phases(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Vec<Setting>> {
        let DeValue::String(text) = value.get_ref() else { return None };
        let phases = Some(text).filter(|_| key == PHASE).and_then(|text| Phase::listed(text))?;
        let at = self.span_at(value.span().start);
        let setting = |phase: Phase| Value::Words(vec![phase.to_string()]);
        Some(
            phases
                .map(|phase| Setting { key: key.to_owned(), value: setting(phase), at: at.clone() })
                .collect(),
        )
    }

    fn quick(&self, table: &DeTable<'_>) -> Vec<QuickOverrides> {
        let quick = |(key, value): Entry<'_, '_>| {
            let at = self.span_at(key.span().start);
            let (setting, factor) = (
                self.setting(key.get_ref(), value, &at).ok(),
                self.factor(key.get_ref(), value).ok(),
            );
            QuickOverrides { key: key.get_ref().to_string(), setting, factor, at }
        };
        self.in_order(table).into_iter().map(quick).collect()
    }

    fn combinations(
        &self,
        name: &str,
        tables: &[Spanned<DeValue<'_>>],
    ) -> Result<Vec<Vec<Setting>>, PlanErrors> {
        let combination = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::Table(table) if !table.is_empty() => self.settings(table),
            DeValue::Table(_) => Err(self.wrong(value, format!("[[{name}]] is empty")).into()),
            _ => {
                Err(self.wrong(value, format!("'{name}' is written as tables, [[{name}]]")).into())
            }
        };
        PlanErrors::all(tables.iter().map(combination))
    }

    fn order(&self, table: &DeTable<'_>) -> Result<RunOrder, PlanErrors> {
        let mut order = RunOrder { repeat: 1, shuffle: false, seed: None };
        let mut set = |(key, value): Entry<'_, '_>| -> Result<(), PlanError> {
            let number = |min: u64, max: u64| {
                let wrong = || {
                    self.wrong(
                        value,
                        format!("'{}' is a whole number from {min} to {max}", key.get_ref()),
                    )
                };
                let DeValue::Integer(_) = value.get_ref() else { return Err(wrong()) };
                let number = self
                    .word(key.get_ref(), value)?
                    .parse()
                    .ok()
                    .filter(|n| (min..=max).contains(n));
                number.ok_or_else(wrong)
            };
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("repeat", _) => order.repeat = u32::try_from(number(1, 10_000)?).unwrap_or(1),
                ("shuffle", DeValue::Boolean(on)) => order.shuffle = *on,
                ("shuffle", _) => {
                    return Err(self.wrong(value, "'shuffle' is true or false".to_owned()));
                }
                ("seed", _) => order.seed = Some(number(0, i64::MAX.unsigned_abs())?),
                (unknown, _) => {
                    let at = self.span_at(key.span().start);
                    let what = format!(
                        "unknown key '{unknown}'; the keys of [order] are repeat, shuffle and seed"
                    );
                    return Err(PlanError::at(&at, what));
                }
            }
            Ok(())
        };
        PlanErrors::all(self.in_order(table).into_iter().map(&mut set))?;
        Ok(order)
    }

    fn limits(&self, table: &DeTable<'_>) -> Result<Vec<Limit>, PlanErrors> {
        let limit = |(key, value): Entry<'_, '_>| -> Result<Limit, PlanError> {
            let (figure, text) = (key.get_ref(), self.word(key.get_ref(), value)?);
            Limit::from_setting(figure, &text).map_err(|error| {
                // Where the name takes some value, this one is wrong.
                let name_is_right = ["1us", "1", "0.1@95%"]
                    .iter()
                    .any(|value| Limit::from_setting(figure, value).is_ok());
                if name_is_right {
                    self.wrong(value, error.to_string())
                } else {
                    PlanError::at(&self.span_at(key.span().start), error.to_string())
                }
            })
        };
        PlanErrors::all(self.in_order(table).into_iter().map(limit))
    }
}
