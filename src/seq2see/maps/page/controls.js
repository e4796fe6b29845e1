// The parts that are plain HTML: header, pair, tabs, controls, legends.

function plateTitle(view) {
  const { kind, layer, head } = view.state;
  const variant = (isNorms(view.variant) ? ', norms' : '') + (isFree(view.variant) ? ', own output' : '');
  if (view.state.drawing === 'heads') {
    const where = view.shows === 'this' ? '' : otherPlaceName(view);
    const minus = view.shows === 'difference' ? ', minus those' : '';
    return `${KIND_TITLES[kind]}, all ${allHeads(view.log, kind).length} heads${minus}${where}${variant}`;
  }
  const heads = view.lines ? view.lines.heads.map((one) => one.head + 1) : [head + 1];
  const base = `${KIND_TITLES[kind]}, layer ${layer + 1}, head${heads.length > 1 ? 's' : ''} ${heads.join(', ')}`;
  if (view.shows === 'this') return base + variant;
  return (view.shows === 'other' ? `${KIND_TITLES[kind]}, ${otherName(view)}` : `${base}, minus ${otherName(view)}`) + variant;
}

const captionOf = ({ log, state }) => `pair ${state.example + 1}${atStep(log, state.stepIndex)}: ${log.examples[state.example].source}`;

function fileName(view) {
  const { kind, layer, example } = view.state;
  const heads = view.lines ? view.lines.heads.map((one) => one.head + 1) : [view.state.head + 1];
  const variant = (isNorms(view.variant) ? '-norms' : '') + (isFree(view.variant) ? '-own-output' : '');
  const of = view.state.drawing === 'heads' ? 'heads' : `layer${layer + 1}-head${heads.join('+')}`;
  return `attention-${kind}${variant}-${of}-step${view.step.step}-pair${example + 1}`;
}

// Hides for good what this log has nothing for: one step has no tape, another model's maps no norms.
function hideWhatLacks(log) {
  const variants = new Set(log.maps.flatMap(Object.keys));
  const has = {
    steps: log.steps.length > 1,
    pairs: log.examples.length > 1,
    norms: variants.has('norms'),
    free: variants.has('free'),
    links: log.examples.some((example) => example.links),
    measures: KINDS.some((kind) => measureNames(log, kind).length),
    effects: KINDS.some((kind) => log.measures[kind].ablation_loss),
  };
  for (const part of document.querySelectorAll('[data-needs]')) part.hidden = !has[part.dataset.needs];
}

function drawControls(view, app) {
  const { log, state } = view;
  const name = document.title === 'Attention maps' ? [] : [element('b', {}, document.title), ' ']; // nobody named the page
  byId('dims').replaceChildren(...name, modelWords(log));
  options(byId('example'), log.examples.map((example, i) => [i, `${i + 1} of ${log.examples.length}: ${isolated(example.source)}`]), state.example);
  byId('example-back').disabled = state.example === 0;
  byId('example-on').disabled = state.example === log.examples.length - 1;
  byId('texts').replaceChildren(...pairTexts(view));
  const kinds = KINDS.filter((kind) => log.layers[kind]);
  keepingFocus(byId('kinds'), () => byId('kinds').replaceChildren(...kinds.map((kind) => kindTab(kind, kinds, state, app))));
  byId('bench').setAttribute('aria-labelledby', `tab-${state.kind}`);
  byId('plate-title').textContent = view.title;
  options(byId('measure'), measureNames(log, state.kind).map((name) => [name, MEASURES[name][0]]), state.measure);
  byId('sorted').checked = state.sorted;
  const off = headOff(view);
  byId('worth').replaceChildren(...(off ? [element('b', {}, off.text), off.note] : []));
  byId('left-out').textContent = leftOutWords(log);
  byId('save-csv').disabled = state.drawing === 'heads'; // it is of one map
  drawChoice('drawing', [['map', 'Map'], ['lines', 'Lines'], ['heads', 'All heads']], view, app);
  drawVariants(view, app);
  drawChoice('scale', [['linear', '0 to 1'], ['sqrt', 'root'], ['row', 'by row']], view, app);
  drawChoice('rows', [['predicts', 'predicts'], ['reads', 'reads']], view, app);
  byId('rows-field').hidden = state.kind === 'encoder';
  drawCompare(view, app);
  drawLegend(view, app);
  drawMarks(view, app);
  byId('ledger-note').textContent = ledgerNote(log, state);
}

