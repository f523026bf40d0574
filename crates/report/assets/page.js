// SPDX-License-Identifier: MIT OR Apache-2.0
// What the page does besides lying there: charts, their switches, keys and zoom, and the choice of light or dark. Without
// scripts, and on paper, the SVG pictures beside the charts stand in.
'use strict';

const Page = (() => {
  const root = document.documentElement;
  const narrow = () => innerWidth < 560;

  const OVER_TIME = 'Smallest to largest latency at each moment. No extreme is averaged away. Rings: the ten worst. Triangles at the top: skipped or lost ones.';

  /** One chart of the page with everything around it; of recordings that may be exchanged for others. */
  class View {
    constructor(section, data) {
      this.section = section;
      this.data = data;
      this.kind = section.id;
      this.element = section.querySelector('.canvas');
      this.readout = section.querySelector('.readout');
      this.reset = section.querySelector('.reset');
      const { style } = data;
      this.log = this.kind !== 'histogram' || style.y === 'log';
      this.logX = style.x === 'log';
      this.shares = style.heights === 'shares';
      this.bin = style.bin_ns;
      this.thread = '';
      this.jitter = style.over_time === 'jitter';
      this.overlay = style.overlay;
      this.hidden = new Set();
      this.plots = [];
      const lead = this.jitter ? tell(OVER_TIME) : section.querySelector('.lead').textContent;
      this.ofLatencies = { lead, label: this.jitter ? this.described() : this.element.getAttribute('aria-label') };
      for (const part of [this.element, this.readout, section.querySelector('.controls')]) part.hidden = false;
      section.querySelector('.paper').classList.add('only-print');
      this.controls();
      this.show(data);
    }

    /** Exchanges the recordings. What is drawn again keeps what the reader made of it. */
    show(data) {
      this.data = data;
      if (data.courses) {
        this.ofLatencies.label = this.described();
        this.sayWhat();
      }
      this.section.classList.toggle('nothing', data.recordings.length === 0);
      this.belowZero = Charts.belowZero({ recordings: (this.kind === 'latency-over-time' && data.courses) || data.recordings });
      this.logarithmsOffered();
      if (this.kind !== 'latency-over-time' || this.overlay) this.legend();
      this.draw();
    }

    /** For those who cannot see it: what is drawn now. */
    described() {
      const { recordings, courses } = this.data;
      const drawn = (this.kind === 'latency-over-time' && courses) || recordings;
      const at = (ns) => `${new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 }).format(ns / 1000)} µs`;
      const one = ({ name, samples: n, max_ns: max }) => (max === null ? tell('{name}: {n} latencies', { name, n }) : tell('{name}: {n} latencies, at most {max}', { name, n, max: at(max) }));
      const title = this.section.querySelector('h2').textContent;
      return drawn.length > 0 ? `${title}. ${drawn.map(one).join('; ')}.` : tell('{title}: nothing is drawn.', { title });
    }

    controls() {
      this.choice('scale', this.log ? 'log' : 'linear', (value) => { this.log = value === 'log'; });
      this.choice('x', this.logX ? 'log' : 'linear', (value) => { this.logX = value === 'log'; });
      this.choice('heights', this.shares ? 'shares' : 'counts', (value) => { this.shares = value === 'shares'; });
      this.choice('panels', this.overlay ? 'overlay' : 'each', (value) => {
        this.overlay = value === 'overlay';
        if (this.overlay) this.legend();
        else this.section.querySelector('.legend').hidden = true;
      });
      const width = this.section.querySelector('#bin-width');
      if (width && this.bin) width.value = String(this.bin / 1000);
      width?.addEventListener('change', () => {
        const asked = Number(width.value);
        this.bin = asked > 0 ? Math.max(1, Math.round(asked * 1000)) : null;
        this.draw();
        // What is drawn may be wider: the latencies are not known any finer.
        if (this.bin && this.element.dataset.binNs) width.value = String(this.element.dataset.binNs / 1000);
      });
      const figure = this.section.querySelector('#drawn-figure');
      if (figure) figure.value = this.jitter ? 'jitter' : 'latency';
      this.logarithmsOffered();
      this.section.querySelector('#thread')?.addEventListener('change', (event) => {
        this.thread = event.target.value;
        this.draw();
      });
      this.section.querySelector('#drawn-figure')?.addEventListener('change', (event) => {
        this.jitter = event.target.value === 'jitter';
        this.logarithmsOffered();
        this.sayWhat();
        this.draw();
      });
      this.reset.addEventListener('click', () => this.whole());
      this.element.addEventListener('keydown', (event) => this.key(event));
      this.element.addEventListener('dblclick', () => this.whole());
    }

    /** Buttons of which one is pressed: those with this name in their data. */
    choice(name, value, choose) {
      const buttons = [...this.section.querySelectorAll(`[data-${name}]`)];
      const press = (chosen) => buttons.forEach((button) => button.setAttribute('aria-pressed', String(button.dataset[name] === chosen)));
      press(value);
      for (const button of buttons) {
        button.addEventListener('click', () => {
          choose(button.dataset[name]);
          press(button.dataset[name]);
          this.draw();
        });
      }
    }

    /** Jitter has two sides, and so no logarithm; nor have latencies that are not above 0. */
    logarithmsOffered() {
      const scale = this.section.querySelector('[data-scale]')?.parentElement;
      const x = this.section.querySelector('[data-x]')?.closest('.of');
      if (scale && this.kind === 'latency-over-time') scale.hidden = this.jitter || Charts.twoSided || this.belowZero;
      if (x) x.hidden = this.belowZero;
    }

    /** Above the chart, and for those who cannot see it: that it is jitter, in the stead of what is said of latencies. */
    sayWhat() {
      const lead = this.section.querySelector('.lead');
      const jitter = tell('Jitter: by how much the time between two successive wake-ups differs from the interval, smallest to largest at each moment. Below 0: closer together. Triangles at the top: skipped or lost ones.');
      lead.textContent = this.jitter ? jitter : this.ofLatencies.lead;
      this.element.setAttribute('aria-label', this.jitter ? jitter : this.ofLatencies.label);
    }

    legend() {
      const legend = this.section.querySelector('.legend');
      legend.hidden = false;
      legend.textContent = '';
      this.data.recordings.forEach((recording, place) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.setAttribute('aria-pressed', String(!this.hidden.has(recording.name)));
        button.innerHTML = `<svg width="30" height="10" aria-hidden="true"><path d="M1 5H29" class="l${(recording.place ?? place) % 8}" stroke-dasharray="${Charts.dashOf(recording, place).join(' ')}"/></svg><span></span>`;
        button.querySelector('span').textContent = recording.name;
        button.title = recording.name;
        button.addEventListener('click', () => {
          if (!this.hidden.delete(recording.name)) this.hidden.add(recording.name);
          button.setAttribute('aria-pressed', String(!this.hidden.has(recording.name)));
          this.hide();
        });
        legend.append(button);
      });
    }

    hide() {
      for (const plot of this.plots) {
        const named = (label) => this.data.recordings.some((recording) => recording.name === label);
        plot.series.forEach((series, n) => {
          if (n > 0 && named(series.label)) plot.setSeries(n, { show: !this.hidden.has(series.label) });
        });
      }
    }

    draw() {
      const zoom = this.plots.length > 0 && !this.reset.disabled ? { ...this.plots[0].scales.x } : null;
      for (const plot of this.plots) plot.destroy();
      this.element.textContent = '';
      const say = (text) => { this.readout.textContent = text || '\u00a0'; };
      const { data } = this;
      const many = (data.courses ?? data.recordings).length > 4;
      const settings = { log: this.log, thread: this.thread, jitter: this.jitter, overlay: this.overlay, logX: this.logX, shares: this.shares, bin: this.bin, say, height: narrow() ? 270 : 360 };
      if (this.kind === 'histogram') this.plots = Charts.histogram(this.element, data, settings);
      if (this.kind === 'exceedance') this.plots = Charts.exceedance(this.element, data, settings);
      const courses = { ...data, recordings: data.courses ?? data.recordings };
      if (this.kind === 'latency-over-time') this.plots = Charts.overTime(this.element, courses, { ...settings, height: many || narrow() ? 160 : 210 });
      say(this.kind === 'latency-over-time' ? tell('Drag to zoom. Double click or Esc: whole range. Keyboard: + − ← →.') : '');
      this.extent = this.plots.map((plot) => [plot.data[0][0], plot.data[0].at(-1)]);
      for (const plot of this.plots) {
        (plot.hooks.setScale ??= []).push((u, key) => key === 'x' && this.zoomed(u));
      }
      this.reset.disabled = true;
      this.hide();
      if (zoom) this.again(zoom);
    }

    /** To where the reader had zoomed, where there is something now. */
    again(zoom) {
      this.plots.forEach((plot, n) => {
        const [from, to] = this.extent[n];
        const [min, max] = [Math.max(from, zoom.min), Math.min(to, zoom.max)];
        if (max - min > (to - from) * 1e-4) plot.setScale('x', { min, max });
      });
    }

    /** The other panels of the same length follow. */
    zoomed(plot) {
      if (this.following) return;
      this.following = true;
      const [from, to] = this.extent[this.plots.indexOf(plot)] ?? [0, 0];
      const { min, max } = plot.scales.x;
      // Lengths are never quite the same: where one panel shows all it has, so do the others.
      const whole = min <= from && max >= to;
      this.plots.forEach((other, n) => {
        const same = Math.abs(this.extent[n][1] - to) <= 0.01 * to;
        if (other !== plot && same && this.kind === 'latency-over-time') {
          other.setScale('x', whole ? { min: this.extent[n][0], max: this.extent[n][1] } : { min, max });
        }
      });
      this.following = false;
      this.reset.disabled = this.plots.every((other, n) => other.scales.x.min <= this.extent[n][0] && other.scales.x.max >= this.extent[n][1]);
    }

    whole() {
      this.plots.forEach((plot, n) => plot.setScale('x', { min: this.extent[n][0], max: this.extent[n][1] }));
    }

    key(event) {
      const moves = { '+': [0.25, -0.25], '=': [0.25, -0.25], '-': [-0.5, 0.5], ArrowRight: [0.2, 0.2], ArrowLeft: [-0.2, -0.2] };
      if (event.key === 'Escape' || event.key === '0') this.whole();
      const move = moves[event.key];
      if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.plots.forEach((plot, n) => {
        // Steps are shares of what is seen, on a logarithmic axis too.
        const log = plot.scales.x.distr === 3;
        const [forth, back] = log ? [Math.log, Math.exp] : [Number, Number];
        const [from, to] = this.extent[n].map(forth);
        const [min, max] = [forth(plot.scales.x.min), forth(plot.scales.x.max)];
        const width = max - min;
        let [left, right] = [min + move[0] * width, max + move[1] * width];
        if (left < from) [left, right] = [from, Math.min(to, right + (move[0] === move[1] ? from - left : 0))];
        if (right > to) [left, right] = [Math.max(from, left - (move[0] === move[1] ? right - to : 0)), to];
        if (right - left > (to - from) * 1e-4) plot.setScale('x', { min: back(left), max: back(right) });
      });
    }

    resize() {
      for (const plot of this.plots) {
        const width = Math.max(200, plot.root.parentElement.clientWidth);
        if (width !== plot.width) plot.setSize({ width, height: plot.height });
      }
    }
  }

  const views = [];

  let waiting = 0;
  addEventListener('resize', () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => views.forEach((view) => view.resize()));
  });

  const button = document.getElementById('theme');
  const system = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const themed = () => {
    button.setAttribute('aria-pressed', String(isDark()));
    button.textContent = isDark() ? tell('Light') : tell('Dark');
    button.setAttribute('aria-label', isDark() ? tell('Use light colours') : tell('Use dark colours'));
    views.forEach((view) => view.plots.forEach((plot) => plot.redraw(false, true)));
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    themed();
  });
  system.addEventListener('change', themed);

  /**
   * Begins with these recordings; afterwards `show` exchanges them. `courses`, where given, are drawn over time in their
   * stead; one with a `place` has the colour of the recording at that place.
   */
  const open = (data) => {
    for (const section of document.querySelectorAll('section.chart')) views.push(new View(section, data));
    themed();
  };
  const show = (data) => views.forEach((view) => view.show(data));

  /** Pixels of a page of paper; letters on it are then as large as others. */
  const PAPER = 690;

  /** Paper is light and has its own width, whatever the reader's screen is; afterwards all is as it was. */
  const print = () => {
    const before = root.dataset.theme;
    const plots = views.flatMap((view) => view.plots);
    root.dataset.theme = 'light';
    for (const plot of plots) plot.setSize({ width: PAPER, height: plot.height });
    themed();
    addEventListener('afterprint', () => {
      if (before) root.dataset.theme = before;
      else delete root.dataset.theme;
      views.forEach((view) => view.resize());
      themed();
    }, { once: true });
  };
  return { open, show, print };
})();

{
  const data = JSON.parse(document.getElementById('data').textContent);
  // A plan has more recordings than a chart can bear, and chooses among them.
  if (!data.plan) Page.open(data);
}
