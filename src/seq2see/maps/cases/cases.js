// Outputs beside their references: which one, which head, which cell. The state stands in the address.

const data = JSON.parse(byId('data').textContent);
const SIDES = ['output', 'reference'];
const FLAGS = {
  unattended: ['not attended', (value) => `${Math.round(100 * value)} %`],
  eos_mass: ['on the end', (value) => value.toFixed(2)],
  distance: ['unusual', (value) => value.toFixed(3)],
};
const NAMES = { worst: 'least expected reference', random: 'at random' };
const state = { case: 0, layer: data.layer, head: data.head, scale: 'linear', side: 'output', row: null, column: 0 };
const unpacked = new Map();

// What colour.js asks of a map.
const cellValue = (matrix, query, key) => matrix.values[query * matrix.numKeys + key];
const visibleKeys = (matrix) => matrix.numKeys;

const caseNow = () => data.cases[state.case];
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const figure = (value) => (value > 0 && value < 0.005 ? '<0.01' : value.toFixed(2));
const nats = (value) => (Math.abs(value) < 0.005 ? '0.00' : value.toFixed(2).replace('-', '\u2212'));
const headName = (layer, head) => `layer ${layer + 1}, ${head === null ? 'mean of all heads' : `head ${head + 1}`}`;

// Both maps of a case: all layers and heads of the output, then of the reference, as bytes.
function bytesOf(number) {
  if (!unpacked.has(number)) {
    const packed = Uint8Array.from(atob(data.cases[number].maps), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
    unpacked.set(number, new Response(stream).arrayBuffer().then((buffer) => new Uint8Array(buffer)));
  }
  return unpacked.get(number);
}

// One map (query, key): of a head, or the mean of its layer's; rows sum to 1 again after the rounding to bytes.
function matrixOf(bytes, side) {
  const own = caseNow();
  const numKeys = own.sourceTokens.length;
  const size = (name) => own[name].tokens.length * numKeys;
  const start = side === 'reference' ? data.layers * data.heads * size('output') : 0;
  const numQueries = own[side].tokens.length;
  const values = new Float32Array(size(side));
  const heads = state.head === null ? Array.from({ length: data.heads }, (_, head) => head) : [state.head];
  for (const head of heads) {
    const from = start + (state.layer * data.heads + head) * size(side);
    for (let query = 0; query < numQueries; query += 1) {
      let sum = 0;
      for (let key = 0; key < numKeys; key += 1) sum += bytes[from + query * numKeys + key] ** 2;
      for (let key = 0; key < numKeys; key += 1) {
        const at = query * numKeys + key;
        if (sum) values[at] += bytes[from + at] ** 2 / sum / heads.length;
      }
    }
  }
  return { numQueries, numKeys, values, causal: false, signed: false };
}

// The map's sizes in CSS pixels.
function shapeOf(matrix, own, side, width) {
  const font = `13px ${cssValue('--sans')}`;
  const longest = (labels, most) => Math.min(most, Math.max(20, ...labels.map((label) => textWidth(label, font))));
  const left = Math.max(78, Math.ceil(longest(own[side].tokens, width < 420 ? 80 : 120)) + 14); // the names of causes stand there too
  const top = Math.ceil(longest(own.sourceTokens, 110)) + 14;
  const cell = clamp(Math.floor(Math.min((width - left - 4) / matrix.numKeys, 460 / matrix.numQueries)), 7, 34);
  return { left, top, cell, size: clamp(cell - 2, 8, 13), every: Math.ceil(11 / cell), limits: [left - 12, top - 12] };
}

const drawn = {};

function drawMap(side, matrix) {
  const own = caseNow();
  const surface = byId(`map-${side}`);
  const shape = shapeOf(matrix, own, side, surface.parentElement.clientWidth);
  const { left, top, cell } = shape;
  const [width, height] = [matrix.numKeys * cell, matrix.numQueries * cell];
  const canvas = surface.querySelector('canvas');
  paintSmall(canvas, matrix, state.scale);
  Object.assign(canvas.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
  Object.assign(surface.style, { width: `${left + width + 2}px`, height: `${top + height + 2}px` });
  const font = `${shape.size}px ${cssValue('--sans')}`;
  const rows = own[side].tokens.map((token, query) => (query % shape.every ? null : svg('text', {
    class: labelClass(token), 'data-row': query, x: left - 9, y: top + (query + 0.5) * cell, dy: '0.35em', 'text-anchor': 'end', 'font-size': shape.size,
  }, cutText(token, font, shape.limits[0]))));
  const columns = own.sourceTokens.map((token, key) => (key % shape.every ? null : svg('text', {
    class: labelClass(token), 'data-column': key, 'font-size': shape.size, dy: '0.35em',
    transform: `translate(${left + (key + 0.5) * cell} ${top - 8}) rotate(-90)`,
  }, cutText(token, font, shape.limits[1]))));
  surface.querySelector('svg')?.remove();
  const overlay = svg('svg', { class: 'overlay', 'aria-hidden': 'true', width: left + width + 2, height: top + height + 2 },
    svg('rect', { x: left, y: top, width, height, fill: 'none', class: 'grid' }), ...rows, ...columns, svg('g', { class: 'cursor' }));
  surface.append(overlay);
  surface.setAttribute('aria-label', `Cross attention of the ${side}, ${headName(state.layer, state.head)}`);
  drawn[side] = { matrix, shape, overlay };
}

const labelClass = (token) => (token === '<eos>' ? 'label special' : 'label');

// The chosen cell: its frame, its sentence, its row in the table of tokens.
function drawCursor() {
  for (const side of SIDES) {
    const { shape, overlay } = drawn[side];
    const chosen = state.row !== null && state.side === side;
    const [x, y] = [shape.left + state.column * shape.cell, shape.top + state.row * shape.cell];
    overlay.querySelector('.cursor').replaceChildren(...(chosen ? ['chosen-under', 'chosen'].map((name) => svg('rect', {
      class: name, x, y, width: shape.cell, height: shape.cell, fill: 'none',
    })) : []));
    for (const label of overlay.querySelectorAll('.lit')) label.classList.remove('lit');
    if (chosen) {
      overlay.querySelector(`[data-row="${state.row}"]`)?.classList.add('lit');
      overlay.querySelector(`[data-column="${state.column}"]`)?.classList.add('lit');
    }
    [...byId(`tokens-${side}`).tBodies[0].rows].forEach((row, i) => row.classList.toggle('chosen-row', chosen && i === state.row));
  }
  byId('said').textContent = sentence();
}

const quoted = (text) => `\u201c\u2068${text}\u2069\u201d`;

function sentence() {
  if (state.row === null) return 'Choose a cell of a map to read it.';
  const own = caseNow();
  const side = own[state.side];
  const value = cellValue(drawn[state.side].matrix, state.row, state.column);
  const probable = `${figure(side.probabilities[state.row])} probable`;
  const head = headName(state.layer, state.head);
  const what = state.side === 'output' ? 'Output' : 'Reference';
  return `${what}, ${head}: when predicting ${quoted(side.tokens[state.row])} (${probable}), ${figure(value)} of the attention goes to ${quoted(own.sourceTokens[state.column])}.`;
}

const marked = (parts) => (parts.length
  ? parts.map(([text, differs]) => (differs ? element('mark', {}, text) : text)) : [element('span', { class: 'nothing' }, 'nothing')]);

function drawTexts() {
  const own = caseNow();
  const verdict = own.right ? ' as the reference' : own.ended ? ' not as the reference' : ' not as the reference, cut at the length limit';
  const line = (name, parts, note) => element('div', { class: note && !own.right ? 'differs' : null },
    element('dt', {}, name),
    element('dd', { dir: 'auto' }, ...parts, note ? element('span', { class: 'verdict' }, note) : null));
  byId('texts').replaceChildren(line('source', [own.source]), line('output', marked(own.output.parts), verdict), line('reference', marked(own.reference.parts)));
  byId('place').textContent = `line ${own.line} of the .tsv file; ${NAMES[own.group]}`;
}

function drawSigns() {
  const own = caseNow();
  const sign = (name, value, note) => element('div', {}, element('dt', {}, name), element('dd', {}, value, element('small', {}, note)));
  const words = own.unattended.length ? own.unattended.join(' \u00b7 ') : 'none';
  byId('signs').replaceChildren(
    sign('reference expected', `${nats(own.logProb)} nats a token`, 'its log-probability; 0 is certain'),
    sign('source words not attended', words, verdictOf('unattended')),
    sign('attention on the source\u2019s end', FLAGS.eos_mass[1](own.flags.eos_mass), verdictOf('eos_mass')),
    sign('distance from the usual', FLAGS.distance[1](own.flags.distance), verdictOf('distance')),
  );
}

const verdictOf = (name) => `here it ${data.flags.flags[name].verdict}`.replace('here it cannot be said', 'what it is worth cannot be said');

function drawTokens(side) {
  const own = caseNow()[side];
  const rows = own.tokens.map((token, i) => {
    const value = own.probabilities[i];
    const meter = element('i', {});
    meter.style.width = `${Math.max(1, 70 * value)}px`;
    const others = own.candidates[i].filter(([other, share]) => other !== token && share >= 0.005).slice(0, 4).flatMap(([other, share]) => [
      element('span', {}, element('bdi', {}, other), ` ${figure(share)}`), ' ']);
    const first = own.candidates[i][0][0] === token;
    return element('tr', {}, element('th', { scope: 'row', dir: 'auto', title: token, class: token === '<eos>' ? 'special' : null }, token),
      element('td', { class: 'meter-cell', 'aria-hidden': 'true' }, meter),
      element('td', { class: first ? 'number' : 'number doubt', title: first ? null : 'another token was more probable' }, figure(value)),
      element('td', { class: 'others' }, ...others));
  });
  const heads = ['token', '', 'probability', 'other candidates'].map((name) => element('th', { scope: 'col' }, name));
  byId(`tokens-${side}`).replaceChildren(element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...rows));
}

// All hypotheses of the beam that the output was found with; what differs from the output is marked.
function drawBeam() {
  const { hypotheses } = caseNow();
  const many = data.beam > 1;
  byId('beam').parentElement.hidden = !many;
  byId('beam-note').textContent = many
    ? `Beam of ${data.beam}, ranked by log-probability / length${data.penalty === 1 ? '' : ` to the power of ${data.penalty}`}, the end counted; `
      + 'what differs from the output is marked.'
    : 'Each output is the only hypothesis that was followed; evaluate.py with decode.beam_size=4 shows the others of a beam here.';
  if (!many) return;
  const note = ({ right, ended }) => (right ? ' the reference' : ended ? null : ' cut at the length limit');
  const rows = hypotheses.map(({ parts, score, ranked, ...own }, i) => element('tr', { class: i ? null : 'chosen-row' },
    element('th', { scope: 'row' }, String(i + 1)), element('td', {}, nats(ranked)), element('td', {}, nats(score)),
    element('td', { class: 'text', dir: 'auto' }, ...marked(parts), note(own) ? element('span', { class: 'verdict' }, note(own)) : null)));
  const heads = ['rank', 'ranked by', 'log-probability, nats', 'hypothesis'].map((name) => element('th', { scope: 'col' }, name));
  byId('beam').replaceChildren(element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...rows));
}

