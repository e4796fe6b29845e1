// The lines view: what is looked at above, what looks below, joined by lines as strong as the attention; one head, or several
// of a layer, each in a colour of its own.

const LINE_TOP = 44; // where lines begin
const MOST_LINES = 1500;

// Eight for each theme: any two are 0.14 apart in OKLab or more, to normal sight and to each of three colour deficiencies
// (Machado et al. 2009), and each has a contrast of 3.2 to the paper.
const HEAD_COLOURS = {
  light: ['#3300dd', '#dd6622', '#449999', '#aa66ff', '#660000', '#774477', '#aa3300', '#332255'],
  dark: ['#aabbff', '#ddaa00', '#77ffee', '#ff2288', '#eeee66', '#6644ee', '#886611', '#8888dd'],
};

// The heads that are drawn at once: the chosen one, and those added to it; no more than there are colours.
function drawnHeads({ head, heads }) {
  const drawn = [head, ...heads.filter((other) => other !== head)].slice(0, HEAD_COLOURS.light.length);
  return drawn.sort((one, two) => one - two);
}

// Each head's colour: the same whichever others are drawn, as far as there are colours.
function headColours(heads) {
  const colours = HEAD_COLOURS[themeNow()];
  const taken = new Map();
  for (const head of heads) {
    let place = head % colours.length;
    while (taken.has(place)) place = (place + 1) % colours.length;
    taken.set(place, head);
  }
  return new Map([...taken].map(([place, head]) => [head, colours[place]]));
}

// What is joined: {heads: [{head, matrix, colour}], drawn (the strongest lines), total}; a lone head's colours are the map's.
async function readLines(log, place, shown, shows) {
  const drawn = drawnHeads(place);
  const colours = headColours(drawn);
  const heads = shows !== 'this' || drawn.length === 1 ? [{ head: place.head, matrix: shown, colour: null }]
    : await Promise.all(drawn.map(async (head) => ({ head, matrix: await loadMatrix(log, { ...place, head }), colour: colours.get(head) })));
  const lines = heads.flatMap((one) => linesOf(one, place.scale, 0.02));
  lines.sort((one, two) => one.size - two.size);
  return { heads, drawn: lines.slice(-MOST_LINES), total: lines.length };
}

// A head's lines, those of one word if it is given; too faint ones are left out.
function linesOf({ matrix, colour }, scale, faintest, word = {}) {
  const lines = [];
  for (let query = word.query ?? 0; query <= (word.query ?? matrix.numQueries - 1); query += 1) {
    const largest = rowLargest(matrix, query);
    for (let key = word.key ?? 0; key <= (word.key ?? matrix.numKeys - 1); key += 1) {
      if (!isVisible(matrix, query, key)) continue;
      const value = cellValue(matrix, query, key);
      const size = Math.min(1, strength(value, scale, largest));
      if (size >= faintest) lines.push({ query, key, value, size, colour: colour ?? lineColour(matrix, value, size) });
    }
  }
  return lines;
}

const lineColour = (matrix, value, size) => hex(rampsOf(matrix)[value < 0 ? 0 : 1][Math.round(90 + 130 * size)]);

function linesGeometry(view, width) {
  const place = (labels, size, gap) => {
    let x = 0;
    const places = labels.map((label) => {
      const wide = textWidth(cutText(label.text, labelFont(size), 150), labelFont(size));
      const middle = x + wide / 2;
      x += wide + gap;
      return { middle, wide };
    });
    return { places, width: x - gap };
  };
  let size = 16;
  let above;
  let below;
  for (; size >= 11; size -= 1) {
    above = place(view.keyLabels, size, size * 1.1);
    below = place(view.queryLabels, size, size * 1.1);
    if (Math.max(above.width, below.width) + 24 <= width) break;
  }
  size = Math.max(size, 11);
  const bottom = clampNumber(window.innerHeight - 430, 210, 300); // the slider stays in sight
  const full = Math.max(width, above.width + 24, below.width + 24);
  const spread = (row, count) => {
    const spare = Math.min((full - 24 - row.width) / Math.max(1, count - 1), 48);
    const start = (full - row.width - spare * (count - 1)) / 2;
    return row.places.map(({ middle, wide }, i) => ({ middle: start + middle + spare * i, wide }));
  };
  return {
    lines: true, width: full, height: bottom + 50, bottom, labelSize: size,
    above: spread(above, view.keyLabels.length), below: spread(below, view.queryLabels.length),
  };
}

function linesDrawing(view, shape) {
  const text = (label, { middle }, y, attributes) => svg('text', {
    class: labelClass(label), x: middle, y, 'text-anchor': 'middle', 'font-size': shape.labelSize, ...attributes,
  }, cutText(label.text, labelFont(shape.labelSize), 150));
  return [
    svg('g', { class: 'joins' }, ...view.lines.drawn.map((line) => joinLine(shape, line)), ...trueLines(view, shape)),
    svg('g', { class: 'labels' },
      ...view.keyLabels.map((label, key) => text(label, shape.above[key], LINE_TOP - 12, { 'data-column': key })),
      ...view.queryLabels.map((label, query) => text(label, shape.below[query], shape.bottom + 24, { 'data-row': query }))),
  ];
}

function joinPath(shape, query, key) {
  const from = shape.above[key].middle;
  const to = shape.below[query].middle;
  const bend = (shape.bottom - LINE_TOP) * 0.45;
  return `M${from} ${LINE_TOP}C${from} ${LINE_TOP + bend} ${to} ${shape.bottom - bend} ${to} ${shape.bottom}`;
}

