// All heads of a kind: thumbnails to choose from, and the table of their measures.

function measureAt(log, kind, name, stepIndex, layer, head) {
  if (!name || !log.measures[kind][name]) return null;
  const at = isEffect(name) ? effectStep(log, kind, stepIndex) : stepIndex;
  return at === null ? null : log.measures[kind][name][at][layer][head];
}

// Low error is good, and a head whose loss costs most matches matters most.
const lowFirst = (name) => name.startsWith('alignment_error_rate') || name === 'ablation_exact_match';

function allHeads(log, kind) {
  const heads = log.heads[kind];
  return Array.from({ length: log.layers[kind] * heads }, (_, i) => ({ layer: Math.floor(i / heads), head: i % heads }));
}

// Best first; without a value last.
function sortedHeads(view) {
  const { log, state } = view;
  const heads = allHeads(log, state.kind);
  if (!state.sorted || !state.measure) return heads;
  const value = (place) => headValue(view, place).value;
  const sign = lowFirst(state.measure) ? 1 : -1;
  return heads.sort((one, two) => sign * ((value(one) ?? sign * Infinity) - (value(two) ?? sign * Infinity)));
}

// The buttons stay while the order of the heads does; a change of step only paints them again.
async function drawThumbs(box, view, app) {
  const { log, state } = view;
  const heads = sortedHeads(view);
  const matrices = await Promise.all(heads.map((place) => headMatrix(view, place)));
  if (!app.isCurrent(view)) return;
  const order = `${state.kind} ${state.sorted} ${heads.map(({ layer, head }) => `${layer}.${head}`).join(' ')}`;
  if (box.dataset.order !== order) {
    keepingFocus(box, () => box.replaceChildren(...thumbLines(view, heads, app)));
    box.dataset.order = order;
  }
  const all = state.drawing === 'heads';
  const [numLayers, numHeads] = [log.layers[state.kind], log.heads[state.kind]];
  box.style.setProperty('--columns', all ? numHeads : Math.min(4, numHeads));
  box.style.setProperty('--size', `${headSize(numLayers, numHeads, app.widths.bench)}px`);
  const buttons = [...box.querySelectorAll('.thumb')];
  const width = buttons[0].clientWidth;
  buttons.forEach((button, i) => updateThumb(button, view, heads[i], matrices[i], width));
  keepInSight(box, buttons.find((button) => button.tabIndex === 0), `${state.drawing} ${order}`);
}

// Beside the map a head's own map; with all heads what the view shows of it: another step's or run's, or the difference.
async function headMatrix({ log, state, place, otherPlace, shows }, head) {
  if (state.drawing !== 'heads' || shows === 'this') return loadMatrix(log, { ...place, ...head });
  const other = await loadMatrix(otherLog(log, state), { ...otherPlace, ...head });
  return shows === 'other' ? other : subtract(await loadMatrix(log, { ...place, ...head }), other);
}

function headFigure(view, place) {
  const { measure } = view.state;
  const { value, isDifference } = headValue(view, place);
  return isDifference ? signedFigure(value, isEffect(measure) ? 3 : 2) : measureFigure(measure, value);
}

// The measure that goes with the picture: of all heads, also that of what they are compared with.
function headValue({ log, state, shows }, { layer, head }) {
  const { kind, measure } = state;
  const own = measureAt(log, kind, measure, state.stepIndex, layer, head);
  if (state.drawing !== 'heads' || shows === 'this') return { value: own };
  const other = measureAt(otherLog(log, state), kind, measure, state.otherIndex, layer, head);
  if (shows === 'other') return { value: other };
  return { value: own === null || other === null ? null : own - other, isDifference: true };
}

// Of the pictures of all heads: as large as fits the screen, but rather a page that scrolls than pictures that cannot be seen.
function headSize(numLayers, numHeads, width) {
  const across = (width - 24) / numHeads - 6;
  const down = (window.innerHeight - 400) / numLayers - 30;
  return Math.max(40, Math.floor(Math.min(across, Math.max(88, down))));
}

// The box scrolls to a head that was chosen, the page does not.
function keepInSight(box, button, order) {
  const mark = `${order} ${button.dataset.value}`;
  if (box.dataset.chosen === mark) return;
  box.dataset.chosen = mark;
  const [outer, inner] = [box, button].map((one) => one.getBoundingClientRect());
  if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - 4;
}

function thumbLines({ log, state }, heads, app) {
  const buttons = heads.map((place) => thumb(state, place, app));
  if (state.sorted) return [element('div', { class: 'thumb-line flow' }, ...buttons)];
  return Array.from({ length: log.layers[state.kind] }, (_, layer) => element('div', { class: 'thumb-line' },
    element('span', { class: 'line-name', 'aria-hidden': 'true' }, `L${layer + 1}`),
    ...buttons.slice(layer * log.heads[state.kind], (layer + 1) * log.heads[state.kind])));
}