function drawLedger() {
  const names = Object.keys(FLAGS);
  const heading = ['line', 'chosen', 'nats a token', ...names.map((name) => FLAGS[name][0]), 'output', 'source'];
  const heads = heading.map((name, i) => element('th', { scope: 'col', class: i > 5 || i === 1 ? 'text' : null }, name));
  const rows = data.cases.map((own, i) => element('tr', { onclick: () => change({ case: i }) },
    element('th', { scope: 'row' }, element('button', { type: 'button', 'aria-label': `Show line ${own.line}` }, String(own.line))),
    element('td', { class: 'text' }, own.group),
    element('td', {}, nats(own.logProb)),
    ...names.map((name) => element('td', {}, FLAGS[name][1](own.flags[name]))),
    element('td', { class: 'text', dir: 'auto' }, element('span', { class: own.right ? null : 'wrong' }, own.right ? 'right: ' : 'wrong: '), own.output.parts.map(([text]) => text).join('')),
    element('td', { class: 'text', dir: 'auto' }, own.source)));
  byId('ledger').replaceChildren(element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...rows));
  byId('ledger-note').textContent = data.choice;
}

function drawWorth() {
  const { flags, outputs, of, wrong, right, attention } = data.flags;
  const rows = Object.keys(FLAGS).map((name) => {
    const { area_under_curve: area, interval, verdict } = flags[name];
    return element('tr', {}, element('th', { scope: 'row' }, FLAGS[name][0]), element('td', {}, area === null ? '\u2013' : area.toFixed(3)),
      element('td', {}, interval === null ? '\u2013' : `${interval[0].toFixed(3)} to ${interval[1].toFixed(3)}`), element('td', {}, verdict));
  });
  const heads = ['flag', 'area under the curve', '95 % interval', 'in words'].map((name) => element('th', { scope: 'col' }, name));
  byId('worth').replaceChildren(element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...rows));
  const all = outputs === of ? `all ${of} outputs` : `${outputs} of ${of} outputs, drawn at random`;
  byId('worth-note').textContent = `Over ${all}: ${wrong} wrong, ${right} right, by exact match; attention of ${attention}. The area is how often a wrong output `
    + 'has more of a flag than a right one: 0.5 is chance, 1 is perfect. A flag whose interval holds 0.5 is said not to predict.';
}

