// The log inside the page: tokens, scores and measures at once, maps step by step when they are looked at.
//
// A step has up to four variants of its maps: weights or norms, of the reference or of the model's own output (free).

const KINDS = ['encoder', 'decoder', 'cross'];
const MOST_KEPT_CELLS = 16e6; // 64 megabytes

function readLog() {
  const log = JSON.parse(byId('log').textContent);
  if (log.other) prepare(log.other);
  return prepare(log);
}

// With what is derived, and room for what is unpacked.
function prepare(log) {
  const { num_encoder_layers: encoder, num_decoder_layers: decoder, num_heads: heads, ...more } = log.model;
  log.layers = { encoder, decoder, cross: more.num_cross_layers ?? decoder }; // none: the log has no maps of this kind
  log.heads = { encoder: more.num_encoder_heads ?? heads, decoder: heads, cross: heads }; // of each layer
  log.unpacked = new Map();
  log.matrices = new Map();
  log.keptCells = 0;
  return log;
}

// The variant that is asked for, or what the step has in its place.
function variantAt(log, { stepIndex, kind, cells, fed }) {
  const kept = log.maps[stepIndex];
  const norms = cells === 'norms';
  if (fed === 'output' && kind !== 'encoder' && kept.free) return norms && kept.freeNorms ? 'freeNorms' : 'free';
  return norms && kept.norms ? 'norms' : 'weights';
}

const isFree = (variant) => variant.startsWith('free');
const isNorms = (variant) => /norms$/i.test(variant);

// What the decoder's rows predict: the reference, or what the model itself said at this step.
function targetTokensOf(log, { stepIndex, example }, variant) {
  return isFree(variant) ? log.steps[stepIndex].hypothesisTokens[example] : log.examples[example].targetTokens;
}

function mapSize(log, place, variant = variantAt(log, place)) {
  const numSources = log.examples[place.example].sourceTokens.length;
  const numTargets = targetTokensOf(log, place, variant).length;
  return {
    numQueries: place.kind === 'encoder' ? numSources : numTargets,
    numKeys: place.kind === 'decoder' ? numTargets : numSources,
  };
}

// The bytes of one step's and example's variant; a promise the first time, and kept.
function unpack(log, { stepIndex, example }, variant) {
  const mark = `${stepIndex} ${example} ${variant}`;
  if (!log.unpacked.has(mark)) log.unpacked.set(mark, inflate(log.maps[stepIndex][variant][example]));
  return log.unpacked.get(mark);
}

function inflate(base64) {
  const text = atob(base64);
  return inflated(Uint8Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)));
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// One head's map of one pair: {weights (row after row), numQueries, numKeys, causal}.
async function loadMatrix(log, place) {
  const { stepIndex, example, kind, layer, head } = place;
  const variant = variantAt(log, place);
  const name = [stepIndex, variant, example, kind, layer, head].join(' ');
  if (!log.matrices.has(name)) {
    const bytes = await unpack(log, place, variant);
    const matrix = readMatrix(log, bytes, place, variant);
    log.keptCells += matrix.weights.length;
    if (log.keptCells > MOST_KEPT_CELLS) {
      log.matrices.clear();
      log.keptCells = matrix.weights.length;
    }
    log.matrices.set(name, matrix);
    return matrix;
  }
  return log.matrices.get(name);
}

function readMatrix(log, bytes, place, variant) {
  const { kind, layer, head } = place;
  const { numQueries, numKeys } = mapSize(log, place, variant);
  let start = (layer * log.heads[kind] + head) * numQueries * numKeys;
  for (const before of KINDS.slice(isFree(variant) ? 1 : 0, KINDS.indexOf(kind))) { // kinds stand one after the other
    const size = mapSize(log, { ...place, kind: before }, variant);
    start += log.layers[before] * log.heads[before] * size.numQueries * size.numKeys;
  }
  const weights = new Float32Array(numQueries * numKeys);
  for (let query = 0; query < numQueries; query += 1) {
    let sum = 0;
    for (let i = query * numKeys; i < (query + 1) * numKeys; i += 1) {
      weights[i] = (bytes[start + i] / 255) ** 2;
      sum += weights[i];
    }
    if (sum > 0) for (let i = query * numKeys; i < (query + 1) * numKeys; i += 1) weights[i] /= sum;
  }
  return { weights, numQueries, numKeys, causal: kind === 'decoder' };
}

function subtract(left, right) {
  return { ...left, weights: left.weights.map((weight, i) => weight - right.weights[i]), signed: true };
}

const isVisible = (matrix, query, key) => !matrix.causal || key <= query;
const visibleKeys = (matrix, query) => (matrix.causal ? query + 1 : matrix.numKeys);
const cellValue = (matrix, query, key) => matrix.weights[query * matrix.numKeys + key];

// For each target word with a true link: was the source word with the largest weight (EOS left out) one of its links?
// Returns {hits, missed, wrong}, lists of [query, key].
function judge(matrix, links, rows) {
  const first = rows === 'reads' ? 1 : 0;
  const byTarget = new Map();
  for (const [source, target] of links) byTarget.set(target, [...(byTarget.get(target) || []), source]);
  const hits = [];
  const missed = [];
  const wrong = [];
  for (const [target, sources] of byTarget) {
    const query = target + first;
    const chosen = largestKey(matrix, query, matrix.numKeys - 1);
    if (!sources.includes(chosen)) wrong.push([query, chosen]);
    for (const source of sources) (source === chosen ? hits : missed).push([query, source]);
  }
  return { hits, missed, wrong };
}

function largestKey(matrix, query, numKeys) {
  let best = 0;
  for (let key = 1; key < numKeys; key += 1) {
    if (cellValue(matrix, query, key) > cellValue(matrix, query, best)) best = key;
  }
  return best;
}