function thumb(state, { layer, head }, app) {
  return element('button', {
    type: 'button', class: 'thumb', 'data-value': `${layer}.${head}`,
    onclick: () => enlarge(app, { layer, head }), onkeydown: (event) => moveHead(event, app, { layer, head }),
  }, element('canvas', { class: 'small', 'aria-hidden': 'true' }), element('span', { class: 'thumb-name' },
    element('span', {}, state.sorted ? `${layer + 1}.${head + 1}` : `H${head + 1}`), element('b')));
}

// From the picture of all heads a head's map opens.
function enlarge(app, place) {
  if (app.state().drawing !== 'heads') return app.change(place);
  return app.change({ ...place, otherLayer: place.layer, otherHead: place.head, drawing: 'map' }).then(() => byId('plate-title').scrollIntoView({ block: 'nearest' }));
}

function updateThumb(button, view, { layer, head }, matrix, width) {
  const { state } = view;
  const chosen = layer === state.layer && head === state.head;
  const value = state.measure ? headFigure(view, { layer, head }) : '';
  paintSmall(button.querySelector('canvas'), matrix, state.scale, width);
  button.querySelector('b').textContent = value;
  button.setAttribute('aria-pressed', String(chosen));
  button.tabIndex = chosen ? 0 : -1;
  button.setAttribute('aria-label', headName(layer, head) + (state.measure ? `, ${MEASURES[state.measure][0]} ${value}` : ''));
}

function moveHead(event, app, { layer, head }) {
  const state = app.state();
  const view = { log: app.log, state, shows: state.otherIndex === null ? 'this' : state.shows };
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const move = moves[event.key];
  if (!move) return;
  event.preventDefault();
  event.stopPropagation();
  let to = { layer: clamp(layer + move[0], 0, view.log.layers[view.state.kind] - 1), head: clamp(head + move[1], 0, view.log.heads[view.state.kind] - 1) };
  if (view.state.sorted) {
    const order = sortedHeads(view);
    const at = order.findIndex((place) => place.layer === layer && place.head === head);
    to = order[clamp(at + (move[0] || move[1]), 0, order.length - 1)];
  }
  app.change(to, { focusHead: true });
}

function createLedger(table, app) {
  function draw(view) {
    const { log, state } = view;
    const sort = { name: state.table.replace('-', '') || null, ascending: !state.table.startsWith('-') };
    const names = measureNames(log, state.kind);
    const value = (name, { layer, head }) => measureAt(log, state.kind, name, state.stepIndex, layer, head);
    const heads = allHeads(log, state.kind);
    if (names.includes(sort.name)) {
      const sign = sort.ascending ? 1 : -1;
      heads.sort((one, two) => sign * ((value(sort.name, one) ?? sign * Infinity) - (value(sort.name, two) ?? sign * Infinity)));
    } else if (!sort.ascending) heads.reverse();
    const largest = Object.fromEntries(names.map((name) => {
      const sizes = heads.map((place) => Math.abs(value(name, place) ?? 0));
      return [name, Math.max(isEffect(name) ? 1e-9 : 1, ...sizes)];
    }));
    const header = (name, label) => element('th', {
      scope: 'col', abbr: label, 'aria-sort': sort.name === name ? (sort.ascending ? 'ascending' : 'descending') : 'none',
    }, element('button', { type: 'button', 'data-value': `sort ${name}`, onclick: () => {
      const ascending = sort.name === name ? !sort.ascending : name === null || lowFirst(name);
      app.change({ table: `${ascending ? '' : '-'}${name ?? ''}` });
    } }, label), name && meaningOf(name, 'table', '?', { 'aria-label': `What is ${label}?`, 'data-value': `meaning ${name}` }));
    keepingFocus(table, () => table.replaceChildren(
      element('thead', {}, element('tr', {}, header(null, 'head'), ...names.map((name) => header(name, MEASURES[name][0])))),
      element('tbody', {}, ...heads.map((place) => row(view, place, names, value, largest))),
    ));
  }

  function row(view, place, names, value, largest) {
    const chosen = place.layer === view.state.layer && place.head === view.state.head;
    return element('tr', { class: chosen ? 'chosen-row' : null, onclick: () => app.change(place) },
      element('th', { scope: 'row' }, element('button', {
        type: 'button', 'data-value': `row ${place.layer}.${place.head}`, 'aria-pressed': String(chosen),
        'aria-label': headName(place.layer, place.head),
      }, `L${place.layer + 1} H${place.head + 1}`)),
      ...names.map((name) => element('td', {}, meter(value(name, place), largest[name]), element('span', {}, measureFigure(name, value(name, place))))));
  }

  // A hairline bar under each figure, on the column's own range.
  function meter(number, largest) {
    const bar = element('i', { class: 'meter', 'aria-hidden': 'true' });
    bar.hidden = number === null || Math.abs(number) < 0.01 * largest;
    bar.style.setProperty('--share', number === null ? 0 : Math.abs(number) / largest);
    return bar;
  }

  return { draw };
}