function drawFrame() {
  byId('dims').textContent = `${data.name} \u00b7 step ${data.step}`;
  options(byId('case'), data.cases.map((own, i) => [i, `${i + 1} of ${data.cases.length}, ${own.right ? 'right' : 'wrong'}: ${own.source}`]), state.case);
  byId('case-back').disabled = state.case === 0;
  byId('case-on').disabled = state.case === data.cases.length - 1;
  const heads = [];
  for (let layer = 0; layer < data.layers; layer += 1) {
    heads.push([`${layer}`, headName(layer, null)]);
    for (let head = 0; head < data.heads; head += 1) heads.push([`${layer}.${head}`, headName(layer, head)]);
  }
  options(byId('head'), heads, state.head === null ? `${state.layer}` : `${state.layer}.${state.head}`);
  const same = state.layer === data.layer && state.head === data.head;
  byId('head-note').textContent = same ? 'the attention that the flags are read from' : `the flags are read from ${headName(data.layer, data.head)}`;
  keepingFocus(byId('scale'), () => segments(byId('scale'), [['linear', '0 to 1'], ['sqrt', 'root'], ['row', 'by row']], state.scale, (scale) => change({ scale })));
  [...byId('ledger').tBodies[0].rows].forEach((row, i) => row.classList.toggle('chosen-row', i === state.case));
}

