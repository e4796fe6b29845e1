// The current view as files, and its address. A view has a title, a caption, and a name for its files.

const MOST_RECTS = 6400;

// What the style sheet says, as attributes, so that the drawing looks the same in a file of its own.
const EXPORTED = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'font-family', 'font-style', 'font-weight', 'opacity'];

const AROUND = { left: 22, top: 78, bottom: 50 }; // of the drawing: axis title; title, step and pair, axis title; colour scale

// The view as a picture that stands alone: its name, step and pair, axis titles, colour scale and marks.
function pictureOf(view, plate) {
  const heads = view.state.drawing === 'heads' ? headPictures() : null;
  const shape = heads ?? plate.shape();
  const words = (text, x, y, size = 12, more = {}) => svg('text', { class: 'label', x, y, 'font-size': size, ...more }, text);
  const legend = pictureLegend(view, words);
  const width = Math.ceil(AROUND.left + Math.max(shape.width, legend.width, textWidth(view.title, labelFont(16))) + 12);
  const height = AROUND.top + shape.height + AROUND.bottom;
  const caption = cutText(view.caption, labelFont(12), width - 24);
  const titles = view.axisTitles ?? axisTitles(view.state);
  const axes = shape.lines ? [words(titles.columns, AROUND.left, AROUND.top - 10), words(titles.rows, AROUND.left, AROUND.top + shape.height)] : [];
  const drawing = svg('svg', { xmlns: SVG_NAMESPACE, width, height, viewBox: `0 0 ${width} ${height}` },
    svg('rect', { width: '100%', height: '100%', fill: cssValue('--paper') }),
    svg('text', { x: 12, y: 24, 'font-size': 16, 'font-family': cssValue('--serif'), fill: cssValue('--ink') }, view.title), words(caption, 12, 44), ...axes,
    svg('g', { transform: `translate(${AROUND.left} ${AROUND.top})` }, ...(heads ? heads.parts
      : [shape.lines ? null : cellRects(view, shape), ...plate.overlay.cloneNode(true).childNodes])),
    svg('g', { transform: `translate(${AROUND.left} ${height - 34})` }, ...legend.parts));
  document.body.append(drawing); // only there has it the styles that go into the file
  drawing.querySelectorAll('[class]').forEach(inlineStyle);
  drawing.remove();
  return { drawing, width, height };
}

// {parts, width, height}: the pictures of all heads and their names, where they stand on the page.
function headPictures() {
  const box = byId('thumbs');
  const around = box.getBoundingClientRect();
  const placeOf = (node) => {
    const { x, y, width, height } = node.getBoundingClientRect();
    return { x: x - around.x + box.scrollLeft, y: y - around.y, width, height };
  };
  const pictures = [...box.querySelectorAll('canvas')].flatMap((canvas) => [
    svg('rect', { ...placeOf(canvas), fill: 'url(#hatch)', stroke: cssValue('--line') }),
    svg('image', { ...placeOf(canvas), href: canvas.toDataURL('image/png'), preserveAspectRatio: 'none', 'image-rendering': 'pixelated' }),
  ]);
  const names = [...box.querySelectorAll('.line-name, .thumb-name > *')].map((node) => {
    const { x, y, height } = placeOf(node);
    return svg('text', { class: 'label', x, y: y + height - 4, 'font-size': 10.5 }, node.textContent);
  });
  const width = Math.max(...pictures.map((picture) => Number(picture.getAttribute('x')) + Number(picture.getAttribute('width'))));
  return { width, height: box.scrollHeight, parts: [hatchPattern(), ...pictures, ...names] };
}

