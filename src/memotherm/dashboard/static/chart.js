// Charts over time, drawn by uPlot, with the same numbers as text for those who cannot see them.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.module.js";
import { toastError } from "./controls.js";
import { number, tick, time } from "./format.js";

const HEIGHT = 200;
// The most pixels of a letter below a chart, and the least between two labels.
const LETTER = 7, BETWEEN = 12;
let library = null;

const addressOf = (file) => new URL(`vendor/${file}`, import.meta.url).href;

// uPlot is a classic script: it is loaded when the first chart appears.
function loadLibrary() {
  library ||= new Promise((resolve, reject) => {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: addressOf("uPlot.min.css") });
    const script = document.createElement("script");
    const policy = window.trustedTypes?.createPolicy("memotherm", { createScriptURL: (address) => address });
    const address = addressOf("uPlot.iife.min.js");
    script.src = policy ? policy.createScriptURL(address) : address;
    script.onload = () => resolve(window.uPlot);
    script.onerror = () => reject(new Error("the chart library could not be loaded: reload the page"));
    document.head.append(style, script);
  });
  return library;
}

// Tiers have colours of their own, other series are shades of grey.
const SHADES = { one: "grey-2", two: "grey-4" };
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${SHADES[name] ?? name}`).trim(); }

// Return the series as sums from the bottom, for stacked areas.
function stacked(series) {
  const sums = [];
  series.forEach((values, index) => sums.push(values.map((value, at) => value + (index ? sums[index - 1][at] : 0))));
  return sums;
}

// The path of a series: bars and points where the values are of single things, such as turns, and lines otherwise.
function drawing(uPlot, labels, index, name) {
  if (!labels) return { points: { show: false } };
  return index === 0 ? { paths: uPlot.paths.bars({ size: [0.6, 40] }), points: { show: false } } : { paths: () => null, points: { show: true, size: 6, fill: colour(name) } };
}

function options(uPlot, { series, areas, labels, width, format, onPoint }) {
  const axis = { stroke: colour("muted"), grid: { stroke: colour("line") }, ticks: { stroke: colour("line") } };
  return {
    width, height: HEIGHT, legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } }, hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
    scales: { x: labels ? { time: false, range: [-0.5, labels.length - 0.5] } : { time: true }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
    axes: [labels ? { ...axis, space: Math.max(...labels.map((each) => each.length)) * LETTER + BETWEEN, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500], values: (_, places) => places.map((place) => labels[place] ?? "") } : { ...axis, space: 70, values: (_, places, __, ___, step) => places.map((place) => tick(place * 1000, step)) }, { ...axis, size: 76, values: (_, ticks) => ticks.map(format) }],
    series: [{}, ...series.map(({ label, colour: name }, index) => ({
      label, stroke: colour(name), width: 1.5, fill: areas || (labels && index === 0) ? colour(name) : undefined, ...drawing(uPlot, labels, index, name),
    }))],
  };
}

// Props: title, times (seconds since 1970), series [{label, colour, values}], areas (stacked), format (of the values).
// `label` writes a time. With `single`, each time is a thing of its own, such as a turn, at an even distance from the next one.
export function Chart({ title, times, series, areas = false, single = false, format = number, label = (moment) => time(moment * 1000) }) {
  const place = useRef(null);
  const [point, setPoint] = useState(null);
  useEffect(() => {
    setPoint(null);
    let plot = null, stopped = false;
    // The tallest area is drawn first, so that the others stay visible before it.
    const order = areas ? series.map((_, index) => index).reverse() : series.map((_, index) => index);
    const values = areas ? stacked(series.map((each) => each.values)) : series.map((each) => each.values);
    const observer = new ResizeObserver(() => plot?.setSize({ width: place.current.clientWidth, height: HEIGHT }));
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const draw = (uPlot) => {
      if (stopped) return;
      plot?.destroy();
      const width = place.current.clientWidth || 600;
      const labels = single ? times.map(label) : null;
      plot = new uPlot(options(uPlot, { series: order.map((at) => series[at]), areas, labels, width, format, onPoint: setPoint }),
        [single ? times.map((_, place) => place) : times, ...order.map((at) => values[at])], place.current);
    };
    const redraw = () => loadLibrary().then(draw);
    redraw().catch(toastError);
    dark.addEventListener("change", redraw);
    observer.observe(place.current);
    return () => { stopped = true; observer.disconnect(); dark.removeEventListener("change", redraw); plot?.destroy(); };
  }, [times, series]);
  const last = times.length - 1;
  // The values under the pointer, otherwise the last ones.
  const shown = point !== null && point <= last ? point : last;
  return html`<figure class="chart">
    <figcaption>${title}</figcaption>
    <div ref=${place} aria-hidden="true"></div>
    <ul class="legend">${last >= 0 && html`<li>${label(times[shown])}</li>`}${series.map((each) => html`<li key=${each.label}><span class="swatch ${each.colour}" aria-hidden="true"></span>
      ${each.label}${last >= 0 ? html` <strong>${format(each.values[shown])}</strong>` : ""}</li>`)}</ul>
    ${last >= 0 && html`<p class="hidden">From ${time(times[0] * 1000)} to ${time(times[last] * 1000)}:
      ${series.map((each) => `${each.label} from ${format(each.values[0])} to ${format(each.values[last])}`).join("; ")}.</p>`}
  </figure>`;
}