let turn = 0;

async function draw() {
  turn += 1;
  const own = turn;
  document.documentElement.dataset.turn = own;
  const bytes = await bytesOf(state.case);
  if (own !== turn) return; // a later change draws
  drawFrame();
  drawTexts();
  drawSigns();
  drawBeam();
  for (const side of SIDES) {
    drawTokens(side);
    drawMap(side, matrixOf(bytes, side));
  }
  drawCursor();
  await drawCauses();
  document.documentElement.dataset.settled = own;
}

function change(changes) {
  const other = changes.case !== undefined && changes.case !== state.case;
  Object.assign(state, other ? { row: null, column: 0 } : {}, changes);
  fit();
  const parts = new URLSearchParams({ case: state.case + 1, layer: state.layer + 1 });
  if (state.head !== null) parts.set('head', state.head + 1);
  if (state.scale !== 'linear') parts.set('scale', state.scale);
  if (state.row !== null) for (const [name, value] of [['side', state.side], ['row', state.row + 1], ['column', state.column + 1]]) parts.set(name, value);
  history.replaceState(null, '', `#${parts}`);
  return draw().catch(fail);
}

// Pull every number back into its range.
function fit() {
  state.case = clamp(Math.round(state.case) || 0, 0, data.cases.length - 1);
  state.layer = clamp(Math.round(state.layer) || 0, 0, data.layers - 1);
  state.head = state.head === null ? null : clamp(Math.round(state.head) || 0, 0, data.heads - 1);
  if (!SIDES.includes(state.side)) state.side = 'output';
  if (!['linear', 'sqrt', 'row'].includes(state.scale)) state.scale = 'linear';
  if (state.row === null) return;
  state.row = clamp(Math.round(state.row) || 0, 0, caseNow()[state.side].tokens.length - 1);
  state.column = clamp(Math.round(state.column) || 0, 0, caseNow().sourceTokens.length - 1);
}

