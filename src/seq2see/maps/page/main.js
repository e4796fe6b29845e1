// Joins the parts: one state, one way to change it, one drawing of everything after each change.

function start() {
  const log = readLog();
  let state = normalise(log, readAddress(log, location.hash, readAddress(log, log.view, firstState(log))));
  let view = null;
  let turn = 0;
  let screenZoom = 1; // while the page is printed
  let isChosen = location.hash !== ''; // a page that loads itself again has the usual view until somebody chooses one

  const app = {
    log,
    widths: null, // of the parts that are drawn to measure, read once a layout because reading is slow
    state: () => state,
    isCurrent: (one) => one.turn === turn,
    change(changes, { playing = false, focusHead = false } = {}) {
      if (!playing && 'stepIndex' in changes) player.stop();
      state = normalise(log, { ...state, ...('kind' in changes || 'example' in changes ? { zoom: 1 } : {}), ...changes });
      isChosen = true;
      return redraw().then(() => {
        if (focusHead) byId('thumbs').querySelector('[aria-pressed="true"]')?.focus();
      });
    },
    zoomed(zoom) { // which the map has drawn already
      state = { ...state, zoom };
      isChosen = true;
      finish(view);
    },
  };
  const player = createPlayer(app);
  const plate = createHeatmap(byId('plate'), byId('cells'), app);
  const ledger = createLedger(byId('ledger'), app);
  const finish = whenQuiet(80, (last) => { // what need not keep up with a slider being dragged
    if (isChosen || !log.reloadSeconds) keepAddress(writeAddress(log, state));
    ledger.draw(last);
    mark('settled', last.turn);
  });

  function measure() {
    const strip = byId('strip');
    app.widths = {
      bench: byId('bench').clientWidth, stage: byId('stage').offsetWidth,
      strip: strip.clientWidth - parseFloat(getComputedStyle(strip).paddingLeft),
    };
  }

  // The map fits a sheet of paper, which nobody can scroll.
  function toPaper(isPaper) {
    if (isPaper) {
      screenZoom = state.zoom;
      app.widths = { bench: 680, stage: 680, strip: 620 };
    } else measure();
    state = { ...state, zoom: isPaper ? 1 : screenZoom };
    redraw();
  }

  // What stands where depends on the drawing.
  function arrange(drawing) {
    const { dataset } = byId('bench');
    if (dataset.drawing === drawing) return;
    dataset.drawing = drawing;
    measure();
  }

  async function redraw() {
    turn += 1;
    const mine = turn;
    mark('turn', mine);
    const next = await makeView(log, state, mine);
    if (mine !== turn) return;
    view = next;
    state = { ...view.state, zoom: state.zoom };
    arrange(state.drawing);
    drawControls(view, app);
    if (state.drawing !== 'heads') plate.draw(view);
    await drawCauses(view, plate.shape());
    drawReading(view);
    await Promise.all([drawThumbs(byId('thumbs'), view, app), drawTimeline(view, app)]);
    ledger.draw(view);
    mark('drawn', mine);
    finish(view);
  }

  hideWhatLacks(log);
  wireControls(app, player, () => view, plate, redraw, toPaper);
  let size = '';
  const fit = () => { // also when a scroll bar comes or goes
    measure();
    const now = [app.widths.bench, window.innerHeight, devicePixelRatio].join(' '); // all other widths follow from these
    if (now !== size && size) redraw();
    size = now;
  };
  new ResizeObserver(fit).observe(document.documentElement);
  window.addEventListener('resize', fit);
  measure();
  redraw().catch(fail);
  followRun(log, player);
}

// A page inside a notebook's frame has no address of its own to change.
function keepAddress(address) {
  try {
    history.replaceState(null, '', address);
  } catch (error) {
    if (error.name !== 'SecurityError') throw error;
  }
}

// Says on the root element how far the drawing is, for tests and benchmarks: turn (asked for), drawn, settled (nothing is left to do).
const mark = (name, turn) => { document.documentElement.dataset[name] = String(turn); };

