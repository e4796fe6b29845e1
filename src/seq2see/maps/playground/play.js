// Joins the parts: one state, one way to change it, one drawing of everything after each change.

const SHORTEST = 700; // milliseconds in which a new output appears, at most
const stillness = matchMedia('(prefers-reduced-motion: reduce)');
const mark = (name, turn) => { document.documentElement.dataset[name] = String(turn); };

function createApp() {
  let state = firstState();
  let view = null;
  let turn = 0;
  let timer = null;
  const found = new Map(); // by stop
  const plateWidth = () => byId('stage-box').clientWidth;

  const app = {
    widths: { stage: 0 },
    state: () => state,
    change(changes) {
      const isNew = 'text' in changes && changes.text !== state.text;
      if (isNew && state.tour === null) changes = { ...NO_CHANGES, place: null, query: 'any', ...changes };
      else if (isNew) changes = { forced: [], left: [], place: null, query: 'any', ...changes };
      if ('kind' in changes && changes.kind !== state.kind && !('query' in changes)) changes = { ...changes, query: 'any' };
      if (Number.isInteger(changes.query) && !('place' in changes) && (changes.kind ?? state.kind) !== 'encoder') changes = { ...changes, place: changes.query };
      state = { ...state, ...changes };
      return draw();
    },
    switchHeads(heads) {
      const marks = new Set(heads.map(headMark));
      const isAllOff = heads.every((own) => state.off.some((other) => headMark(other) === headMark(own)));
      const others = state.off.filter((own) => !marks.has(headMark(own)));
      app.change({ off: isAllOff ? others : [...others, ...heads] });
    },
    // The chosen cell in the row of an output token: where the head looks most.
    rowOf(query) {
      const matrix = matrixOf(view.answer, view.hypothesis, state);
      const key = largestKey(matrix, query, visibleKeys(matrix, query));
      return { query, key, keyEnd: key };
    },
    typed(kind, axis, place) { // the place in the typed text of a row or column of the source
      const isSource = kind === 'encoder' || (kind === 'cross' && axis === 'key');
      return isSource ? view.answer.kept[place] : place;
    },
    force({ query, key }) {
      const { kind, layer, head } = state;
      if (!isVisible(view.shown, query, key)) return;
      const own = { kind, layer, head, query: app.typed(kind, 'query', query), key: app.typed(kind, 'key', key) };
      const others = state.forced.filter((other) => headMark(other) !== headMark(own) || other.query !== own.query);
      app.change({ forced: [...others, own], query, key, keyEnd: key });
    },
    isForced() {
      const { kind, layer, head } = state;
      const [query, key] = [app.typed(kind, 'query', state.query), app.typed(kind, 'key', state.key)];
      return state.forced.some((own) => headMark(own) === headMark({ kind, layer, head }) && own.query === query && own.key === key);
    },
    // The tour goes to a stop; its text alone, if the address has brought a view along.
    async visit(tour, keepsView = false) {
      state = { ...state, tour };
      if (tour === null) return draw();
      turn += 1; // what is being drawn is not waited for
      mark('turn', turn);
      clearTimeout(timer);
      drawWords({ state });
      drawTour({ state }, found.get(tour));
      if (!found.has(tour)) found.set(tour, await STOPS[tour]());
      if (state.tour !== tour) return null; // gone on
      const fresh = { ...firstState(), language: state.language, beam: 1, tour, ...found.get(tour).view };
      if (!keepsView) state = fresh;
      return draw();
    },
    again: () => show({ ...view, revealed: 0 }),
  };
  const plate = createHeatmap(byId('plate'), byId('cells'), app);

  async function draw() {
    turn += 1;
    const mine = turn;
    mark('turn', mine);
    clearTimeout(timer);
    drawWords({ state });
    try {
      const next = await makeView(state);
      if (mine !== turn) return;
      const revealed = view && view.hypothesis && !stillness.matches ? samePart(view.labels, next.labels) : Infinity;
      state = next.state;
      byId('failure').hidden = true;
      show({ ...next, revealed: revealed >= next.labels.length ? Infinity : revealed });
    } catch (error) {
      if (mine !== turn) return;
      byId('failure').hidden = false;
      byId('failure').textContent = say('failed', say('reasons')[error.message] ?? error.message);
      mark('settled', mine);
      if (!(error instanceof RangeError) && !/half a character/.test(error.message)) throw error;
    }
  }

  // Everything, then one token more after the other.
  function show(next) {
    clearTimeout(timer);
    view = next;
    app.widths.stage = plateWidth();
    drawTour(view, found.get(state.tour));
    drawEntry(view, app);
    drawChoices(view);
    drawOthers(view);
    drawHeads(view, app);
    drawReading(view, app);
    write();
  }

  function write() {
    drawTokens(view, app);
    app.widths.stage = plateWidth();
    drawPlate({ ...view, ...written(view) }, app, plate);
    if (view.revealed < view.labels.length) {
      view.revealed += 1;
      timer = setTimeout(write, Math.min(90, SHORTEST / view.labels.length));
      return;
    }
    keepAddress(writeAddress(state));
    mark('settled', turn);
  }

  wire(app, () => view, plate, (address) => {
    state = readAddress(address, state);
    const { tour } = state;
    return tour === null ? draw() : app.visit(tour, new URLSearchParams(address.slice(1)).has('text'));
  });
  return app;
}