function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const number = (name) => Number(parts.get(name)) - 1;
  if (parts.has('case')) state.case = number('case');
  if (parts.has('layer')) Object.assign(state, { layer: number('layer'), head: parts.has('head') ? number('head') : null });
  if (parts.has('scale')) state.scale = parts.get('scale');
  if (parts.has('row')) Object.assign(state, { side: parts.get('side'), row: number('row'), column: number('column') });
}

function moveCell(side, event) {
  const { numQueries, numKeys } = drawn[side].matrix;
  const here = state.side === side && state.row !== null ? [state.row, state.column] : null;
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -numKeys], End: [0, numKeys] };
  const move = moves[event.key];
  if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const [row, column] = here ? [here[0] + move[0], here[1] + move[1]] : [0, 0];
  choose(side, clamp(row, 0, numQueries - 1), clamp(column, 0, numKeys - 1));
}

function choose(side, row, column) {
  change({ side, row, column }).then(() => {
    const { shape } = drawn[side];
    const stage = byId(`map-${side}`).parentElement;
    const x = shape.left + (column + 0.5) * shape.cell;
    if (x < stage.scrollLeft + 30 || x > stage.scrollLeft + stage.clientWidth - 30) stage.scrollLeft = x - stage.clientWidth / 2;
  });
}

function pointAt(side, event) {
  const { matrix, shape } = drawn[side];
  const bounds = byId(`map-${side}`).getBoundingClientRect();
  const column = Math.floor((event.clientX - bounds.left - shape.left) / shape.cell);
  const row = Math.floor((event.clientY - bounds.top - shape.top) / shape.cell);
  if (row >= 0 && column >= 0 && row < matrix.numQueries && column < matrix.numKeys) choose(side, row, column);
}

const THEMES = ['', 'light', 'dark'];

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || '') + 1) % 3];
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  byId('theme').textContent = { '': 'Auto', light: 'Light', dark: 'Dark' }[theme];
  change({});
}

function fail(error) {
  byId('failure').hidden = false;
  byId('failure').textContent = `This page cannot be drawn: ${error.message}. It needs a browser of May 2023 or later.`;
}

function start() {
  drawLedger();
  drawWorth();
  drawAgreement();
  readAddress();
  byId('case').addEventListener('change', (event) => change({ case: Number(event.target.value) }));
  byId('case-back').addEventListener('click', () => change({ case: state.case - 1 }));
  byId('case-on').addEventListener('click', () => change({ case: state.case + 1 }));
  byId('head').addEventListener('change', (event) => {
    const [layer, head] = event.target.value.split('.');
    change({ layer: Number(layer), head: head === undefined ? null : Number(head) });
  });
  byId('theme').addEventListener('click', nextTheme);
  for (const side of SIDES) {
    byId(`map-${side}`).addEventListener('keydown', (event) => moveCell(side, event));
    byId(`map-${side}`).addEventListener('click', (event) => pointAt(side, event));
  }
  wireShortcuts({ '[': () => change({ case: state.case - 1 }), ']': () => change({ case: state.case + 1 }) });
  systemIsDark.addEventListener('change', () => change({}));
  window.addEventListener('hashchange', () => { readAddress(); change({}); });
  window.addEventListener('resize', whenQuiet(80, () => change({})));
  change({});
}

start();
