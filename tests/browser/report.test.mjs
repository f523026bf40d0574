// SPDX-License-Identifier: MIT OR Apache-2.0
// The report page in a real browser. What it is told:
//   TEIJI_REPORT    the page, as `teiji report` wrote it
//   TEIJI_RUN_JSON  optional: run.json of each of its recordings in order, separated by ':'
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { drawn, embedded, settled, tested } from './browser.mjs';
import { skipped } from './skipped.mjs';

const report = process.env.TEIJI_REPORT;
assert.ok(report, 'TEIJI_REPORT names no page: run `teiji report REC... -o report.html` and set it to report.html');
const runs = (process.env.TEIJI_RUN_JSON ?? '').split(':').filter(Boolean).map((file) => JSON.parse(readFileSync(file, 'utf8')));
const CHARTS = ['histogram', 'latency-over-time', 'exceedance'];

const it = tested(report);
const open = (settings) => it.open(settings);

const shownMaxima = (page) => page.evaluate(() => [...document.querySelectorAll('#latency-over-time .panel')].map((panel) => Number(panel.dataset.shownMaxNs)));
/** Recordings with a course of load to draw. */
const underLoad = (data) => data.recordings.filter((recording) => recording.loads.drawn.length > 0);
/** Whether a load's line is drawn at these times, s, in the panel of the recording: a pixel of its colour where it should lie. */
const lineAt = (page, place, load, times) => page.evaluate(([n, l, seconds]) => {
  const { time, loads } = JSON.parse(document.getElementById('data').textContent).recordings[n];
  const panel = document.querySelectorAll('#latency-over-time .panel')[n];
  const [canvas, over] = ['canvas', '.u-over'].map((part) => panel.querySelectorAll(part)[1]);
  const [outer, inner] = [canvas.getBoundingClientRect(), over.getBoundingClientRect()];
  const dot = canvas.width / outer.width;
  const colour = getComputedStyle(document.documentElement).getPropertyValue(`--c${(n + l) % 8}`).trim().match(/\w\w/g).map((part) => Number.parseInt(part, 16));
  return seconds.map((at) => {
    const percent = loads.drawn[l].points.find(([until]) => until > at)?.[1] ?? 0;
    const x = (inner.left - outer.left + inner.width * at / (time.length_ns / 1e9)) * dot;
    const y = (inner.top - outer.top + inner.height * (1 - percent / 105)) * dot;
    const { data } = canvas.getContext('2d').getImageData(Math.round(x - 4 * dot), Math.round(y - 3 * dot), Math.round(8 * dot), Math.round(6 * dot));
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 120 && colour.every((part, c) => Math.abs(part - data[i + c]) < 24)) return true;
    return false;
  });
}, [place, load, times]);
/** For each recording under load: its two drawings in pixels of the window, and what is said of each load. */
const panelsUnderLoad = (page) => page.evaluate(() => [...document.querySelectorAll('#latency-over-time .panel')].filter((panel) => panel.querySelector('.courses')).map((panel) => ({
  drawings: [...panel.querySelectorAll('.u-over')].map((over) => { const { left, right, top, height } = over.getBoundingClientRect(); return { left, right, top, height }; }),
  cursors: [...panel.querySelectorAll('.u-cursor-x')].map((cursor) => cursor.getBoundingClientRect().left),
  specs: [...panel.querySelectorAll('.courses code')].map((code) => code.textContent),
  reached: [...panel.querySelectorAll('.courses .reached')].map((reached) => reached.textContent),
})));
const tenths = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

