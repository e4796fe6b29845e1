// The chosen cell in words, its row as bars, and the head's measures with their course over training.

function drawReading(view) {
  const said = sayCell(view);
  if (byId('said').textContent !== said) byId('said').textContent = said;
  byId('row-bars').replaceChildren(...rowBars(view));
  byId('head-measures').replaceChildren(...headMeasures(view));
}

const MOST_BARS = 12;

function rowBars(view) {
  const { query, key, keyEnd } = view.state;
  if (query === null) return [];
  const matrix = view.shown;
  const target = query - (view.state.rows === 'reads' ? 1 : 0);
  const [low, high] = key <= keyEnd ? [key, keyEnd] : [keyEnd, key];
  let keys = Array.from({ length: visibleKeys(matrix, query) }, (_, k) => k);
  const hidden = keys.length - MOST_BARS;
  if (hidden > 0) {
    keys = keys.sort((one, two) => Math.abs(cellValue(matrix, query, two)) - Math.abs(cellValue(matrix, query, one)))
      .slice(0, MOST_BARS).sort((one, two) => one - two);
  }
  const rows = keys.map((k) => {
    const value = cellValue(matrix, query, k);
    const { text, special } = view.keyLabels[k];
    const bar = element('i', { class: 'bar' });
    bar.style.width = `${(100 * Math.min(1, Math.abs(value))).toFixed(1)}%`;
    bar.style.background = rgb(rampsOf(matrix)[value < 0 ? 0 : 1][Math.round(110 + 110 * Math.min(1, Math.abs(value)))]);
    const isTrue = view.links && view.links.some(([source, to]) => source === k && to === target);
    return element('tr', { class: k >= low && k <= high ? 'chosen-row' : null },
      element('th', { scope: 'row', class: special ? 'special' : null, dir: 'auto', title: text }, text),
      element('td', {}, bar, isTrue ? element('i', { class: 'true-dot', title: 'true link' }) : null),
      element('td', { class: 'number' }, matrix.signed ? signedFigure(value) : figure(value)));
  });
  const note = hidden > 0 ? [element('p', { class: 'footnote' }, `and ${hidden} more with less`)] : [];
  return [element('table', { class: 'bars', 'aria-label': `Attention ${rowPhrase(view, query)}` }, element('tbody', {}, ...rows)), ...note];
}

const openMeanings = new Set();

// What a measure is, behind a word that opens it, which stays open when it is drawn anew.
function meaningOf(name, place, label, attributes = {}) {
  const mark = `${place} ${name}`;
  const meaning = element('details', {}, element('summary', attributes, label),
    element('span', {}, `${MEASURES[name][2]} (${MEASURES[name][1]})`));
  meaning.open = openMeanings.has(mark);
  meaning.addEventListener('toggle', () => openMeanings[meaning.open ? 'add' : 'delete'](mark));
  return meaning;
}

function headMeasures(view) {
  const { log, state } = view;
  const names = measureNames(log, state.kind);
  if (!names.length) return [];
  const rows = names.map((name) => {
    const course = log.measures[state.kind][name].map((layers) => layers[state.layer][state.head]);
    const value = measureAt(log, state.kind, name, state.stepIndex, state.layer, state.head);
    const line = isEffect(name) || course.length < 2 ? null : sparkline(course, state.stepIndex);
    return element('div', {}, element('dt', {}, meaningOf(name, 'head', MEASURES[name][0])), element('dd', {}, line, element('b', {}, measureFigure(name, value))));
  });
  return [element('h3', {}, headName(state.layer, state.head)), element('dl', { class: 'measures' }, ...rows)];
}

function sparkline(course, at) {
  const known = course.filter((value) => value !== null);
  const top = Math.max(1, ...known);
  const x = (i) => 2 + (i * 60) / Math.max(1, course.length - 1);
  const y = (value) => 14 - (value / top) * 12;
  const points = course.map((value, i) => (value === null ? null : `${x(i).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean);
  return svg('svg', { class: 'spark', viewBox: '0 0 64 16', width: 64, height: 16, 'aria-hidden': 'true' },
    svg('line', { class: 'spark-base', x1: 2, x2: 62, y1: 14, y2: 14 }),
    svg('polyline', { points: points.join(' '), fill: 'none' }),
    course[at] === null || course[at] === undefined ? null : svg('circle', { cx: x(at), cy: y(course[at]), r: 2.2 }));
}

// Under the map of the chosen row: what its token leans on, where that was measured.
async function drawCauses(view, shape) {
  const { log, state } = view;
  const { query, key, layer, head } = state;
  const packed = log.causes && log.causes[state.example];
  const shown = packed && state.kind === 'cross' && state.drawing === 'map' && !isFree(view.variant) && query !== null
    && state.stepIndex === log.steps.length - 1;
  for (const id of ['causes', 'causes-note']) byId(id).hidden = !shown;
  if (!shown) return;
  const { sourceTokens, targetTokens } = log.examples[state.example];
  const where = { numRows: targetTokens.length, row: query, layers: log.layers.cross, heads: log.heads.cross, layer, head };
  const rows = causeRows(packed, await causesOf(packed), where);
  const labels = causeLabels(packed, sourceTokens);
  const word = wordAt(packed, key);
  byId('causes').style.width = `${shape.width}px`;
  drawCauseRows(byId('causes'), packed, labels, rows, shape, word);
  byId('causes-said').textContent = causeSentence(targetTokens[query], labels, rows, word);
}