function joinLine(shape, { query, key, size, colour }) {
  return svg('path', {
    d: joinPath(shape, query, key), fill: 'none', 'data-line': query, 'stroke-linecap': 'round',
    stroke: colour, 'stroke-width': (0.6 + 5 * size).toFixed(2), 'stroke-opacity': (0.12 + 0.8 * size).toFixed(2),
  });
}

// The true links, those of one word if it is given.
function trueLines(view, shape, word = {}) {
  if (!view.links || !view.state.truth) return [];
  const first = view.state.rows === 'reads' ? 1 : 0;
  return view.links.filter(([source, target]) => (word.key ?? source) === source && (word.query ?? target + first) === target + first)
    .map(([source, target]) => svg('path', { class: 'true-join', d: joinPath(shape, target + first, source), fill: 'none' }));
}

function lineCursor(view, shape, query, from, to) {
  const [low, high] = from <= to ? [from, to] : [to, from];
  const marks = [underline(shape.below[query], shape.bottom + 32)];
  for (let key = low; key <= high; key += 1) {
    marks.push(underline(shape.above[key], LINE_TOP - 30 - shape.labelSize * 0.2));
    if (isVisible(view.shown, query, key)) marks.push(svg('path', { class: 'chosen-join', d: joinPath(shape, query, key), fill: 'none' }));
  }
  return marks;
}

const underline = (place, y) => svg('line', {
  class: 'underline', x1: place.middle - place.wide / 2, x2: place.middle + place.wide / 2, y1: y, y2: y,
});

// The word that is pointed at, alone: its lines, also those too faint for the whole picture, and what they weigh.
function aloneWord(view, shape, ground, word) {
  const lines = view.lines.heads.flatMap((one) => linesOf(one, view.state.scale, 0.005, word)).sort((one, two) => one.size - two.size);
  const isBelow = 'query' in word;
  const [ends, axis, y] = isBelow ? [shape.above, 'column', LINE_TOP - 30] : [shape.below, 'row', shape.bottom + 44];
  ground.querySelector(isBelow ? `[data-row="${word.query}"]` : `[data-column="${word.key}"]`)?.classList.add('lit');
  const figures = [];
  for (const { query, key, value, size } of [...lines].reverse()) {
    const end = isBelow ? key : query;
    if (size < 0.05) break;
    ground.querySelector(`[data-${axis}="${end}"]`)?.classList.add('joined');
    const x = ends[end].middle;
    const isFree = figures.every((other) => Math.abs(Number(other.getAttribute('x')) - x) > 30);
    if (view.lines.heads.length === 1 && isFree) { // of several heads nobody would know whose it is
      figures.push(svg('text', { class: 'label join-figure', x, y, 'text-anchor': 'middle', 'font-size': 11 }, view.shown.signed ? signedFigure(value) : figure(value)));
    }
  }
  const mark = isBelow ? underline(shape.below[word.query], shape.bottom + 32) : underline(shape.above[word.key], LINE_TOP - 8);
  return [...lines.map((line) => joinLine(shape, line)), ...trueLines(view, shape, word), mark, ...figures];
}

// Pointing below chooses a row and its strongest word; pointing above chooses a word for the row that is chosen.
function lineCellAt(view, shape, x, y) {
  const nearest = (places) => {
    let best = 0;
    places.forEach(({ middle }, i) => { if (Math.abs(middle - x) < Math.abs(places[best].middle - x)) best = i; });
    return best;
  };
  if (y > shape.bottom - 60) {
    const query = nearest(shape.below);
    return { query, key: largestKey(view.shown, query, visibleKeys(view.shown, query)), word: { query } };
  }
  if (y >= LINE_TOP + 40) return null;
  const key = nearest(shape.above);
  return { query: view.state.query ?? 0, key, word: { key } };
}

// Which heads of the layer are drawn, each in its colour.
function lineKeys(view, app) {
  const { log, state } = view;
  const numHeads = log.heads[state.kind];
  if (view.shows !== 'this' || numHeads < 2) return [];
  const drawn = drawnHeads(state);
  const colours = headColours(drawn);
  const isFull = drawn.length === HEAD_COLOURS.light.length;
  const draw = (heads) => app.change({ heads, head: heads.includes(state.head) || !heads.length ? state.head : heads[0] });
  const keys = Array.from({ length: numHeads }, (_, head) => {
    const isDrawn = drawn.includes(head);
    const square = element('i', { class: 'head-colour' });
    if (isDrawn && drawn.length > 1) square.style.background = colours.get(head);
    return element('button', {
      type: 'button', class: 'line-head', 'data-value': `head ${head}`, 'aria-pressed': String(isDrawn), 'aria-label': `Lines of head ${head + 1}`,
      disabled: isDrawn ? drawn.length === 1 : isFull,
      onclick: () => draw(isDrawn ? drawn.filter((other) => other !== head) : [...drawn, head]),
    }, square, `H${head + 1}`);
  });
  const [name, heads] = drawn.length > 1 ? ['one', []] : ['all', Array.from({ length: numHeads }, (_, head) => head)];
  const shortcut = element('button', { type: 'button', class: 'line-head', 'data-value': 'heads all', onclick: () => draw(heads) }, name);
  return [element('div', { class: 'line-heads', role: 'group', 'aria-label': 'Heads whose lines are drawn' },
    ...keys, heads.length <= HEAD_COLOURS.light.length ? shortcut : null)];
}

// What is not in the picture is said.
function linesNote({ lines }) {
  return lines.drawn.length < lines.total ? [element('span', {}, `the strongest ${thousands(MOST_LINES)} of ${thousands(lines.total)} lines`)] : [];
}