describe('the report page', () => {
  test('gives each recording its confidence intervals', async () => {
    const page = await open();
    const { recordings } = await embedded(page);
    const inferences = await page.evaluate(() => [...document.querySelectorAll('#inferences dl')].map((list) => [...list.querySelectorAll('dt')].map((about) => [about.textContent, about.nextElementSibling.textContent])));
    assert.ok(inferences.length >= recordings.length);
    assert.ok(inferences.flat().some(([name, words]) => name === 'tail' && words.length > 0));
    const levels = await page.evaluate(() => [...document.querySelectorAll('#inferences table.intervals')].map((table) => [...table.querySelectorAll('thead th')].map((head) => head.textContent)));
    assert.equal(levels.length, recordings.length, 'each recording has its quantiles');
    for (const heads of levels) assert.deepEqual(heads.slice(1, 4), ['p50', 'p90', 'p99']);
    const refused = inferences.flat().some(([name, words]) => name === 'tail' && words.startsWith('not extrapolated: '));
    assert.ok(refused || recordings.every((recording) => recording.tail), 'what is not continued says why');
  });

  test('says one click away what its words mean', async () => {
    const page = await open();
    const links = await page.locator('a.term').evaluateAll((all) => all.map((link) => [link.getAttribute('href'), link.title]));
    assert.ok(links.length > 6, `${links.length} terms`);
    for (const [href, title] of links) {
      const meaning = await page.locator(`[id="${href.slice(1)}"] dd`).textContent();
      assert.equal(meaning, title, href);
    }
    await page.close();
  });

  test('draws jitter in the stead of latencies, and comes back', async () => {
    const page = await open();
    const { recordings } = await embedded(page);
    const before = await drawn(page, 'latency-over-time');
    await page.locator('#drawn-figure').selectOption('jitter');
    await settled(page);
    const largest = recordings.map((recording) => most(recording.time.jitter_max_ns.filter((ns) => ns !== null)));
    assert.ok(recordings.every((recording) => recording.time.jitter_min_ns.some((ns) => ns !== null && ns < 0)), 'jitter has two sides');
    assert.deepEqual(await shownMaxima(page), largest, 'the largest jitter of each panel');
    const jitter = await drawn(page, 'latency-over-time');
    assert.notDeepEqual(jitter, before);
    assert.ok(jitter.every((canvas) => canvas.inked > 2000), 'something is drawn');
    assert.match(await page.locator('#latency-over-time .panel-head span').first().textContent(), /jitter from -[\d,.]+ to [\d,.]+ µs/);
    await page.locator('#drawn-figure').selectOption('latency');
    await settled(page);
    assert.deepEqual(await shownMaxima(page), recordings.map((recording) => recording.max_ns));
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('lays recordings over one another over time, and takes any of them out', async (t) => {
    const page = await open();
    const { recordings } = await embedded(page);
    if (recordings.length < 2) return skipped(t, 'recordings', 'there is one recording');
    await page.locator('#latency-over-time [data-panels="overlay"]').click();
    await settled(page);
    assert.equal(await page.locator('#latency-over-time .panel').count(), 1);
    assert.equal((await shownMaxima(page))[0], most(recordings.map((recording) => recording.max_ns)));
    const both = await drawn(page, 'latency-over-time');
    assert.ok(both[0].coloured > 500, `${both[0].coloured} coloured pixels`);
    for (const button of await page.locator('#latency-over-time .legend button').all()) await button.click();
    await settled(page);
    assert.ok((await drawn(page, 'latency-over-time'))[0].coloured < both[0].coloured / 10);
    await page.locator('#latency-over-time [data-panels="each"]').click();
    await settled(page);
    assert.equal(await page.locator('#latency-over-time .panel').count(), recordings.length);
    assert.deepEqual(it.complaints, []);
    await page.close();
    return undefined;
  });

  test('draws bins of any width on either axis, as counts or as shares, and none is lost', async () => {
    const page = await open();
    const { recordings } = await embedded(page);
    const bins = () => page.locator('#histogram .canvas').evaluate((canvas) => ({ width: Number(canvas.dataset.binNs), n: Number(canvas.dataset.bins) }));
    const before = await drawn(page, 'histogram');
    await page.locator('#histogram [data-x="linear"]').click();
    await settled(page);
    assert.ok((await bins()).width > 0, 'bins of one width on a linear axis');
    assert.notDeepEqual(await drawn(page, 'histogram'), before);
    await page.locator('#bin-width').fill('1');
    await page.keyboard.press('Enter');
    await settled(page);
    const micro = await bins();
    assert.equal(micro.width % 1000, 0, 'a microsecond, or as near as the latencies are known');
    await page.locator('#bin-width').fill('50');
    await page.keyboard.press('Enter');
    await settled(page);
    assert.ok((await bins()).n < micro.n, 'wider bins are fewer');
    for (const { equal, samples } of recordings) assert.equal(equal.bins.reduce((sum, [, n]) => sum + n, 0), samples);
    const counts = await drawn(page, 'histogram');
    await page.locator('#histogram [data-heights][aria-pressed="false"]').click();
    await settled(page);
    assert.notDeepEqual(await drawn(page, 'histogram'), counts);
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('cuts no label of a chart, on a narrow or a wide screen', async () => {
    for (const width of [320, 360, 412, 768, 1280]) {
      const page = await open({ width });
      for (const button of await page.locator('#histogram [data-x="linear"], #latency-over-time [data-panels="overlay"]').all()) await button.click();
      await settled(page);
      const texts = await page.evaluate(() => window.drawnTexts.filter(({ text }) => text !== ''));
      assert.ok(texts.length > 20, `${texts.length} texts at ${width} px`);
      assert.deepEqual([...new Set(texts.filter(({ cut }) => cut).map(({ text }) => text))], [], `cut at ${width} px`);
      await page.close();
    }
  });

  test('draws every chart and asks nothing of anyone', async () => {
    const page = await open();
    const data = await embedded(page);
    assert.ok(data.recordings.length > 0, 'the page holds a recording');
    for (const chart of CHARTS) {
      const canvases = await drawn(page, chart);
      const wanted = chart === 'latency-over-time' ? data.recordings.length + underLoad(data).length : 1;
      assert.equal(canvases.length, wanted, `${chart}: canvases`);
      for (const canvas of canvases) {
        assert.ok(canvas.inked > 2000, `${chart}: only ${canvas.inked} pixels are drawn`);
        assert.ok(canvas.coloured > 200, `${chart}: only ${canvas.coloured} pixels have a recording's colour`);
      }
    }
    // A browser that wanted something from elsewhere would have begun by now.
    await page.waitForTimeout(300);
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('says in words what the charts show', async () => {
    const page = await open();
    for (const chart of CHARTS) {
      const image = page.locator(`#${chart} .canvas[role="img"]`);
      const words = await image.getAttribute('aria-label');
      assert.match(words ?? '', /\d (µs|ms|s|ns)/, `${chart}: a text alternative with figures`);
      assert.ok(await page.locator(`#${chart} details table tbody tr`).count() > 0, `${chart}: a table of its figures`);
      assert.match(await page.locator(`#${chart} .paper svg > desc`).textContent(), /\d/, `${chart}: the picture for paper has words too`);
    }
    const headline = await page.locator('#verdict').textContent();
    assert.ok(headline.length > 20 && headline.length <= 90, headline);
    await page.close();
  });

  test('caveats stand between the headline and the figures, each in a line', async () => {
    const page = await open({ width: 1280 });
    const lines = await page.evaluate(() => [...document.querySelectorAll('.banner')].map((banner) => {
      const { top, height } = banner.getBoundingClientRect();
      return { top, lines: Math.round((height - 11) / Number.parseFloat(getComputedStyle(banner).lineHeight)), class: banner.classList[1] };
    }));
    const [headline, summary] = await page.evaluate(() => ['verdict', 'summary'].map((id) => document.getElementById(id).getBoundingClientRect().top));
    const order = ['bad', 'caution', 'note'];
    for (const [place, line] of lines.entries()) {
      assert.ok(line.top > headline && line.top < summary);
      assert.equal(line.lines, 1, 'one line');
      assert.ok(place === 0 || order.indexOf(line.class) >= order.indexOf(lines[place - 1].class), 'the worst first');
    }
    await page.close();
  });

  for (const chart of ['histogram', 'latency-over-time']) {
    test(`${chart}: the switch between linear and logarithmic changes the drawing, and back`, async () => {
      const page = await open();
      const [linear, log] = ['linear', 'log'].map((scale) => page.locator(`#${chart} [data-scale="${scale}"]`));
      const pressed = async () => [await linear.getAttribute('aria-pressed'), await log.getAttribute('aria-pressed')];
      assert.deepEqual(await pressed(), ['false', 'true']);
      const before = await drawn(page, chart);
      await linear.focus();
      await page.keyboard.press('Enter');
      await settled(page);
      assert.deepEqual(await pressed(), ['true', 'false']);
      const after = await drawn(page, chart);
      assert.notDeepEqual(after, before, 'the drawing is another one');
      assert.ok(after.every((canvas) => canvas.coloured > 100), 'and it is not empty');
      await log.click();
      await settled(page);
      assert.deepEqual((await drawn(page, chart)).map((canvas) => canvas.inked), before.map((canvas) => canvas.inked));
      assert.deepEqual(it.complaints, []);
      await page.close();
    });
  }

  test('zooms by dragging, keeps every extreme, and comes back', async () => {
    const page = await open();
    const data = await embedded(page);
    const whole = await shownMaxima(page);
    assert.deepEqual(whole, data.recordings.map((recording) => most(recording.time.max_ns.filter((ns) => ns !== null))), 'maximum of each panel');
    assert.deepEqual(whole, data.recordings.map((recording) => recording.max_ns), 'and of its recording');

    // Around the worst wake-up of the first panel: a hundredth of the whole range, with its maximum.
    const over = page.locator('#latency-over-time .panel').first().locator('.u-over').first();
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    const { time, worst } = data.recordings[0];
    const pixel = (one) => box.width * one.since_start_ns / time.length_ns;
    // Not at the edge, where a mouse cannot begin a drag before it: the first activation is sometimes the worst.
    const at = pixel(worst.find((one) => pixel(one) > 25 && pixel(one) < box.width - 25));
    const [from, to] = [at - 20, at + 20];
    const spike = most(worst.filter((one) => Math.abs(pixel(one) - at) < 19).map((one) => one.latency_ns));
    await page.mouse.move(box.x + from, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + to, box.y + box.height / 2, { steps: 6 });
    await page.mouse.up();
    await settled(page);
    const reset = page.locator('#latency-over-time .reset');
    assert.equal(await reset.isEnabled(), true, 'there is a way back');
    assert.equal((await shownMaxima(page))[0], spike, 'the spike is still there, undiminished');
    // Away from the drawing, where a step would be said in its stead: what is shown, with its largest.
    await page.mouse.move(2, 2);
    await settled(page);
    const text = await page.locator('#latency-over-time .panel-head span').first().textContent();
    assert.match(text, /s: .* µs/);
    assert.ok(text.includes(`–${tenths.format(spike / 1000)} µs`), text);

    await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
    await settled(page);
    assert.equal(await reset.isEnabled(), false, 'a double click shows the whole range');
    assert.deepEqual(await shownMaxima(page), whole);

    await page.locator('#latency-over-time .canvas').focus();
    await page.keyboard.press('+');
    await settled(page);
    assert.equal(await reset.isEnabled(), true, 'the keyboard zooms as well');
    await page.keyboard.press('Escape');
    await settled(page);
    assert.deepEqual(await shownMaxima(page), whole);
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('draws below the latencies what each load reached, and zooms both as one', async (t) => {
    const page = await open();
    const data = await embedded(page);
    const loaded = underLoad(data);
    if (loaded.length === 0) return skipped(t, 'recordings', 'no recording has a course of load');
    const whole = await panelsUnderLoad(page);
    assert.equal(whole.length, loaded.length);
    for (const [n, panel] of whole.entries()) {
      const { drawn: loads } = loaded[n].loads;
      assert.deepEqual(panel.specs, loads.map((load) => load.spec));
      for (const [m, reached] of panel.reached.entries()) {
        const figures = loads[m].points.map(([, percent]) => percent);
        const [least, highest] = [-most(figures.map((percent) => -percent)), most(figures)].map((percent) => percent.toFixed(1));
        assert.equal(reached, least === highest ? `${highest} %` : `${least}–${highest} %`);
      }
      const [above, below] = panel.drawings;
      assert.ok(Math.abs(above.left - below.left) < 1 && Math.abs(above.right - below.right) < 1, `the times stand below one another: ${JSON.stringify(panel.drawings)}`);
      assert.ok(below.top > above.top + above.height && below.height < above.height / 1.5 && below.height > 30, 'lower and flatter');
    }

    for (const [n, recording] of data.recordings.entries()) {
      for (const [m, { points }] of recording.loads.drawn.entries()) {
        const middles = points.map(([until], step) => (until + (points[step - 1]?.[0] ?? 0)) / 2);
        // The first step, the last, and those before a jump, which a sloping line would leave early.
        const times = middles.filter((_, step) => step === 0 || step === middles.length - 1 || Math.abs(points[step + 1][1] - points[step][1]) > 20);
        assert.deepEqual(await lineAt(page, n, m, times), times.map(() => true), `load ${m} of recording ${n} at ${times} s`);
      }
    }

    // One cursor in both; then the second half, chosen in the load's own drawing.
    const panel = page.locator('#latency-over-time .panel').filter({ has: page.locator('.courses') }).first();
    await panel.scrollIntoViewIfNeeded();
    const [over, load] = [await panel.locator('.u-over').nth(0).boundingBox(), await panel.locator('.u-over').nth(1).boundingBox()];
    await page.mouse.move(over.x + over.width / 4, over.y + over.height / 2);
    await settled(page);
    const { cursors, reached } = (await panelsUnderLoad(page))[0];
    assert.ok(Math.abs(cursors[0] - cursors[1]) < 1, `cursors at ${cursors}`);
    assert.match(reached[0], /^[\d.]+ %$/);

    const shown = () => panel.locator('.panel-head span').textContent();
    const reset = page.locator('#latency-over-time .reset');
    const before = await drawn(page, 'latency-over-time');
    await page.mouse.move(load.x + load.width / 2, load.y + load.height / 2);
    await page.mouse.down();
    await page.mouse.move(load.x + load.width * 0.75, load.y + load.height / 2, { steps: 6 });
    await page.mouse.up();
    await page.mouse.move(load.x, load.y - 400);
    await settled(page);
    const end = loaded[0].time.length_ns / 1e9;
    const [from, to] = (await shown()).match(/^([\d.,]+)–([\d.,]+) s/).slice(1).map((text) => Number(text.replaceAll(',', '')));
    assert.ok(Math.abs(from - end / 2) < end / 50 && Math.abs(to - end * 0.75) < end / 50, `${from}–${to} of ${end} s`);
    const after = await drawn(page, 'latency-over-time');
    // Recordings before it have no load, and one drawing each.
    const place = data.recordings.indexOf(loaded[0]);
    for (const [n, what] of [[place, 'latencies'], [place + 1, 'load']]) assert.notEqual(after[n].sum, before[n].sum, `${what}: drawn anew`);
    await reset.click();
    await settled(page);
    assert.deepEqual((await drawn(page, 'latency-over-time')).map(({ inked }) => inked), before.map(({ inked }) => inked));
    assert.deepEqual((await panelsUnderLoad(page)).map((one) => one.reached), whole.map((one) => one.reached));

    await page.locator('#latency-over-time .canvas').focus();
    await page.keyboard.press('+');
    await settled(page);
    const zoomed = await drawn(page, 'latency-over-time');
    assert.ok(zoomed.every((canvas, n) => canvas.sum !== before[n].sum), 'the keyboard zooms both');
    await page.keyboard.press('Escape');
    await settled(page);
    assert.equal(await reset.isEnabled(), false);
    assert.deepEqual(it.complaints, []);
    await page.close();
    return undefined;
  });

  test('shows each thread with its own maximum', async () => {
    const page = await open();
    const data = await embedded(page);
    for (const thread of data.recordings[0].threads.slice(0, 4)) {
      await page.locator('#thread').selectOption(String(thread.thread));
      await settled(page);
      assert.equal((await shownMaxima(page))[0], most(thread.time.max_ns.filter((ns) => ns !== null)), `thread ${thread.thread}`);
    }
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('a recording can be taken out of a chart', async () => {
    const page = await open();
    for (const chart of ['histogram', 'exceedance']) {
      const before = await drawn(page, chart);
      for (const button of await page.locator(`#${chart} .legend button`).all()) {
        await button.click();
        assert.equal(await button.getAttribute('aria-pressed'), 'false');
      }
      await settled(page);
      const nothing = await drawn(page, chart);
      assert.ok(nothing[0].coloured < before[0].coloured / 10, `${chart}: ${nothing[0].coloured} of ${before[0].coloured} coloured pixels are left`);
      await page.locator(`#${chart} .legend button`).first().click();
      await settled(page);
      assert.ok((await drawn(page, chart))[0].coloured > 200, `${chart}: and back`);
    }
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('is light or dark as the system is, and as the reader wants', async () => {
    const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0));
    const page = await open();
    assert.ok(await ground(page) > 700, 'light');
    const light = await drawn(page, 'histogram');
    await page.locator('#theme').click();
    await settled(page);
    assert.ok(await ground(page) < 150, 'dark');
    assert.equal(await page.locator('#theme').getAttribute('aria-pressed'), 'true');
    assert.notDeepEqual(await drawn(page, 'histogram'), light, 'charts change with the page');
    await page.close();

    const dark = await open({ scheme: 'dark' });
    assert.ok(await ground(dark) < 150, 'dark from the system');
    assert.ok((await drawn(dark, 'exceedance'))[0].coloured > 200);
    assert.deepEqual(it.complaints, []);
    await dark.close();
  });

  for (const width of [360, 800, 1600]) {
    test(`needs no sideways scrolling at ${width} pixels`, async () => {
      const page = await open({ width });
      const [page_width, window_width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(page_width <= window_width, `the page is ${page_width} pixels wide`);
      for (const chart of CHARTS) {
        const right = await page.evaluate((id) => Math.max(...[...document.querySelectorAll(`#${id} .uplot`)].map((plot) => plot.getBoundingClientRect().right)), chart);
        assert.ok(right <= width, `${chart} ends at ${right}`);
      }
      assert.deepEqual(it.complaints, []);
      await page.close();
    });
  }

  test('is light on paper, with pictures instead of canvases', async () => {
    const page = await open({ scheme: 'dark', media: 'print' });
    const ink = await page.evaluate(() => getComputedStyle(document.body).color);
    assert.equal(ink, 'rgb(0, 0, 0)');
    for (const chart of CHARTS) {
      assert.equal(await page.locator(`#${chart} .canvas`).isVisible(), false, `${chart}: no canvas`);
      const box = await page.locator(`#${chart} .paper svg`).boundingBox();
      assert.ok(box && box.width > 300 && box.height > 100, `${chart}: a picture`);
    }
    await page.close();
  });

  test('its figures are those of run.json', async (t) => {
    if (runs.length === 0) return skipped(t, 'recordings', 'TEIJI_RUN_JSON is not set');
    const page = await open();
    let compared = 0;
    for (const [place, run] of runs.entries()) {
      for (const thread of run.threads) {
        const row = page.locator(`#summary tr.thread[data-recording="${place}"][data-thread="${thread.index}"]`);
        assert.equal(await row.count(), 1, `a row for thread ${thread.index} of recording ${place}`);
        for (const [key, value] of Object.entries(thread.activations)) {
          const cell = row.locator(`[data-key="${key}"]`);
          assert.equal(Number(await cell.getAttribute('data-value')), value, key);
          assert.equal((await cell.textContent()).replaceAll(',', ''), String(value), key);
        }
        for (const [key, value] of Object.entries(thread.latency_with_skipped_ns ?? {})) {
          if (key === 'count' || value === null) continue;
          const cell = row.locator(`[data-key="${key}"]`);
          const ns = await cell.getAttribute('data-ns');
          const text = (await cell.textContent()).replaceAll(',', '');
          if (ns === null) {
            // Only a quantile that the samples do not carry is not shown.
            assert.equal(text, '–', key);
            assert.ok(key.startsWith('p') && thread.latency_with_skipped_ns.count < 10_000, key);
            continue;
          }
          assert.ok(Math.abs(Number(ns) - value) <= Math.abs(value) * 1e-12, `${key}: ${ns} for ${value}`);
          assert.ok(Math.abs(Number(text) * 1000 - value) <= 51, `${key}: ${text} µs for ${value} ns`);
          compared += 1;
        }
      }
    }
    assert.ok(compared > 0, 'something was compared');
    await page.close();
  });
});