// All that the drawing parts need to know about a state.
async function makeView(state) {
  const model = await modelOf(clamp(state.stage, 0, lastStage));
  const fitted = fit(state, model);
  const answer = await ask(fitted);
  const rank = clamp(fitted.rank, 0, answer.hypotheses.length - 1);
  const hypothesis = answer.hypotheses[rank];
  const labels = labelsOf(hypothesis);
  const isChanged = fitted.off.length || fitted.forced.length || fitted.left.length;
  const plainAnswer = isChanged ? await ask({ ...fitted, ...NO_CHANGES }) : null;
  const trainedAnswer = fitted.stage < lastStage ? await ask({ ...fitted, ...NO_CHANGES, stage: lastStage }) : null;
  const [plainHypothesis, trainedHypothesis] = [plainAnswer, trainedAnswer].map((own) => own && own.hypotheses[0]);
  const compared = plainHypothesis || trainedHypothesis;
  const matrix = matrixOf(answer, hypothesis, fitted);
  const otherMatrix = compared && alike(answer, hypothesis, plainAnswer || trainedAnswer, compared, fitted.kind)
    ? matrixOf(plainAnswer || trainedAnswer, compared, fitted) : null;
  const shows = otherMatrix ? fitted.shows : 'this';
  const shown = shows === 'difference' ? subtract(matrix, otherMatrix) : matrix;
  const sourceLabels = predictedLabels(tokenizers.source.tokens(answer.ids));
  const outputLabels = fitted.rows === 'reads' ? readLabels(labels) : predictedLabels(labels);
  const next = { ...fitted, rank, place: fitted.place === null || fitted.place >= labels.length || fitted.place < 0 ? null : fitted.place };
  return {
    model, answer, hypothesis, labels, plainHypothesis, trainedHypothesis, matrix, otherMatrix, shown, shows,
    marks: compared ? differing(labels, labelsOf(compared)) : null,
    example: data.examples.find(({ source }) => source === fitted.text) || null,
    queryLabels: fitted.kind === 'encoder' ? sourceLabels : outputLabels,
    keyLabels: fitted.kind === 'decoder' ? readLabels(labels) : sourceLabels,
    judged: shown.signed ? null : forcedCells(fitted, answer), step: data.stages[fitted.stage],
    state: { ...next, ...cellOf(next, shown), drawing: 'map', truth: true },
  };
}

// The cells of the shown map where a row was made to look, as the heatmap marks cells; null if there are none.
function forcedCells({ kind, layer, head, forced }, { kept }) {
  const hits = forced.filter((own) => headMark(own) === headMark({ kind, layer, head })).map(({ query, key }) => [
    kind === 'encoder' ? kept.indexOf(query) : query, kind === 'decoder' ? key : kept.indexOf(key)]).filter((cell) => !cell.includes(-1));
  return hits.length ? { hits, missed: [], wrong: [] } : null;
}

// Two maps can be subtracted where their rows and columns are the same tokens.
function alike(answer, hypothesis, otherAnswer, other, kind) {
  const same = (one, two) => one.length === two.length && one.every((value, i) => value === two[i]);
  const idsOf = ({ tokens }) => tokens.map(({ id }) => id);
  return (kind === 'decoder' || same(answer.ids, otherAnswer.ids)) && (kind === 'encoder' || same(idsOf(hypothesis), idsOf(other)));
}

// The chosen cell, pulled into the map; a first one is the strongest of the middle row.
function cellOf({ query, key }, matrix) {
  if (query === null || Number.isNaN(query)) return { query: null };
  const row = query === 'any' ? Math.floor((matrix.numQueries - 1) / 2) : clamp(query, 0, matrix.numQueries - 1);
  const column = query === 'any' ? largestKey(matrix, row, visibleKeys(matrix, row)) : clamp(key, 0, matrix.numKeys - 1);
  return { query: row, key: column, keyEnd: column };
}

