// What is being looked at: one plain object, written into the address so that a view can be sent.
//
// {kind, example, layer, head, stepIndex, query, key, keyEnd, cells, fed, rows, scale, drawing, truth, measure, sorted,
//  table (the measure that sorts it, "-" before it: down), heads (drawn as lines beside the chosen one), otherRun, otherIndex, otherLayer, otherHead, shows,
//  wanted, zoom (1: the map fits its place)}
// `query` is null when no cell is chosen, and 'any' until the first drawing has picked one. `wanted` is a measure that was
// chosen and that the kind now shown lacks.

// What the address leaves out is as usual.
const USUAL = { cells: 'weights', fed: 'reference', rows: 'predicts', scale: 'linear', drawing: 'map', shows: 'difference' };

const CHOICES = {
  kind: KINDS,
  cells: ['weights', 'norms'],
  fed: ['reference', 'output'],
  rows: ['predicts', 'reads'],
  scale: ['linear', 'row', 'sqrt'],
  drawing: ['map', 'lines', 'heads'],
  shows: ['this', 'other', 'difference'],
};

// The first view: the last step, and if the alignment is known a pair whose links cross, and the head that follows it best.
function firstState(log) {
  const state = {
    kind: 'cross', example: Math.max(0, log.examples.findIndex(({ links }) => mostCrossing(links))), layer: log.layers.cross - 1, head: 0,
    stepIndex: log.steps.length - 1, query: 'any', key: 0, keyEnd: 0,
    ...USUAL, truth: true, measure: null, sorted: false, table: '', heads: [], otherRun: false, otherIndex: null, otherLayer: null, otherHead: null, zoom: 1,
  };
  const rates = log.measures.cross.alignment_error_rate;
  if (!rates) return state;
  let best = Infinity;
  rates[state.stepIndex].forEach((heads, layer) => heads.forEach((rate, head) => {
    if (rate !== null && rate < best) [best, state.layer, state.head] = [rate, layer, head];
  }));
  return state;
}

// Pull every number back into its range; called after each change, so that no part has to check.
function normalise(log, state) {
  const next = { ...state };
  for (const [name, choices] of Object.entries(CHOICES)) if (!choices.includes(next[name])) next[name] = choices[0];
  if (!log.layers[next.kind]) next.kind = 'cross';
  next.example = clamp(next.example, 0, log.examples.length - 1);
  next.stepIndex = clamp(next.stepIndex, 0, log.steps.length - 1);
  next.layer = clamp(next.layer, 0, log.layers[next.kind] - 1);
  next.head = clamp(next.head, 0, log.heads[next.kind] - 1);
  if (next.query !== null && next.query !== 'any') {
    const { numQueries, numKeys } = mapSize(log, next);
    next.query = clamp(next.query, 0, numQueries - 1);
    next.key = clamp(next.key, 0, numKeys - 1);
    next.keyEnd = clamp(next.keyEnd, 0, numKeys - 1);
  }
  next.zoom = clampNumber(Number(next.zoom) || 1, 0.01, 100);
  next.otherRun = Boolean(next.otherRun && log.other);
  const other = otherLog(log, next);
  if (!other.layers[next.kind]) next.otherIndex = null;
  if (next.otherIndex !== null) {
    next.otherIndex = clamp(next.otherIndex, 0, other.steps.length - 1);
    next.otherLayer = clamp(next.otherLayer ?? next.layer, 0, other.layers[next.kind] - 1);
    next.otherHead = clamp(next.otherHead ?? next.head, 0, other.heads[next.kind] - 1);
  }
  next.heads = [...new Set(next.heads)].filter((head) => Number.isInteger(head) && head >= 0 && head < log.heads[next.kind]);
  const names = measureNames(log, next.kind);
  if (names.includes(next.wanted)) Object.assign(next, { measure: next.wanted, wanted: null });
  if (!names.includes(next.measure)) Object.assign(next, { measure: names[0] || null, wanted: next.wanted ?? next.measure });
  return next;
}

// What is compared with: another step or head of this run, or another run.
const otherLog = (log, { otherRun }) => (otherRun ? log.other : log);

