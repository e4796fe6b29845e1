// The current view as files, and its address.

const MOST_RECTS = 6400;

// What the style sheet says, as attributes, so that the drawing looks the same in a file of its own.
const EXPORTED = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'font-family', 'font-style', 'font-weight', 'opacity'];

function saveSvg(view, plate) {
  const shape = plate.shape();
  const live = document.querySelector('#plate .overlay');
  const copy = live.cloneNode(true);
  const originals = live.querySelectorAll('*');
  copy.querySelectorAll('*').forEach((node, i) => inlineStyle(node, originals[i]));
  const margin = 44;
  const title = svg('text', { x: 12, y: 24, 'font-size': 15, 'font-family': cssValue('--serif'), fill: cssValue('--ink') }, plateTitle(view));
  const body = svg('g', { transform: `translate(0 ${margin})` }, shape.lines ? null : cellRects(view, shape), ...copy.childNodes);
  const drawing = svg('svg', {
    xmlns: SVG_NAMESPACE, width: shape.width, height: shape.height + margin, viewBox: `0 0 ${shape.width} ${shape.height + margin}`,
  }, svg('rect', { width: '100%', height: '100%', fill: cssValue('--paper') }), title, body);
  save(`${fileName(view)}.svg`, 'image/svg+xml', `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(drawing)}`);
}

function inlineStyle(node, original) {
  const style = getComputedStyle(original);
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
  save(`${fileName(view)}.csv`, 'text/csv', `${lines.map((line) => line.map(quote).join(',')).join('\n')}\n`);
}

function fileName(view) {
  const { kind, layer, head, example } = view.state;
  const variant = (isNorms(view.variant) ? '-norms' : '') + (isFree(view.variant) ? '-own-output' : '');
  return `attention-${kind}${variant}-layer${layer + 1}-head${head + 1}-step${view.step.step}-pair${example + 1}`;
}

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
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
