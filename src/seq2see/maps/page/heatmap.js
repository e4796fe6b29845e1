// The large map: cells on a canvas, everything else (labels, true links, cursor) in SVG above it.

const LABEL_SIZE = 13;
const LABEL_FAMILY = cssValue('--sans');
const labelFont = (size) => `${size}px ${LABEL_FAMILY}`;

const LARGEST_CELL = 44;
const TITLE_SIZE = 11; // of what rows and columns are
const LEAST_CORNER = 64; // across: the title of the rows, and the chosen cell's figure beside it

// Sizes in CSS pixels of a map that fits its place, if it can do so with cells that can be seen, times a zoom.
function heatmapGeometry(view, width, height, zoom = 1) {
  const { numQueries, numKeys } = view.shown;
  const font = labelFont(LABEL_SIZE);
  const narrow = width < 420;
  const longest = (labels, limit) => Math.min(limit, Math.max(24, ...labels.map((label) => textWidth(label.text, font))));
  const titles = view.axisTitles ?? axisTitles(view.state); // a page may have words of its own
  const title = (text) => Math.ceil(textWidth(text, labelFont(TITLE_SIZE)));
  const left = Math.ceil(Math.max(longest(view.queryLabels, narrow ? 76 : 120) + 14, title(titles.columns) + 32, LEAST_CORNER));
  const columns = longest(view.keyLabels, narrow ? 84 : 112);
  const fit = (steep) => {
    const right = steep ? 8 : Math.ceil(columns * 0.7);
    const top = Math.max(58, title(`\u2190 ${titles.rows}`) + 4, Math.ceil(columns * (steep ? 1 : 0.72)) + (steep ? 14 : 20));
    const across = (width - left - right) / numKeys;
    const whole = Math.min(across, (height - top - 8) / numQueries, LARGEST_CELL);
    const cell = zoom * Math.max(whole, Math.min(across, 5), 2); // rather a map that scrolls than cells too small to be seen
    return { left, top, right, steep, cell: cell < 12 ? cell : Math.floor(cell) };
  };
  let shape = fit(false);
  if (shape.cell < 20 || zoom > 1) shape = fit(true);
  const { cell } = shape;
  return {
    ...shape,
    gap: cell >= 12 ? 1 : 0,
    labelSize: Math.min(LABEL_SIZE, Math.max(8.5, cell - 2)),
    every: Math.max(1, Math.ceil(11 / cell)),
    labelLimits: [left - 12, columns],
    titles,
    mapWidth: numKeys * cell,
    mapHeight: numQueries * cell,
    width: shape.left + numKeys * cell + shape.right,
    height: shape.top + numQueries * cell + 6,
  };
}

// What stands on the axes.
function axisTitles({ kind, rows }) {
  if (kind === 'encoder') return { rows: 'source', columns: 'source' };
  return { rows, columns: kind === 'decoder' ? 'read so far' : 'source' };
}

// One pixel a cell, stretched by the style sheet.
function paintCells(canvas, view, shape) {
  paintSmall(canvas, view.shown, view.state.scale);
  Object.assign(canvas.style, {
    left: `${shape.left}px`, top: `${shape.top}px`, width: `${shape.mapWidth}px`, height: `${shape.mapHeight}px`,
  });
}

// What lies on the cells, below the cursor.
function heatmapOverlay(view, shape) {
  const marks = view.judged && view.state.truth ? truthMarks(view.judged, shape) : null;
  return [shape.gap ? gapLines(view.shown, shape) : null, hatching(view.shown, shape), marks];
}

function gapLines({ numQueries, numKeys }, { left, top, cell, mapWidth, mapHeight }) {
  let path = '';
  for (let key = 1; key < numKeys; key += 1) path += `M${left + key * cell - 0.5} ${top}v${mapHeight}`;
  for (let query = 1; query < numQueries; query += 1) path += `M${left} ${top + query * cell - 0.5}h${mapWidth}`;
  return svg('path', { class: 'gaps', d: path, fill: 'none' });
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
  return svg('g', {}, hatchPattern(), svg('path', { d: path, fill: 'url(#hatch)', class: 'hidden-cells' }));
}

