// Charts over time, drawn by uPlot, with the same numbers as text for those who cannot see them.
import { html, useEffect, useRef } from "../html.js";
import { number, shortTime } from "../format.js";
import { toastError } from "./toast.js";

const HEIGHT = 220;
let library = null;

// uPlot is a classic script: it is loaded when the first chart appears.
function loadLibrary() {
  library ||= new Promise((resolve, reject) => {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/dashboard/vendor/uPlot.min.css" });
    const script = document.createElement("script");
    const policy = window.trustedTypes?.createPolicy("memotherm", { createScriptURL: (address) => address });
    const address = "/dashboard/vendor/uPlot.iife.min.js";
    script.src = policy ? policy.createScriptURL(address) : address;
    script.onload = () => resolve(window.uPlot);
    script.onerror = () => reject(new Error("the chart library could not be loaded: reload the page"));
    document.head.append(style, script);
  });
  return library;
}

export function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

// Return the series as sums from the bottom, for stacked areas.
export function stacked(series) {
  const sums = [];
  series.forEach((values, index) => sums.push(values.map((value, at) => value + (index ? sums[index - 1][at] : 0))));
  return sums;
}

function options(uPlot, { series, areas, width, format }) {
  const axis = { stroke: colour("text"), grid: { stroke: colour("line") }, ticks: { stroke: colour("line") } };
  return {
    width, height: HEIGHT, legend: { show: false }, cursor: { y: false },
    scales: { x: { time: true }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
    axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map(format) }],
    series: [{}, ...series.map(({ label, colour: name }) => ({
      label, stroke: colour(name), width: 1.5, fill: areas ? colour(name) : undefined, points: { show: false },
    }))],
  };
}

// Props: title, times (seconds since 1970), series [{label, colour, values}], areas (stacked), format (of the values).
export function Chart({ title, times, series, areas = false, format = number }) {
  const place = useRef(null);
  useEffect(() => {
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
      plot = new uPlot(options(uPlot, { series: order.map((at) => series[at]), areas, width, format }),
        [times, ...order.map((at) => values[at])], place.current);
    };
    const redraw = () => loadLibrary().then(draw);
    redraw().catch(toastError);
    dark.addEventListener("change", redraw);
    observer.observe(place.current);
    return () => { stopped = true; observer.disconnect(); dark.removeEventListener("change", redraw); plot?.destroy(); };
  }, [times, series]);
  const last = times.length - 1;
  return html`<figure class="chart">
    <figcaption>${title}</figcaption>
    <div ref=${place} aria-hidden="true"></div>
    <ul class="legend">${series.map((each) => html`<li key=${each.label}><span class="swatch ${each.colour}" aria-hidden="true"></span>
      ${each.label}${last >= 0 ? html` <strong>${format(each.values[last])}</strong>` : ""}</li>`)}</ul>
    ${last >= 0 && html`<p class="hidden">From ${shortTime(times[0] * 1000)} to ${shortTime(times[last] * 1000)}:
      ${series.map((each) => `${each.label} from ${format(each.values[0])} to ${format(each.values[last])}`).join("; ")}.</p>`}
  </figure>`;
}
