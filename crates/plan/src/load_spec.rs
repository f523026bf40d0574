// SPDX-License-Identifier: MIT OR Apache-2.0
//! A load as written: `NAME[@LEVEL][,key=value]...`, or `cmd:COMMAND`, or
//! `cmd:"COMMAND"[,key=value]...`. Which names and keys there are, the crate `load` knows.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One load, taken apart but not yet checked against the loads there are. On paper and in JSON it
/// is its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LoadSpec {
    text: String,
    name: String,
    level: Option<String>,
    command: Option<String>,
    options: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadSpecError {
    /// Nothing in front of the first comma.
    #[error("the load '{0}' has no name: write NAME[,key=value]..., such as hackbench,groups=10")]
    NoName(String),
    /// `,key` or `,=value`.
    #[error("'{part}' in the load '{spec}' is not key=value")]
    Option {
        spec: String,
        /// The part that could not be read.
        part: String,
    },
    /// `cmd:"...` without the second quote, or something behind it.
    #[error(
        "in the load '{0}' the command's closing quote is missing or not followed by a comma: \
         write cmd:\"COMMAND\",key=value"
    )]
    Quote(String),
    #[error("'{key}' is given twice in the load '{spec}'")]
    Twice { spec: String, key: String },
}

impl LoadSpec {
    /// The load's name, such as `hackbench`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What stands after `@`, such as `50%`.
    pub fn level(&self) -> Option<&str> {
        self.level.as_deref()
    }

    /// What stands after `cmd:`, without the quotes around it.
    pub fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// The same load at this level, if one is given here, and with these keys as well.
    pub fn with(&self, level: Option<String>, more: &[(&str, String)]) -> Self {
        let level = level.or_else(|| self.level.clone());
        let head = match (&self.command, &level) {
            // Without quotes a command goes to the end of the text.
            (Some(command), _) => format!("cmd:\"{command}\""),
            (None, Some(level)) => format!("{}@{level}", self.name),
            (None, None) => self.name.clone(),
        };
        let mut options = self.options.clone();
        options.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let one = |(key, value): &(String, String)| {
            if value.is_empty() { format!(",{key}") } else { format!(",{key}={value}") }
        };
        let text = head + &options.iter().map(one).collect::<String>();
        LoadSpec { text, name: self.name.clone(), level, command: self.command.clone(), options }
    }

    /// Keys and values in the order written; a key without value (`threads`) has the value "".
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl FromStr for LoadSpec {
    type Err = LoadSpecError;

    fn from_str(text: &str) -> Result<Self, LoadSpecError> {
        if let Some(command) = text.strip_prefix("cmd:") {
            return LoadSpec::from_command(text, command);
        }
        let (head, options) =
            text.split_once(',').map_or((text, None), |(head, options)| (head, Some(options)));
        let head = head.trim();
        let (name, level) = head
            .split_once('@')
            .map_or((head, None), |(name, level)| (name, Some(level.to_owned())));
        if name.is_empty() {
            return Err(LoadSpecError::NoName(text.to_owned()));
        }
        let options = read_options(text, options)?;
        Ok(LoadSpec { text: text.to_owned(), name: name.to_owned(), level, command: None, options })
    }
}

impl LoadSpec {
    /// A quoted command may be followed by options; one without quotes goes to the end, commas and
    /// all.
    fn from_command(text: &str, command: &str) -> Result<Self, LoadSpecError> {
        let quoted = command.strip_prefix('"').map(|rest| {
            let (command, behind) = rest.rsplit_once('"')?;
            match behind.strip_prefix(',') {
                None if behind.is_empty() => Some((command, None)),
                options => options.map(|options| (command, Some(options))),
            }
        });
        let (command, options) = match quoted {
            None => (command, None),
            Some(parts) => parts.ok_or_else(|| LoadSpecError::Quote(text.to_owned()))?,
        };
        let options = read_options(text, options)?;
        Ok(LoadSpec {
            text: text.to_owned(),
            name: "cmd".to_owned(),
            level: None,
            command: Some(command.to_owned()),
            options,
        })
    }
}

/// `key=value,key`.
fn read_options(text: &str, written: Option<&str>) -> Result<Vec<(String, String)>, LoadSpecError> {
    let mut options: Vec<(String, String)> = Vec::new();
    for part in written.into_iter().flat_map(|written| written.split(',')).map(str::trim) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        if key.is_empty() {
            return Err(LoadSpecError::Option { spec: text.to_owned(), part: part.to_owned() });
        }
        if options.iter().any(|(known, _)| known == key) {
            return Err(LoadSpecError::Twice { spec: text.to_owned(), key: key.to_owned() });
        }
        options.push((key.to_owned(), value.to_owned()));
    }
    Ok(options)
}

