// Joins the parts: one state, one way to change it, one drawing of everything after each change.

function start() {
  const log = readLog();
  let state = normalise(log, readAddress(log, location.hash, firstState(log)));
  let view = null;
  let turn = 0;

  const app = {
    log,
    state: () => state,
    isCurrent: (one) => one.turn === turn,
    change(changes, { playing = false, focusHead = false } = {}) {
      if (!playing && 'stepIndex' in changes) player.stop();
      state = normalise(log, { ...state, ...changes });
      return redraw().then(() => {
        if (focusHead) byId('thumbs').querySelector('[aria-pressed="true"]')?.focus({ preventScroll: true });
      });
    },
  };
  const player = createPlayer(app);
  const plate = createPlate(byId('plate'), byId('cells'), app);
  const ledger = createLedger(byId('ledger'), app);

  async function redraw() {
    turn += 1;
    const mine = turn;
    const next = await makeView(log, state, mine);
    if (mine !== turn) return;
    view = next;
    state = view.state;
    history.replaceState(null, '', writeAddress(log, state));
    drawFrame(view, app);
    plate.draw(view);
    drawReading(view);
    await Promise.all([drawThumbs(byId('thumbs'), view, app), drawTape(view, app)]);
    ledger.draw(view);
    document.documentElement.dataset.drawn = String(mine);
  }

  wireControls(app, player, () => view, plate, redraw);
  redraw().catch(fail);
}

// All that the drawing parts need to know about the state.
async function makeView(log, state, turn) {
  const matrix = await loadMatrix(log, state);
  const links = state.kind === 'cross' ? log.examples[state.example].links : null;
  if (state.query === 'any') state = { ...state, ...tellingCell(matrix, links, state.rows) };
  const other = state.otherIndex === null ? null
    : await loadMatrix(log, { ...state, stepIndex: state.otherIndex, layer: state.otherLayer, head: state.otherHead });
  let shown = matrix;
  if (other && state.shows === 'other') shown = other;
  if (other && state.shows === 'difference') shown = subtract(matrix, other);
  return {
    turn, log, state, matrix, other, shown, links,
    step: log.steps[state.stepIndex],
    queryLabels: queryLabels(log, state.example, state.kind, state.rows),
    keyLabels: keyLabels(log, state.example, state.kind),
    judged: links && !shown.signed ? judge(shown, links, state.rows) : null,
  };
}

// A cell to begin with: a link that crosses if the truth is known, else the strongest cell of the middle row.
function tellingCell(matrix, links, rows) {
  const crossing = (links || []).find(([source, target]) => source > target) || (links || [])[0];
  if (crossing) return { query: crossing[1] + (rows === 'reads' ? 1 : 0), key: crossing[0], keyEnd: crossing[0] };
  const query = Math.floor((matrix.numQueries - 1) / 2);
  const key = largestKey(matrix, query, visibleKeys(matrix, query));
  return { query, key, keyEnd: key };
}

function plateTitle(view) {
  const { kind, layer, head, shows } = view.state;
  const base = `${KIND_TITLES[kind]}, layer ${layer + 1}, head ${head + 1}`;
  if (!view.other || shows === 'this') return base;
  return shows === 'other' ? `${KIND_TITLES[kind]}, ${otherName(view)}` : `${base}, minus ${otherName(view)}`;
}

// The parts that are plain HTML: header, pair, tabs, controls, legends.
function drawFrame(view, app) {
  const { log, state } = view;
  const { model } = log;
  byId('dims').textContent = `width ${model.d_model} \u00b7 ${model.num_encoder_layers} + ${model.num_decoder_layers} layers \u00b7 ${model.num_heads} heads`;
  options(byId('example'), log.examples.map((example, i) => [i, `${i + 1} of ${log.examples.length}: ${example.source}`]), state.example);
  byId('example-back').disabled = state.example === 0;
  byId('example-on').disabled = state.example === log.examples.length - 1;
  byId('texts').replaceChildren(...pairTexts(view));
  keepingFocus(byId('kinds'), () => byId('kinds').replaceChildren(...KINDS.filter((kind) => log.layers[kind]).map((kind) => kindTab(kind, state, app))));
  byId('plate-title').textContent = plateTitle(view);
  const names = measureNames(log, state.kind);
  options(byId('measure'), names.map((name) => [name, MEASURES[name][0]]), state.measure);
  byId('sorted').checked = state.sorted;
  byId('tape').hidden = log.steps.length < 2;
  keepingFocus(byId('drawing'), () => segments(byId('drawing'), [['map', 'Map'], ['lines', 'Lines']], state.drawing, (drawing) => app.change({ drawing })));
  keepingFocus(byId('scale'), () => segments(byId('scale'), [['linear', '0 to 1'], ['sqrt', 'root'], ['row', 'by row']], state.scale, (scale) => app.change({ scale })));
  keepingFocus(byId('rows'), () => segments(byId('rows'), [['predicts', 'predicts'], ['reads', 'reads']], state.rows, (rows) => app.change({ rows })));
  byId('rows-field').hidden = state.kind === 'encoder';
  drawCompare(view, app);
  drawLegend(view);
  drawMarks(view, app);
  byId('ledger-note').textContent = `${KIND_TITLES[state.kind]} at step ${thousands(view.step.step)}, means over all rows of the ${log.examples.length} pairs.`;
}

