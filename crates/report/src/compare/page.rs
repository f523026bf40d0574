// SPDX-License-Identifier: MIT OR Apache-2.0
//! The offline page of a comparison: the verdict, each difference with its interval, the
//! distributions overlaid, and what else differs.

use super::{Compared, Comparisons, Repeats, forest};
use crate::charts::options::ChartOptions;
use crate::charts::series::Charts;
use crate::language::{Language, in_language, texts, tr};
use crate::overview::{self, MAX_CHARTED, Overview};
use crate::page::chart_set::ChartSet;
use crate::page::localised::Localised;
use crate::page::{Frame, Header, MAX_BYTES, rendered};
use crate::sections::columns::{Measured, Probes};
use crate::sections::lab;
use crate::sections::method::{self, Command};
use askama::Template;

#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'c> {
    frame: Frame,
    header: Header,
    compared: &'c [Compared],
    drawn: ChartSet,
    commands: Vec<Command>,
}

impl Localised for Page<'_> {
    fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Page<'_> {
    /// The picture of a comparison; none where there are too many.
    fn forest(&self, one: &Compared) -> Option<String> {
        (self.compared.len() < MAX_CHARTED).then(|| forest::draw(one)).flatten()
    }

    fn caution(&self, caveat: &str) -> String {
        tr!(caution_caveat, caveat)
    }

    fn note(&self, note: &str) -> String {
        tr!(note, note)
    }
}

impl Comparisons {
    /// One offline page, under 2 MB. `groups` are those that were compared; `command_line` is what
    /// the page says it was made by.
    pub fn html(&self, groups: &[Repeats], command_line: &str, language: Language) -> String {
        let mut steps = 24_000;
        loop {
            let page = in_language(language, || self.page(groups, command_line, steps));
            if page.len() < MAX_BYTES || steps < 64 {
                return page;
            }
            steps /= 2;
        }
    }

    fn page(&self, groups: &[Repeats], command_line: &str, steps: usize) -> String {
        let names = self
            .all
            .first()
            .map(|first| first.texts().base.clone())
            .into_iter()
            .chain(self.all.iter().map(|one| one.texts().other.clone()));
        let pooled: Vec<Overview<'_>> = groups
            .iter()
            .zip(names)
            .filter_map(|(group, name)| Overview::pooled(&group.recordings, name))
            .collect();
        let each = Repeats::all_overviews(groups.iter());
        let several = groups.iter().any(|group| group.recordings.len() > 1);
        let (all, pooled) = (pooled.len(), overview::charted(pooled));
        let series = Charts::new(&pooled, &ChartOptions::default(), steps);
        let headline = self.headline(&each);
        let title = match self.all.as_slice() {
            [only] => {
                tr!(second_against_first_2, second = only.texts().other, first = only.texts().base)
            }
            all => tr!(
                n_against_first,
                n = all.len(),
                first = all.first().map_or("", |one| one.texts().base.as_str())
            ),
        };
        rendered(&Page {
            frame: Frame::new(
                &title,
                &headline.in_words(),
                series.measured,
                &Probes::from_overviews(&each),
            ),
            header: Header::new(
                headline,
                None,
                about(groups, several, (all, pooled.len()), Measured::from_overviews(&each)),
                lab::times(&each),
            ),
            compared: &self.all,
            drawn: ChartSet::overlaid(&series, &pooled),
            commands: method::commands(&[], command_line),
        })
    }
}

/// How much was measured, in one line.
fn about(
    groups: &[Repeats],
    several: bool,
    (all, drawn): (usize, usize),
    measured: Measured,
) -> String {
    let recordings: usize = groups.iter().map(|group| group.recordings.len()).sum();
    let mut parts = vec![crate::format::counted(recordings as u64, texts::n_recordings)];
    parts.extend(several.then(|| tr!(distributions_all_repeats_latency)));
    parts.extend((drawn < all).then(|| match measured {
        Measured::WakeUps => {
            tr!(drawn_all_groups_drawn_those, all, drawn)
        }
        Measured::Jitter(_) | Measured::Other | Measured::OfAssumedUnit => {
            tr!(drawn_all_groups_drawn, all, drawn)
        }
    }));
    parts.join(" · ")
}
