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
use std::ops::RangeInclusive;
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

/// How a machine is booted, as a plan asks for it: the values of flags of guests.
#[derive(Clone, Debug)]
pub struct BootSettings {
    /// Of each of the flags.
    pub values: [String; 2],
}

impl BootSettings {
    /// The flags.
    pub const FLAGS: [&str; 2] = ["kernel", "append"];

    fn has(&self, setting: &Setting) -> bool {
        let mut all = Self::FLAGS.iter().zip(&self.values);
        all.any(|(key, value)| setting.key == **key && setting.value.to_string() == *value)
    }
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
    /// Where each limit is written, by its name.
    limit_places: Vec<(String, SourceSpan)>,
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
        let PartOfPlan { plan, errors, .. } = Plan::read_in_part(path, read);
        PlanErrors::none_of(errors).map(|()| plan)
    }

    /// The same, and of a plan with errors what could be read, which may have others.
    pub fn read_in_part(path: &Path, read: &mut ReadFile<'_>) -> PartOfPlan {
        let at = SourceSpan { file: Arc::from(path), line: 1, column: 1 };
        let mut part = PartOfPlan {
            plan: Plan::empty(at),
            errors: Vec::new(),
            is_cut: false,
            unread: Vec::new(),
        };
        part.plan = part.of_file(path, None, read, 0);
        part
    }

    fn empty(at: SourceSpan) -> Plan {
        Plan {
            title: None,
            measure: Vec::new(),
            vary: Vec::new(),
            exclude: Vec::new(),
            include: Vec::new(),
            quick: Vec::new(),
            order: RunOrder { repeat: 1, shuffle: false, seed: None },
            limits: Vec::new(),
            limit_places: Vec::new(),
            at,
        }
    }

    /// The short form: what `[quick]` says in the place of the rest, each combination once.
    ///
    /// # Errors
    /// When the plan has none, and for each value that cannot be.
    pub fn quick(mut self) -> Result<Self, PlanErrors> {
        if self.quick.is_empty() {
            let what = "this plan has no short form: no table [quick]";
            return Err(PlanError::at(&self.at, what).into());
        }
        PlanErrors::none_of(self.errors_of_quick())?;
        for QuickOverrides { key, setting, factor, .. } in std::mem::take(&mut self.quick) {
            match self.vary.iter_mut().find(|factor| factor.key == key) {
                Some(known) => *known = factor.unwrap_or_else(|| known.clone()),
                None => setting
                    .into_iter()
                    .for_each(|setting| put(&mut self.measure, setting, |setting| &setting.key)),
            }
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

    /// What cannot be in the short form: a setting in the place of a factor, or what is neither.
    pub fn errors_of_quick(&self) -> Vec<PlanError> {
        let wrong = |quick: &QuickOverrides| {
            let key = &quick.key;
            let what = if self.vary.iter().any(|factor| factor.key == *key) {
                quick.factor.is_none().then(|| format!("'{key}' is varied: give a list of values"))
            } else {
                quick.setting.is_none().then(|| values(key))
            };
            Some(PlanError::at(&quick.at, what?))
        };
        self.quick.iter().filter_map(wrong).collect()
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

    /// The plan on a machine that was booted as it asks for, without these flags of guests: what is
    /// excluded or added by settings of this boot is so by the others. `boot`: flags and values of
    /// the boot; none of one that the plan does not ask for.
    pub fn in_boot(self, flags: &[&str], boot: Option<&BootSettings>) -> Self {
        let is_of_guests = |setting: &Setting| flags.contains(&setting.key.as_str());
        let is_known = |setting: &Setting| boot.is_some_and(|boot| boot.has(setting));
        let divided = |settings: &[Setting]| -> (Vec<Setting>, Vec<Setting>) {
            settings.iter().cloned().partition(is_of_guests)
        };
        let names_boot = |settings: &[Setting]| {
            settings.iter().any(|setting| BootSettings::FLAGS.contains(&setting.key.as_str()))
        };
        let mut plan = self.clone().without(flags);
        plan.exclude.clear();
        plan.include.clear();
        let mut is_measured = boot.is_none_or(|boot| self.is_of(boot));
        for settings in &self.exclude {
            let (of_guests, own) = divided(settings);
            match (of_guests.iter().all(is_known), own.is_empty()) {
                (true, true) => is_measured = false,
                (true, false) => plan.exclude.push(own),
                (false, _) => {}
            }
        }
        let is_here = |settings: &&Vec<Setting>| {
            !names_boot(settings)
                || self.combination_of(settings).iter().all(|setting| {
                    !BootSettings::FLAGS.contains(&setting.key.as_str()) || is_known(setting)
                })
        };
        let added = self.include.iter().filter(is_here).map(|settings| divided(settings));
        let added: Vec<(Vec<Setting>, Vec<Setting>)> = added.collect();
        // One that sets the boot and nothing else adds `[measure]` itself.
        is_measured |= plan.vary.is_empty() && added.iter().any(|(_, own)| own.is_empty());
        // All of the factors' combinations are of other boots.
        if !is_measured {
            plan.exclude = match plan.vary.first() {
                Some(factor) => factor.values.iter().map(|value| vec![value.clone()]).collect(),
                None => vec![Vec::new()],
            };
        }
        for (of_guests, own) in added {
            let is_there = || !of_guests.is_empty() && plan.has(&own);
            if !own.is_empty() && !is_there() {
                plan.include.push(own);
            }
        }
        plan
    }

    /// Whether what `[measure]` and the factors set of a boot is so in this one: none of a flag
    /// that they do not set.
    fn is_of(&self, boot: &BootSettings) -> bool {
        let varied = self.vary.iter().flat_map(|factor| &factor.values);
        let set: Vec<&Setting> = self.measure.iter().chain(varied).collect();
        BootSettings::FLAGS.iter().zip(&boot.values).all(|(flag, value)| {
            let of_flag = || set.iter().filter(|setting| setting.key == *flag);
            match of_flag().next() {
                Some(_) => of_flag().any(|setting| setting.value.to_string() == *value),
                None => value == "none",
            }
        })
    }

    /// The plan without these settings of runs: no value of a factor is one of them any more, and
    /// combinations that were added with one are not. A factor without values is none.
    pub fn without_settings(mut self, wrong: &[&Setting]) -> Self {
        let stays = |setting: &Setting| {
            !wrong.iter().any(|wrong| (&wrong.key, &wrong.at) == (&setting.key, &setting.at))
        };
        let is_value = |setting: &Setting| {
            wrong.iter().any(|wrong| (&wrong.key, &wrong.value) == (&setting.key, &setting.value))
        };
        self.measure.retain(&stays);
        self.vary.iter_mut().for_each(|factor| factor.values.retain(&stays));
        self.vary.retain(|factor| !factor.values.is_empty());
        self.include.retain(|settings| settings.iter().all(&stays));
        self.exclude.retain(|settings| !settings.iter().any(is_value));
        self
    }

    /// Where a limit of this plan is written.
    pub fn place_of(&self, limit: &Limit) -> &SourceSpan {
        let known = self.limit_places.iter().find(|(name, _)| name == limit.name());
        known.map_or(&self.at, |(_, at)| at)
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
            limit_places: [self.limit_places, base.limit_places].concat(),
            at: self.at,
        }
    }
}

/// A plan as far as it could be read.
pub struct PartOfPlan {
    pub plan: Plan,
    /// What is wrong with how it is written; of a plan that is whole nothing.
    pub errors: Vec<PlanError>,
    /// Whether there may be more in it than could be read: the rest of a file, or another plan.
    pub is_cut: bool,
    /// Flags that are written, and whose value could not be read.
    pub unread: Vec<String>,
}

impl PartOfPlan {
    /// What could be read of a file and of those that it includes. What is wrong goes to the
    /// errors.
    fn of_file(
        &mut self,
        path: &Path,
        included: Option<&SourceSpan>,
        read: &mut ReadFile<'_>,
        depth: usize,
    ) -> Plan {
        let text = read(path).unwrap_or_else(|source| {
            let (path, included) = (path.to_owned(), included.cloned());
            self.errors.push(PlanError::Unreadable { path, included, source });
            self.is_cut = true;
            String::new()
        });
        let (document, errors) = DeTable::parse_recoverable(&text);
        let mut source = Source { file: Arc::from(path), text: &text, lost: Vec::new() };
        for error in errors {
            let at = source.span_at(error.span().map_or(0, |span| span.start));
            source.lose(&at, self);
            let message: Vec<&str> = error.message().lines().map(str::trim).collect();
            let mut message = message.join(", ");
            // The parser's word for any that begins as `true` or `false` do, such as `fast`.
            if message.starts_with("invalid boolean") {
                message = "expected true, false, or a string in quotes".to_owned();
            }
            self.errors.push(PlanError::at(&at, message));
        }
        let mut plan = Plan::empty(source.span_at(0));
        let mut base = None;
        for (key, value) in source.in_order(document.get_ref()) {
            let at = source.span_at(key.span().start);
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("include", DeValue::String(other)) => base = Some((other.to_string(), at)),
                (name, value) => source.part(&mut plan, name, value, &at, self),
            }
        }
        let Some((other, at)) = base else { return plan };
        if depth == DEEPEST {
            let what = format!("plans include one another {DEEPEST} deep: is this a circle?");
            self.errors.push(PlanError::at(&at, what));
            return plan;
        }
        let other = path.parent().unwrap_or(Path::new("")).join(other);
        let base = self.of_file(&other, Some(&at), read, depth + 1);
        plan.upon(base, document.get_ref().contains_key("order"))
    }

    /// A value, if it could be read.
    fn good<T>(&mut self, result: Result<T, impl Into<PlanErrors>>) -> Option<T> {
        result.map_err(|errors| self.errors.extend(Into::<PlanErrors>::into(errors))).ok()
    }
}

