// The lines view: what is looked at above, what looks below, joined by lines as strong as the attention.

const LINE_ROWS = { top: 44, bottom: 300, height: 344 };

function linesGeometry(view, width) {
  const place = (labels, size, gap) => {
    let x = 0;
    const places = labels.map((label) => {
      const wide = textWidth(cutText(label.text, labelFont(size), 150), labelFont(size));
      const middle = x + wide / 2;
      x += wide + gap;
      return { middle, wide };
    });
    return { places, width: x - gap };
  };
  let size = 16;
  let above;
  let below;
  for (; size >= 11; size -= 1) {
    above = place(view.keyLabels, size, size * 1.1);
    below = place(view.queryLabels, size, size * 1.1);
    if (Math.max(above.width, below.width) + 24 <= width) break;
  }
  size = Math.max(size, 11);
  const full = Math.max(width, above.width + 24, below.width + 24);
  const spread = (row, count) => {
    const spare = Math.min((full - 24 - row.width) / Math.max(1, count - 1), 48);
    const start = (full - row.width - spare * (count - 1)) / 2;
    return row.places.map(({ middle, wide }, i) => ({ middle: start + middle + spare * i, wide }));
  };
  return {
    lines: true, width: full, height: LINE_ROWS.height, labelSize: size,
    above: spread(above, view.keyLabels.length), below: spread(below, view.queryLabels.length),
  };
}

function linesDrawing(view, shape) {
  const text = (label, { middle }, y, attributes) => svg('text', {
    class: labelClass(label), x: middle, y, 'text-anchor': 'middle', 'font-size': shape.labelSize, ...attributes,
  }, cutText(label.text, labelFont(shape.labelSize), 150));
  return [
    svg('g', { class: 'joins' }, ...strongestLines(view.shown).map(([query, key, value]) => joinLine(view, shape, query, key, value))),
    view.links && view.state.truth ? svg('g', { class: 'true-joins' }, ...trueLines(view, shape)) : null,
    svg('g', { class: 'labels' },
      ...view.keyLabels.map((label, key) => text(label, shape.above[key], LINE_ROWS.top - 12, { 'data-column': key })),
      ...view.queryLabels.map((label, query) => text(label, shape.below[query], LINE_ROWS.bottom + 24, { 'data-row': query }))),
  ];
}

// Lines too faint to be seen are left out, and of very many only the strongest are drawn.
function strongestLines(matrix) {
  const lines = [];
  for (let query = 0; query < matrix.numQueries; query += 1) {
    for (let key = 0; key < visibleKeys(matrix, query); key += 1) {
      const value = cellValue(matrix, query, key);
      if (Math.abs(value) >= 0.02) lines.push([query, key, value]);
    }
  }
  return lines.sort((one, two) => Math.abs(one[2]) - Math.abs(two[2])).slice(-1500);
}

function joinPath(shape, query, key) {
  const from = shape.above[key].middle;
  const to = shape.below[query].middle;
  const bend = (LINE_ROWS.bottom - LINE_ROWS.top) * 0.45;
  return `M${from} ${LINE_ROWS.top}C${from} ${LINE_ROWS.top + bend} ${to} ${LINE_ROWS.bottom - bend} ${to} ${LINE_ROWS.bottom}`;
}

function joinLine(view, shape, query, key, value) {
  const size = Math.min(1, strength(value, view.state.scale, rowLargest(view.shown, query)));
  const colours = ramp(view.shown.signed ? (value < 0 ? 'less' : 'more') : 'weight');
  return svg('path', {
    d: joinPath(shape, query, key), fill: 'none', 'data-line': query, 'stroke-linecap': 'round',
    stroke: hex(colours[Math.round(90 + 130 * size)]), 'stroke-width': (0.6 + 5 * size).toFixed(2), 'stroke-opacity': (0.12 + 0.8 * size).toFixed(2),
  });
}

function trueLines(view, shape) {
  const first = view.state.rows === 'reads' ? 1 : 0;
  return view.links.map(([source, target]) => svg('path', { class: 'true-join', d: joinPath(shape, target + first, source), fill: 'none' }));
}

function lineCursor(view, shape, query, from, to) {
  const [low, high] = from <= to ? [from, to] : [to, from];
  const bar = (place, y) => svg('line', {
    class: 'underline', x1: place.middle - place.wide / 2, x2: place.middle + place.wide / 2, y1: y, y2: y,
  });
  const marks = [bar(shape.below[query], LINE_ROWS.bottom + 32)];
  for (let key = low; key <= high; key += 1) {
    marks.push(bar(shape.above[key], LINE_ROWS.top - 30 - shape.labelSize * 0.2));
    if (isVisible(view.shown, query, key)) marks.push(svg('path', { class: 'chosen-join', d: joinPath(shape, query, key), fill: 'none' }));
  }
  return marks;
}

// Pointing below chooses a row and its strongest word; pointing above chooses a word for the row that is chosen.
function lineCellAt(view, shape, x, y) {
  const nearest = (places) => {
    let best = 0;
    places.forEach(({ middle }, i) => { if (Math.abs(middle - x) < Math.abs(places[best].middle - x)) best = i; });
    return best;
  };
  if (y > LINE_ROWS.bottom - 60) {
    const query = nearest(shape.below);
    return { query, key: largestKey(view.shown, query, visibleKeys(view.shown, query)) };
  }
  return y < LINE_ROWS.top + 40 ? { query: view.state.query ?? 0, key: nearest(shape.above) } : null;
}
