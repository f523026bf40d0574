// SPDX-License-Identifier: MIT OR Apache-2.0
//! Below the latencies of a recording, on the same time axis: what its loads reached, in steps. As
//! SVG.

use crate::charts::definition::Definition;
use crate::charts::load_course::{LoadCourse, LoadCourses};
use crate::charts::options::AxisScale;
use crate::charts::plot::{Plot, SOFT, legend_rows, line_of};
use crate::charts::scale::{Scale, tick_label};
use crate::charts::svg::{Anchor, Svg, colour, dash};
use crate::format::counted;
use crate::language::{texts, tr};
use crate::sections::columns::Measured;
use crate::sections::loads;

const FLAT: f64 = 56.0;
/// From the times below it down to the next panel, beyond what is there without loads.
const BELOW: f64 = 10.0;
/// From the latencies down to the first name, and from name to name.
const LEGEND_TOP: f64 = 20.0;
const LEGEND_LINE: f64 = 18.0;
/// From the last name down to the drawing.
const GAP: f64 = 10.0;
/// Steps drawn: two pixels each.
const MAX_STEPS: usize = 420;

/// How much lower the panel of a recording becomes; 0 without a load to draw.
pub(crate) fn height(courses: &LoadCourses, width: f64) -> f64 {
    if courses.drawn.is_empty() {
        return 0.0;
    }
    LEGEND_TOP
        + LEGEND_LINE * (legend_rows(&names(courses), width).len() - 1) as f64
        + GAP
        + FLAT
        + BELOW
}

/// Draws below `above`, in its width and on its time axis; `place` is the recording's, whose colour
/// the first load has.
pub(crate) fn draw(svg: &mut Svg, above: &Plot, place: usize, courses: &LoadCourses) {
    let mut y = above.bottom + LEGEND_TOP;
    for (line, row) in legend_rows(&names(courses), above.right - above.left).iter().enumerate() {
        y = above.bottom + LEGEND_TOP + LEGEND_LINE * line as f64;
        for (x, name, text) in row {
            let x = above.left + x;
            if *name < courses.drawn.len() {
                svg.line(
                    (x, y - 4.0),
                    (x + 22.0, y - 4.0),
                    &line_of(colour(place + name), dash(*name), 1.6),
                );
            }
            svg.text(x + 28.0, y, Anchor::Start, &format!("{SOFT} font-size=\"11\""), text);
        }
    }
    let (top, bottom) = (y + GAP, y + GAP + FLAT);
    let axis = Definition::new(Measured::default()).load.y;
    let y = Scale::new(AxisScale::Linear, axis.range(AxisScale::Linear, 0.0, 100.0), bottom, top);
    let plot = Plot::new(above.x, y);
    plot.grid(svg, 10, 3, tick_label);
    for (n, course) in courses.drawn.iter().enumerate() {
        if let Some(level) = course.requested {
            let y = plot.y.at(level);
            svg.line((plot.left, y), (plot.right, y), &line_of(colour(place + n), "4 4", 0.8));
        }
        svg.path(&[steps(&plot, course)], &line_of(colour(place + n), dash(n), 1.3));
    }
    plot.name_y(svg, axis.full_name);
}

/// Names for the legend; the last may be of those that are not drawn.
fn names(courses: &LoadCourses) -> Vec<String> {
    let name = |course: &LoadCourse| {
        let asked = course.requested.map_or_else(|| tr!(much_gets), loads::level);
        tr!(load_asked_for_asked, load = course.spec, asked)
    };
    let left_out = (courses.left_out > 0).then(|| {
        tr!(loads_not_drawn, loads = counted(courses.left_out as u64, texts::n_more_loads))
    });
    courses.drawn.iter().map(name).chain(left_out).collect()
}

/// Corners of the steps; the first step begins with the time.
fn steps(plot: &Plot, course: &LoadCourse) -> Vec<(f64, f64)> {
    let mut before = plot.x.at(0.0);
    let mut corners = Vec::new();
    for (until, percent) in course.reduced(MAX_STEPS) {
        let y = plot.y.at(percent);
        corners.extend([(before, y), (plot.x.at(until), y)]);
        before = plot.x.at(until);
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::definition::Chart;
    use crate::charts::series::Charts;
    use crate::overview::Overview;
    use crate::synthetic::Synthetic;

    fn drawn(recorded: &model::Recorded) -> String {
        let all = [Overview::new(recorded)];
        crate::charts::draw(
            Chart::Time,
            &Charts::new(&all, &crate::ChartOptions::default(), 10_000),
            &all,
        )
    }

    #[test]
    fn each_load_has_a_line_a_name_and_its_level() {
        let svg = drawn(&Synthetic::hackbench().load("cpu@50%").build());
        assert!(svg.contains(">hackbench,groups=10, asked for as much as it gets</text>"), "{svg}");
        assert!(svg.contains(">cpu@50%, asked for 50 %</text>"));
        assert_eq!(svg.matches("stroke-dasharray=\"4 4\"").count(), 1, "only one has a level");
        assert!(svg.contains("load cpu@50%, asked for 50 %, used from 4"), "in words too");
        let idle = drawn(&Synthetic::idle().build());
        assert!(!idle.contains(">load, %</text>") && !idle.contains("of its loads"));
    }

    #[test]
    fn steps_begin_with_the_time_and_end_with_the_course() {
        let (x, y) =
            (Scale::linear(0.0, 10.0, 100.0, 200.0), Scale::linear(0.0, 105.0, 105.0, 0.0));
        let plot = Plot::new(x, y);
        let course = LoadCourse {
            spec: "cpu".into(),
            requested: None,
            points: vec![(2.0, 40.0), (9.0, 130.0)],
        };
        let corners: Vec<(i64, i64)> = steps(&plot, &course)
            .iter()
            .map(|(x, y)| (format!("{x:.0}").parse().unwrap(), format!("{y:.0}").parse().unwrap()))
            .collect();
        assert_eq!(
            corners,
            [(100, 65), (120, 65), (120, 0), (190, 0)],
            "what lies above all is drawn at the edge"
        );
    }

    #[test]
    fn loads_that_are_not_drawn_are_counted() {
        let mut recorded = Synthetic::hackbench().build();
        recorded.document.load = vec![recorded.document.load[0].clone(); 11];
        let svg = drawn(&recorded);
        assert!(svg.contains(">3 more loads not drawn</text>"), "{svg}");
        assert_eq!(
            svg.matches(">hackbench,groups=10, asked for as much as it gets</text>").count(),
            8
        );
    }
}
