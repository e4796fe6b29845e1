// Everything the page says: labels, numbers, sentences.

const KIND_NAMES = { encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross' };
const KIND_TITLES = { encoder: 'Encoder self-attention', decoder: 'Decoder self-attention', cross: 'Cross-attention' };
const KIND_NOTES = {
  encoder: 'the source looks at itself',
  decoder: 'the target so far looks at itself',
  cross: 'the target looks at the source',
};

// [short name, unit or direction, what it is]; the order is the order of the tables.
const MEASURES = {
  alignment_error_rate: ['alignment error', 'lower is better', 'wrong links, predicts rows, 0 to 1'],
  alignment_error_rate_reads: ['alignment error, reads', 'lower is better', 'wrong links, reads rows, 0 to 1'],
  alignment_mass: ['on true links', 'share', 'weight on truly linked words, predicts rows'],
  alignment_mass_reads: ['on true links, reads', 'share', 'weight on truly linked words, reads rows'],
  confidence: ['confidence', 'share', 'largest weight of a row'],
  entropy: ['entropy', 'nats', 'spread of a row'],
  effective_keys: ['effective keys', 'tokens', 'equal shares with the same entropy'],
  previous_share: ['on the previous', 'share', 'weight on the token before'],
  same_share: ['on itself', 'share', 'weight on the token itself'],
  next_share: ['on the next', 'share', 'weight on the token after'],
  bos_mass: ['on BOS', 'share', 'weight on the start of the sentence'],
  eos_mass: ['on EOS', 'share', 'weight on the end of the sentence'],
  sink_mass: ['on one token', 'share', 'weight on the token that gets most in its sentence'],
  diagonality: ['diagonality', '1 is diagonal', 'nearness to the straight line'],
  coverage: ['coverage', 'share', 'how much of each key is looked at'],
  head_distance: ['apart from others', 'bits', 'Jensen-Shannon divergence to the other heads of the layer'],
  drift: ['moved', 'bits', 'Jensen-Shannon divergence to the stored step before'],
  importance: ['importance', 'nats', 'how much the loss leans on the head: mean absolute slope of a pair\u2019s loss when the head fades'],
  ablation_loss: ['off: loss', 'nats', 'what the loss gains when the head is switched off'],
  ablation_exact_match: ['off: exact match', 'share', 'what exact match gains when the head is switched off'],
};

// Measured at a few steps only, and small: three digits, and the last known value elsewhere.
const EFFECTS = ['importance', 'ablation_loss', 'ablation_exact_match'];
const isEffect = (name) => EFFECTS.includes(name);

// The step whose value of an effect is shown at this one; null if there is none.
function effectStep(log, kind, stepIndex) {
  const table = log.measures[kind].ablation_loss;
  if (!table) return null;
  const known = (i) => table[i].some((heads) => heads.some((value) => value !== null));
  if (known(stepIndex)) return stepIndex;
  for (let i = table.length - 1; i >= 0; i -= 1) if (known(i)) return i;
  return null;
}

function measureFigure(name, value) {
  if (!isEffect(name)) return figure(value);
  return name === 'importance' || value === null || value === undefined ? figure(value, 3) : signedFigure(value, 3);
}

// "Head off: loss +0.310, exact match −0.12."
function headOff(view) {
  const { log, state } = view;
  const at = effectStep(log, state.kind, state.stepIndex);
  if (at === null) return null;
  const value = (name) => log.measures[state.kind][name][at][state.layer][state.head];
  return {
    text: `head off: loss ${signedFigure(value('ablation_loss'), 3)}, exact match ${signedFigure(value('ablation_exact_match'))}`,
    note: at === state.stepIndex ? '' : ` at step ${thousands(log.steps[at].step)}`,
  };
}

const measureNames = (log, kind) => Object.keys(MEASURES).filter((name) => log.measures[kind][name]);

function figure(value, digits = 2) {
  if (value === null || value === undefined || Number.isNaN(value)) return '\u2013';
  const text = Math.abs(value).toFixed(digits);
  return (value < 0 && Number(text) !== 0 ? '\u2212' : '') + text;
}

function signedFigure(value, digits = 2) {
  const text = figure(value, digits);
  if (text === '\u2013') return text;
  return /[1-9]/.test(text) ? (value > 0 ? `+${text}` : text) : `\u00b1${text}`;
}

const headName = (layer, head) => `Layer ${layer + 1}, head ${head + 1}`;
const quoted = (text) => `\u201c${isolated(text)}\u201d`;
const thousands = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, '\u202f');

// Labels of an axis: [{text, special}]. `rows` says whether a decoder row is named for what it predicts or what it reads.
function queryLabels(log, { example, kind, rows }, targetTokens) {
  if (kind === 'encoder') return predictedLabels(log.examples[example].sourceTokens);
  return rows === 'reads' ? readLabels(targetTokens) : predictedLabels(targetTokens);
}

function keyLabels(log, { example, kind }, targetTokens) {
  return kind === 'decoder' ? readLabels(targetTokens) : predictedLabels(log.examples[example].sourceTokens);
}

// An output that was cut off at its length limit has no end of sentence.
const isEnd = (tokens, i) => i === tokens.length - 1 && /^<.*>$/.test(tokens[i]);
const predictedLabels = (tokens) => tokens.map((text, i) => ({ text, special: isEnd(tokens, i) }));
const readLabels = (tokens) => [
  { text: '<bos>', special: true }, ...tokens.slice(0, -1).map((text) => ({ text, special: false })),
];

// "when predicting “Hund”"
function rowPhrase(view, query) {
  const label = quoted(view.queryLabels[query].text);
  if (view.state.kind === 'encoder') return `at ${label}`;
  return view.state.rows === 'reads' ? `when reading ${label}` : `when predicting ${label}`;
}

