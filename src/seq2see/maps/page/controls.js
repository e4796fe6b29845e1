// The parts that are plain HTML: header, pair, tabs, controls, legends.

function plateTitle(view) {
  const { kind, layer, head } = view.state;
  const variant = (isNorms(view.variant) ? ', norms' : '') + (isFree(view.variant) ? ', own output' : '');
  const base = `${KIND_TITLES[kind]}, layer ${layer + 1}, head ${head + 1}`;
  if (view.shows === 'this') return base + variant;
  return (view.shows === 'other' ? `${KIND_TITLES[kind]}, ${otherName(view)}` : `${base}, minus ${otherName(view)}`) + variant;
}

function drawControls(view, app) {
  const { log, state } = view;
  byId('dims').replaceChildren(element('b', {}, document.title), ` ${modelWords(log)}`);
  options(byId('example'), log.examples.map((example, i) => [i, `${i + 1} of ${log.examples.length}: ${isolated(example.source)}`]), state.example);
  byId('example-back').disabled = state.example === 0;
  byId('example-on').disabled = state.example === log.examples.length - 1;
  byId('texts').replaceChildren(...pairTexts(view));
  const kinds = KINDS.filter((kind) => log.layers[kind]);
  keepingFocus(byId('kinds'), () => byId('kinds').replaceChildren(...kinds.map((kind) => kindTab(kind, kinds, state, app))));
  byId('bench').setAttribute('aria-labelledby', `tab-${state.kind}`);
  byId('plate-title').textContent = plateTitle(view);
  options(byId('measure'), measureNames(log, state.kind).map((name) => [name, MEASURES[name][0]]), state.measure);
  byId('sorted').checked = state.sorted;
  const off = headOff(view);
  byId('worth').replaceChildren(...(off ? [element('b', {}, off.text), off.note] : []));
  byId('tape').hidden = log.steps.length < 2;
  drawChoice('drawing', [['map', 'Map'], ['lines', 'Lines']], view, app);
  drawVariants(view, app);
  drawChoice('scale', [['linear', '0 to 1'], ['sqrt', 'root'], ['row', 'by row']], view, app);
  drawChoice('rows', [['predicts', 'predicts'], ['reads', 'reads']], view, app);
  byId('rows-field').hidden = state.kind === 'encoder';
  drawCompare(view, app);
  drawLegend(view);
  drawMarks(view, app);
  byId('ledger-note').textContent = ledgerNote(log, state);
}

// Weights or norms, the reference or the own output; what the log does not have is not offered.
function drawVariants(view, app) {
  const { log, state } = view;
  const some = (name) => log.maps.some((step) => step[name]);
  byId('cells-field').hidden = !some('norms');
  byId('fed-field').hidden = !some('free') || state.kind === 'encoder';
  drawChoice('cells-choice', [['weights', 'weights'], ['norms', 'norms']], view, app, 'cells');
  drawChoice('fed', [['reference', 'reference'], ['output', 'own output']], view, app);
  const lacks = (state.cells === 'norms' && !isNorms(view.variant) && some('norms'))
    || (state.fed === 'output' && state.kind !== 'encoder' && !isFree(view.variant) && some('free'));
  byId('variant-note').textContent = lacks ? 'Left out at this step to keep the page small: these are the weights, fed the reference.' : '';
}

// The buttons for one part of the state; they stand in the element of that name, if no other is given.
function drawChoice(id, choices, { state }, app, name = id) {
  keepingFocus(byId(id), () => segments(byId(id), choices, state[name], (value) => app.change({ [name]: value })));
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

function kindTab(kind, kinds, state, app) {
  const chosen = kind === state.kind;
  const choose = (to) => app.change({ kind: to, query: 'any' });
  return element('button', {
    type: 'button', role: 'tab', id: `tab-${kind}`, 'aria-selected': String(chosen), 'aria-controls': 'bench', tabindex: chosen ? 0 : -1,
    onclick: () => choose(kind),
    onkeydown: (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
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
  byId('compare-note').textContent = view.alike ? '' : 'The two outputs are different texts: there is no difference of their maps.';
  if (!comparing) return;
  options(byId('other-head'), heads, `${state.otherLayer}.${state.otherHead}`);
  drawChoice('shows', [['this', 'this'], ['other', 'other'], ['difference', 'difference']], view, app);
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
  if (signed) {
    const signs = { '-1': '\u2212', 0: '', 1: '+' };
    return [-1, -0.25, 0, 0.25, 1].map((value) => [
      0.5 + 0.5 * Math.sign(value) * bend(Math.abs(value)), signs[Math.sign(value)] + Math.abs(value),
    ]);
  }
  return (scale === 'sqrt' ? [0, 0.05, 0.25, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((value) => [bend(value), String(value)]);
}

function drawMarks(view, app) {
  const box = byId('marks');
  if (!view.judged) return box.replaceChildren();
  const toggle = element('input', { type: 'checkbox', id: 'truth', onchange: (event) => app.change({ truth: event.target.checked }) });
  toggle.checked = view.state.truth;
  const counts = view.state.truth ? [
    markKey('hit', `${view.judged.hits.length} hit`),
    markKey('missed', `${view.judged.missed.length} missed`),
    markKey('wrong', `${view.judged.wrong.length} elsewhere`),
  ] : [];
  return keepingFocus(box, () => box.replaceChildren(element('label', { class: 'check' }, toggle, 'true links'), ...counts));
}

function markKey(name, text) {
  const picture = svg('svg', { width: 15, height: 15, 'aria-hidden': 'true' }, truthMark(name, 7.5, 7.5, 3.6));
  return element('span', { class: 'swatch' }, picture, text);
}
