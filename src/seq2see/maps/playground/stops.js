// The tour's five stops: each finds its example by asking the model, so that what it says is true of any model.
//
// A stop returns {view: changes of the state, found: what its text needs, in no language}.

const PATIENCE = 4000; // milliseconds that a stop may search
const MOST_TRIED = 12; // examples

const STOPS = [beforeAndAfter, rowsReadAndPredict, headOff, wrongOutput, longerThanEver];
const examplesWith = (has) => data.examples.filter(has).slice(0, MOST_TRIED);
const inTime = (began) => performance.now() - began < PATIENCE;
const share = (value) => (value < 0.005 ? '<0.01' : value >= 0.995 && value < 1 ? '>0.99' : value.toFixed(2));

async function best(question) {
  const answer = await ask(question);
  return { answer, hypothesis: answer.hypotheses[0] };
}

// The head of cross-attention that is surest of where it looks, and the key of one of its rows.
function surestHead(model, answer, hypothesis) {
  let found = { confidence: -1 };
  for (let layer = 0; layer < model.layers.cross; layer += 1) {
    for (let head = 0; head < model.heads; head += 1) {
      const matrix = matrixOf(answer, hypothesis, { kind: 'cross', layer, head });
      const last = Math.max(1, matrix.numQueries - 1);
      let confidence = 0;
      for (let query = 0; query < last; query += 1) confidence += rowLargest(matrix, query) / last;
      if (confidence > found.confidence) found = { confidence, matrix, place: { kind: 'cross', layer, head } };
    }
  }
  return found;
}

function lookAt({ matrix, place }, query) {
  const key = largestKey(matrix, query, matrix.numKeys);
  return { ...place, query, key, keyEnd: key };
}

// An example that comes out right, if there is one, as it was before training.
async function beforeAndAfter() {
  const began = performance.now();
  let chosen = null;
  for (const { source, reference } of examplesWith(() => true)) {
    if (chosen && !inTime(began)) break;
    const { answer, hypothesis } = await best(plainly(source));
    const right = reference !== null && isRight(hypothesis, reference);
    if (!chosen || right) chosen = { source, right, answer, hypothesis };
    if (right) break;
    await pause();
  }
  const before = await best({ ...plainly(chosen.source), stage: 0 });
  const cell = lookAt(surestHead(await modelOf(lastStage), chosen.answer, chosen.hypothesis), 0);
  return {
    view: { text: chosen.source, stage: 0, ...cell, query: null },
    found: {
      isAlone: !lastStage, source: chosen.source, before: textOf(before.hypothesis), after: textOf(chosen.hypothesis), isRight: chosen.right,
      step: data.stages[lastStage].step,
    },
  };
}

async function rowsReadAndPredict() {
  const { source } = data.examples[0];
  const { answer, hypothesis } = await best(plainly(source));
  const labels = labelsOf(hypothesis);
  const query = Math.floor((labels.length - 1) / 2);
  const head = surestHead(await modelOf(lastStage), answer, hypothesis);
  const cell = lookAt(head, query);
  return {
    view: { text: source, ...cell, place: query },
    found: {
      read: query ? labels[query - 1] : '<bos>', written: labels[query], place: head.place, share: share(cellValue(head.matrix, query, cell.key)),
      key: tokenizers.source.tokens(answer.ids)[cell.key],
    },
  };
}

// Each head off in turn, on one example after the other while there is time; the first round is always finished.
async function headOff() {
  const began = performance.now();
  const model = await modelOf(lastStage);
  const places = ['cross', 'decoder', 'encoder'].flatMap((kind) => Array.from({ length: model.layers[kind] * model.heads }, (_, i) => (
    { kind, layer: Math.floor(i / model.heads), head: i % model.heads, changed: 0, source: null })));
  let sentences = 0;
  for (const { source } of examplesWith(() => true)) {
    if (sentences && !inTime(began)) break;
    sentences += 1;
    const before = textOf((await best(plainly(source))).hypothesis);
    for (const own of places) {
      const { kind, layer, head } = own;
      const after = textOf((await best({ ...plainly(source), off: [{ kind, layer, head }] })).hypothesis);
      if (after !== before) {
        own.changed += 1;
        own.source ??= source;
      }
      await pause();
    }
  }
  const most = places.reduce((one, other) => (other.changed > one.changed ? other : one));
  const { kind, layer, head, changed } = most;
  const place = { kind, layer, head };
  return {
    view: { text: most.source ?? data.examples[0].source, off: [place], ...place },
    found: { place, changed, tried: places.length, sentences },
  };
}

const isKnownWrong = ({ group }) => group === 'wrong';

async function wrongOutput() {
  const began = performance.now();
  let references = 0;
  const examples = data.examples.filter(({ reference }) => reference !== null);
  for (const { source, reference } of examples.sort((one, other) => isKnownWrong(other) - isKnownWrong(one))) {
    if (references && !inTime(began)) break;
    references += 1;
    const { answer, hypothesis } = await best(plainly(source));
    if (!isRight(hypothesis, reference)) return aboutWrong({ source, reference, references, answer, hypothesis });
    await pause();
  }
  return { view: { text: data.examples[0].source }, found: { references, wrong: false } };
}

async function aboutWrong({ source, reference, references, answer, hypothesis }) {
  const right = [...tokenizers.target.encode(reference), EOS];
  const first = hypothesis.tokens.findIndex(({ id }, i) => id !== right[i]);
  const place = first < 0 ? hypothesis.tokens.length - 1 : first; // cut before it went wrong
  const { id, probability, candidates } = hypothesis.tokens[place];
  const other = candidates.find(([candidate]) => candidate === right[place]);
  const cell = lookAt(surestHead(await modelOf(lastStage), answer, hypothesis), place);
  const [written, wanted] = tokenizers.target.tokens([id, right[place] ?? EOS]);
  return {
    view: { text: source, ...cell, place },
    found: {
      references, wrong: true, source, reference, after: textOf(hypothesis), written, share: share(probability),
      right: place < right.length ? wanted : null, rightShare: other ? share(other[1]) : null,
    },
  };
}

// Examples one after the other until there are more tokens than in any source of the training.
async function longerThanEver() {
  const model = await modelOf(lastStage);
  const lengthOf = (text) => tokenizers.source.encode(text).length + 1; // with its end
  const isKnown = Boolean(data.longest);
  const longest = data.longest || Math.max(...data.examples.map(({ source }) => lengthOf(source)));
  const most = Math.min(model.maxTokens, data.limits.source ?? Infinity);
  const joint = data.examples.some(({ source }) => /\s/.test(source.split('\t').pop())) ? ' ' : '';
  let [text, parts] = [data.examples[0].source, 1];
  while (lengthOf(text) <= longest) {
    text += joint + data.examples[parts % data.examples.length].source.split('\t').pop(); // tags stand in front only
    parts += 1;
  }
  if (lengthOf(text) > most) return { view: { text: data.examples[0].source }, found: { isLonger: false, most } };
  const { answer, hypothesis } = await best(plainly(text));
  const cell = lookAt(surestHead(model, answer, hypothesis), 0);
  return {
    view: { text, ...cell, query: null },
    found: { isLonger: true, isKnown, parts, length: answer.ids.length, longest, written: hypothesis.tokens.length, ended: hypothesis.ended },
  };
}