/// Whether a value is written below its key, with lines of its own.
fn has_tables(value: &Spanned<DeValue<'_>>) -> bool {
    match value.get_ref() {
        DeValue::Table(_) => true,
        DeValue::Array(parts) => {
            parts.iter().any(|part| matches!(part.get_ref(), DeValue::Table(_)))
        }
        _ => false,
    }
}

/// What a flag of this name may be.
fn values(key: &str) -> String {
    format!("'{key}' takes text, numbers, true or false, or a list of texts and numbers")
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
    /// Lines that are no TOML, or of which it is not known what they belong to.
    lost: Vec<RangeInclusive<usize>>,
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

    /// Loses the line of something that is no TOML, and all behind it where that may belong to it.
    fn lose(&mut self, at: &SourceSpan, part: &mut PartOfPlan) {
        let line = self.text.lines().nth(at.line - 1).unwrap_or_default();
        let key = line.split_once('=').map(|(key, _)| key.trim().trim_matches(['"', '\'']));
        let is_one_line = !["[", "\"\"\"", "'''"].iter().any(|begin| line.contains(begin));
        match key.filter(|_| is_one_line) {
            Some(key) => {
                part.unread.push(key.to_owned());
                self.lost.push(at.line..=at.line);
            }
            None => {
                part.is_cut = true;
                self.lost.push(at.line..=usize::MAX);
            }
        }
    }

    /// The entries of a table as they are written, one below the other, without those that are
    /// lost.
    fn in_order<'t, 'i>(&self, table: &'t DeTable<'i>) -> Vec<Entry<'t, 'i>> {
        let mut entries: Vec<Entry<'t, 'i>> = table.iter().collect();
        if !self.lost.is_empty() {
            entries.retain(|(key, value)| {
                let line = |offset| self.span_at(offset).line;
                let first = line(key.span().start);
                let last = if has_tables(value) { first } else { line(value.span().end) };
                !self.lost.iter().any(|lost| *lost.start() <= last && first <= *lost.end())
            });
        }
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
        part: &mut PartOfPlan,
    ) {
        match (name, value) {
            ("title", DeValue::String(title)) => plan.title = Some(title.to_string()),
            ("measure", DeValue::Table(table)) => plan.measure = self.settings(table, part),
            ("vary", DeValue::Table(table)) => plan.vary = self.factors(table, part),
            ("quick", DeValue::Table(table)) => plan.quick = self.quick(table),
            ("order", DeValue::Table(table)) => plan.order = self.order(table, part),
            ("limits", DeValue::Table(table)) => {
                (plan.limits, plan.limit_places) = self.limits(table, part);
            }
            ("exclude", DeValue::Array(tables)) => {
                plan.exclude = self.combinations("exclude", tables, part)
            }
            ("include", DeValue::Array(tables)) => {
                plan.include = self.combinations("include", tables, part)
            }
            _ => {
                let form = FORMS.iter().find(|(known, _)| *known == name).map(|(_, form)| form);
                let what = form
                    .map(|form| format!("'{name}' is written as {form}"))
                    .unwrap_or_else(|| {
                        let names = FORMS.map(|(name, _)| name).join(", ");
                        format!("unknown key '{name}'; the keys of a plan are {names}")
                    });
                part.errors.push(PlanError::at(at, what));
                // A table may have been meant to be another, whose settings are lacking now.
                part.is_cut |= matches!(value, DeValue::Table(_) | DeValue::Array(_));
            }
        }
    }

    fn settings(&self, table: &DeTable<'_>, part: &mut PartOfPlan) -> Vec<Setting> {
        let setting = |(key, value): Entry<'_, '_>| {
            let at = self.span_at(key.span().start);
            let setting = part.good(self.setting(key.get_ref(), value, &at));
            if setting.is_none() {
                part.unread.push(key.get_ref().to_string());
            }
            setting
        };
        self.in_order(table).into_iter().filter_map(setting).collect()
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
            _ => Err(self.wrong(value, values(key))),
        }
    }

    fn wrong(&self, value: &Spanned<DeValue<'_>>, what: String) -> PlanError {
        PlanError::at(&self.span_at(value.span().start), what)
    }

    fn factors(&self, table: &DeTable<'_>, part: &mut PartOfPlan) -> Vec<Factor> {
        let factor = |(key, value): Entry<'_, '_>| {
            let (factor, errors) = self.factor(key.get_ref(), value);
            part.errors.extend(errors);
            if factor.is_none() {
                part.unread.push(key.get_ref().to_string());
            }
            factor
        };
        self.in_order(table).into_iter().filter_map(factor).collect()
    }

    /// The values that could be read, if there are any, and what is wrong with the others.
    fn factor(&self, key: &str, value: &Spanned<DeValue<'_>>) -> (Option<Factor>, Vec<PlanError>) {
        let listed: Vec<&Spanned<DeValue<'_>>> = match value.get_ref() {
            DeValue::Array(listed) => listed.iter().collect(),
            _ if self.phases(key, value).is_some() => vec![value],
            _ => {
                let what = format!(
                    "'{key}' is varied: give a list of its values, or put it into [measure]"
                );
                return (None, vec![self.wrong(value, what)]);
            }
        };
        let each = |one: &Spanned<DeValue<'_>>| match self.phases(key, one) {
            Some(phases) => Ok(phases),
            None => {
                self.setting(key, one, &self.span_at(one.span().start)).map(|setting| vec![setting])
            }
        };
        let (settings, mut errors) = PlanErrors::divided(listed.into_iter().map(each));
        let mut values: Vec<Setting> = Vec::new();
        for setting in settings.concat() {
            match values.iter().find(|known| known.value == setting.value) {
                Some(known) => {
                    let what = format!("'{}' is listed already, at {}", setting.value, known.at);
                    errors.push(PlanError::at(&setting.at, what));
                }
                None => values.push(setting),
            }
        }
        if values.is_empty() && errors.is_empty() {
            let what = format!("'{key}' has no value, and so no run would be left");
            errors.push(self.wrong(value, what));
        }
        ((!values.is_empty()).then(|| Factor { key: key.to_owned(), values }), errors)
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
            let setting = self.setting(key.get_ref(), value, &at).ok();
            let (factor, errors) = self.factor(key.get_ref(), value);
            let factor = factor.filter(|_| errors.is_empty());
            QuickOverrides { key: key.get_ref().to_string(), setting, factor, at }
        };
        self.in_order(table).into_iter().map(quick).collect()
    }

    fn combinations(
        &self,
        name: &str,
        tables: &[Spanned<DeValue<'_>>],
        part: &mut PartOfPlan,
    ) -> Vec<Vec<Setting>> {
        let combination = |value: &Spanned<DeValue<'_>>| {
            let what = match value.get_ref() {
                DeValue::Table(table) if !table.is_empty() => {
                    let settings = self.settings(table, part);
                    // With one setting less it would be another combination.
                    return (settings.len() == table.len()).then_some(settings);
                }
                // Without factors it is the one combination that `[measure]` is.
                DeValue::Table(_) if name == "exclude" => return Some(Vec::new()),
                DeValue::Table(_) => format!("[[{name}]] is empty"),
                _ => format!("'{name}' is written as tables, [[{name}]]"),
            };
            part.errors.push(self.wrong(value, what));
            None
        };
        tables.iter().filter_map(combination).collect()
    }

    fn order(&self, table: &DeTable<'_>, part: &mut PartOfPlan) -> RunOrder {
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
        self.in_order(table).into_iter().for_each(|entry| {
            let _ = part.good(set(entry));
        });
        order
    }

    fn limits(
        &self,
        table: &DeTable<'_>,
        part: &mut PartOfPlan,
    ) -> (Vec<Limit>, Vec<(String, SourceSpan)>) {
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
        let placed = |entry: Entry<'_, '_>| {
            let limit = part.good(limit(entry))?;
            let place = (limit.name().to_owned(), self.span_at(entry.0.span().start));
            Some((limit, place))
        };
        self.in_order(table).into_iter().filter_map(placed).unzip()
    }
}
