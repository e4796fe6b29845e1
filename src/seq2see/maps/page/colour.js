// Colour scales: one lightness ramp for weights, one two-sided ramp for differences, both even to the eye (OKLab) and safe for
// colour-blind readers because lightness, or blue against orange, carries the value.

// Stops are [lightness, chroma, hue in degrees].
const RAMPS = {
  light: {
    weight: [[0.972, 0.008, 235], [0.90, 0.055, 205], [0.74, 0.105, 215], [0.56, 0.125, 245], [0.38, 0.125, 275], [0.24, 0.085, 290]],
    less: [[0.965, 0.006, 240], [0.80, 0.10, 62], [0.58, 0.15, 45], [0.38, 0.11, 35]],
    more: [[0.965, 0.006, 240], [0.78, 0.085, 235], [0.54, 0.13, 255], [0.32, 0.12, 275]],
  },
  dark: {
    weight: [[0.215, 0.018, 265], [0.33, 0.085, 282], [0.47, 0.125, 260], [0.64, 0.120, 225], [0.80, 0.105, 190], [0.95, 0.060, 140]],
    less: [[0.23, 0.015, 265], [0.42, 0.09, 45], [0.64, 0.14, 55], [0.88, 0.10, 80]],
    more: [[0.23, 0.015, 265], [0.40, 0.10, 270], [0.62, 0.12, 245], [0.88, 0.07, 215]],
  },
};

const rampCache = new Map();

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
const themeNow = () => document.documentElement.dataset.theme || (systemIsDark.matches ? 'dark' : 'light');

// 256 colours [red, green, blue], for the theme now.
function ramp(name) {
  const theme = themeNow();
  const mark = `${theme} ${name}`;
  if (!rampCache.has(mark)) {
    const stops = RAMPS[theme][name];
    rampCache.set(mark, Array.from({ length: 256 }, (_, i) => between(stops, i / 255)));
  }
  return rampCache.get(mark);
}

function between(stops, place) {
  const scaled = place * (stops.length - 1);
  const index = Math.min(Math.floor(scaled), stops.length - 2);
  const share = scaled - index;
  const [from, to] = [stops[index], stops[index + 1]].map(([lightness, chroma, hue]) => {
    const angle = (hue * Math.PI) / 180;
    return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
  });
  return oklab(...from.map((value, i) => value + (to[i] - value) * share));
}

function oklab(lightness, a, b) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((linear) => {
    const clipped = Math.min(1, Math.max(0, linear));
    const encoded = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
    return Math.round(255 * encoded);
  });
}

// Where a weight stands on its ramp, 0 to 1.
function strength(value, scale, largest) {
  const size = Math.abs(value);
  if (scale === 'row') return largest > 0 ? size / largest : 0;
  return scale === 'sqrt' ? Math.sqrt(size) : size;
}

// The two ramps of a map: for values below zero, and for all others.
const rampsOf = (matrix) => (matrix.signed ? [ramp('less'), ramp('more')] : [ramp('weight'), ramp('weight')]);

function cellColour(ramps, value, scale, largest) {
  return ramps[value < 0 ? 0 : 1][Math.round(255 * Math.min(1, strength(value, scale, largest)))];
}

function rowLargest(matrix, query) {
  let largest = 0;
  for (let key = 0; key < matrix.numKeys; key += 1) largest = Math.max(largest, Math.abs(cellValue(matrix, query, key)));
  return largest;
}

// A picture of a map, stretched by the style sheet: a pixel a cell, or the strongest of the cells that have to share one where it is
// narrower (in CSS pixels). Cells that cannot be seen stay clear, so that the hatching behind them shows.
function paintSmall(canvas, matrix, scale, width = Infinity) {
  const most = Math.max(1, Math.floor(width * devicePixelRatio));
  const image = new ImageData(Math.min(matrix.numKeys, most), Math.min(matrix.numQueries, most));
  const pixels = new Uint32Array(image.data.buffer);
  const strongest = new Float32Array(pixels.length).fill(-1);
  const colours = rampsOf(matrix).map((colours) => new Uint32Array(new Uint8Array(colours.flatMap((colour) => [...colour, 255])).buffer));
  for (let query = 0; query < matrix.numQueries; query += 1) {
    const largest = rowLargest(matrix, query);
    const row = image.width * Math.floor((query * image.height) / matrix.numQueries);
    for (let key = 0; key < visibleKeys(matrix, query); key += 1) {
      const value = cellValue(matrix, query, key);
      const size = Math.min(1, strength(value, scale, largest));
      const at = row + Math.floor((key * image.width) / matrix.numKeys);
      if (size <= strongest[at]) continue;
      strongest[at] = size;
      pixels[at] = colours[value < 0 ? 0 : 1][Math.round(255 * size)];
    }
  }
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext('2d').putImageData(image, 0, 0);
}

// The colour at a place of the scale that the legend shows, 0 to 1.
function scaleColour(signed, place) {
  const i = Math.round(255 * place);
  return signed ? ramp(i < 128 ? 'less' : 'more')[Math.min(255, Math.abs(2 * i - 255))] : ramp('weight')[i];
}

function legendTicks(signed, scale) {
  if (scale === 'row') return signed ? [[0, '\u2212largest'], [0.5, '0'], [1, '+largest']] : [[0, '0'], [1, 'row\u2019s largest']];
  const bend = scale === 'sqrt' ? Math.sqrt : (value) => value;
  if (signed) {
    const signs = { '-1': '\u2212', 0: '', 1: '+' };
    return [-1, -0.25, 0, 0.25, 1].map((value) => [
      0.5 + 0.5 * Math.sign(value) * bend(Math.abs(value)), signs[Math.sign(value)] + Math.abs(value),
    ]);
  }
  return (scale === 'sqrt' ? [0, 0.05, 0.25, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((value) => [bend(value), String(value)]);
}

// The colour scale with its figures.
function colourScale(signed, scale, figures = legendTicks(signed, scale)) {
  const canvas = element('canvas', { width: 256, height: 1, 'aria-hidden': 'true' });
  const image = new ImageData(256, 1);
  for (let i = 0; i < 256; i += 1) image.data.set([...scaleColour(signed, i / 255), 255], 4 * i);
  canvas.getContext('2d').putImageData(image, 0, 0);
  const ticks = figures.map(([place, label]) => {
    const tick = element('span', {}, label);
    tick.style.left = `${place * 100}%`;
    return tick;
  });
  return element('div', { class: 'gradient' }, canvas, element('div', { class: 'legend-ticks' }, ...ticks));
}

const rgb = (colour) => `rgb(${colour.join(' ')})`;
const hex = (colour) => `#${colour.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