// The link that crosses most others, the first of several; undefined where none crosses.
function mostCrossing(links) {
  const crossings = ([source, target]) => links.filter(([s, t]) => (s - source) * (t - target) < 0).length;
  let best;
  let most = 0;
  for (const link of links || []) if (crossings(link) > most) [best, most] = [link, crossings(link)];
  return best;
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, Math.round(Number(value)) || 0));

function writeAddress(log, state) {
  const parts = new URLSearchParams({
    kind: state.kind, pair: state.example + 1, layer: state.layer + 1, head: state.head + 1, step: log.steps[state.stepIndex].step,
  });
  if (log.reloadSeconds && state.stepIndex === log.steps.length - 1) parts.delete('step'); // the newest is followed
  if (Number.isInteger(state.query)) {
    parts.set('row', state.query + 1);
    parts.set('column', state.key === state.keyEnd ? state.key + 1 : `${state.key + 1}-${state.keyEnd + 1}`);
  } else if (state.query === null) parts.set('cell', 'none');
  const { shows, ...usual } = USUAL;
  for (const [name, value] of Object.entries(usual)) if (state[name] !== value) parts.set(name, state[name]);
  if (!state.truth) parts.set('truth', 'off');
  if (state.zoom !== 1) parts.set('zoom', state.zoom.toFixed(2));
  if (drawnHeads(state).length > 1) parts.set('heads', drawnHeads(state).map((head) => head + 1).join('-'));
  if (state.sorted) parts.set('sorted', 'on');
  if (state.table) parts.set('table', state.table);
  if (state.measure !== (measureNames(log, state.kind)[0] || null)) parts.set('measure', state.measure);
  if (state.otherIndex !== null) {
    const { step } = otherLog(log, state).steps[state.otherIndex];
    parts.set('with', `${state.otherRun ? 'other.' : ''}${step}.${state.otherLayer + 1}.${state.otherHead + 1}`);
    if (state.shows !== shows) parts.set('shows', state.shows);
  }
  return `#${parts}`;
}

function readAddress(log, address, state) {
  const parts = new URLSearchParams(address.replace(/^#/, ''));
  if (!parts.has('kind')) return state;
  const next = { ...state, ...USUAL, query: parts.get('cell') === 'none' ? null : 'any', keyEnd: 0, key: 0, otherRun: false, otherIndex: null };
  for (const name of Object.keys(CHOICES)) if (parts.has(name)) next[name] = parts.get(name);
  if (parts.has('pair')) next.example = Number(parts.get('pair')) - 1;
  if (parts.has('layer')) next.layer = Number(parts.get('layer')) - 1;
  if (parts.has('head')) next.head = Number(parts.get('head')) - 1;
  if (parts.has('step')) next.stepIndex = nearestStep(log, Number(parts.get('step')));
  if (parts.has('row') && parts.has('column')) {
    const [from, to] = parts.get('column').split('-').map(Number);
    Object.assign(next, { query: Number(parts.get('row')) - 1, key: from - 1, keyEnd: (to || from) - 1 });
  }
  next.truth = parts.get('truth') !== 'off';
  next.zoom = parts.get('zoom') ?? 1;
  next.heads = parts.has('heads') ? parts.get('heads').split('-').map((head) => Number(head) - 1) : [];
  next.sorted = parts.get('sorted') === 'on';
  next.measure = parts.get('measure');
  next.table = parts.get('table') ?? '';
  if (parts.has('with')) {
    const [step, layer, head] = parts.get('with').replace(/^other\.?/, '').split('.');
    next.otherRun = Boolean(log.other) && parts.get('with').startsWith('other');
    const place = (number, usual) => (number ? Number(number) - 1 : usual);
    Object.assign(next, {
      otherIndex: nearestStep(otherLog(log, next), step ? Number(step) : Infinity), // the last, as "other" alone says
      otherLayer: place(layer, next.layer), otherHead: place(head, next.head),
    });
  }
  return next;
}

function nearestStep(log, step) {
  let best = log.steps.length - 1;
  log.steps.forEach((stored, i) => {
    if (Math.abs(stored.step - step) < Math.abs(log.steps[best].step - step)) best = i;
  });
  return best;
}