const hatchPattern = () => svg('defs', {},
  svg('pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    svg('line', { x1: 0, y1: 0, x2: 0, y2: 6, class: 'hatch-line', stroke: cssValue('--hatch'), 'stroke-width': 1.4 })));

// Rows, columns and the corner, which stay in sight when a large map scrolls below them.
function axisLabels(view, shape) {
  const { queryLabels, keyLabels } = view;
  const font = labelFont(shape.labelSize);
  const rows = queryLabels.map((label, query) => (query % shape.every ? null : rowLabel(label, query, shape, font)));
  const columns = keyLabels.map((label, key) => (key % shape.every ? null : columnLabel(label, key, shape, font)));
  const { left, top, titles } = shape;
  const ground = (width, height) => svg('rect', { class: 'label-ground', width, height });
  const title = { class: 'axis-title', 'font-size': TITLE_SIZE };
  return [
    svg('g', { class: 'labels stay-left' }, ground(left - 1, shape.height), ...rows),
    svg('g', { class: 'labels stay-top' }, ground(shape.width, top - 1), ...columns),
    svg('g', { class: 'stay-left stay-top' }, ground(left - 1, top - 1),
      svg('text', { ...title, x: 16, y: 11 }, `${titles.columns} \u2192`),
      svg('text', { ...title, transform: `translate(10 ${top - 2}) rotate(-90)` }, `\u2190 ${titles.rows}`)),
  ];
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
  const arm = clampNumber(shape.cell * 0.13, 1, 4.5);
  const draw = (name, cells) => cells.map((cell) => truthMark(name, ...middle(cell), arm));
  return svg('g', { class: shape.cell < 8 ? 'truth fine' : 'truth' }, ...draw('hit', judged.hits), ...draw('missed', judged.missed), ...draw('wrong', judged.wrong));
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

// A mark and what it means.
function truthKey(name, text) {
  const picture = svg('svg', { width: 15, height: 15, 'aria-hidden': 'true' }, truthMark(name, 7.5, 7.5, 3.6));
  return element('span', { class: 'swatch' }, picture, text);
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

// `app` has `widths.stage` and `change`; a page with several maps also the id of their buttons, `zoom`, and `heightOf` a width.
function createHeatmap(surface, canvas, app) {
  const overlay = svg('svg', { class: 'overlay', 'aria-hidden': 'true' });
  const [ground, cursor, axes] = [svg('g'), svg('g', { class: 'cursor' }), svg('g')];
  const readout = element('output', { class: 'readout stay-left stay-top', 'aria-hidden': 'true' });
  const stage = surface.parentElement;
  const sizes = byId(app.zoom ?? 'zoom');
  overlay.append(ground, cursor, axes);
  surface.append(overlay, readout);
  let shape = null;
  let view = null;
  let pointer = null; // where it last was on the map
  let zoom = 1;
  let sized = ''; // what the zoom was chosen for
  const heightOf = app.heightOf ?? ((width) => heatmapHeight(stage, width));

  function draw(next) {
    view = next;
    const isMap = view.state.drawing === 'map';
    const { kind, example, zoom: wanted = 1 } = view.state;
    const of = [kind, example, wanted].join(' ');
    const isSent = of !== sized && wanted !== zoom; // by an address
    if (of !== sized) [sized, zoom] = [of, wanted];
    canvas.hidden = !isMap;
    readout.hidden = !isMap;
    if (sizes) sizes.hidden = !isMap;
    const width = app.widths.stage;
    const height = heightOf(width);
    if (isSent) zoom = within(zoom);
    shape = isMap ? heatmapGeometry(view, width, height, zoom) : linesGeometry(view, width);
    stage.style.maxHeight = isMap ? `${height}px` : '';
    stage.classList.toggle('pannable', shape.width > width || shape.height > height);
    Object.assign(surface.style, { width: `${shape.width}px`, height: `${shape.height}px` });
    overlay.setAttribute('width', shape.width);
    overlay.setAttribute('height', shape.height);
    overlay.setAttribute('viewBox', `0 0 ${shape.width} ${shape.height}`);
    if (isMap) paintCells(canvas, view, shape);
    ground.replaceChildren(...(isMap ? heatmapOverlay(view, shape) : linesDrawing(view, shape)).filter(Boolean));
    axes.replaceChildren(...(isMap ? axisLabels(view, shape) : []));
    surface.setAttribute('aria-label', `${KIND_TITLES[view.state.kind]}, ${headName(view.state.layer, view.state.head)}, step ${view.step.step}`);
    point(shape.lines && pointer ? cellAt(pointer) : null);
    if (surface === document.activeElement || isSent) reveal();
  }

  // Keeps the chosen cell in sight when the keyboard moves it across a map that is larger than its place.
  function reveal() {
    const { query, keyEnd } = view.state;
    if (query === null) return;
    const into = (axis, place, size, before) => {
      const edge = Math.min(40, (size - before) / 4);
      if (place < stage[axis] + before + edge || place > stage[axis] + size - edge) stage[axis] = place - (size + before) / 2;
    };
    if (shape.lines) return into('scrollLeft', shape.above[keyEnd].middle, stage.clientWidth, 0);
    into('scrollLeft', shape.left + (keyEnd + 0.5) * shape.cell, stage.clientWidth, shape.left);
    return into('scrollTop', shape.top + (query + 0.5) * shape.cell, stage.clientHeight, shape.top);
  }

  // Cells that can be seen, and that are no larger than a thumb.
  function within(next) {
    const fitted = heatmapGeometry(view, app.widths.stage, heightOf(app.widths.stage)).cell;
    return clampNumber(next, Math.min(1, 2 / fitted), Math.max(1, 60 / fitted));
  }

  // The place of the map under (x, y) of the stage stays there; without them the chosen cell comes to the middle.
  function zoomTo(next, x = null, y = null) {
    if (!view || shape.lines) return;
    const old = shape;
    const from = [stage.scrollLeft, stage.scrollTop];
    zoom = within(next);
    draw(view);
    app.zoomed?.(zoom);
    if (x === null) return reveal();
    const moved = (place, before, after) => after + ((place - before) * shape.cell) / old.cell;
    stage.scrollLeft = moved(from[0] + x, old.left, shape.left) - x;
    stage.scrollTop = moved(from[1] + y, old.top, shape.top) - y;
  }

  // Shows the cell under the pointer, or else the chosen one.
  function point(cell) {
    const { query, key, keyEnd } = view.state;
    const target = cell ? [cell.query, cell.key, cell.key] : query === null ? null : [query, key, keyEnd];
    for (const label of overlay.querySelectorAll('.over')) label.remove();
    for (const label of overlay.querySelectorAll('.lit, .joined')) label.classList.remove('lit', 'joined');
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
    overlay.querySelector(`[data-row="${row}"]`)?.classList.add('lit');
    for (let k = low; k <= high; k += 1) overlay.querySelector(`[data-column="${k}"]`)?.classList.add('lit');
    if (view.state.drawing === 'lines') {
      cursor.replaceChildren(...lineCursor(view, shape, row, from, to));
      return;
    }
    cursor.replaceChildren(...cursorMarks(view, shape, row, from, to));
    if (shape.every > 1) cursorLabels(view, shape, row, to).forEach((label, axis) => axes.children[axis].append(label));
    let sum = 0;
    for (let k = low; k <= high; k += 1) sum += cellValue(view.shown, row, k);
    const visible = isVisible(view.shown, row, low);
    readout.textContent = !visible ? view.hiddenWord ?? 'hidden' : view.shown.signed ? signedFigure(sum) : figure(sum);
    Object.assign(readout.style, { width: `${shape.left - 12}px`, top: `${shape.top - 30}px` });
  }

  function cellAt(event) {
    const bounds = surface.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const y = event.clientY - bounds.top;
    if (view.state.drawing === 'lines') return lineCellAt(view, shape, x, y);
    if (x < stage.scrollLeft + shape.left || y < stage.scrollTop + shape.top) return null; // below the labels
    const key = Math.floor((x - shape.left) / shape.cell);
    const query = Math.floor((y - shape.top) / shape.cell);
    const inside = key >= 0 && query >= 0 && key < view.shown.numKeys && query < view.shown.numQueries;
    return inside ? { query, key } : null;
  }

  const hasMoved = wirePanning(stage, () => zoom, zoomTo);
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
    const cell = view && !hasMoved() && cellAt(event);
    if (!cell) return;
    const extend = event.shiftKey && view.state.query === cell.query;
    app.change({ query: cell.query, key: extend ? view.state.key : cell.key, keyEnd: cell.key });
  });
  surface.addEventListener('keydown', (event) => {
    const zoomed = !event.ctrlKey && !event.metaKey && { '+': 1.25 * zoom, '=': 1.25 * zoom, '-': zoom / 1.25, 0: 1 }[event.key];
    const change = view && cellKeys(view, event);
    if (!zoomed && !change) return;
    event.preventDefault();
    event.stopPropagation();
    if (zoomed) zoomTo(zoomed);
    else app.change(change);
  });
  for (const button of sizes?.children ?? []) {
    button.addEventListener('click', () => zoomTo(button.value === 'fit' ? 1 : zoom * Number(button.value)));
  }
  return { draw, overlay, shape: () => shape };
}

// Dragging with the mouse scrolls, Ctrl with the wheel (a pinch on a touchpad) and two fingers zoom.
// Returns a function that says whether the last press was such a drag and no click.
function wirePanning(stage, zoomNow, zoomTo) {
  let drag = null;
  let pinch = null;
  const onStage = (x, y) => {
    const bounds = stage.getBoundingClientRect();
    return [x - bounds.left, y - bounds.top];
  };
  const placeLabels = () => {
    stage.style.setProperty('--scroll-x', `${stage.scrollLeft}px`);
    stage.style.setProperty('--scroll-y', `${stage.scrollTop}px`);
  };
  stage.addEventListener('scroll', placeLabels);
  stage.addEventListener('wheel', (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomTo(zoomNow() * Math.exp(-event.deltaY / (event.deltaMode ? 10 : 300)), ...onStage(event.clientX, event.clientY));
  }, { passive: false });
  stage.addEventListener('pointerdown', (event) => {
    drag = event.pointerType === 'mouse' && event.button === 0
      ? { x: event.clientX, y: event.clientY, left: stage.scrollLeft, top: stage.scrollTop, moved: false } : null;
  });
  stage.addEventListener('pointermove', (event) => {
    if (!drag || !event.buttons) return;
    const [x, y] = [event.clientX - drag.x, event.clientY - drag.y];
    if (stage.classList.contains('pannable') && Math.hypot(x, y) > 4) drag.moved = true;
    if (drag.moved) [stage.scrollLeft, stage.scrollTop] = [drag.left - x, drag.top - y];
  });
  const fingers = ({ touches: [one, two] }) => [Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY),
    ...onStage((one.clientX + two.clientX) / 2, (one.clientY + two.clientY) / 2)];
  stage.addEventListener('touchstart', (event) => {
    if (event.touches.length === 2) pinch = { apart: fingers(event)[0], zoom: zoomNow() };
  }, { passive: true });
  stage.addEventListener('touchmove', (event) => {
    if (event.touches.length !== 2 || !pinch) return;
    event.preventDefault();
    const [apart, x, y] = fingers(event);
    zoomTo((pinch.zoom * apart) / pinch.apart, x, y);
  }, { passive: false });
  return () => Boolean(drag && drag.moved);
}

// Map, sentence and slider should stand in one view; a phone gives the map the upper half of its screen.
function heatmapHeight(stage, width) {
  const above = stage.getBoundingClientRect().top + window.scrollY;
  const below = 132; // the legend, and the tape down to its slider
  return width < 500 ? window.innerHeight * 0.62 : clampNumber(window.innerHeight - above - below, 200, 700);
}

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