// {parts, width}: the colour scale with its figures, or the colours of several heads, and what the marks mean.
function pictureLegend(view, words) {
  const { shown, state, judged, lines } = view;
  const parts = [];
  let x = 0;
  const next = (picture, text) => {
    parts.push(svg('g', { transform: `translate(${x} 0)` }, picture), words(text, x + 17, 10, 11));
    x += 34 + textWidth(text, labelFont(11));
  };
  const square = (fill) => svg('rect', { width: 11, height: 11, y: 1, fill });
  if (lines?.heads.length > 1) {
    for (const { head, colour } of lines.heads) next(square(colour), `head ${head + 1}`);
    next(null, 'wider: more attention');
  } else {
    for (let i = 0; i < 128; i += 1) parts.push(svg('rect', { x: 1.5 * i, width: 1.8, height: 9, fill: hex(scaleColour(shown.signed, i / 127)) }));
    for (const [place, label] of legendTicks(shown.signed, state.scale)) parts.push(words(label, 192 * place, 22, 11, { 'text-anchor': 'middle' }));
    x = 228;
  }
  if (shown.causal && !lines) next(svg('rect', { width: 11, height: 11, y: 1, fill: 'url(#hatch)' }), 'comes later');
  if (state.truth && judged && !lines) {
    next(truthMark('hit', 7, 6, 3.6), `${judged.hits.length} hit`);
    next(truthMark('missed', 7, 6, 3.6), `${judged.missed.length} missed`);
    next(truthMark('wrong', 7, 6, 3.6), `${judged.wrong.length} elsewhere`);
  }
  if (state.truth && view.links && lines) next(svg('line', { class: 'true-join', x1: 0, x2: 13, y1: 6, y2: 6 }), 'true links');
  return { parts, width: x };
}

const asText = (drawing) => `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(drawing)}`;

function saveSvg(view, plate) {
  save(`${view.file}.svg`, 'image/svg+xml', asText(pictureOf(view, plate).drawing));
}

// Two pixels for each of the page's, fewer where a canvas would grow too large.
async function savePng(view, plate) {
  const { drawing, width, height } = pictureOf(view, plate);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asText(drawing))}`;
  await image.decode();
  const ratio = Math.min(2, 8192 / Math.max(width, height));
  const canvas = element('canvas', { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(`${view.file}.png`, 'image/png', blob), 'image/png');
}

function inlineStyle(node) {
  const style = getComputedStyle(node);
  for (const name of EXPORTED) {
    const value = style.getPropertyValue(name);
    if (value && value !== 'normal') node.setAttribute(name, value);
  }
  node.removeAttribute('class');
}

function cellRects(view, shape) {
  const matrix = view.shown;
  if (matrix.numQueries * matrix.numKeys > MOST_RECTS) {
    const canvas = document.createElement('canvas');
    paintSmall(canvas, matrix, view.state.scale);
    return svg('image', {
      href: canvas.toDataURL('image/png'), x: shape.left, y: shape.top, width: shape.mapWidth, height: shape.mapHeight,
      preserveAspectRatio: 'none', 'image-rendering': 'pixelated',
    });
  }
  const group = svg('g');
  const ramps = rampsOf(matrix);
  for (let query = 0; query < matrix.numQueries; query += 1) {
    const largest = rowLargest(matrix, query);
    for (let key = 0; key < visibleKeys(matrix, query); key += 1) {
      group.append(svg('rect', {
        x: shape.left + key * shape.cell, y: shape.top + query * shape.cell, width: shape.cell - shape.gap, height: shape.cell - shape.gap,
        fill: hex(cellColour(ramps, cellValue(matrix, query, key), view.state.scale, largest)),
      }));
    }
  }
  return group;
}

// One line a row: its number, its label, then one weight a key; a cell that cannot be seen is empty.
function saveCsv(view) {
  const matrix = view.shown;
  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const lines = [['row', 'label', ...view.keyLabels.map((label) => label.text)]];
  for (let query = 0; query < matrix.numQueries; query += 1) {
    const cells = Array.from({ length: matrix.numKeys }, (_, key) => (isVisible(matrix, query, key) ? cellValue(matrix, query, key).toFixed(4) : ''));
    lines.push([String(query + 1), view.queryLabels[query].text, ...cells]);
  }
  save(`${view.file}.csv`, 'text/csv', `${lines.map((line) => line.map(quote).join(',')).join('\n')}\n`);
}

function save(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

async function copyLink(button) {
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'In the address bar';
  }
  setTimeout(() => { button.textContent = 'Link'; }, 1600);
}
