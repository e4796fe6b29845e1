// The large map: cells on a canvas, everything else (labels, true links, cursor) in SVG above it.

const LABEL_SIZE = 13;
const LABEL_FAMILY = cssValue('--sans');
const labelFont = (size) => `${size}px ${LABEL_FAMILY}`;

// Sizes in CSS pixels of a map that fits a width, if it can do so with readable rows.
function heatmapGeometry(view, width, height) {
  const { numQueries, numKeys } = view.shown;
  const font = labelFont(LABEL_SIZE);
  const narrow = width < 420;
  const longest = (labels, limit) => Math.min(limit, Math.max(24, ...labels.map((label) => textWidth(label.text, font))));
  const left = Math.ceil(longest(view.queryLabels, narrow ? 76 : 120)) + 14;
  const columns = longest(view.keyLabels, narrow ? 84 : 112);
  const smallest = Math.max(numQueries, numKeys) <= 72 ? 9 : 2;
  const fit = (steep) => {
    const right = steep ? 8 : Math.ceil(columns * 0.7);
    const top = Math.ceil(columns * (steep ? 1 : 0.72)) + (steep ? 14 : 20);
    const wanted = Math.min((width - left - right) / numKeys, (height - top) / numQueries, 44);
    return { left, top, right, steep, cell: Math.max(smallest, Math.floor(wanted)) };
  };
  let shape = fit(false);
  if (shape.cell < 20) shape = fit(true);
  const { cell } = shape;
  return {
    ...shape,
    gap: cell >= 12 ? 1 : 0,
    labelSize: Math.min(LABEL_SIZE, Math.max(8.5, cell - 2)),
    every: Math.max(1, Math.ceil(11 / cell)),
    labelLimits: [left - 12, columns],
    mapWidth: numKeys * cell,
    mapHeight: numQueries * cell,
    width: shape.left + numKeys * cell + shape.right,
    height: shape.top + numQueries * cell + 6,
  };
}

const smallCopy = document.createElement('canvas');

