// The texts of the pair as running text, its words shaded by the chosen row.

// The source or the target: what the chosen row looks at is shaded, the row's own word underlined.
function runningText(view, side, text) {
  const { kind, query, rows } = view.state;
  const keySide = kind === 'decoder' ? 'target' : 'source';
  const querySide = kind === 'encoder' ? 'source' : 'target';
  if (query === null || (side !== keySide && side !== querySide)) return [text];
  const isKey = side === keySide;
  const labels = isKey ? view.keyLabels : view.queryLabels;
  const own = isKey && kind === 'decoder' && rows === 'predicts' ? query + 1 : query; // its keys begin with <bos>
  const largest = rowLargest(view.shown, query);
  const word = (label, i, shown) => {
    const span = element('span', { class: [label.special ? 'special' : '', side === querySide && i === own ? 'own-word' : ''].join(' ').trim() || null }, shown);
    if (isKey && isVisible(view.shown, query, i)) shade(span, view, cellValue(view.shown, query, i), largest);
    return span;
  };
  const places = placesOf(text, labels);
  if (!places) return labels.flatMap((label, i) => [word(label, i, label.text), ' ']); // read otherwise than it is written
  const parts = [];
  let at = 0;
  labels.forEach((label, i) => {
    if (label.special) {
      if (isKey) parts.push(i ? ' ' : '', word(label, i, label.text), i ? '' : ' ');
      return;
    }
    const [start, end] = places[i];
    parts.push(text.slice(at, start), word(label, i, text.slice(start, end)));
    at = end;
  });
  const rest = text.slice(at);
  const isEnded = isKey && labels.at(-1).special;
  return isEnded ? [...parts.slice(0, -3), rest, ...parts.slice(-3)] : [...parts, rest];
}

function shade(span, view, value, largest) {
  const colour = cellColour(rampsOf(view.shown), value, view.state.scale, largest);
  span.classList.add('shaded');
  span.style.background = rgb(colour);
  span.style.color = isBright(colour) ? '#000' : '#fff';
  span.title = view.shown.signed ? signedFigure(value) : figure(value);
}

// Whether black stands out more than white: their contrasts are equal at a luminance of 0.179, and never below 4.5.
function isBright(colour) {
  const [red, green, blue] = colour.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}

// Where each label stands in the text, [start, end], one after the other with at most space between; null if they do not.
function placesOf(text, labels) {
  let at = 0;
  const places = [];
  for (const { text: label, special } of labels) {
    const bare = label.replace(/^[\u2581\u0120]/, ''); // how SentencePiece and byte-level BPE write a space before a word
    while (!special && !text.startsWith(label, at) && !text.startsWith(bare, at) && /\s/.test(text[at] ?? '')) at += 1;
    const found = text.startsWith(label, at) ? label : bare;
    if (!special && !text.startsWith(found, at)) return null;
    places.push(special ? null : [at, at += found.length]);
  }
  return places;
}
