// SPDX-License-Identifier: MIT OR Apache-2.0
// The page of a plan: which combinations are drawn, chosen in the table or in the heat map, and what the heat map shows.
'use strict';

{
  const data = JSON.parse(document.getElementById('data').textContent);
  const { factors, heat: defined, labels, varied, all, combinations, selected } = data.plan;
  const figures = defined?.figures ?? [];
  const byRow = new Map(combinations.map((combination) => [combination.row, combination]));
  const at = (id) => document.getElementById(id);
  /** More curves than this cannot be distinguished. */
  const MAX_DRAWN = 16;
  const named = (value) => value ?? defined.nothing;
  /** As the program names combinations: kernels and loads are known by their looks. */
  const nameOf = (combination) => varied.flatMap((factor) => {
    const [key, value] = [factors[factor].name, factors[factor].values[combination.at[factor]]];
    if (value === null) return [];
    return [['kernel', 'load'].includes(key) && value !== 'none' ? value : `${key}=${value}`];
  }).join(tell(', ')) || tell('all runs');
  const canBeDrawn = (combination) => combination.curve !== undefined || combination.runs.length > 0;

  // ---- What is drawn.

  /** Rows, each with its place among colours and dashes, which it keeps as long as it is drawn. */
  const chosen = new Map();
  let pooled = true;
  const boxes = new Map([...document.querySelectorAll('tr[data-row] input')].map((box) => [Number(box.closest('tr').dataset.row), box]));

  function choose(row) {
    const taken = new Set(chosen.values());
    let place = 0;
    while (taken.has(place)) place += 1;
    chosen.set(row, place);
  }

  /** A distribution of several runs: it has no course over time. */
  const NO_COURSE = { threads: [], worst: [], explained: [], loads: { drawn: [], left_out: 0 } };

  /** Curves, the runs over time, and how many repeats are left out because nobody could tell them apart. */
  function selection() {
    const [recordings, courses] = [[], []];
    let leftOut = 0;
    for (const row of [...chosen.keys()].sort((a, b) => a - b)) {
      const { curve, runs, recorded } = byRow.get(row);
      const place = chosen.get(row);
      const each = runs.map((run, n) => ({ ...data.recordings[run], place, dash: pooled ? undefined : place + n }));
      if (pooled && curve) {
        // A tail is fitted to one run, and goes on from no other curve than that run's.
        const tail = recorded === 1 && runs.length === 1 ? data.recordings[runs[0]].tail : null;
        recordings.push({ ...curve, ...NO_COURSE, place, tail });
        courses.push(...each);
        continue;
      }
      const free = Math.max(0, MAX_DRAWN - recordings.length);
      leftOut += Math.max(0, each.length - free);
      recordings.push(...each.slice(0, free));
      courses.push(...each.slice(0, free));
    }
    return { edges_ns: data.edges_ns, style: data.style, limits: data.limits, recordings, courses, leftOut };
  }

  /** What a reader must know of what is drawn. */
  function selectionNote(leftOut) {
    const rows = [...chosen.keys()].map((row) => byRow.get(row));
    const absent = rows.reduce((sum, combination) => sum + combination.recorded - combination.runs.length, 0);
    const parts = [];
    if (combinations.every((combination) => combination.recorded === 0)) parts.push(tell('Nothing is recorded yet.'));
    else if (rows.length === 0) parts.push(tell(at('heat') ? 'Nothing drawn: tick combinations in the table, or click in the heat map.' : 'Nothing drawn: tick combinations in the table.'));
    else if (rows.some((combination) => combination.recorded > 1)) parts.push(tell(pooled ? 'Repeats of each combination pooled; over time each separately.' : 'Each repeat separately.'));
    if (leftOut > 0) parts.push(tell('Repeats not drawn: {n}. At most {max} curves are drawn.', { n: leftOut, max: MAX_DRAWN }));
    if (absent > 0) parts.push(tell('{n} runs have no latency over time on this page. Those with the largest latencies do.', { n: absent }));
    return parts.join(' ');
  }

  function mark(row, box) {
    const place = chosen.get(row);
    box.checked = place !== undefined;
    box.closest('tr').classList.toggle('chosen', box.checked);
    const line = box.parentElement.querySelector('svg path');
    line.setAttribute('class', place === undefined ? '' : `l${place % 8}`);
    line.setAttribute('stroke-dasharray', place === undefined ? '' : Charts.dash(place).join(' '));
  }

  let begun = false;
  function draw() {
    for (const [row, box] of boxes) mark(row, box);
    const drawn = selection();
    say(tell('{n} of {all} drawn', { n: chosen.size, all }));
    at('none').setAttribute('aria-disabled', String(chosen.size === 0));
    const note = selectionNote(drawn.leftOut);
    at('drawn-note').textContent = note;
    at('repeats').hidden = ![...chosen.keys()].some((row) => byRow.get(row).recorded > 1);
    at('drawn').hidden = note === '';
    if (begun) Page.show(drawn);
    else Page.open(drawn);
    begun = true;
    heat();
  }

  /** Beside the table and below the heat map: one of them is where the reader looks. */
  function say(text) {
    at('chosen').textContent = text;
    if (at('heat-readout')) at('heat-readout').textContent = text;
  }

  function toggle(row) {
    const refused = refusal(row);
    if (refused !== '') {
      say(refused);
      if (boxes.has(row)) mark(row, boxes.get(row));
      return;
    }
    if (!chosen.delete(row)) choose(row);
    draw();
  }

  function refusal(row) {
    if (chosen.has(row)) return '';
    if (chosen.size >= MAX_DRAWN) return tell('At most {n} combinations can be drawn: untick one first.', { n: MAX_DRAWN });
    return canBeDrawn(byRow.get(row)) ? '' : tell('The distribution of this combination is left out, for lack of space.');
  }

  function begin() {
    for (const [row, box] of boxes) {
      box.parentElement.insertAdjacentHTML('beforeend', '<svg width="22" height="10" aria-hidden="true"><path d="M1 5H21"/></svg>');
      box.disabled = !canBeDrawn(byRow.get(row) ?? { runs: [] });
      if (box.disabled) box.title = tell('The distribution of this combination is left out, for lack of space.');
      box.addEventListener('change', () => toggle(row));
      box.closest('tr').addEventListener('click', (event) => {
        // Text may be marked to be copied.
        if (event.target !== box && !box.disabled && String(getSelection()) === '') toggle(row);
      });
    }
    at('none').addEventListener('click', () => { chosen.clear(); draw(); });
    for (const button of document.querySelectorAll('[data-repeats]')) {
      button.addEventListener('click', () => {
        pooled = button.dataset.repeats === 'pooled';
        for (const other of document.querySelectorAll('[data-repeats]')) other.setAttribute('aria-pressed', String(other === button));
        draw();
      });
    }
    selected.filter((row) => canBeDrawn(byRow.get(row))).forEach(choose);
  }

  // ---- The heat map.

  const whole = new Intl.NumberFormat('en-US');

  /** What is written into the cell of a combination. */
  const shown = (combination, number) => labels[combination.labels[number]];

  /** The same with all that is known. */
  function inFull(combination, number) {
    const [label, value] = [shown(combination, number), combination.figures[number]];
    if (figures[number].unit !== 'ns') return label;
    return isAbout(label) ? tell('{value}, up to 1 % above the exact one', { value: label }) : `${whole.format(value)} ns`;
  }

  /** Whether a figure is from the histogram. */
  const isAbout = (label) => label.startsWith('~');

  /** For each factor that goes neither down nor across, which of its values; '' for any. */
  const others = new Map();

  /** Kinds of time that figures are on: no cell compares one with another. */
  const times = defined?.times ?? [];
  let time = times[0];

  function arrange() {
    const [down, across] = [at('down'), at('across')];
    down.value = String(defined.down);
    across.value = String(defined.across[0]);
    for (const [select, other] of [[down, across], [across, down]]) {
      let before = select.value;
      select.addEventListener('focus', () => { before = select.value; });
      select.addEventListener('change', () => {
        if (other.value === select.value) other.value = before;
        before = select.value;
        choices();
        heat();
      });
    }
    at('figure').addEventListener('change', heat);
    if (times.length > 1) {
      const select = document.createElement('select');
      select.id = 'time';
      select.append(...times.map((kind) => new Option(tell(kind), kind)));
      select.addEventListener('change', () => { time = select.value; heat(); });
      const label = document.createElement('label');
      label.append(`${tell('time')} `, select);
      at('others').before(label);
    }
    choices();
  }

  /** A choice for each factor that goes neither down nor across. */
  function choices() {
    const place = at('others');
    place.textContent = '';
    const before = new Map(others);
    others.clear();
    for (const factor of varied) {
      if ([at('down').value, at('across').value].includes(String(factor))) continue;
      const label = document.createElement('label');
      const select = document.createElement('select');
      select.append(new Option(tell('any: the worst'), ''), ...factors[factor].values.map((value, n) => new Option(named(value), String(n))));
      select.value = before.get(factor) ?? '';
      others.set(factor, select.value);
      select.addEventListener('change', () => { others.set(factor, select.value); heat(); });
      label.append(`${factors[factor].name} `, select);
      place.append(label);
    }
  }

  /** For each cell its combinations, the one with the largest figure first; and of those the ones with the smallest and the largest. */
  function cells(figure, down, across) {
    const grid = factors[down].values.map(() => factors[across].values.map(() => []));
    for (const combination of combinations) {
      if (combination.time !== null && combination.time !== time) continue;
      if ([...others].some(([factor, value]) => value !== '' && String(combination.at[factor]) !== value)) continue;
      grid[combination.at[down]][combination.at[across]].push(combination);
    }
    const known = (combination) => combination.figures[figure] ?? -Infinity;
    for (const cell of grid.flat()) cell.sort((a, b) => known(b) - known(a) || a.row - b.row);
    const measured = grid.flat().map(([worst]) => worst).filter((worst) => worst !== undefined && worst.figures[figure] !== null);
    measured.sort((a, b) => a.figures[figure] - b.figures[figure]);
    return { grid, low: measured[0], high: measured.at(-1) };
  }

  /** Whether shades are spread evenly, because the smallest has no logarithm. */
  const isLinear = ({ min }, low) => low < 0 && min > 0;

  /** Where a value lies between the smallest and the largest: 0 to 1. */
  function share(figure, value, low, high) {
    if (isLinear(figure, low)) return high > low ? (value - low) / (high - low) : 0;
    const { min, plus } = figure;
    const along = (n) => Math.log(Math.max(n, min) + plus);
    return along(high) > along(low) ? (along(value) - along(low)) / (along(high) - along(low)) : 0;
  }

  /** Whether its cell is hot, and how much of the hot colour there is in its ground. */
  function shade(part) {
    const { hot_from: hotFrom, cold, hot } = defined.shades;
    const isHot = part > hotFrom;
    const [[from, to], along] = isHot ? [hot, (part - hotFrom) / (1 - hotFrom)] : [cold, part / hotFrom];
    return { isHot, ofHot: from + (to - from) * along };
  }

  function heat() {
    const place = at('heat');
    if (!place) return;
    const [number, down, across] = ['figure', 'down', 'across'].map((id) => Number(at(id).value));
    const { grid, low, high } = cells(number, down, across);
    const table = document.createElement('table');
    table.className = 'heat';
    const head = table.createTHead().insertRow();
    for (const text of [`${factors[down].name} ╲ ${factors[across].name}`, ...factors[across].values.map(named)]) {
      const cell = document.createElement('th');
      cell.scope = 'col';
      cell.textContent = text;
      head.append(cell);
    }
    const body = table.createTBody();
    grid.forEach((line, n) => {
      const row = body.insertRow();
      const name = document.createElement('th');
      name.scope = 'row';
      name.textContent = named(factors[down].values[n]);
      row.append(name);
      for (const cell of line) row.append(cellOf(cell, number, low, high));
    });
    const focus = place.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
    place.replaceChildren(table);
    if (focus !== undefined) place.querySelector(`button[data-row="${focus}"]`)?.focus();
    at('heat-scale').textContent = caption(number, down, across, low, high);
  }

  /** What the map shows, in words: on paper there is nothing else that says so. */
  function caption(number, down, across, low, high) {
    const figure = figures[number];
    const fixed = [...others].map(([factor, value]) => `${factors[factor].name} ${value === '' ? tell('any, the worst of them') : named(factors[factor].values[Number(value)])}`);
    const on = times.length > 1 ? [tell('time: {time}', { time: tell(time) })] : [];
    const what = [tell('{figure}, {down} by {across}', { figure: tell(figure.name), down: factors[down].name, across: factors[across].name }), ...fixed, ...on].join('; ');
    const nothing = combinations.every((combination) => combination.recorded === 0);
    if (low === undefined) return `${what}: ${tell(nothing ? 'nothing is recorded yet' : 'no combination has enough samples for it')}${tell('.')}`;
    const [from, to] = [low, high].map((combination) => shown(combination, number));
    const range = low.figures[number] === high.figures[number] ? tell('all {value}', { value: from })
      : isLinear(figure, low.figures[number]) ? tell('from {low} to {high}, shaded linearly', { low: from, high: to })
      : tell('from {low} to {high}, shaded logarithmically', { low: from, high: to });
    const without = all - combinations.length;
    const absent = without > 0 ? tell(' {n} combinations are left out of this page, for lack of space.', { n: without }) : '';
    const isApproximate = combinations.some(({ labels: places }) => places[number] !== null && isAbout(labels[places[number]]));
    const approximate = isApproximate ? tell(' ~: from the histogram, up to 1 % above.') : '';
    return `${what}: ${range}${tell('.')}${approximate}${absent}${tell(' Framed: drawn below. Dashed: another combination of the cell is drawn.')}`;
  }

  function cellOf(all, number, low, high) {
    const cell = document.createElement('td');
    const figure = figures[number];
    const [worst] = all;
    const value = worst?.figures[number] ?? null;
    if (value === null) {
      cell.textContent = defined.nothing;
      cell.className = 'empty';
      if (worst) cell.title = all.some((combination) => combination.recorded > 0) ? tell('too few samples for this figure, or not known') : tell('nothing recorded');
      return cell;
    }
    const button = document.createElement('button');
    button.type = 'button';
    button.dataset.row = String(worst.row);
    button.textContent = shown(worst, number);
    const drawn = all.filter((combination) => chosen.has(combination.row)).length;
    const of = all.length > 1 && drawn > 0 ? tell('; {n} of the cell’s {all} combinations drawn', { n: drawn, all: all.length }) : '';
    const text = `${nameOf(worst)}: ${tell(figure.name)} ${inFull(worst, number)}${of}`;
    button.setAttribute('aria-label', text);
    button.setAttribute('aria-pressed', chosen.has(worst.row) ? 'true' : drawn > 0 ? 'mixed' : 'false');
    for (const event of ['focus', 'pointerenter']) button.addEventListener(event, () => { at('heat-readout').textContent = text; });
    const { isHot, ofHot } = shade(share(figure, value, low.figures[number], high.figures[number]));
    cell.style.setProperty('--share', `${Math.round(100 * ofHot)}%`);
    cell.className = isHot ? 'dark' : '';
    button.addEventListener('click', () => toggle(worst.row));
    cell.append(button);
    return cell;
  }

  // ---- Begin.

  const reveal = '.scripted, #combinations .controls, #combinations input, #heat-map .controls, #heat, #heat-scale, #heat-readout';
  for (const part of document.querySelectorAll(reveal)) part.hidden = false;
  for (const part of document.querySelectorAll('.unscripted')) part.hidden = true;
  document.querySelector('#heat-map .paper')?.classList.add('only-print');
  document.documentElement.classList.add('chosen-by-reader');
  addEventListener('beforeprint', Page.print);
  begin();
  if (at('heat')) arrange();
  draw();
}