function samePart(labels, others) {
  const first = others.findIndex((label, i) => label !== labels[i]);
  return first < 0 ? others.length : first;
}

// The map as far as the output has been written.
function written({ state, shown, queryLabels, labels, revealed }) {
  if (state.kind === 'encoder' || revealed >= labels.length) return {};
  const weights = shown.weights.map((weight, i) => (Math.floor(i / shown.numKeys) < revealed ? weight : 0));
  const blank = (label, i) => (i < revealed + (state.rows === 'reads' ? 1 : 0) ? label : { ...label, text: '' });
  return { shown: { ...shown, weights }, queryLabels: queryLabels.map(blank) };
}

// A page inside a notebook's frame has no address of its own to change.
function keepAddress(address) {
  try {
    history.replaceState(null, '', address);
  } catch (error) {
    if (error.name !== 'SecurityError') throw error;
  }
}

function wire(app, view, plate, read) {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  const typed = () => typedText(byId('text').value);
  on('text', 'input', whenQuiet(150, () => typed() !== app.state().text && app.change({ text: typed() })));
  on('example', 'change', ({ target }) => target.value !== '' && app.change({ text: data.examples[target.value].source }));
  on('beam', 'change', ({ target }) => app.change({ beam: Number(target.value), rank: 0 }));
  on('stage', 'input', ({ target }) => app.change({ stage: Number(target.value) }));
  on('again', 'click', app.again);
  on('look', 'click', () => app.force(app.state()));
  on('reset', 'click', () => app.change({ ...NO_CHANGES, stage: lastStage }));
  on('language', 'click', () => app.change({ language: app.state().language === 'zh' ? 'en' : 'zh' }));
  on('tour-start', 'click', () => app.visit(app.state().tour === null ? 0 : null).then(() => app.state().tour !== null && byId('tour-title').focus()));
  on('tour-leave', 'click', () => app.visit(null).then(() => byId('tour-start').focus()));
  for (const [id, move] of [['tour-back', -1], ['tour-next', 1]]) {
    on(id, 'click', () => app.visit(app.state().tour + move).then(() => byId('tour-title').focus()));
  }
  on('theme', 'click', () => {
    const names = ['', 'light', 'dark'];
    const next = names[(names.indexOf(document.documentElement.dataset.theme || '') + 1) % names.length];
    if (next) document.documentElement.dataset.theme = next;
    else delete document.documentElement.dataset.theme;
    drawTheme();
    app.change({});
  });
  wireMap(app, view, plate);
  for (const id of ['words', 'tokens']) byId(id).addEventListener('keydown', moveChip);
  document.addEventListener('keydown', (event) => event.key === 'Escape' && app.change({ query: null, place: null }));
  systemIsDark.addEventListener('change', () => app.change({}));
  window.addEventListener('resize', whenQuiet(80, () => app.change({})));
  window.addEventListener('hashchange', () => location.hash !== writeAddress(app.state()) && read(location.hash));
  read(location.hash);
}

// In the map Enter, a double click, or a drag along a row makes the row look there; a click only reads.
function wireMap(app, view, plate) {
  const surface = byId('plate');
  let from = null;
  let dragged = false;
  const cellAt = (event) => {
    const { left, top, cell } = plate.shape();
    const bounds = surface.getBoundingClientRect();
    const [key, query] = [Math.floor((event.clientX - bounds.left - left) / cell), Math.floor((event.clientY - bounds.top - top) / cell)];
    const { numQueries, numKeys } = view().shown;
    return key >= 0 && query >= 0 && key < numKeys && query < numQueries ? { query, key } : null;
  };
  surface.addEventListener('pointerdown', (event) => {
    const scrolls = event.pointerType === 'touch' || byId('stage-box').classList.contains('pannable'); // there a drag moves the map
    from = view() && !scrolls ? cellAt(event) : null;
  });
  surface.addEventListener('pointerup', (event) => {
    const to = from && cellAt(event);
    dragged = Boolean(to) && to.key !== from.key;
    if (dragged) app.force({ query: from.query, key: to.key });
    from = null;
  });
  byId('stage-box').addEventListener('click', (event) => { // which a drag ends with
    if (dragged) event.stopPropagation();
    dragged = false;
  }, true);
  surface.addEventListener('dblclick', (event) => {
    const cell = view() && cellAt(event);
    if (cell) app.force(cell);
  });
  surface.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || app.state().query === null) return;
    event.preventDefault();
    app.force(app.state());
  });
}

createApp();