// All that the drawing parts need to know about the state.
async function makeView(log, state, turn) {
  let place = state;
  let otherPlace = null;
  const there = otherLog(log, state);
  const pair = state.otherRun ? there.pairs[state.example] : state.example;
  const isHeads = state.drawing === 'heads'; // each is compared with itself
  const sameHeads = there?.layers[state.kind] === log.layers[state.kind] && there?.heads[state.kind] === log.heads[state.kind];
  if (state.otherIndex !== null && pair !== null && (!isHeads || sameHeads)) {
    const [layer, head] = isHeads ? [state.layer, state.head] : [state.otherLayer, state.otherHead];
    otherPlace = { ...state, example: pair, stepIndex: state.otherIndex, layer, head };
    if (variantAt(log, place) !== variantAt(there, otherPlace)) { // one of the steps lacks it
      place = { ...place, cells: 'weights', fed: 'reference' };
      otherPlace = { ...otherPlace, cells: 'weights', fed: 'reference' };
    }
  }
  const matrix = await loadMatrix(log, place);
  const other = otherPlace && await loadMatrix(there, otherPlace);
  const variant = variantAt(log, place);
  const tokens = targetTokensOf(log, place, variant);
  const alike = !other || ((state.kind === 'encoder' || sameTokens(tokens, targetTokensOf(there, otherPlace, variant)))
    && (state.kind === 'decoder' || sameTokens(log.examples[state.example].sourceTokens, there.examples[pair].sourceTokens)));
  let shows = other ? state.shows : 'this';
  if (shows === 'difference' && !alike) shows = 'this'; // two texts have no cells in common
  const [shownLog, shownPlace] = shows === 'other' ? [there, otherPlace] : [log, place];
  const shown = { this: matrix, other, difference: shows === 'difference' ? subtract(matrix, other) : null }[shows];
  const targetTokens = targetTokensOf(shownLog, shownPlace, variant);
  const shownExample = shownLog.examples[shownPlace.example];
  const links = state.kind === 'cross' && sameTokens(targetTokens, shownExample.targetTokens) ? shownExample.links : null;
  if (state.query === 'any') state = { ...state, ...tellingCell(shown, links, state.rows) };
  if (state.query !== null) { // the other step's text can be shorter
    const inside = (place) => clamp(place, 0, shown.numKeys - 1);
    state = { ...state, query: clamp(state.query, 0, shown.numQueries - 1), key: inside(state.key), keyEnd: inside(state.keyEnd) };
  }
  const drawn = {
    turn, log, state, place, otherPlace, matrix, other, shown, shows, alike, links, variant,
    step: log.steps[state.stepIndex],
    queryLabels: queryLabels(shownLog, shownPlace, targetTokens),
    keyLabels: keyLabels(shownLog, shownPlace, targetTokens),
    judged: links && !shown.signed && !isHeads ? judge(shown, links, state.rows) : null,
    lines: state.drawing === 'lines' ? await readLines(log, place, shown, shows) : null,
  };
  return { ...drawn, title: plateTitle(drawn), caption: captionOf(drawn), file: fileName(drawn) };
}

const sameTokens = (one, two) => one.length === two.length && one.every((token, i) => token === two[i]);

// A cell to begin with: a link that crosses others if the truth is known, else the strongest cell of the middle row.
function tellingCell(matrix, links, rows) {
  const link = mostCrossing(links) || (links || [])[0];
  if (link) return { query: link[1] + (rows === 'reads' ? 1 : 0), key: link[0], keyEnd: link[0] };
  const query = Math.floor((matrix.numQueries - 1) / 2);
  const key = largestKey(matrix, query, visibleKeys(matrix, query));
  return { query, key, keyEnd: key };
}

function wireControls(app, player, view, plate, redraw, toPaper) {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  const step = (by) => app.change({ stepIndex: app.state().stepIndex + by });
  const pair = (by) => app.change({ example: app.state().example + by, query: 'any' });
  on('example', 'change', (event) => app.change({ example: Number(event.target.value), query: 'any' }));
  on('example-back', 'click', () => pair(-1));
  on('example-on', 'click', () => pair(1));
  on('measure', 'change', (event) => app.change({ measure: event.target.value, wanted: null }));
  on('sorted', 'change', (event) => app.change({ sorted: event.target.checked }));
  on('step', 'input', (event) => app.change({ stepIndex: Number(event.target.value) }));
  on('step-back', 'click', () => step(-1));
  on('step-on', 'click', () => step(1));
  on('play', 'click', player.toggle);
  on('other-step', 'change', ({ target }) => {
    const { layer, head } = app.state();
    const [index, run] = target.value.split(' ');
    app.change({ otherIndex: index === '' ? null : Number(index), otherRun: run === 'other', otherLayer: layer, otherHead: head });
  });
  on('other-head', 'change', (event) => {
    const [otherLayer, otherHead] = event.target.value.split('.').map(Number);
    app.change({ otherLayer, otherHead });
  });
  on('save-svg', 'click', () => view() && saveSvg(view(), plate));
  on('save-png', 'click', () => view() && savePng(view(), plate).catch(fail));
  on('save-csv', 'click', () => view() && saveCsv(view()));
  on('copy-link', 'click', (event) => copyLink(event.currentTarget));
  wireTheme(redraw, toPaper);
  const keys = {
    ',': () => step(-1), '.': () => step(1), p: player.toggle, '[': () => pair(-1), ']': () => pair(1),
    n: () => app.change({ cells: app.state().cells === 'norms' ? 'weights' : 'norms' }),
    o: () => app.change({ fed: app.state().fed === 'output' ? 'reference' : 'output' }),
    m: () => app.change({ drawing: 'map' }), l: () => app.change({ drawing: 'lines' }), a: () => app.change({ drawing: 'heads' }),
    Escape: () => app.change({ query: null }),
  };
  wireShortcuts(keys);
  window.addEventListener('hashchange', () => {
    if (location.hash !== writeAddress(app.log, app.state())) app.change(readAddress(app.log, location.hash, app.state()));
  });
}

function wireTheme(redraw, toPaper) {
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
  systemIsDark.addEventListener('change', () => redraw());
  show('');
  let chosen = '';
  window.addEventListener('beforeprint', () => { // paper is light
    chosen = document.documentElement.dataset.theme || '';
    show('light');
    toPaper(true);
  });
  window.addEventListener('afterprint', () => {
    show(chosen);
    toPaper(false);
  });
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
