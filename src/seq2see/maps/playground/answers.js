// From what is asked (a source, a stage of training, changes) to what the model answers, with all that it looked at.
//
// Positions of the source in a state are those of the typed text; where words are removed the model sees fewer.

const data = JSON.parse(byId('log').textContent);
const tokenizers = { source: createTokenizer(data.source), target: createTokenizer(data.target) };
const lastStage = data.stages.length - 1;
const texts = byId('weights').textContent.split('\n'); // of each stage two
const models = new Map();
const answers = new Map();
const MOST_ANSWERS = 80;

const clamp = (value, low, high) => Math.min(high, Math.max(low, Math.round(Number(value)) || 0));
const pause = () => new Promise((resolve) => { setTimeout(resolve, 0); });

function modelOf(stage) {
  if (!models.has(stage)) models.set(stage, readStage(stage));
  return models.get(stage);
}

// An earlier stage is told from the trained model.
async function readStage(stage) {
  const [high, low] = texts.slice(2 * stage, 2 * stage + 2);
  const trained = stage < lastStage ? await modelOf(lastStage) : null;
  return readModel({ ...data.model, bits: data.stages[stage].bits, high, low }, trained);
}

// A question without changes, to the trained model.
const plainly = (text) => ({ text, stage: lastStage, beam: 1, off: [], forced: [], left: [], words: 'unseen' });

// The answer to a state, or to any object with these fields; kept, so that asking again costs nothing.
function ask({ text, stage, beam, off, forced, left, words }) {
  const mark = JSON.stringify([text, stage, beam, off, forced, left, left.length ? words : null]);
  if (!answers.has(mark)) {
    if (answers.size >= MOST_ANSWERS) answers.clear();
    answers.set(mark, answerTo({ text, stage, beam, off, forced, left, words }));
  }
  return answers.get(mark);
}

async function answerTo({ text, stage, beam, off, forced, left, words }) {
  const model = await modelOf(stage);
  const typed = [...tokenizers.source.encode(text), EOS];
  const kept = Array.from(typed.keys()).filter((place) => words !== 'removed' || !left.includes(place));
  const ids = kept.map((place) => typed[place]);
  const most = Math.min(model.maxTokens, data.limits.source ?? Infinity);
  if (ids.length > most) throw new RangeError(say('tooLong', ids.length, most));
  const seen = (own) => ({
    ...own,
    query: own.kind === 'encoder' ? kept.indexOf(own.query) : own.query,
    key: own.kind === 'decoder' ? own.key : kept.indexOf(own.key),
  });
  const changes = {
    off: new Set(off.map(({ kind, layer, head }) => `${kind} ${layer} ${head}`)),
    forced: forced.map(seen).filter(({ query, key }) => query >= 0 && key >= 0),
    hidden: new Set(words === 'unseen' ? left : []),
  };
  const began = performance.now();
  const source = model.encode(ids, changes);
  const hypotheses = search(model, source, {
    beamSize: beam, lengthPenalty: data.decode.length_penalty ?? 1, maxLength: lengthLimit(data.limits, ids.length), changes,
  });
  return { text, typed, kept, ids, source, hypotheses, milliseconds: performance.now() - began };
}

const textOf = (hypothesis) => tokenizers.target.decode(hypothesis.ids);
const labelsOf = (hypothesis) => tokenizers.target.tokens(hypothesis.tokens.map(({ id }) => id));

// One head's map, as colour.js and heatmap.js want it.
function matrixOf({ source, ids }, hypothesis, { kind, layer, head }) {
  if (kind === 'encoder') return { weights: source.maps.encoder[layer][head], numQueries: ids.length, numKeys: ids.length, causal: false };
  const numQueries = hypothesis.rows.length;
  const numKeys = kind === 'cross' ? ids.length : numQueries;
  const weights = new Float32Array(numQueries * numKeys);
  hypothesis.rows.forEach((rows, query) => weights.set(rows[kind][layer][head], query * numKeys));
  return { weights, numQueries, numKeys, causal: kind === 'decoder' };
}

// The typed tokens that a click leaves out together: a word, if the text has spaces, else a token; the end is one, too.
function wordsOf({ typed, text }) {
  const pieces = data.source.kind === 'word' ? text.split(/\s+/u).filter(Boolean) : Array.from(text);
  const isWhole = pieces.length === typed.length - 1; // a token for each: an unknown one is shown as it was typed
  const labels = tokenizers.source.tokens(typed).map((label, place) => (typed[place] === UNK && isWhole ? pieces[place] : label));
  const isSpaced = data.source.kind !== 'word' && labels.some((label) => label.startsWith('\u2423'));
  const words = [];
  labels.forEach((label, place) => {
    const begins = !words.length || !isSpaced || label.startsWith('\u2423') || place === typed.length - 1;
    if (begins) words.push({ text: '', places: [], known: true });
    const word = words[words.length - 1];
    word.text += isSpaced ? label.replace('\u2423', '') : label;
    word.places.push(place);
    word.known &&= typed[place] !== UNK;
  });
  return words;
}

// Which of these items have no counterpart in the others, in order (longest common subsequence): a list of booleans.
function differing(items, others) {
  const [rows, columns] = [items.length, others.length];
  const length = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      length[i][j] = items[i] === others[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  const differs = Array(rows).fill(true);
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (items[i] === others[j]) {
      differs[i] = false;
      i += 1;
      j += 1;
    } else if (length[i + 1][j] >= length[i][j + 1]) i += 1;
    else j += 1;
  }
  return differs;
}

// Whether an output is the reference, as text; a reference with symbols that the model does not know never is.
function isRight(hypothesis, reference) {
  const ids = tokenizers.target.encode(reference);
  return !ids.includes(UNK) && hypothesis.ids.length === ids.length && ids.every((id, i) => id === hypothesis.ids[i]);
}