function pairTexts(view) {
  const example = view.log.examples[view.state.example];
  const hypotheses = view.step.hypotheses;
  const said = hypotheses ? hypotheses[view.state.example] : null;
  const lines = [['source', example.source, null], ['reference', example.reference, null]];
  const right = said !== null && said === example.reference;
  lines.push([`at step ${thousands(view.step.step)}`, said, said === null || example.reference === null ? null : right ? 'right' : 'differs']);
  return lines.filter(([, text]) => text !== null && text !== undefined).map(([name, text, verdict]) => element('div', { class: verdict },
    element('dt', {}, name),
    element('dd', { dir: 'auto' }, text === '' ? element('span', { class: 'nothing' }, 'nothing') : text,
      verdict ? element('span', { class: 'verdict' }, verdict === 'right' ? ' as the reference' : ' not as the reference') : null)));
}

function kindTab(kind, state, app) {
  const chosen = kind === state.kind;
  const choose = (to) => app.change({ kind: to, query: 'any' });
  return element('button', {
    type: 'button', role: 'tab', id: `tab-${kind}`, 'aria-selected': String(chosen), 'aria-controls': 'bench', tabindex: chosen ? 0 : -1,
    onclick: () => choose(kind),
    onkeydown: (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
      const kinds = KINDS.filter((one) => app.log.layers[one]);
      const to = kinds[(kinds.indexOf(kind) + move + kinds.length) % kinds.length];
      choose(to).then(() => byId(`tab-${to}`).focus());
    },
  }, element('b', {}, KIND_NAMES[kind]), element('span', {}, KIND_NOTES[kind]));
}

function drawCompare(view, app) {
  const { log, state } = view;
  options(byId('other-step'), [['', 'nothing'], ...log.steps.map((step, i) => [i, `step ${thousands(step.step)}`])], state.otherIndex ?? '');
  const heads = allHeads(log, state.kind).map(({ layer, head }) => [`${layer}.${head}`, `layer ${layer + 1}, head ${head + 1}`]);
  const comparing = state.otherIndex !== null;
  byId('other-head').hidden = !comparing;
  byId('shows').hidden = !comparing;
  if (!comparing) return;
  options(byId('other-head'), heads, `${state.otherLayer}.${state.otherHead}`);
  keepingFocus(byId('shows'), () => segments(byId('shows'), [['this', 'this'], ['other', 'other'], ['difference', 'difference']], state.shows, (shows) => app.change({ shows })));
}

function drawLegend(view) {
  const { shown, state } = view;
  const canvas = element('canvas', { width: 256, height: 1, 'aria-hidden': 'true' });
  const image = new ImageData(256, 1);
  for (let i = 0; i < 256; i += 1) {
    const two = shown.signed ? ramp(i < 128 ? 'less' : 'more')[Math.min(255, Math.abs(2 * i - 255))] : ramp('weight')[i];
    image.data.set([...two, 255], 4 * i);
  }
  canvas.getContext('2d').putImageData(image, 0, 0);
  const ticks = legendTicks(shown.signed, state.scale).map(([place, label]) => {
    const tick = element('span', {}, label);
    tick.style.left = `${place * 100}%`;
    return tick;
  });
  byId('legend').replaceChildren(element('div', { class: 'gradient' }, canvas, element('div', { class: 'legend-ticks' }, ...ticks)),
    shown.causal ? element('span', { class: 'swatch' }, element('i', { class: 'hatched' }), 'not visible: comes later') : '');
}

