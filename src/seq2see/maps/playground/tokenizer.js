// Text to ids and back, exactly as text/tokenizer.py and the library behind it do it; made from a tokenizer's state.

const UNK = 3;
const LABELS = ['<pad>', '<bos>', '<eos>', '<unk>'];
const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'; // Python's str.isspace
const SPACES = new RegExp(`[${SPACE}]+`, 'u');
// GPT-2's pieces, which byte-level BPE never merges across; white space here is Unicode's.
const WHITE = SPACE.replace('\\x1c-\\x20', '\\x20');
const PIECES = new RegExp(
  `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^${WHITE}\\p{L}\\p{N}]+|[${WHITE}]+(?![^${WHITE}])|[${WHITE}]+`, 'gu',
);
const NO_SHAPE = /[\p{C}\p{Z}]/u;

// The characters in which byte-level symbols are spelled, by byte: itself if it can be printed, else one from U+0100 on.
const CHARACTER_OF = (() => {
  const characters = [];
  let next = 0x100;
  for (let byte = 0; byte < 256; byte += 1) {
    const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    characters.push(String.fromCharCode(isPrintable ? byte : next++));
  }
  return characters;
})();
const BYTE_OF = new Map(CHARACTER_OF.map((character, byte) => [character, byte]));

function createTokenizer(state) {
  const symbols = JSON.parse(state.symbols);
  const tags = JSON.parse(state.tags);
  const separator = state.tag_separator;
  const first = LABELS.length + tags.length; // id of text
  const ids = new Map(symbols.map((symbol, place) => [symbol, first + place]));
  const tagIds = new Map(tags.map((tag, place) => [tag, LABELS.length + place]));
  const merges = new Map(JSON.parse(state.merges).map(([left, right], rank) => [`${left} ${right}`, rank]));
  const isWord = state.kind === 'word';
  const isBpe = state.kind === 'bpe';
  const shownUnknown = isWord ? '<unk>' : '\ufffd';
  const known = new Map(); // pieces -> ids

  const normalised = (text) => (state.normalize === 'nfc' ? text.normalize('NFC') : text);
  const split = (text) => text.split(SPACES).filter(Boolean);
  const idsOf = (list) => list.map((symbol) => ids.get(symbol) ?? UNK);

  // The ids of a text, without EOS. Throws where a text holds half a character, as no text that was read does.
  function encode(line) {
    if (/\p{Surrogate}/u.test(line)) throw new Error('the text holds half a character');
    const tab = separator ? line.indexOf('\t') : -1;
    const own = tab < 0 ? [] : line.slice(0, tab).split(separator).map((tag) => split(tag).join('_')).filter(Boolean);
    const text = normalised(line.slice(tab + 1));
    const before = own.map((tag) => tagIds.get(normalised(tag)) ?? UNK);
    if (!isBpe) return [...before, ...idsOf(isWord ? split(text) : Array.from(text))];
    return [...before, ...(text.match(PIECES) || []).flatMap(merged)];
  }

  // The lowest merge first, of equals the leftmost.
  function merged(piece) {
    if (!known.has(piece)) {
      const parts = Array.from(new TextEncoder().encode(piece), (byte) => CHARACTER_OF[byte]);
      for (;;) {
        let best = Infinity;
        let place = -1;
        for (let i = 0; i + 1 < parts.length; i += 1) {
          const rank = merges.get(`${parts[i]} ${parts[i + 1]}`);
          if (rank < best) [best, place] = [rank, i];
        }
        if (place < 0) break;
        parts.splice(place, 2, parts[place] + parts[place + 1]);
      }
      known.set(piece, idsOf(parts));
    }
    return known.get(piece);
  }

  const spelled = (symbol) => Uint8Array.from(symbol, (character) => BYTE_OF.get(character));

  // The text of ids: PAD, BOS and EOS left out, UNK shown.
  function decode(list) {
    const shown = list.filter((id) => id >= UNK);
    let numTags = separator ? shown.findIndex((id) => id >= first) : 0;
    if (numTags < 0) numTags = shown.length;
    while (numTags && shown[numTags - 1] === UNK) numTags -= 1; // of the text, unless a known tag follows
    const parts = shown.slice(numTags).map((id) => (id < first ? shownUnknown : symbols[id - first]));
    let text = parts.join(isWord ? ' ' : '');
    if (isBpe) {
      const bytes = parts.flatMap((part) => Array.from(part === shownUnknown ? [0xef, 0xbf, 0xbd] : spelled(part)));
      text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes));
    }
    if (!separator || !(numTags || text.includes('\t'))) return text;
    const own = shown.slice(0, numTags).map((id) => (id === UNK ? shownUnknown : tags[id - LABELS.length]));
    return `${own.join(separator)}\t${text}`;
  }

  // One label an id, for people.
  function tokens(list) {
    return list.map((id) => {
      if (id < LABELS.length) return LABELS[id];
      if (id < first) return `[${visible(tags[id - LABELS.length])}]`;
      const symbol = symbols[id - first];
      if (!isBpe) return visible(symbol);
      const bytes = spelled(symbol);
      try {
        return visible(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
      } catch { // a part of a character
        return Array.from(bytes, (byte) => `<0x${hexadecimal(byte, 2).toUpperCase()}>`).join('');
      }
    });
  }

  return { encode, decode, tokens };
}

const hexadecimal = (number, digits) => number.toString(16).padStart(digits, '0');

function visible(text) {
  return Array.from(text, (character) => {
    if (character === ' ') return '\u2423';
    if (!NO_SHAPE.test(character)) return character;
    const code = character.codePointAt(0);
    const named = { 9: '\\t', 10: '\\n', 13: '\\r' }[code];
    if (named) return named;
    return code < 0x100 ? `\\x${hexadecimal(code, 2)}` : code < 0x10000 ? `\\u${hexadecimal(code, 4)}` : `\\U${hexadecimal(code, 8)}`;
  }).join('');
}
