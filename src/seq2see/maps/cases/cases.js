// Outputs beside their references: which one, which head, which cell. The state stands in the address.

const data = JSON.parse(byId('data').textContent);
const SIDES = ['output', 'reference'];
const SHOWN = ['all', 'wrong', 'right', ...new Set(data.cases.map((own) => own.kind).filter(Boolean))];
const state = { case: 0, show: 'all', layer: data.layer, head: data.head, scale: 'linear', side: 'output', row: null, column: 0 }; // no row: the telling one
let wanted = { layer: data.layer, head: data.head }; // where an output has the maps of all heads
const unpacked = new Map();
const drawn = {};

const caseNow = () => data.cases[state.case];
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const attentionName = (layer, head) => `layer ${layer + 1}, ${head === null ? 'mean of all heads' : `head ${head + 1}`}`;

// The places of the outputs that were asked for.
const listed = (show = state.show) => [...data.cases.keys()].filter((i) => {
  const { kind } = data.cases[i];
  return { all: true, wrong: kind !== null, right: kind === null }[show] ?? kind === show;
});

// Both maps of a case, those of the output first, as bytes.
function bytesOf(number) {
  if (!unpacked.has(number)) unpacked.set(number, inflate(data.cases[number].maps));
  return unpacked.get(number);
}

// One map (query, key): of a head, or the mean of its layer's; rows sum to 1 again after the rounding to bytes.
function matrixOf(bytes, side) {
  const own = caseNow();
  const [numQueries, numKeys] = [own[side].tokens.length, own.sourceTokens.length];
  const [layers, heads] = own.kept === 'all heads' ? [data.layers, data.heads] : [1, 1];
  const start = side === 'reference' ? layers * heads * own.output.tokens.length * numKeys : 0;
  const first = layers === 1 && heads === 1 ? 0 : state.layer * heads + (state.head ?? 0);
  const number = state.head === null ? heads : 1;
  const weights = new Float32Array(numQueries * numKeys);
  for (let head = first; head < first + number; head += 1) {
    const from = start + head * weights.length;
    for (let row = 0; row < weights.length; row += numKeys) {
      let sum = 0;
      for (let i = row; i < row + numKeys; i += 1) sum += bytes[from + i] ** 2;
      for (let i = row; sum && i < row + numKeys; i += 1) weights[i] += bytes[from + i] ** 2 / sum / number;
    }
  }
  return { numQueries, numKeys, weights, causal: false, signed: false };
}

// True links between tokens; of an output only as far as it is the reference.
function linksOf(side) {
  const { links, output, reference } = caseNow();
  if (!links || side === 'reference') return links;
  const same = output.tokens.findIndex((token, i) => token !== reference.tokens[i]);
  return links.filter(([, target]) => same === -1 || target < same);
}

// What the map of a side needs to be drawn, read and saved.
function viewOf(side, bytes) {
  const own = caseNow();
  const shown = matrixOf(bytes, side);
  const links = linksOf(side);
  const chosen = state.side === side;
  const { layer, head, scale } = state;
  return {
    shown, links, judged: links && judge(shown, links, 'predicts'), step: data, axisTitles: { rows: 'predicts', columns: 'source' },
    queryLabels: predictedLabels(own[side].tokens), keyLabels: predictedLabels(own.sourceTokens),
    state: {
      kind: 'cross', drawing: 'map', rows: 'predicts', truth: true, example: state.case, layer, head, scale,
      query: chosen ? state.row : null, key: state.column, keyEnd: state.column,
    },
    title: `Cross-attention of the ${side}, ${attentionName(layer, head)}`,
    caption: `line ${own.line} of ${data.name}.tsv at step ${data.step}: ${own.source}`,
    file: `attention-${data.name}-line${own.line}-${side}-layer${layer + 1}${head === null ? '' : `-head${head + 1}`}`,
  };
}