// Weights or norms, the reference or the own output; what the log does not have is not offered.
function drawVariants(view, app) {
  const { log, state } = view;
  const some = (name) => log.maps.some((step) => step[name]);
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
  const free = isFree(view.variant); // then its own output is what the decoder was fed
  const lines = [['source', example.source, null, 'source'], ['reference', example.reference, null, free ? null : 'target']];
  const right = said !== null && said === example.reference;
  const verdict = said === null || example.reference === null ? null : right ? 'right' : 'differs';
  lines.push([`at step ${thousands(view.step.step)}`, said, verdict, free && view.shows !== 'other' ? 'target' : null]);
  if (view.other && view.state.otherRun) {
    const { hypotheses: others } = view.log.other.steps[view.state.otherIndex];
    lines.push(['other run', others && others[view.log.other.pairs[view.state.example]], null, null]);
  }
  return lines.filter(([, text]) => text !== null && text !== undefined).map(([name, text, verdict, side]) => element('div', { class: verdict },
    element('dt', {}, name),
    element('dd', { dir: 'auto' }, ...(text === '' ? [element('span', { class: 'nothing' }, 'nothing')] : side ? runningText(view, side, text) : [text]),
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

// Why there is no difference, or nothing at all to compare with.
function compareNote({ log, state, other, alike, variant }) {
  if (state.otherIndex !== null && !other) {
    return `${log.other.name} has ${log.other.pairs[state.example] === null ? 'no maps of this pair' : 'other layers and heads'}.`;
  }
  if (alike) return '';
  const what = state.otherRun && !isFree(variant) ? 'The two runs cut the texts into different tokens' : 'The two outputs are different texts';
  return `${what}: there is no difference of their maps.`;
}

function drawCompare(view, app) {
  const { log, state } = view;
  const there = log.other?.layers[state.kind] ? log.other : null;
  const choices = log.steps.map((step, i) => [i, log.steps.length > 1 ? `step ${thousands(step.step)}` : 'another head']);
  const others = there ? there.steps.map((step, i) => [`${i} other`, `${there.name}, step ${thousands(step.step)}`]) : [];
  const chosen = state.otherIndex === null ? '' : `${state.otherIndex}${state.otherRun ? ' other' : ''}`;
  options(byId('other-step'), [['', 'nothing'], ...choices, ...others], chosen);
  const heads = allHeads(otherLog(log, state), state.kind).map(({ layer, head }) => [`${layer}.${head}`, `layer ${layer + 1}, head ${head + 1}`]);
  const comparing = state.otherIndex !== null;
  byId('other-head').hidden = !comparing || state.drawing === 'heads';
  byId('shows').hidden = !comparing || !view.other;
  byId('compare-note').textContent = compareNote(view);
  if (!comparing) return;
  options(byId('other-head'), heads, `${state.otherLayer}.${state.otherHead}`);
  drawChoice('shows', [['this', 'this'], ['other', 'other'], ['difference', 'difference']], view, app);
}

function drawLegend(view, app) {
  const { shown, state } = view;
  byId('line-heads').replaceChildren();
  if (view.lines) {
    keepingFocus(byId('line-heads'), () => byId('line-heads').replaceChildren(...lineKeys(view, app)));
    if (view.lines.heads.length > 1) return byId('legend').replaceChildren('wider: more attention', ...linesNote(view));
  }
  return byId('legend').replaceChildren(colourScale(shown.signed, state.scale),
    ...(view.lines ? linesNote(view) : []),
    shown.causal && !view.lines ? element('span', { class: 'swatch' }, element('i', { class: 'hatched' }), 'not visible: comes later') : '');
}

function drawMarks(view, app) {
  const box = byId('marks');
  if (!view.judged) return box.replaceChildren();
  const toggle = element('input', { type: 'checkbox', id: 'truth', onchange: (event) => app.change({ truth: event.target.checked }) });
  toggle.checked = view.state.truth;
  const dash = () => svg('svg', { width: 22, height: 15, 'aria-hidden': 'true' }, svg('line', { class: 'true-join', x1: 0, x2: 22, y1: 8, y2: 8 }));
  const counts = view.lines ? [view.state.truth ? dash() : ''] : view.state.truth ? [
    truthKey('hit', `${view.judged.hits.length} hit`),
    truthKey('missed', `${view.judged.missed.length} missed`),
    truthKey('wrong', `${view.judged.wrong.length} elsewhere`),
  ] : [];
  return keepingFocus(box, () => box.replaceChildren(element('label', { class: 'check' }, toggle, 'true links'), ...counts));
}
