// What source words cause, as rows under a cross map: how the log-probability of the chosen row's token changes, in nats.

const FULL_COLOUR = 10; // nats from which on the colour is the strongest
const CAUSE_HEIGHT = 20;
const unpackedCauses = new Map();

// All changes of one pair, in the order of `WordEffects`.
function causesOf(packed) {
  if (!unpackedCauses.has(packed.cells)) {
    const read = (bytes) => Float32Array.from(new Int16Array(bytes.buffer), (hundredths) => hundredths / 100);
    unpackedCauses.set(packed.cells, inflate(packed.cells).then(read));
  }
  return unpackedCauses.get(packed.cells);
}

// Of one target token the change for each word, by how the word was taken away: [name, how it is said, values].
function causeRows(packed, cells, { numRows, row, layers, heads, layer, head }) {
  const size = numRows * packed.words.length;
  const at = (place) => cells.subarray(place * size + row * packed.words.length, place * size + (row + 1) * packed.words.length);
  const rows = [['left out', 'left out', at(0)], ['blocked: all', 'blocked in all cross attention', at(1)],
    [`layer ${layer + 1}`, `in layer ${layer + 1}`, at(2 + layer)]];
  const single = head !== null && cells.length > (2 + layers) * size;
  if (single) rows.push([`head ${head + 1}`, `in layer ${layer + 1}, head ${head + 1} alone`, at(2 + layers + layer * heads + head)]);
  return rows;
}

function causeFigure(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? '0' : `${value < 0 ? '\u2212' : '+'}${text}`;
}

// The rows below a map of the same columns.
function drawCauseRows(place, packed, labels, rows, { left, cell }, chosen) {
  const ramps = rampsOf({ signed: true });
  const columns = Math.max(...packed.words.map(([first, number]) => first + number));
  const parts = rows.flatMap(([name, said, values], i) => {
    const y = i * (CAUSE_HEIGHT + 2);
    const cells = packed.words.flatMap(([first, number], word) => {
      const [x, width] = [left + first * cell, number * cell];
      const strength = Math.min(1, Math.sqrt(Math.abs(values[word]) / FULL_COLOUR));
      const text = causeFigure(values[word], 1);
      return [
        svg('rect', { x, y, width: Math.max(1, width - (cell >= 8 ? 1 : 0)), height: CAUSE_HEIGHT, fill: rgb(ramps[values[word] < 0 ? 0 : 1][Math.round(255 * strength)]) },
          svg('title', {}, `${labels[word]}, ${said}: ${causeFigure(values[word])} nats`)),
        text !== '0' && width >= 28 ? svg('text', { x: x + width / 2, y: y + 14, class: `cause-figure ${strength > 0.66 ? 'strong' : ''}` }, text) : null,
      ];
    });
    return [svg('text', { x: left - 9, y: y + 14, class: 'label cause-name' }, name), ...cells];
  });
  const [width, height] = [left + columns * cell + 2, rows.length * (CAUSE_HEIGHT + 2)];
  const [first, number] = packed.words[chosen] || [0, 0];
  const frame = number ? svg('rect', { class: 'chosen', x: left + first * cell, y: 0, width: number * cell, height: height - 2, fill: 'none' }) : null;
  place.replaceChildren(svg('svg', { class: 'cause-rows', width, height, 'aria-hidden': 'true' }, ...parts, frame));
}

// In words: the word that matters most, and what the chosen one does.
function causeSentence(token, labels, rows, chosen) {
  const strongest = (values) => values.reduce((best, value, word) => (Math.abs(value) > Math.abs(values[best]) ? word : best), 0);
  const mark = (text) => `\u201c\u2068${text}\u2069\u201d`;
  const most = strongest(rows[0][2]);
  if (causeFigure(rows[0][2][most]) === '0') return `Whichever word is left out, the log-probability of ${mark(token)} changes by less than 0.01 nats.`;
  const first = `Leaving out ${mark(labels[most])} changes the log-probability of ${mark(token)} most: by ${causeFigure(rows[0][2][most])} nats.`;
  if (chosen === -1) return first;
  return `${first} Without ${mark(labels[chosen])}: ${rows.map(([, said, values]) => `${causeFigure(values[chosen])} ${said}`).join(', ')}.`;
}

// The words as the labels of their tokens, spaces left out, as they stand in a text.
const causeLabels = (packed, tokens) => packed.words.map(([first, number]) => {
  const label = tokens.slice(first, first + number).join('');
  return label === '\u2423' ? label : label.replaceAll('\u2423', '');
});

const wordAt = (packed, column) => packed.words.findIndex(([first, number]) => column >= first && column < first + number);