function drawMap(side) {
  const { plate, view } = drawn[side];
  plate.draw(view);
  byId(`map-${side}`).setAttribute('aria-label', view.title);
  const { judged } = view;
  byId(`marks-${side}`).replaceChildren(...(judged && judged.hits.length + judged.missed.length ? [
    'true links:', truthKey('hit', `${judged.hits.length} hit`), truthKey('missed', `${judged.missed.length} missed`), truthKey('wrong', `${judged.wrong.length} elsewhere`),
  ] : []));
  [...byId(`tokens-${side}`).tBodies[0].rows].forEach((row, i) => row.classList.toggle('chosen-row', i === view.state.query));
}

// Where the output leaves the reference, and what is looked at there.
function tellingCell(bytes) {
  const { output, reference } = caseNow();
  const row = Math.max(0, output.tokens.findIndex((token, i) => token !== reference.tokens[i]));
  const matrix = matrixOf(bytes, 'output');
  return { side: 'output', row, column: largestKey(matrix, row, matrix.numKeys) };
}

function sentence() {
  const side = caseNow()[state.side];
  const { view } = drawn[state.side];
  const value = figure(cellValue(view.shown, state.row, state.column));
  const what = `${capital(state.side)}, ${attentionName(state.layer, state.head)}`;
  return `${what}: when predicting ${quoted(side.tokens[state.row])} (${figure(side.probabilities[state.row])} probable), `
    + `${value} of the attention goes to ${keyPhrase(view, state.column, state.column)}.${truth(view, state.row, state.column, state.column)}`;
}

function drawFrame() {
  const own = caseNow();
  byId('dims').textContent = `${data.name} \u00b7 step ${data.step}`;
  const names = { all: 'all outputs', wrong: 'wrong ones', right: 'right ones' };
  options(byId('show'), SHOWN.map((show) => [show, `${names[show] ?? show} (${listed(show).length})`]), state.show);
  const places = listed();
  options(byId('case'), places.map((i, n) => [i, `${n + 1} of ${places.length}, ${data.cases[i].kind ?? 'right'}: ${data.cases[i].source}`]), state.case);
  byId('case-back').disabled = state.case === places[0];
  byId('case-on').disabled = state.case === places.at(-1);
  const heads = [];
  for (let layer = 0; layer < data.layers; layer += 1) {
    for (const head of [null, ...Array(data.heads).keys()]) heads.push([head === null ? `${layer}` : `${layer}.${head}`, attentionName(layer, head)]);
  }
  options(byId('head'), heads, state.head === null ? `${state.layer}` : `${state.layer}.${state.head}`);
  byId('head').disabled = own.kept !== 'all heads';
  const same = state.layer === data.layer && state.head === data.head;
  byId('head-note').textContent = own.kept === 'one head' ? 'the other heads were left out to keep the page small'
    : same ? 'the attention that the flags are read from' : `the flags are read from ${attentionName(data.layer, data.head)}`;
  keepingFocus(byId('scale'), () => segments(byId('scale'), [['linear', '0 to 1'], ['sqrt', 'root'], ['row', 'by row']], state.scale, (scale) => change({ scale })));
  byId('legend').replaceChildren(colourScale(false, state.scale));
  const isListed = new Set(places);
  [...byId('ledger').tBodies[0].rows].forEach((row, i) => {
    row.hidden = !isListed.has(i);
    row.classList.toggle('chosen-row', i === state.case);
  });
  const bare = own.kept === 'texts';
  for (const id of ['flags', 'choices', 'said', 'two']) byId(id).hidden = bare;
  byId('no-maps').hidden = !bare;
  byId('no-maps').textContent = 'The maps of this output were left out to keep the page small; attention.py shows those of any source.';
}

let turn = 0;

async function draw() {
  turn += 1;
  const mine = turn;
  document.documentElement.dataset.turn = mine;
  const bytes = caseNow().maps && await bytesOf(state.case);
  if (mine !== turn) return; // a later change draws
  drawFrame();
  drawTexts();
  drawBeam();
  if (bytes) {
    if (state.row === null) Object.assign(state, tellingCell(bytes));
    drawSigns();
    for (const side of SIDES) {
      drawn[side].view = viewOf(side, bytes);
      drawTokens(side);
      drawMap(side);
    }
    byId('said').textContent = sentence();
    await drawCauses();
  }
  document.documentElement.dataset.settled = mine;
}