function paintCells(canvas, view, shape) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [width, height] = [Math.round(shape.mapWidth * ratio), Math.round(shape.mapHeight * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  Object.assign(canvas.style, {
    left: `${shape.left}px`, top: `${shape.top}px`, width: `${shape.mapWidth}px`, height: `${shape.mapHeight}px`,
  });
  paintSmall(smallCopy, view.shown, view.state.scale);
  const context = canvas.getContext('2d');
  context.clearRect(0, 0, width, height);
  context.imageSmoothingEnabled = false;
  context.drawImage(smallCopy, 0, 0, canvas.width, canvas.height);
  if (!shape.gap) return;
  for (let key = 1; key < view.shown.numKeys; key += 1) context.clearRect((key * shape.cell - 1) * ratio, 0, ratio, canvas.height);
  for (let query = 1; query < view.shown.numQueries; query += 1) {
    context.clearRect(0, (query * shape.cell - 1) * ratio, canvas.width, ratio);
  }
}

// All of the plate but its cells and its cursor.
function heatmapOverlay(view, shape) {
  const parts = [hatching(view.shown, shape), ...axisLabels(view, shape)];
  if (view.judged && view.state.truth && shape.cell >= 5) parts.push(truthMarks(view.judged, shape));
  return parts;
}

function hatching(matrix, shape) {
  if (!matrix.causal) return null;
  let path = '';
  for (let query = 0; query < matrix.numQueries; query += 1) {
    const hidden = matrix.numKeys - visibleKeys(matrix, query);
    if (hidden > 0) {
      const [x, y] = [shape.left + (matrix.numKeys - hidden) * shape.cell, shape.top + query * shape.cell];
      path += `M${x} ${y}h${hidden * shape.cell}v${shape.cell}h${-hidden * shape.cell}z`;
    }
  }
  return svg('g', {},
    svg('defs', {}, svg('pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      svg('line', { x1: 0, y1: 0, x2: 0, y2: 6, class: 'hatch-line', stroke: cssValue('--hatch'), 'stroke-width': 1.4 }))),
    svg('path', { d: path, fill: 'url(#hatch)', class: 'hidden-cells' }));
}

function axisLabels(view, shape) {
  const { queryLabels, keyLabels } = view;
  const font = labelFont(shape.labelSize);
  const rows = queryLabels.map((label, query) => (query % shape.every ? null : rowLabel(label, query, shape, font)));
  const columns = keyLabels.map((label, key) => (key % shape.every ? null : columnLabel(label, key, shape, font)));
  return [svg('g', { class: 'labels' }, ...rows), svg('g', { class: 'labels' }, ...columns)];
}

function rowLabel(label, query, shape, font) {
  return svg('text', {
    class: labelClass(label), 'data-row': query, x: shape.left - 9, y: shape.top + (query + 0.5) * shape.cell, dy: '0.35em',
    'text-anchor': 'end', 'font-size': shape.labelSize,
  }, cutText(label.text, font, shape.labelLimits[0]));
}

function columnLabel(label, key, shape, font) {
  const x = shape.left + (key + 0.5) * shape.cell;
  return svg('text', {
    class: labelClass(label), 'data-column': key, 'font-size': shape.labelSize, dy: '0.35em',
    transform: `translate(${x} ${shape.top - 9}) rotate(${shape.steep ? -90 : -45})`,
  }, cutText(label.text, font, shape.labelLimits[1]));
}

// Labels of the cell that is looked at, where a large map has no room for the label of every row.
function cursorLabels(view, shape, query, key) {
  if (shape.every === 1) return [];
  const big = { ...shape, labelSize: LABEL_SIZE };
  const labels = [
    rowLabel(view.queryLabels[query], query, big, labelFont(LABEL_SIZE)), columnLabel(view.keyLabels[key], key, big, labelFont(LABEL_SIZE)),
  ];
  for (const label of labels) label.classList.add('lit', 'over');
  return labels;
}

const labelClass = (label) => (label.special ? 'label special' : 'label');

// A dot where the largest weight is a true link, a ring on a true link that is missed, a cross on a wrong choice.
function truthMarks(judged, shape) {
  const middle = ([query, key]) => [
    shape.left + (key + 0.5) * shape.cell - shape.gap / 2, shape.top + (query + 0.5) * shape.cell - shape.gap / 2,
  ];
  const arm = clampNumber(shape.cell * 0.13, 1.6, 4.5);
  const draw = (name, cells) => cells.map((cell) => truthMark(name, ...middle(cell), arm));
  return svg('g', { class: 'truth' }, ...draw('hit', judged.hits), ...draw('missed', judged.missed), ...draw('wrong', judged.wrong));
}

function truthMark(name, x, y, arm) {
  if (name === 'wrong') {
    const d = `M${x - arm} ${y - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`;
    return svg('g', {}, svg('path', { class: 'wrong-under', d, fill: 'none' }), svg('path', { class: 'wrong', d, fill: 'none' }));
  }
  if (name === 'hit') return svg('circle', { class: 'hit', cx: x, cy: y, r: arm + 0.5 });
  return svg('g', {}, svg('circle', { class: 'missed-under', cx: x, cy: y, r: arm + 0.5, fill: 'none' }),
    svg('circle', { class: 'missed', cx: x, cy: y, r: arm + 0.5, fill: 'none' }));
}

const clampNumber = (value, low, high) => Math.min(high, Math.max(low, value));

// Crosshair over one cell, or over the cells of a sum.
function cursorMarks(view, shape, query, from, to) {
  const { left, top, cell, gap, mapWidth, mapHeight } = shape;
  const [low, high] = from <= to ? [from, to] : [to, from];
  const x = left + low * cell - gap / 2;
  const y = top + query * cell - gap / 2;
  const width = (high - low + 1) * cell;
  const line = (x1, y1, x2, y2) => svg('line', { class: 'hair', x1, y1, x2, y2 });
  return [
    line(left - 5, y, left + mapWidth, y), line(left - 5, y + cell, left + mapWidth, y + cell),
    line(x, top - 5, x, top + mapHeight), line(x + width, top - 5, x + width, top + mapHeight),
    svg('rect', { class: 'chosen-under', x, y, width, height: cell, fill: 'none' }),
    svg('rect', { class: 'chosen', x, y, width, height: cell, fill: 'none' }),
  ];
}

function createHeatmap(surface, canvas, app) {
  const overlay = svg('svg', { class: 'overlay', 'aria-hidden': 'true' });
  const ground = svg('g');
  const cursor = svg('g', { class: 'cursor' });
  const readout = element('output', { class: 'readout', 'aria-hidden': 'true' });
  overlay.append(ground, cursor);
  surface.append(overlay, readout);
  let shape = null;
  let view = null;
  let pointer = null; // where it last was on the map

  function draw(next) {
    view = next;
    const isMap = view.state.drawing === 'map';
    canvas.hidden = !isMap;
    readout.hidden = !isMap;
    const width = app.widths.stage;
    shape = isMap ? heatmapGeometry(view, width, heatmapHeight()) : linesGeometry(view, width);
    Object.assign(surface.style, { width: `${shape.width}px`, height: `${shape.height}px` });
    overlay.setAttribute('width', shape.width);
    overlay.setAttribute('height', shape.height);
    overlay.setAttribute('viewBox', `0 0 ${shape.width} ${shape.height}`);
    if (isMap) paintCells(canvas, view, shape);
    ground.replaceChildren(...(isMap ? heatmapOverlay(view, shape) : linesDrawing(view, shape)).filter(Boolean));
    surface.setAttribute('aria-label', `${KIND_TITLES[view.state.kind]}, ${headName(view.state.layer, view.state.head)}, step ${view.step.step}`);
    point(shape.lines && pointer ? cellAt(pointer) : null);
    if (surface === document.activeElement) reveal();
  }

  // Keeps the chosen cell in sight when the keyboard moves it across a map that is wider than its place.
  function reveal() {
    const { query, keyEnd } = view.state;
    if (query === null || shape.width <= app.widths.stage) return;
    const stage = surface.parentElement;
    const x = shape.lines ? shape.above[keyEnd].middle : shape.left + (keyEnd + 0.5) * shape.cell;
    const hidden = x < stage.scrollLeft + 40 || x > stage.scrollLeft + app.widths.stage - 40;
    if (hidden) stage.scrollLeft = x - app.widths.stage / 2;
  }

  // Shows the cell under the pointer, or else the chosen one.
  function point(cell) {
    const { query, key, keyEnd } = view.state;
    const target = cell ? [cell.query, cell.key, cell.key] : query === null ? null : [query, key, keyEnd];
    for (const label of ground.querySelectorAll('.lit, .joined')) label.classList.remove('lit', 'joined');
    const alone = cell?.word ?? (shape.lines && query !== null && surface.matches(':focus-visible') ? { query } : null);
    overlay.classList.toggle('alone', Boolean(alone));
    cursor.replaceChildren();
    readout.textContent = '';
    if (!target) return;
    if (alone) {
      cursor.replaceChildren(...aloneWord(view, shape, ground, alone), ...(cell ? [] : lineCursor(view, shape, query, key, keyEnd)));
      return;
    }
    const [row, from, to] = target;
    const [low, high] = from <= to ? [from, to] : [to, from];
    ground.querySelector(`[data-row="${row}"]`)?.classList.add('lit');
    for (let k = low; k <= high; k += 1) ground.querySelector(`[data-column="${k}"]`)?.classList.add('lit');
    if (view.state.drawing === 'lines') {
      cursor.replaceChildren(...lineCursor(view, shape, row, from, to));
      return;
    }
    cursor.replaceChildren(...cursorMarks(view, shape, row, from, to), ...cursorLabels(view, shape, row, to));
    let sum = 0;
    for (let k = low; k <= high; k += 1) sum += cellValue(view.shown, row, k);
    const visible = isVisible(view.shown, row, low);
    readout.textContent = !visible ? 'hidden' : view.shown.signed ? signedFigure(sum) : figure(sum);
    Object.assign(readout.style, { width: `${shape.left - 12}px`, top: `${shape.top - 30}px` });
  }

  function cellAt(event) {
    const bounds = surface.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const y = event.clientY - bounds.top;
    if (view.state.drawing === 'lines') return lineCellAt(view, shape, x, y);
    const key = Math.floor((x - shape.left) / shape.cell);
    const query = Math.floor((y - shape.top) / shape.cell);
    const inside = key >= 0 && query >= 0 && key < view.shown.numKeys && query < view.shown.numQueries;
    return inside ? { query, key } : null;
  }

  const pointTo = (event) => {
    pointer = event;
    if (view) point(event && cellAt(event));
  };
  for (const name of ['pointerdown', 'pointermove']) surface.addEventListener(name, pointTo);
  surface.addEventListener('pointercancel', () => pointTo(null));
  surface.addEventListener('pointerleave', (event) => {
    if (event.pointerType !== 'touch') pointTo(null); // a finger that was lifted still points
  });
  for (const name of ['focus', 'blur']) surface.addEventListener(name, () => view && point(null));
  surface.addEventListener('click', (event) => {
    const cell = view && cellAt(event);
    if (!cell) return;
    const extend = event.shiftKey && view.state.query === cell.query;
    app.change({ query: cell.query, key: extend ? view.state.key : cell.key, keyEnd: cell.key });
  });
  surface.addEventListener('keydown', (event) => {
    const change = view && cellKeys(view, event);
    if (!change) return;
    event.preventDefault();
    event.stopPropagation();
    app.change(change);
  });
  return { draw, shape: () => shape };
}

// Tall screens get a larger map, but the tape below should stay in sight.
const heatmapHeight = () => Math.max(320, Math.min(620, window.innerHeight - 486));

function cellKeys(view, event) {
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e6], End: [0, 1e6] };
  const move = moves[event.key];
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return null;
  const { query, key, keyEnd } = view.state;
  if (query === null) return { query: 0, key: 0, keyEnd: 0 };
  const row = query + move[0];
  if (row < 0 || row >= view.shown.numQueries) return {};
  const end = clamp(keyEnd + move[1], 0, view.shown.numKeys - 1);
  return { query: row, key: event.shiftKey ? key : end, keyEnd: end };
}