function legendTicks(signed, scale) {
  if (scale === 'row') return signed ? [[0, '\u2212largest'], [0.5, '0'], [1, '+largest']] : [[0, '0'], [1, 'row\u2019s largest']];
  const bend = scale === 'sqrt' ? Math.sqrt : (value) => value;
  if (signed) return [-1, -0.25, 0, 0.25, 1].map((value) => [0.5 + 0.5 * Math.sign(value) * bend(Math.abs(value)), (value > 0 ? '+' : value < 0 ? '\u2212' : '') + Math.abs(value)]);
  return (scale === 'sqrt' ? [0, 0.05, 0.25, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((value) => [bend(value), String(value)]);
}

function drawMarks(view, app) {
  const box = byId('marks');
  if (!view.judged) return box.replaceChildren();
  const toggle = element('input', { type: 'checkbox', id: 'truth', onchange: (event) => app.change({ truth: event.target.checked }) });
  toggle.checked = view.state.truth;
  const counts = view.state.truth ? [
    mark('hit', `${view.judged.hits.length} hit`), mark('missed', `${view.judged.missed.length} missed`), mark('wrong', `${view.judged.wrong.length} elsewhere`),
  ] : [];
  return keepingFocus(box, () => box.replaceChildren(element('label', { class: 'check' }, toggle, 'true links'), ...counts));
}

function mark(name, text) {
  return element('span', { class: 'swatch' }, svg('svg', { width: 15, height: 15, 'aria-hidden': 'true' }, truthMark(name, 7.5, 7.5, 3.6)), text);
}

function wireControls(app, player, view, plate, redraw) {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  const step = (by) => app.change({ stepIndex: app.state().stepIndex + by });
  const pair = (by) => app.change({ example: app.state().example + by, query: 'any' });
  on('example', 'change', (event) => app.change({ example: Number(event.target.value), query: 'any' }));
  on('example-back', 'click', () => pair(-1));
  on('example-on', 'click', () => pair(1));
  on('measure', 'change', (event) => app.change({ measure: event.target.value }));
  on('sorted', 'change', (event) => app.change({ sorted: event.target.checked }));
  on('step', 'input', (event) => app.change({ stepIndex: Number(event.target.value) }));
  on('step-back', 'click', () => step(-1));
  on('step-on', 'click', () => step(1));
  on('play', 'click', player.toggle);
  on('other-step', 'change', (event) => app.change({ otherIndex: event.target.value === '' ? null : Number(event.target.value), otherLayer: app.state().layer, otherHead: app.state().head }));
  on('other-head', 'change', (event) => {
    const [otherLayer, otherHead] = event.target.value.split('.').map(Number);
    app.change({ otherLayer, otherHead });
  });
  on('save-svg', 'click', () => view() && saveSvg(view(), plate));
  on('save-csv', 'click', () => view() && saveCsv(view()));
  on('copy-link', 'click', (event) => copyLink(event.currentTarget));
  wireTheme(redraw);
  const keys = {
    ',': () => step(-1), '.': () => step(1), p: player.toggle, '[': () => pair(-1), ']': () => pair(1),
    m: () => app.change({ drawing: 'map' }), l: () => app.change({ drawing: 'lines' }), Escape: () => app.change({ query: null }),
  };
  document.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === 'SELECT') return;
    if (keys[event.key]) keys[event.key]();
  });
  window.addEventListener('resize', () => redraw());
  window.addEventListener('hashchange', () => {
    if (location.hash !== writeAddress(app.log, app.state())) app.change(readAddress(app.log, location.hash, app.state()));
  });
}

function wireTheme(redraw) {
  const button = byId('theme');
  const names = { '': 'Auto', light: 'Light', dark: 'Dark' };
  const show = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    button.textContent = names[theme];
    button.setAttribute('aria-label', `Colours: ${names[theme]}`);
  };
  button.addEventListener('click', () => {
    const order = Object.keys(names);
    show(order[(order.indexOf(document.documentElement.dataset.theme || '') + 1) % order.length]);
    redraw();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw());
  show('');
}

function fail(error) {
  const notice = byId('failure');
  notice.hidden = false;
  notice.textContent = typeof DecompressionStream === 'undefined'
    ? 'This browser is too old to unpack the maps (it lacks DecompressionStream). Any browser since May 2023 can.'
    : `The page could not draw its maps: ${error.message}`;
  throw error;
}

start();
