// SPDX-License-Identifier: MIT OR Apache-2.0
// The page of a plan in a real browser. What it is told:
//   TEIJI_PLAN_REPORT  the page, as `teiji report DIR` wrote it, of a plan with three factors that vary and with repeats
//   TEIJI_PLAN_JSON    the same plan's table, as `teiji show DIR --json` printed it
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { drawn, embedded, settled, tested } from './browser.mjs';
import { skipped } from './skipped.mjs';

const report = process.env.TEIJI_PLAN_REPORT;
assert.ok(report, 'TEIJI_PLAN_REPORT names no page: run `teiji report DIR -o plan.html` and set it to plan.html');
const table = JSON.parse(readFileSync(process.env.TEIJI_PLAN_JSON, 'utf8'));
const CHARTS = ['histogram', 'latency-over-time', 'exceedance'];

const it = tested(report);
const open = (settings) => it.open(settings);

const chosen = (page) => page.evaluate(() => [...document.querySelectorAll('tr[data-row] input:checked')].map((box) => Number(box.closest('tr').dataset.row)));
const panels = (page) => page.locator('#latency-over-time .panel').count();
const legend = (page) => page.locator('#histogram .legend button').allTextContents();
/** The heat map as it lies there: what each cell says, and which combination it would draw. */
const heat = (page) => page.evaluate(() => [...document.querySelectorAll('#heat tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => ({
  text: cell.textContent,
  row: cell.firstElementChild ? Number(cell.firstElementChild.dataset.row) : null,
  ground: getComputedStyle(cell).backgroundColor,
}))));
/** Three digits and a unit, written otherwise than the page does it. */
function three(ns) {
  const power = Math.max(0, String(Math.floor(ns)).length - 3);
  const rounded = Math.round(ns / 10 ** power) * 10 ** power;
  const [unit, suffix] = rounded >= 1e9 ? [1e9, 's'] : rounded >= 1e6 ? [1e6, 'ms'] : rounded >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${unit === 1 ? rounded : (rounded / unit).toPrecision(3)} ${suffix}`;
}

/** What the heat map must show, from the table alone: the worst figure of each pair of values. */
function expected(data, figure, down, across, others = {}) {
  const name = (factor) => data.plan.factors[factor].name;
  return data.plan.factors[down].values.map((a) => data.plan.factors[across].values.map((b) => {
    const alike = table.combinations.filter(({ factors }) => factors[name(down)] === a && factors[name(across)] === b
      && Object.entries(others).every(([factor, value]) => factors[name(Number(factor))] === value));
    const values = alike.map((combination) => combination[figure]).filter((value) => value !== null);
    if (values.length === 0) return '–';
    const worst = Math.max(...values);
    if (!figure.endsWith('_ns')) return String(worst);
    // What is from the histogram says so.
    return figure === 'p9999_ns' ? `~${three(worst)}` : three(Math.round(worst));
  }));
}

describe('the page of a plan', () => {
  test('has a row for each combination, draws every chart, and asks nothing of anyone', async () => {
    const page = await open();
    const data = await embedded(page);
    assert.equal(await page.locator('tr[data-row]').count(), table.combinations.length);
    assert.deepEqual(await chosen(page), data.plan.selected);
    assert.ok(data.plan.selected.length >= 2);
    for (const chart of CHARTS) {
      for (const canvas of await drawn(page, chart)) assert.ok(canvas.coloured > 100, `${chart}: ${canvas.coloured} coloured pixels`);
    }
    assert.equal((await legend(page)).length, data.plan.selected.length);
    await page.waitForTimeout(300);
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('its table shows that it scrolls', async () => {
    const page = await open({ width: 360 });
    const ends = () => page.evaluate(() => {
      const scroll = document.querySelector('#combinations .scroll');
      const { backgroundAttachment, backgroundImage } = getComputedStyle(scroll);
      return { hidden: scroll.scrollWidth - scroll.clientWidth, backgroundAttachment, shadows: backgroundImage.split('gradient').length - 1 };
    });
    const found = await ends();
    assert.ok(found.hidden > 100, 'it is wider than the window');
    assert.equal(found.backgroundAttachment, 'local, local, scroll, scroll');
    assert.equal(found.shadows, 4);
    await page.close();
  });

  test('its heat map shows the worst of any two factors, and of the others what is chosen', async () => {
    const page = await open();
    const data = await embedded(page);
    const { varied, factors } = data.plan;
    assert.ok(varied.length >= 3, 'the plan varies three factors');
    for (const down of varied) {
      for (const across of varied) {
        if (down === across) continue;
        await page.locator('#down').selectOption(String(down));
        await page.locator('#across').selectOption(String(across));
        assert.equal(await page.locator('#down').inputValue(), String(down), 'stays as it was chosen');
        const texts = (await heat(page)).map((row) => row.map((cell) => cell.text));
        assert.deepEqual(texts, expected(data, 'max_ns', down, across), `${factors[down].name} down, ${factors[across].name} across`);
      }
    }
    const [down, across, other] = varied;
    await page.locator('#down').selectOption(String(down));
    await page.locator('#across').selectOption(String(across));
    for (const [n, value] of factors[other].values.entries()) {
      await page.locator('#others select').selectOption(String(n));
      const texts = (await heat(page)).map((row) => row.map((cell) => cell.text));
      assert.deepEqual(texts, expected(data, 'max_ns', down, across, { [other]: value }));
    }
    await page.locator('#others select').selectOption('');
    for (const [label, figure] of [['mean', 'mean_ns'], ['sd', 'sd_ns'], ['peak to peak', 'peak_to_peak_ns'], ['late', 'overruns'], ['skipped', 'skipped'], ['p99.99', 'p9999_ns']]) {
      await page.locator('#figure').selectOption({ label });
      const texts = (await heat(page)).map((row) => row.map((cell) => cell.text));
      assert.deepEqual(texts, expected(data, figure, down, across), label);
    }
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('the latest cell has the strongest colour, the earliest the weakest', async () => {
    const page = await open();
    const cells = (await heat(page)).flat().filter((cell) => cell.row !== null);
    const data = await embedded(page);
    const max = (cell) => data.plan.combinations.find((combination) => combination.row === cell.row).figures[0];
    const lightness = (cell) => page.evaluate((text) => {
      const canvas = new OffscreenCanvas(1, 1).getContext('2d');
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      return canvas.getImageData(0, 0, 1, 1).data.slice(0, 3).reduce((a, b) => a + b, 0);
    }, cell.ground);
    const sorted = [...cells].sort((a, b) => max(a) - max(b));
    const grounds = await Promise.all(sorted.map(lightness));
    assert.ok(grounds.every((ground, n) => n === 0 || ground <= grounds[n - 1] + 3), `darker and darker: ${grounds}`);
    assert.ok(grounds[0] - grounds.at(-1) > 300, `${grounds}`);
    await page.close();
  });

  test('what is ticked or clicked is drawn, each repeat if wanted', async () => {
    const page = await open();
    const data = await embedded(page);
    await page.locator('#none').click();
    assert.deepEqual(await chosen(page), []);
    assert.deepEqual([await panels(page), (await legend(page)).length], [0, 0]);
    const [first, second] = data.plan.combinations;
    await page.locator(`tr[data-row="${first.row}"] input`).check();
    const one = await drawn(page, 'histogram');
    assert.deepEqual([await panels(page), (await legend(page)).length], [first.runs.length, 1]);
    const colours = () => page.evaluate(() => [...document.querySelectorAll('tr.chosen .pick path')].map((line) => line.getAttribute('class')));
    assert.deepEqual(await colours(), ['l0']);
    // Anywhere in the row.
    await page.locator(`tr[data-row="${second.row}"]`).click({ position: { x: 200, y: 8 } });
    assert.deepEqual(await chosen(page), [first.row, second.row]);
    assert.notDeepEqual(await drawn(page, 'histogram'), one);
    assert.ok(first.runs.length > 1, 'the plan has repeats');
    await page.locator('[data-repeats="each"]').click();
    await settled(page);
    assert.equal((await legend(page)).length, first.runs.length + second.runs.length);
    assert.equal(await panels(page), first.runs.length + second.runs.length);
    await page.locator('[data-repeats="pooled"]').click();
    // What stays drawn stays as it is.
    await page.locator(`tr[data-row="${first.row}"] input`).uncheck();
    assert.deepEqual(await colours(), ['l1']);
    assert.equal(await page.evaluate(() => document.querySelector('#histogram .legend path').getAttribute('class')), 'l1');
    // A cell draws the combination whose figure it shows, and the frame says so.
    await page.locator('#none').click();
    const [cell] = (await heat(page)).flat();
    await page.locator(`#heat button[data-row="${cell.row}"]`).click();
    assert.deepEqual(await chosen(page), [cell.row]);
    assert.equal(await page.locator(`#heat button[data-row="${cell.row}"]`).getAttribute('aria-pressed'), 'true');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.row), String(cell.row), 'the focus stays where it was');
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('what was zoomed and switched off stays so when something else is drawn', async () => {
    const page = await open();
    const [first, second, third] = (await embedded(page)).plan.combinations;
    await page.locator('#none').click();
    for (const { row } of [first, second]) await page.locator(`tr[data-row="${row}"] input`).check();
    await page.locator('#histogram .canvas').focus();
    await page.keyboard.press('+');
    await page.locator('#histogram .legend button').first().click();
    const state = () => page.evaluate(() => [
      document.querySelector('#histogram .reset').disabled,
      document.querySelector('#histogram .legend button').getAttribute('aria-pressed'),
    ]);
    assert.deepEqual(await state(), [false, 'false']);
    await page.locator(`tr[data-row="${third.row}"] input`).check();
    assert.deepEqual(await state(), [false, 'false']);
    const label = await page.locator('#histogram .canvas').getAttribute('aria-label');
    assert.equal(label.split(';').length, 3, label);
    await page.locator('#none').click();
    assert.equal(await page.locator('#histogram').isVisible(), false, 'nothing is drawn where there is nothing');
    assert.deepEqual(it.complaints, []);
    await page.close();
  });

  test('a cell says which combination it is, and whether another one behind it is drawn', async () => {
    const page = await open();
    const data = await embedded(page);
    const [down, across] = await page.evaluate(() => [document.getElementById('down').value, document.getElementById('across').value].map(Number));
    await page.locator('#none').click();
    const [cell] = (await heat(page)).flat();
    const shown = data.plan.combinations.find((combination) => combination.row === cell.row);
    const behind = data.plan.combinations.find((other) => other.row !== cell.row && other.at[down] === shown.at[down] && other.at[across] === shown.at[across]);
    await page.locator(`tr[data-row="${behind.row}"] input`).check();
    const button = page.locator(`#heat button[data-row="${cell.row}"]`);
    assert.equal(await button.getAttribute('aria-pressed'), 'mixed');
    await button.focus();
    const text = await page.locator('#heat-readout').textContent();
    assert.ok(text.includes(`max ${new Intl.NumberFormat('en-US').format(shown.figures[0])} ns`) && text.includes('1 of the cell’s 2 combinations drawn'), text);
    await page.close();
  });

  test('the two factors of the heat map are exchanged', async () => {
    const page = await open();
    const [down, across] = [page.locator('#down'), page.locator('#across')];
    const before = [await down.inputValue(), await across.inputValue()];
    await down.focus();
    await down.selectOption(before[1]);
    assert.deepEqual([await down.inputValue(), await across.inputValue()], before.toReversed());
    await page.close();
  });

  test('the course of each run keeps its extreme', async () => {
    const page = await open();
    const data = await embedded(page);
    const shown = await page.evaluate(() => [...document.querySelectorAll('#latency-over-time .panel')].map((panel) => Number(panel.dataset.shownMaxNs)));
    const wanted = data.plan.selected.flatMap((row) => data.plan.combinations[row].runs.map((run) => data.recordings[run].max_ns));
    assert.deepEqual(shown, wanted);
    await page.close();
  });

  test('each thread of what is drawn can be shown', async (t) => {
    const page = await open();
    const data = await embedded(page);
    const drawn = data.plan.selected.flatMap((row) => data.plan.combinations[row].runs.map((run) => data.recordings[run]));
    const { threads } = drawn[0];
    if (threads.length < 2) {
      assert.equal(await page.locator('#thread').count(), 0, 'with one thread there is nothing to choose');
      await page.close();
      return skipped(t, 'two-cpus', 'this machine has one CPU');
    }
    await page.locator('#thread').selectOption(String(threads[1].thread));
    await settled(page);
    const shown = await page.evaluate(() => [...document.querySelectorAll('#latency-over-time .panel')].map((panel) => Number(panel.dataset.shownMaxNs)));
    assert.deepEqual(shown, drawn.map((run) => Math.max(...run.threads[1].time.max_ns.filter((ns) => ns !== null))));
    assert.deepEqual(it.complaints, []);
    await page.close();
    return undefined;
  });

  for (const [width, scheme] of [[360, 'dark'], [800, 'light'], [1600, 'dark']]) {
    test(`needs no sideways scrolling at ${width} pixels, ${scheme}`, async () => {
      const page = await open({ width, scheme });
      const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= window, `the page is ${wide} pixels wide`);
      assert.ok((await drawn(page, 'exceedance'))[0].coloured > 100);
      assert.deepEqual(it.complaints, []);
      await page.close();
    });
  }

  test('on paper it is light and shows what was chosen', async () => {
    const page = await open({ scheme: 'dark' });
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme ?? 'as the system');
    await page.evaluate(() => {
      addEventListener('beforeprint', () => { globalThis.whilePrinting = document.documentElement.dataset.theme; });
    });
    await page.pdf({ format: 'A4' });
    assert.equal(await page.evaluate(() => globalThis.whilePrinting), 'light');
    assert.equal(await theme(), 'as the system', 'and dark again afterwards');
    await page.emulateMedia({ media: 'print' });
    for (const chart of CHARTS) {
      assert.equal(await page.locator(`#${chart} .canvas`).isVisible(), true, `${chart}: as drawn`);
      assert.equal(await page.locator(`#${chart} .paper`).isVisible(), false);
    }
    await page.close();
  });
});