function change(changes) {
  const other = changes.case !== undefined && changes.case !== state.case;
  Object.assign(state, other ? { row: null, column: 0 } : {}, changes);
  if ('layer' in changes) wanted = { layer: state.layer, head: state.head };
  fit();
  const parts = new URLSearchParams({ case: state.case + 1, layer: wanted.layer + 1 });
  if (wanted.head !== null) parts.set('head', wanted.head + 1);
  if (state.show !== 'all') parts.set('show', state.show);
  if (state.scale !== 'linear') parts.set('scale', state.scale);
  if (state.row !== null) for (const [name, value] of [['side', state.side], ['row', state.row + 1], ['column', state.column + 1]]) parts.set(name, value);
  history.replaceState(null, '', `#${parts}`);
  return draw().catch(fail);
}

const within = (number, size) => clamp(Math.round(number) || 0, 0, size - 1);

// Pull everything back into its range.
function fit() {
  if (!SHOWN.includes(state.show) || !listed().length) state.show = 'all';
  state.case = within(state.case, data.cases.length);
  if (!listed().includes(state.case)) Object.assign(state, { case: listed()[0], row: null, column: 0 });
  const own = caseNow();
  wanted = { layer: within(wanted.layer, data.layers), head: wanted.head === null ? null : within(wanted.head, data.heads) };
  Object.assign(state, own.kept === 'all heads' ? wanted : { layer: data.layer, head: data.head });
  if (!SIDES.includes(state.side)) state.side = 'output';
  if (!['linear', 'sqrt', 'row'].includes(state.scale)) state.scale = 'linear';
  if (own.kept === 'texts') state.row = null;
  if (state.row === null) return;
  state.row = within(state.row, own[state.side].tokens.length);
  state.column = within(state.column, own.sourceTokens.length);
}

function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (!parts.has('case') && !parts.has('show')) return;
  const number = (name) => Number(parts.get(name)) - 1;
  Object.assign(state, { show: 'all', scale: 'linear', row: null, column: 0 }); // what an address leaves out
  if (parts.has('case')) state.case = number('case');
  if (parts.has('show')) state.show = parts.get('show');
  if (parts.has('layer')) wanted = { layer: number('layer'), head: parts.has('head') ? number('head') : null };
  if (parts.has('scale')) state.scale = parts.get('scale');
  if (parts.has('row')) Object.assign(state, { side: parts.get('side'), row: number('row'), column: number('column') });
}

function createMap(side) {
  const surface = byId(`map-${side}`);
  const stage = surface.parentElement;
  const plate = createHeatmap(surface, surface.querySelector('canvas'), {
    widths: { get stage() { return stage.clientWidth; } },
    zoom: `zoom-${side}`,
    heightOf: () => clamp(0.66 * window.innerHeight, 260, 560),
    change: (to) => 'query' in to && change({ side, row: to.query, column: to.keyEnd }),
  });
  const saving = { svg: saveSvg, png: savePng, csv: saveCsv };
  for (const button of byId(`save-${side}`).children) {
    button.addEventListener('click', () => Promise.resolve(saving[button.value](drawn[side].view, plate)).catch(fail));
  }
  drawn[side] = { plate, view: null };
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
  SIDES.forEach(createMap);
  const go = (by) => {
    const places = listed();
    change({ case: places[clamp(places.indexOf(state.case) + by, 0, places.length - 1)] });
  };
  byId('show').addEventListener('change', (event) => change({ show: event.target.value }));
  byId('case').addEventListener('change', (event) => change({ case: Number(event.target.value) }));
  byId('case-back').addEventListener('click', () => go(-1));
  byId('case-on').addEventListener('click', () => go(1));
  byId('head').addEventListener('change', (event) => {
    const [layer, head] = event.target.value.split('.');
    change({ layer: Number(layer), head: head === undefined ? null : Number(head) });
  });
  byId('theme').addEventListener('click', nextTheme);
  byId('save-list').addEventListener('click', saveList);
  wireShortcuts({ '[': () => go(-1), ']': () => go(1) });
  systemIsDark.addEventListener('change', () => change({}));
  window.addEventListener('hashchange', () => { readAddress(); change({}); });
  window.addEventListener('resize', whenQuiet(80, () => change({})));
  change({});
}

start();