impl TryFrom<String> for LoadSpec {
    type Error = LoadSpecError;

    fn try_from(text: String) -> Result<Self, LoadSpecError> {
        text.parse()
    }
}

impl From<LoadSpec> for String {
    fn from(spec: LoadSpec) -> String {
        spec.text
    }
}

impl fmt::Display for LoadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_apart() {
        let spec: LoadSpec = "hackbench@50%,groups=10,threads".parse().unwrap();
        assert_eq!((spec.name(), spec.level()), ("hackbench", Some("50%")));
        assert_eq!(spec.options().collect::<Vec<_>>(), [("groups", "10"), ("threads", "")]);
        assert_eq!(spec.to_string(), "hackbench@50%,groups=10,threads");
    }

    #[test]
    fn commands() {
        let read = |text: &str| {
            let spec: LoadSpec = text.parse().unwrap();
            let options: Vec<_> =
                spec.options().map(|(key, value)| format!("{key}={value}")).collect();
            (spec.name().to_owned(), spec.command().map(str::to_owned), options)
        };
        let command = |text: &str| ("cmd".to_owned(), Some(text.to_owned()));
        let (name, command_read, options) = read("cmd:stress-ng --cpu 1,x");
        assert_eq!(((name, command_read), options.len()), (command("stress-ng --cpu 1,x"), 0));
        let (name, command_read, options) = read("cmd:\"sh -c 'a, b'\",cpus=0+1,nice=3");
        assert_eq!(
            ((name, command_read), options),
            (command("sh -c 'a, b'"), vec!["cpus=0+1".to_owned(), "nice=3".to_owned()])
        );
        assert!("cmd:\"sleep 1".parse::<LoadSpec>().is_err());
        assert!("cmd:\"sleep 1\"cpus=0".parse::<LoadSpec>().is_err());
        assert_eq!("cmd".parse::<LoadSpec>().unwrap().command(), None);
    }

    #[test]
    fn more_is_said_of_a_load() {
        let with = |text: &str, level: Option<&str>| {
            let spec: LoadSpec = text.parse().unwrap();
            let more = spec.with(level.map(str::to_owned), &[("start", "5ms".to_owned())]);
            assert_eq!(more.to_string().parse(), Ok(more.clone()));
            more.to_string()
        };
        assert_eq!(with("mem-alloc", Some("30%")), "mem-alloc@30%,start=5ms");
        assert_eq!(with("cpu@50%,nice=3", None), "cpu@50%,nice=3,start=5ms");
        assert_eq!(with("hackbench,threads", None), "hackbench,threads,start=5ms");
        assert_eq!(with("cmd:sh -c 'a, b'", None), "cmd:\"sh -c 'a, b'\",start=5ms");
        assert_eq!(with("cmd:\"x \"y\"\",nice=1", None), "cmd:\"x \"y\"\",nice=1,start=5ms");
    }

    #[test]
    fn names_what_is_wrong() {
        let read = |text: &str| text.parse::<LoadSpec>().unwrap_err();
        assert_eq!(read(""), LoadSpecError::NoName(String::new()));
        assert_eq!(
            read("cpu,"),
            LoadSpecError::Option { spec: "cpu,".into(), part: String::new() }
        );
        assert_eq!(
            read("cpu,a=1,a=2"),
            LoadSpecError::Twice { spec: "cpu,a=1,a=2".into(), key: "a".into() }
        );
    }
}