const keyPhrase = (view, from, to) => quoted(view.keyLabels.slice(from, to + 1).map((label) => label.text).join(' '));

// The chosen cell (or sum of cells) as a sentence.
function sayCell(view) {
  const { query, key, keyEnd, layer, head } = view.state;
  const where = headName(layer, head) + (isFree(view.variant) ? ', fed its own output' : '');
  const [what, goes] = isNorms(view.variant) ? ['what the head adds', 'comes from'] : ['the attention', 'goes to'];
  if (query === null) return `${where}, step ${thousands(view.step.step)}. Choose a cell to read it.`;
  const matrix = view.shown;
  const [from, to] = key <= keyEnd ? [key, keyEnd] : [keyEnd, key];
  if (!isVisible(matrix, query, from)) {
    return `${where}: ${rowPhrase(view, query)}, ${keyPhrase(view, from, to)} cannot be seen; it comes later.`;
  }
  let sum = 0;
  for (let k = from; k <= to; k += 1) sum += cellValue(matrix, query, k);
  if (matrix.signed) {
    const change = Math.abs(sum) < 0.005 ? 'as much' : `${figure(Math.abs(sum))} ${sum > 0 ? 'more' : 'less'}`;
    return `${where}: ${rowPhrase(view, query)}, ${change} of ${what} ${goes} ${keyPhrase(view, from, to)}`
      + ` ${change === 'as much' ? 'as' : 'than'} in ${otherName(view)}.`;
  }
  const owner = view.shows === 'other' ? capital(otherName(view)) : where;
  return `${owner}: ${rowPhrase(view, query)}, ${figure(sum)} of ${what} ${goes} ${keyPhrase(view, from, to)}.${truth(view, query, from, to)}`;
}

// " at step 1 200"; nothing where there is but one step that nobody counted.
function atStep({ steps }, stepIndex) {
  const { step } = steps[stepIndex];
  return steps.length === 1 && step === 0 ? '' : ` at step ${thousands(step)}`;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function otherName(view) {
  const { otherLayer, otherHead, layer, head, otherRun } = view.state;
  const same = otherLayer === layer && otherHead === head && !otherRun;
  return (same ? 'this head' : headName(otherLayer, otherHead).toLowerCase()) + otherPlaceName(view);
}

// " of the other run at step 50"
function otherPlaceName({ log, state }) {
  return (state.otherRun ? ` of ${log.other.name}` : '') + atStep(otherLog(log, state), state.otherIndex);
}

function truth(view, query, from, to) {
  if (!view.links) return '';
  const target = query - (view.state.rows === 'reads' ? 1 : 0);
  const sources = view.links.filter((link) => link[1] === target).map((link) => link[0]);
  if (!sources.length) return '';
  const share = (key) => figure(cellValue(view.shown, query, key));
  const here = sources.filter((source) => source >= from && source <= to);
  const best = largestKey(view.shown, query, view.shown.numKeys - 1);
  if (here.includes(best)) return ' This is the true link.';
  if (here.length) return ` The true link is missed: more, ${share(best)}, goes to ${quoted(view.keyLabels[best].text)}.`;
  return ` The true link is ${sources.map((source) => `${quoted(view.keyLabels[source].text)}, with ${share(source)}`).join(' and ')}.`;
}

// What the page has no room for.
function leftOutWords({ leftOut, steps, examples }) {
  const parts = [
    leftOut.pairs ? `${leftOut.pairs} of ${leftOut.pairs + examples.length} pairs` : '',
    leftOut.steps ? `${leftOut.steps} of ${leftOut.steps + steps.length} steps` : '',
    leftOut.variants ? `norms and own outputs at ${leftOut.variants} of ${steps.length} steps` : '',
  ].filter(Boolean);
  return parts.length ? `Left out to keep the page small: ${parts.join('; ')}. The log has them.` : '';
}

function modelWords({ model, layers, heads }) {
  const kinds = ['encoder', layers.decoder ? 'decoder' : 'cross'].filter((kind) => layers[kind]);
  const numHeads = [...new Set(kinds.map((kind) => heads[kind]))]; // one number, if they are the same
  const width = model.d_model ? [`width ${model.d_model}`] : [];
  return [...width, `${kinds.map((kind) => layers[kind]).join(' + ')} layers`, `${numHeads.join(' + ')} heads`].join(' \u00b7 ');
}

// What the table is of, and what an alignment error must beat.
function ledgerNote(log, { kind, stepIndex }) {
  const pairs = log.examples.length === 1 ? 'the one pair' : `the ${log.examples.length} pairs`;
  const effect = effectStep(log, kind, stepIndex);
  const taken = effect === null || effect === stepIndex ? ''
    : ` Importance and what a head switched off changes were measured at step ${thousands(log.steps[effect].step)}.`;
  const note = `${KIND_TITLES[kind]}${atStep(log, stepIndex)}: weights, fed the references, over all rows of ${pairs}.${taken}`;
  const { chance, diagonal } = log.baselines;
  const rates = log.measures.cross.alignment_error_rate;
  if (kind !== 'cross' || !rates || chance === undefined || chance === null) return note;
  const first = Math.min(...rates[0].flat().filter((rate) => rate !== null));
  const untrained = log.steps[0].step === 0 && log.steps.length > 1 ? `, the best head before training ${figure(first)}` : '';
  return `${note} For comparison, alignment error of links by chance ${figure(chance)}, of a diagonal map ${figure(diagonal)}${untrained}.`;
}

const SCORE_NAMES = {
  'train/loss': 'train loss', 'val/loss': 'val loss', 'val/exact_match': 'exact match', 'val/token_accuracy': 'token accuracy',
};
const scoreName = (name) => SCORE_NAMES[name] || name.replace(/_/g, ' ');
