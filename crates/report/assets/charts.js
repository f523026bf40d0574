// SPDX-License-Identifier: MIT OR Apache-2.0
// The charts of the page, drawn by uPlot from the JSON in #data, with the axes in #definition, by which the SVG files are drawn
// too. Nothing is computed here that the page says in words: the figures come from the program, and these functions only
// place them.
'use strict';

/** What the scripts say, in the page's language: each `{name}` becomes the value of that name. */
const tell = (() => {
  const texts = JSON.parse(document.getElementById('texts').textContent);
  return (english, values = {}) => (texts[english] ?? english).replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
})();

const Charts = (() => {
  /** What each chart is: names and ranges of its axes, dashes of its lines. */
  const DEFINITION = JSON.parse(document.getElementById('definition').textContent);
  const TIME = DEFINITION.latency.x.name;
  /** What the axis over time counts, in ns: seconds, or samples of a device's period. */
  const UNIT = DEFINITION.unit_ns;
  /** From one time to another, with their unit. */
  const between = (from, to) => (DEFINITION.two_sided ? `${Math.round(from)}–${Math.round(to)}` : `${seconds(from)}–${seconds(to)} s`);
  const DASHES = DEFINITION.dashes.map((lengths) => lengths.split(' ').filter(Boolean).map(Number));
  /** Latencies below this are drawn here: a logarithmic axis has no 0. */
  const MIN_US = DEFINITION.latency.y.floor;
  const COLOURS = 8;

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (place) => variable(`--c${place % COLOURS}`);
  const dash = (place) => DASHES[(place + Math.floor(place / COLOURS)) % DASHES.length];
  const us = (ns) => ns / 1000;
  /** Which colour and dash a recording has: those of its place, unless it says otherwise. */
  const colourOf = (recording, place) => colour(recording.place ?? place);
  const dashOf = (recording, place) => dash(recording.dash ?? recording.place ?? place);
  /** Recordings that are named when one is pointed at; the rest are counted. */
  const MAX_NAMED = 6;

  /** `a 3 · b 5 · and 2 more`; a recording of which there is nothing to say, or that is not shown, is not among them. */
  function readOut(u, recordings, of) {
    const parts = recordings.map((recording, n) => (u.series[n + 1].show ? of(recording) : null)).filter((text) => text !== null);
    if (parts.length === 0) return tell('none');
    const more = parts.length > MAX_NAMED ? [tell('and {n} more', { n: parts.length - MAX_NAMED })] : [];
    return [...parts.slice(0, MAX_NAMED), ...more].join(' · ');
  }

  const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
  const thousandths = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 });
  const tenths = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const short = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });
  const seconds = (s) => new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 }).format(s);
  const oneIn = (share) => (share > 0.999 ? tell('all') : tell('1 in {n}', { n: whole.format(Math.round(1 / share)) }));

  /** Powers of ten; their 2- and 5-fold where there is room; every second or third where there is none. */
  function logTicks(min, max, count) {
    const decades = Math.log10(max / min);
    const multiples = decades * 3 <= count ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil(decades / count));
    const ticks = [];
    for (let power = Math.floor(Math.log10(min) / every) * every; 10 ** power <= max; power += every) {
      for (const multiple of multiples) {
        const tick = Number((multiple * 10 ** power).toPrecision(3));
        if (tick >= min * 0.999 && tick <= max * 1.001) ticks.push(tick);
      }
    }
    // A range within two such ticks is as good as linear.
    return ticks.length < 2 && decades < 1 ? linearTicks(min, max, count) : ticks;
  }

  function linearTicks(min, max, count) {
    const rough = (max - min) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
    const ticks = [];
    for (let n = Math.ceil(min / step - 1e-9); n * step <= max + 1e-9 * Math.abs(max); n++) ticks.push(Number((n * step).toPrecision(12)));
    return ticks;
  }

  const label = (value) => (Math.abs(value) >= 1000 ? thousandths.format(value) : String(Number(value.toPrecision(6))));

  /** From where to where an axis reaches if its values lie between these. */
  function reach({ floor, log: times, linear, min_width: minWidth, with_zero: withZero }, log, min, max) {
    if (log) return [Math.max(floor, min) * times[0], Math.max(2 * floor, max) * times[1]];
    const width = Math.max(minWidth, max - min);
    const [from, to] = withZero ? [Math.min(0, min), Math.max(0, max)] : [min, max];
    return [from - linear[0] * width, to + linear[1] * width];
  }

  const LOAD_RANGE = reach(DEFINITION.load.y, false, 0, 100);

  function axis(name, log, format, spacing) {
    const horizontal = spacing > 40;
    return {
      label: name,
      labelSize: 20,
      labelGap: horizontal ? 4 : 2,
      labelFont: `12px ${variable('--font')}`,
      font: `12px ${variable('--font')}`,
      stroke: () => variable('--soft'),
      grid: { stroke: () => variable('--grid'), width: 1 },
      ticks: { show: false },
      gap: 6,
      splits: (u, _, min, max) => {
        const size = (horizontal ? u.bbox.width : u.bbox.height) / devicePixelRatio;
        return (log ? logTicks : linearTicks)(min, max, Math.max(2, Math.floor(size / spacing)));
      },
      filter: (_, splits) => splits,
      values: (_, splits) => splits.map(format),
      ...(horizontal
        ? { size: 28 }
        : { size: (u, values) => 14 + 7 * Math.max(3, ...(values ?? []).map((text) => text.length)) }),
    };
  }

  /** What all charts share: zoom by dragging, by keys and by the buttons, and a line that says what is under the cursor. */
  function options(element, height, axes, scales, series, hooks, extra = {}) {
    return {
      width: Math.max(200, element.clientWidth),
      height,
      legend: { show: false },
      // The last number of the horizontal axis stands half beyond it.
      padding: [10, ({ axes: [{ _values: numbers }] }) => Math.max(20, 4 * (numbers?.at(-1)?.length ?? 0)), 0, 0],
      axes,
      scales,
      series: [{}, ...series],
      hooks,
      ...extra,
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, dist: 4 }, ...extra.cursor },
    };
  }

  /** The name of a line at `x`, to its left or right, moved to where all of it is within the plot, on whatever is drawn below it. */
  function named({ ctx, bbox }, name, x, y, left) {
    const gap = 5 * devicePixelRatio;
    const { width } = ctx.measureText(name);
    const beside = left ? x - gap - width : x + gap;
    const from = Math.max(bbox.left + gap, Math.min(beside, bbox.left + bbox.width - gap - width));
    ctx.setLineDash([]);
    ctx.textAlign = 'left';
    ctx.strokeStyle = variable('--paper');
    ctx.lineWidth = 4 * devicePixelRatio;
    ctx.strokeText(name, from, y);
    ctx.fillText(name, from, y);
  }

  function interval(u, line) {
    if (!line) return;
    const x = u.valToPos(us(line.ns), 'x', true);
    const { left, top, width, height } = u.bbox;
    if (x < left || x > left + width) return;
    const { ctx } = u;
    ctx.save();
    ctx.strokeStyle = variable('--soft');
    ctx.fillStyle = variable('--soft');
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([1, 3].map((n) => n * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.font = `${11 * devicePixelRatio}px ${variable('--font')}`;
    named(u, line.name, x, top + 12 * devicePixelRatio, true);
    ctx.restore();
  }

  const shared = (recordings) => {
    const first = recordings[0]?.interval ?? null;
    return recordings.every((recording) => recording.interval?.ns === first?.ns) ? first : null;
  };

  /** Index of the last value that is not above `x`. */
  function last(values, x) {
    let [low, high] = [0, values.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  const divisor = (one, other) => (other === 0 ? one : divisor(other, one % other));

  /**
   * Bins as they are drawn: edges in µs, and what each recording has between them. Of one width (then it is said, in ns) where
   * one is asked for or the axis is linear; otherwise they grow with their values. Bins that are empty in all are one.
   */
  function binned({ edges_ns: edgesNs, recordings, style }, logX, asked) {
    const equal = recordings.map((recording) => recording.equal);
    const widthNs = asked ?? (logX ? null : style.auto_bin_ns);
    if (widthNs === null || equal.every(({ bins }) => bins.length === 0)) return { edges: edgesNs.map(us), counts: recordings.map(({ counts }) => [...counts]), width: null };
    // The next width that the bins of all of them make up.
    const common = equal.filter(({ bins }) => bins.length > 0).reduce((all, one) => (all / divisor(all, one.width_ns)) * one.width_ns, 1);
    const width = Math.max(1, Math.ceil(widthNs / common)) * common;
    const each = equal.map(({ width_ns: own, bins }) => {
      const sums = new Map();
      for (const [bin, n] of bins) {
        const into = Math.floor((bin * own) / width);
        sums.set(into, (sums.get(into) ?? 0) + n);
      }
      return sums;
    });
    const edges = [...new Set(each.flatMap((sums) => [...sums.keys()].flatMap((bin) => [bin, bin + 1])))].sort((one, next) => one - next);
    const counts = each.map((sums) => edges.slice(0, -1).map((bin) => sums.get(bin) ?? 0));
    return { edges: edges.map((bin) => us(bin * width)), counts, width };
  }

  /** What a step of the histogram stands for. */
  function heightName({ width, shares, style }) {
    const names = width === null ? DEFINITION.steps.growing : DEFINITION.steps.bins;
    const name = shares ? names.shares : names.counts;
    return name.replace('{percent}', style.step_percent).replace('{width}', `${label(us(width ?? 0))} µs`);
  }

  /** Whether any latency is not above 0: a logarithmic axis has no place for it. */
  const belowZero = ({ recordings }) => !DEFINITION.two_sided && recordings.some(({ min_ns: min }) => min !== null && min <= 0);

  function histogram(element, data, { log, logX: askedLogX, bin: asked, shares, say, height }) {
    const logX = askedLogX && !belowZero(data);
    const { edges, counts, width } = binned(data, logX, asked);
    // A limit is seen, also where nothing came near it.
    const limits = data.limits.map((limit) => us(limit.latency_ns) * DEFINITION.beyond_limit);
    if (limits.some((limit) => limit > edges.at(-1))) {
      edges.push(limits.reduce((max, limit) => Math.max(max, limit)));
      for (const column of counts) column.push(0);
    }
    const lowest = data.limits.map((limit) => us(limit.latency_ns)).reduce((one, other) => Math.min(one, other), Infinity);
    if (lowest < edges[0]) {
      edges.unshift(lowest - 0.05 * Math.abs(lowest));
      for (const column of counts) column.unshift(0);
    }
    const xs = logX ? edges.map((edge) => Math.max(edge, DEFINITION.histogram.x.floor)) : edges;
    const heights = counts.map((column, n) => column.map((count) => (shares ? (100 * count) / Math.max(1, data.recordings[n].samples) : count)));
    const some = heights.flat().filter((height_) => height_ > 0);
    const max = some.reduce((one, other) => Math.max(one, other), 0) || 1;
    const min = some.reduce((one, other) => Math.min(one, other), max);
    // Nothing is drawn below the axis: half an activation is the bottom of a logarithmic one.
    const floor = log ? min / 4 : 0;
    const columns = heights.map((column) => [...column.map((one) => one || floor), floor]);
    const series = data.recordings.map((recording, place) => ({
      label: recording.name,
      stroke: () => colourOf(recording, place),
      // More than three grounds overlaid are mud.
      ...(data.recordings.length <= 3 ? { fill: () => `${colourOf(recording, place)}22` } : {}),
      width: 1.75,
      dash: dashOf(recording, place),
      points: { show: false },
      paths: uPlot.paths.stepped({ align: 1 }),
    }));
    const inBin = (n, at) => `${whole.format(counts[n][at])}${shares ? ` (${short.format(heights[n][at])} %)` : ''}`;
    const edgeName = (edge) => (width === null ? tenths.format(edge) : label(edge));
    const hooks = {
      draw: [(u) => interval(u, shared(data.recordings)), (u) => limitsAcross(u, data.limits)],
      setCursor: [(u) => {
        const at = u.cursor.left >= 0 ? last(xs, u.posToVal(u.cursor.left, 'x')) : -1;
        if (at < 0 || at >= edges.length - 1) return say('');
        const named = (recording) => {
          const n = data.recordings.indexOf(recording);
          return counts[n][at] > 0 ? `${recording.name} ${inBin(n, at)}` : null;
        };
        return say(`${edgeName(edges[at])}–${edgeName(edges[at + 1])} µs: ${readOut(u, data.recordings, named)}`);
      }],
    };
    const axes = [
      axis(DEFINITION.histogram.x.name, logX, label, 64),
      axis(heightName({ width, shares, style: data.style }), log, label, 32),
    ];
    const scales = {
      x: { time: false, ...(logX ? { distr: 3 } : {}), range: (_, min, max) => [min, max > min ? max : min + 1] },
      y: { ...(log ? { distr: 3 } : {}), range: () => reach(DEFINITION.histogram.y, log, log ? min : 0, max) },
    };
    const plot = new uPlot(options(element, height, axes, scales, series, hooks), [xs, ...columns], element);
    element.dataset.binNs = width ?? '';
    element.dataset.bins = String(edges.length - 1);
    return [plot];
  }

  const inkOf = (limit) => variable({ pass: '--pass', fail: '--fail' }[limit.verdict] ?? '--unsure');

  /** A line, its name, and a ground where nothing is to be. */
  function limitDrawn(u, limit, [from, to], ground, [x, y], left) {
    const { ctx } = u;
    const dot = devicePixelRatio;
    ctx.save();
    ctx.fillStyle = inkOf(limit);
    ctx.strokeStyle = inkOf(limit);
    if (ground) {
      ctx.globalAlpha = 0.08;
      ctx.fillRect(...ground);
      ctx.globalAlpha = 1;
    }
    ctx.lineWidth = 1.75 * dot;
    ctx.setLineDash([6 * dot, 3 * dot]);
    ctx.beginPath();
    ctx.moveTo(...from);
    ctx.lineTo(...to);
    ctx.stroke();
    ctx.font = `600 ${11 * dot}px ${variable('--font')}`;
    named(u, limit.name, x, y, left);
    ctx.restore();
  }

  /**
   * Limits on the horizontal axis, with a ground beyond those that fail; where `shares`, beyond all of them down to the share of
   * activations that each allows.
   */
  function limitsAcross(u, limits, shares = false) {
    const { left, top, width, height } = u.bbox;
    const dot = devicePixelRatio;
    limits.forEach((limit, row) => {
      const x = u.valToPos(us(limit.latency_ns), 'x', true);
      if (!(x >= left && x <= left + width)) return;
      const share = shares && limit.share > 0 ? Math.min(top + height, u.valToPos(limit.share, 'y', true)) : top + height;
      const ground = shares ? limit.share !== null : limit.verdict === 'fail';
      const [from, to] = limit.is_lower ? [left, x] : [x, left + width];
      limitDrawn(u, limit, [[x, top], [x, top + height]], ground && [from, top, to - from, share - top], [x, top + (28 + 15 * row) * dot], x > left + width / 2);
    });
  }

  /** The same on the vertical axis. */
  function limitsUp(u, limits) {
    const { left, top, width, height } = u.bbox;
    const dot = devicePixelRatio;
    for (const limit of limits) {
      const y = u.valToPos(onAxis(limit.latency_ns, isLog(u)), 'y', true);
      if (!(y >= top && y <= top + height)) continue;
      const [from, to] = limit.is_lower ? [y, top + height] : [top, y];
      limitDrawn(u, limit, [[left, y], [left + width, y]], limit.verdict === 'fail' && [left, from, width, to - from], [left + width, y - 5 * dot], true);
    }
  }

  function exceedance(element, data, { say, height }) {
    const recordings = data.recordings.filter((recording) => recording.samples > 0);
    const tails = recordings.filter((recording) => recording.tail);
    const latencies = (recording) => [...recording.exceedance.latency_ns, ...(recording.tail?.latency_ns ?? [])];
    const farthest = (recording) => recording.exceedance.latency_ns.at(-1) ?? recording.max_ns;
    const limits = data.limits.map((limit) => limit.latency_ns).filter((ns) => ns > 0);
    const beyond = limits.filter((ns) => recordings.every((recording) => ns > farthest(recording))).map((ns) => ns * DEFINITION.beyond_limit);
    const log = !belowZero(data);
    const xs = [...new Set([...recordings.flatMap(latencies), ...limits, ...beyond])].sort((a, b) => a - b);
    // A fitted tail goes on to a tenth of one.
    const maxSamples = Math.max(10, ...recordings.map((recording) => recording.samples)) * (tails.length > 0 ? 10 : 1);
    const share = (recording, ns) => {
      const { latency_ns: latencies, at_least: counts } = recording.exceedance;
      const next = last(latencies, ns - 1e-9) + 1;
      return next < latencies.length ? counts[next] / recording.samples : 0;
    };
    const columns = recordings.map((recording) => xs.map((ns) => share(recording, ns) || null));
    const series = data.recordings.map((recording, place) => ({
      label: recording.name,
      stroke: () => colourOf(recording, place),
      width: 2,
      dash: dashOf(recording, place),
      points: { show: false },
      paths: uPlot.paths.stepped({ align: -1 }),
    })).filter((_, place) => data.recordings[place].samples > 0);
    const ends = (u) => {
      recordings.forEach((recording, place) => {
        if (!u.series[place + 1].show) return;
        const [x, y] = [u.valToPos(us(farthest(recording)), 'x', true), u.valToPos(1 / recording.samples, 'y', true)];
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
        u.ctx.fillStyle = colourOf(recording, data.recordings.indexOf(recording));
        u.ctx.beginPath();
        u.ctx.arc(x, y, 3.5 * devicePixelRatio, 0, 2 * Math.PI);
        u.ctx.fill();
      });
    };
    const continued = (u) => {
      u.ctx.save();
      u.ctx.beginPath();
      u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      u.ctx.clip();
      tails.forEach((recording) => {
        if (!u.series[recordings.indexOf(recording) + 1].show) return;
        const { tail } = recording;
        const floor = 0.1 / maxSamples;
        const at = (shares) => shares.map((share, n) => [u.valToPos(us(tail.latency_ns[n]), 'x', true), u.valToPos(Math.max(share, floor), 'y', true)]);
        const draw = (points) => points.forEach(([x, y], n) => (n === 0 ? u.ctx.moveTo(x, y) : u.ctx.lineTo(x, y)));
        const colour = colourOf(recording, data.recordings.indexOf(recording));
        u.ctx.beginPath();
        draw([...at(tail.upper), ...at(tail.lower).reverse()]);
        u.ctx.closePath();
        u.ctx.fillStyle = colour;
        u.ctx.globalAlpha = 0.15;
        u.ctx.fill();
        u.ctx.globalAlpha = 1;
        u.ctx.beginPath();
        draw(at(tail.share));
        u.ctx.strokeStyle = colour;
        u.ctx.lineWidth = 1.5 * devicePixelRatio;
        u.ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
        u.ctx.stroke();
      });
      u.ctx.restore();
    };
    const hooks = {
      draw: [(u) => interval(u, shared(data.recordings)), (u) => limitsAcross(u, data.limits, true), continued, ends],
      setCursor: [(u) => {
        if (u.cursor.left < 0) return say('');
        const x = u.posToVal(u.cursor.left, 'x');
        const rarity = (recording) => {
          const at = share(recording, x * 1000);
          return at > 0 ? `${recording.name} ${oneIn(at)}` : null;
        };
        return say(tell('{latency} µs or more: {shares}', { latency: short.format(x), shares: readOut(u, recordings, rarity) }));
      }],
    };
    const axes = [
      axis(DEFINITION.exceedance.x.name, log, label, 64),
      axis(DEFINITION.exceedance.y.name, true, oneIn, 34),
    ];
    const scales = {
      x: { time: false, ...(log ? { distr: 3 } : {}), range: (u, min, max) => [min, max > min ? max : log ? min * 2 : min + 1] },
      y: { distr: 3, range: () => reach(DEFINITION.exceedance.y, true, 1 / maxSamples, 1) },
    };
    return [new uPlot(options(element, height, axes, scales, series, hooks), [xs.map(us), ...columns], element)];
  }

  /** What is drawn of a time: the smallest and the largest value of each step. */
  const drawnOf = (time, jitter) => (jitter ? [time.jitter_min_ns, time.jitter_max_ns] : [time.min_ns, time.max_ns]);
  const inSteps = (values, fold, none) => values.reduce((one, other) => (other === null ? one : fold(one, other)), none);

  /** One panel for each recording, all with the same scale; or one for all, overlaid. */
  function overTime(element, data, settings) {
    const { log, thread, jitter, overlay, height } = settings;
    const extremes = data.recordings.map((recording) => drawnOf(recording.time, jitter));
    const limits = jitter ? [] : data.limits.map((limit) => ({ ...limit, latency_ns: limit.latency_ns + DEFINITION.shift_ns }));
    const low = extremes.reduce((one, [min]) => Math.min(one, inSteps(min, Math.min, Infinity)), limits.reduce((one, limit) => Math.min(one, limit.latency_ns), Infinity));
    const high = extremes.reduce((one, [, max]) => Math.max(one, inSteps(max, Math.max, -Infinity)), limits.reduce((one, limit) => Math.max(one, limit.latency_ns), -Infinity));
    const range = Number.isFinite(low) ? [us(low), us(high)] : [1, 10];
    // Jitter has two sides, and so no logarithm; nor have latencies that are not above 0.
    const drawnAs = { log: log && !jitter && !DEFINITION.two_sided && !belowZero(data), jitter, height, limits };
    if (overlay) return overlaid(element, data.recordings, range, { ...drawnAs, thread, say: settings.say });
    return data.recordings.map((recording, n) => {
      const place = recording.place ?? n;
      const panel = document.createElement('div');
      panel.className = 'panel';
      panel.innerHTML = '<p class="panel-head"><b></b><span></span></p>';
      panel.querySelector('b').textContent = recording.name;
      element.append(panel);
      const time = timeOf(recording, thread);
      const points = pointsOf(recording, thread, jitter);
      const periods = recording.periods.filter((one) => thread === '' || String(one.thread) === thread);
      if (!time) {
        panel.querySelector('span').textContent = tell('has no such thread');
        return [];
      }
      const ofPanel = { ...drawnAs, periods, last: n === data.recordings.length - 1, loads: recording.loads.drawn.length > 0 };
      const above = timePanel(panel, time, points, place, range, ofPanel);
      namePeriods(panel, periods);
      return ofPanel.loads ? [above, loadPanel(panel, above, recording.loads, time.length_ns / UNIT, place, ofPanel)] : [above];
    }).flat();
  }

  /** The worst wake-ups, and those whose cause is known. */
  function pointsOf(recording, thread, jitter) {
    const ofThread = (points) => (jitter ? [] : points.filter((one) => thread === '' || String(one.thread) === thread));
    return { worst: ofThread(recording.worst), explained: ofThread(recording.explained) };
  }

  const timeOf = (recording, thread) => (thread === '' ? recording.time : recording.threads.find((one) => String(one.thread) === thread)?.time);

  /** The vertical axis over time, and how values are put on it. */
  function vertical([low, high], { log, jitter }) {
    return { ...(log ? { distr: 3 } : {}), range: () => reach((jitter ? DEFINITION.jitter : DEFINITION.latency).y, log, low, high) };
  }
  const isLog = (u) => u.scales.y.distr === 3;
  const onAxis = (ns, log) => (ns === null ? null : log ? Math.max(MIN_US, us(ns)) : us(ns));

  /** All recordings in one panel, overlaid at the same times; the widest first, so that the narrower ones are seen. */
  function overlaid(element, recordings, range, { log, jitter, height, limits, thread, say }) {
    const all = recordings.map((recording, n) => ({ recording, n, place: recording.place ?? n, time: timeOf(recording, thread) })).filter(({ time }) => time);
    if (all.length === 0) return [];
    const step = all.reduce((max, { time }) => Math.max(max, time.step_ns), 1);
    const end = all.reduce((max, { time }) => Math.max(max, time.length_ns), 1);
    const steps = Math.ceil(end / step - 1e-9);
    const joined = (values, own, fold) => {
      const into = new Array(steps).fill(null);
      values.forEach((ns, n) => {
        const at = Math.min(steps - 1, Math.floor((n * own) / step + 1e-9));
        if (ns !== null) into[at] = into[at] === null ? ns : fold(into[at], ns);
      });
      return into;
    };
    for (const one of all) {
      const [min, max] = drawnOf(one.time, jitter);
      one.min = joined(min, one.time.step_ns, Math.min);
      one.max = joined(max, one.time.step_ns, Math.max);
      one.largest = inSteps(one.max, Math.max, -Infinity);
      one.width = one.largest - inSteps(one.min, Math.min, Infinity);
    }
    all.sort((one, other) => other.width - one.width);
    const xs = Array.from({ length: steps + 1 }, (_, n) => Math.min(n * step, end) / UNIT);
    const column = (values) => [...values, values.at(-1) ?? null].map((ns) => onAxis(ns, log));
    const paths = uPlot.paths.stepped({ align: 1 });
    const line = ({ recording, place }) => ({ label: recording.name, stroke: () => colour(place), width: 1, points: { show: false }, paths });
    const hooks = {
      setCursor: [(u) => {
        if (u.cursor.left < 0) return say('');
        const at = Math.min(steps - 1, Math.floor((u.posToVal(u.cursor.left, 'x') * UNIT) / step));
        const shown = all.filter((_, n) => u.series[2 * n + 1].show && all[n].max[at] !== null);
        const ranges = shown.map(({ recording, min, max }) => `${recording.name} ${tenths.format(us(min[at]))} … ${tenths.format(us(max[at]))} µs`);
        return say(`${between((at * step) / UNIT, Math.min(end, (at + 1) * step) / UNIT)}: ${ranges.join(' · ') || tell('none')}`);
      }],
      draw: [
        (u) => all.forEach(({ min, max, place }, n) => u.series[2 * n + 1].show && standingAlone(u, step / UNIT, [min, max], log, place)),
        (u) => all.forEach(({ time, recording, place }, n) => u.series[2 * n + 1].show && marks(u, time, time.step_ns / UNIT, pointsOf(recording, thread, jitter), place)),
        (u) => limitsUp(u, limits),
      ],
    };
    const panel = document.createElement('div');
    panel.className = 'panel';
    panel.dataset.shownMaxNs = String(all.reduce((max, one) => Math.max(max, one.largest), -Infinity));
    element.append(panel);
    const bands = all.map(({ place }, n) => ({ series: [2 * n + 2, 2 * n + 1], fill: () => `${colour(place)}66` }));
    const axes = [axis(TIME, false, label, 72), axis((jitter ? DEFINITION.jitter : DEFINITION.latency).y.name, log, label, 28)];
    const scales = { x: { time: false, range: (_, min, max) => [min, max] }, y: vertical(range, { log, jitter }) };
    const columns = all.flatMap(({ min, max }) => [column(min), column(max)]);
    return [new uPlot(options(panel, height + 130, axes, scales, all.flatMap((one) => [line(one), line(one)]), hooks, { bands }), [xs, ...columns], panel)];
  }

  function timePanel(panel, time, points, place, range, { log, height, jitter, limits, periods, last: isLast, loads }) {
    const step = time.step_ns / UNIT;
    const end = time.length_ns / UNIT;
    const xs = Array.from({ length: time.max_ns.length + 1 }, (_, n) => Math.min(n * step, end));
    const [drawnMin, drawnMax] = drawnOf(time, jitter);
    const drawn = (values) => {
      const column = values.map((ns) => onAxis(ns, log));
      return [...column, column.at(-1) ?? null];
    };
    const readout = panel.querySelector('span');
    const describe = (from, to) => {
      const [first, behind] = [Math.max(0, Math.floor(from / step + 1e-6)), Math.min(time.max_ns.length, Math.ceil(to / step - 1e-6))];
      const maxima = drawnMax.slice(first, behind).filter((ns) => ns !== null);
      const minima = drawnMin.slice(first, behind).filter((ns) => ns !== null);
      const woke = time.min_ns.slice(first, behind).some((ns) => ns !== null);
      const missing = time.missing.filter(([at]) => at >= first && at < behind).reduce((sum, [, n]) => sum + n, 0);
      const max = maxima.reduce((a, b) => Math.max(a, b), -Infinity);
      const min = minima.reduce((a, b) => Math.min(a, b), Infinity);
      const values = jitter ? tell('jitter from {min} to {max} µs', { min: tenths.format(us(min)), max: tenths.format(us(max)) }) : `${tenths.format(us(min))}–${tenths.format(us(max))} µs`;
      const nothing = time.max_ns.length === 0 ? 'not known' : woke ? 'no two successive activations woke' : 'nothing was measured';
      const span = maxima.length > 0 ? values : tell(nothing);
      const lost = missing > 0 ? ` · ${tell('{n} skipped or lost', { n: whole.format(missing) })}` : '';
      // The largest there whose cause is known; they are in that order.
      const known = points.explained.find((one) => one.since_start_ns / UNIT >= from && one.since_start_ns / UNIT < to);
      const cause = known ? ` · ${tenths.format(us(known.latency_ns))} µs: ${known.cause}` : '';
      return { max, text: `${between(Math.max(0, from), Math.min(to, end))}: ${span}${lost}${cause}` };
    };
    const whatIsShown = (u) => {
      const shown = describe(u.scales.x.min, u.scales.x.max);
      panel.dataset.shownMaxNs = String(shown.max);
      readout.textContent = shown.text;
    };
    const hooks = {
      setScale: [(u, key) => key === 'x' && whatIsShown(u)],
      setCursor: [(u) => {
        if (u.cursor.left < 0) return whatIsShown(u);
        const at = Math.floor(u.posToVal(u.cursor.left, 'x') / step) * step;
        readout.textContent = describe(at, at + step).text;
        return undefined;
      }],
      draw: [(u) => recurring(u, periods), (u) => standingAlone(u, step, [drawnMin, drawnMax], log, place), (u) => marks(u, time, step, points, place), (u) => limitsUp(u, limits)],
    };
    const paths = uPlot.paths.stepped({ align: 1 });
    const lines = ['55', 'ff'].map((alpha) => ({ stroke: () => colour(place) + alpha, width: 1, points: { show: false }, paths }));
    const bands = [{ series: [2, 1], fill: () => `${colour(place)}4d` }];
    const axes = [
      // Where loads are drawn below, the times stand below those.
      loads ? { ...axis(null, false, () => '', 72), size: 6 } : axis(isLast ? TIME : null, false, label, 72),
      axis((jitter ? DEFINITION.jitter : DEFINITION.latency).y.name, log, label, 22),
    ];
    const scales = {
      x: { time: false, range: (_, min, max) => [min, max] },
      y: vertical(range, { log, jitter }),
    };
    const size = loads ? height - 42 : isLast ? height : height - 20;
    return new uPlot(options(panel, size, axes, scales, lines, hooks, { bands, cursor: together(place) }), [xs, drawn(drawnMin), drawn(drawnMax)], panel);
  }

  /** The cursor of a panel and of its loads is one; zooming follows where all panels of a length follow one another. */
  const together = (place) => ({ sync: { key: `recording ${place}` } });

  /** Below a panel and on its time axis: the CPU use each load reached, in steps, and thin dashes at the level asked for. */
  function loadPanel(panel, above, { drawn, left_out: leftOut }, end, place, { last: isLast }) {
    const until = drawn.map((load) => load.points.map(([at]) => at));
    const xs = [...new Set([0, ...until.flat().filter((at) => at < end), end])].sort((a, b) => a - b);
    /** The step that holds from `x`; where the last one ends, it is the last, and behind it there is none. */
    const holds = (n, x) => {
      const next = last(until[n], x) + 1;
      return drawn[n].points[next] ?? (x <= until[n].at(-1) ? drawn[n].points.at(-1) : undefined);
    };
    // A load reads 100 % and a bit now and then; the axis ends there.
    const columns = drawn.map((_, n) => xs.map((x) => { const step = holds(n, x); return step ? Math.min(step[1], LOAD_RANGE[1]) : null; }));
    const reached = legendOfLoads(panel, drawn, leftOut, place);
    const range = (n, from, to) => {
      const steps = drawn[n].points.filter(([at], m) => at > from && (until[n][m - 1] ?? 0) < to).map(([, percent]) => percent);
      if (steps.length === 0) return '–';
      const [min, max] = [steps.reduce((a, b) => Math.min(a, b)), steps.reduce((a, b) => Math.max(a, b))];
      return `${min < max ? `${tenths.format(min)}–` : ''}${tenths.format(max)} %`;
    };
    const whatIsShown = (u) => reached.forEach((at, n) => { at.textContent = range(n, u.scales.x.min, u.scales.x.max); });
    const hooks = {
      setScale: [(u, key) => key === 'x' && whatIsShown(u)],
      setCursor: [(u) => {
        if (u.cursor.left < 0) return whatIsShown(u);
        const x = u.posToVal(u.cursor.left, 'x');
        reached.forEach((at, n) => { at.textContent = x < until[n].at(-1) ? `${tenths.format(holds(n, x)[1])} %` : '–'; });
        return undefined;
      }],
      draw: [(u) => drawn.forEach((load, n) => level(u, load.requested, place + n))],
    };
    const lines = drawn.map((_, n) => ({
      stroke: () => colour(place + n),
      width: 1.5,
      dash: dash(n),
      points: { show: false },
      paths: uPlot.paths.stepped({ align: 1 }),
    }));
    const axes = [
      axis(isLast ? TIME : null, false, label, 72),
      {
        ...axis(DEFINITION.load.y.name, false, label, 22),
        splits: () => [0, 50, 100],
        // As wide as the one above, as is the edge, so that the times stand below one another.
        size: () => above.bbox.left / devicePixelRatio - 20,
      },
    ];
    const scales = { x: { time: false, range: (_, min, max) => [min, max] }, y: { range: () => LOAD_RANGE } };
    const extra = { cursor: together(place), padding: [10, () => above.width - (above.bbox.left + above.bbox.width) / devicePixelRatio, 0, 0] };
    return new uPlot(options(panel, isLast ? 122 : 102, axes, scales, lines, hooks, extra), [xs, ...columns], panel);
  }

  /** Names the loads and what they were asked for; the elements that say what they reached. */
  function legendOfLoads(panel, drawn, leftOut, place) {
    const legend = document.createElement('p');
    legend.className = 'courses';
    const reached = drawn.map((load, n) => {
      const item = document.createElement('span');
      item.innerHTML = `<svg width="24" height="10" aria-hidden="true"><path d="M1 5H23" class="l${(place + n) % COLOURS}" stroke-dasharray="${dash(n).join(' ')}"/></svg><code></code> <span></span> <span class="reached"></span>`;
      item.querySelector('code').textContent = load.spec;
      item.querySelector('span').textContent = tell('asked for {level}, reached', { level: load.requested === null ? tell('as much as it gets') : `${label(load.requested)} %` });
      legend.append(item);
      return item.querySelector('.reached');
    });
    if (leftOut > 0) legend.append(tell(leftOut > 1 ? '{n} more loads not drawn' : '{n} more load not drawn', { n: leftOut }));
    panel.append(legend);
    return reached;
  }

  function level(u, percent, place) {
    if (percent === null) return;
    const { ctx, bbox } = u;
    const y = Math.round(u.valToPos(percent, 'y', true)) + 0.5;
    ctx.save();
    ctx.strokeStyle = colour(place);
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4, 4].map((n) => n * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.restore();
  }

  /** Where late wake-ups recur: dotted lines at their times, or ticks at the foot where those would be too near; none nearer than that. */
  function recurring(u, periods) {
    const { ctx, bbox } = u;
    const dot = devicePixelRatio;
    const { min, max } = u.scales.x;
    ctx.save();
    ctx.strokeStyle = variable('--ink');
    ctx.lineWidth = dot;
    for (const period of periods) {
      const [first, every] = [period.first_ns / UNIT, period.period_ns / UNIT];
      const apart = (every / (max - min)) * (bbox.width / dot);
      if (!(apart >= 3)) continue;
      ctx.globalAlpha = apart >= 24 ? 0.45 : 0.3;
      ctx.setLineDash(apart >= 24 ? [2 * dot, 4 * dot] : []);
      const top = apart >= 24 ? bbox.top : bbox.top + bbox.height - 7 * dot;
      ctx.beginPath();
      for (let n = Math.max(0, Math.ceil((min - first) / every)); first + n * every <= max; n++) {
        const x = Math.round(u.valToPos(first + n * every, 'x', true)) + 0.5;
        ctx.moveTo(x, top);
        ctx.lineTo(x, bbox.top + bbox.height);
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  /** In words, what recurs; where several threads are drawn together, of which. */
  function namePeriods(panel, periods) {
    if (periods.length === 0) return;
    const list = document.createElement('ul');
    list.className = 'periods';
    for (const one of periods) {
      const item = document.createElement('li');
      item.textContent = one.words;
      list.append(item);
    }
    panel.append(list);
  }

  /** Of what stands before steps without a value no line is drawn: a mark as large as it is, and large enough to be seen. */
  function standingAlone(u, step, [min, max], log, place) {
    const { ctx, bbox } = u;
    const least = 2.5 * devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = colour(place);
    max.forEach((ns, n) => {
      if (ns === null || (max[n + 1] ?? null) !== null) return;
      const [from, to] = [u.valToPos(n * step, 'x', true), u.valToPos((n + 1) * step, 'x', true)];
      const [top, bottom] = [u.valToPos(onAxis(ns, log), 'y', true), u.valToPos(onAxis(min[n], log), 'y', true)];
      const [width, height] = [Math.max(to - from, least), Math.max(bottom - top, least)];
      ctx.fillRect((from + to - width) / 2, (top + bottom - height) / 2, width, height);
    });
    ctx.restore();
  }

  /** Rings around the worst wake-ups, diamonds where the cause is known; triangles where activations were skipped or lost. */
  function marks(u, time, step, { worst, explained }, place) {
    const { ctx, bbox } = u;
    const dot = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 4 * dot, bbox.top - 8 * dot, bbox.width + 8 * dot, bbox.height + 8 * dot);
    ctx.clip();
    const at = (one) => [u.valToPos(one.since_start_ns / UNIT, 'x', true), u.valToPos(onAxis(one.latency_ns, isLog(u)), 'y', true)];
    ctx.fillStyle = variable('--ink');
    for (const [x, y] of explained.map(at)) {
      const r = 4 * dot;
      ctx.beginPath();
      [[x - r, y], [x, y - r], [x + r, y], [x, y + r]].forEach((corner) => ctx.lineTo(...corner));
      ctx.fill();
    }
    ctx.fillStyle = variable('--paper');
    ctx.strokeStyle = colour(place);
    ctx.lineWidth = 1.5 * dot;
    for (const [x, y] of worst.map(at)) {
      ctx.beginPath();
      ctx.arc(x, y, 3 * dot, 0, 2 * Math.PI);
      ctx.fill();
      ctx.stroke();
    }
    ctx.fillStyle = variable('--ink');
    let before = -Infinity;
    for (const [at] of time.missing) {
      const x = Math.round(u.valToPos(at * step, 'x', true));
      if (x - before < dot) continue;
      before = x;
      ctx.beginPath();
      ctx.moveTo(x - 3.5 * dot, bbox.top - 7 * dot);
      ctx.lineTo(x + 3.5 * dot, bbox.top - 7 * dot);
      ctx.lineTo(x, bbox.top - dot);
      ctx.fill();
    }
    ctx.restore();
  }

  return { histogram, exceedance, overTime, dash, dashOf, belowZero, twoSided: DEFINITION.two_sided };
})();
