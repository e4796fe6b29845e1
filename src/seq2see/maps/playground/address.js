// What is asked and what is looked at: one plain object, which stands in the address so that a view can be sent.
//
// {text, stage, beam, rank, off: [{kind, layer, head}], forced: [{kind, layer, head, query, key}], left: source positions,
//  words: whether those are unseen or removed, kind, layer, head, query, key, keyEnd, rows, shows, place (output token),
//  scale, language, tour (number of the stop, or null)}
// `query` is null when no cell is chosen, and 'any' until a drawing has picked one.

const CHOICES = {
  kind: KINDS, rows: ['predicts', 'reads'], words: ['unseen', 'removed'], shows: ['this', 'difference'],
  scale: ['linear', 'sqrt', 'row'], language: ['en', 'zh'],
};
const NO_CHANGES = { off: [], forced: [], left: [] };

function firstState() {
  return {
    text: data.examples[0].source, stage: lastStage, beam: data.decode.beam_size || 1, rank: 0, ...NO_CHANGES, words: 'unseen',
    kind: 'cross', layer: Infinity, head: 0, query: 'any', key: 0, keyEnd: 0, rows: 'predicts', shows: 'this', scale: 'linear', place: null,
    language: /^zh/i.test(navigator.language) ? 'zh' : 'en', tour: null,
  };
}

// Pulls every number that does not depend on the answer back into its range.
function fit(state, model) {
  const next = { ...state };
  for (const [name, choices] of Object.entries(CHOICES)) if (!choices.includes(next[name])) [next[name]] = choices;
  const exists = ({ kind, layer, head }) => layer >= 0 && layer < model.layers[kind] && head >= 0 && head < model.heads;
  const whole = (own) => own.every((number) => Number.isInteger(number) && number >= 0);
  next.layer = clamp(Math.min(next.layer, 1e6), 0, model.layers[next.kind] - 1);
  next.head = clamp(next.head, 0, model.heads - 1);
  next.off = next.off.filter((own) => KINDS.includes(own.kind) && exists(own));
  next.forced = next.forced.filter((own) => KINDS.includes(own.kind) && exists(own) && whole([own.query, own.key]));
  next.left = next.left.filter((place) => whole([place])).sort((one, two) => one - two);
  next.stage = clamp(next.stage, 0, lastStage);
  next.beam = clamp(next.beam, 1, 16);
  return next;
}

const partsOf = (own) => [own.kind, own.layer + 1, own.head + 1, ...('query' in own ? [own.query + 1, own.key + 1] : [])].join('.');

function readPart(text) {
  const [kind, layer, head, query, key] = text.split('.');
  const own = { kind, layer: layer - 1, head: head - 1 };
  return query === undefined ? own : { ...own, query: query - 1, key: key - 1 };
}

function writeAddress(state) {
  const parts = new URLSearchParams({ text: state.text, step: data.stages[state.stage].step, beam: state.beam });
  const set = (name, value, usual) => { if (value !== usual) parts.set(name, value); };
  set('rank', state.rank + 1, 1);
  set('off', state.off.map(partsOf).join(' '), '');
  set('look', state.forced.map(partsOf).join(' '), '');
  set('without', state.left.map((place) => place + 1).join(' '), '');
  set('words', state.words, 'unseen');
  for (const [name, value] of [['kind', state.kind], ['layer', state.layer + 1], ['head', state.head + 1]]) parts.set(name, value);
  if (Number.isInteger(state.query)) parts.set('cell', `${state.query + 1}.${state.key + 1}`);
  set('rows', state.rows, 'predicts');
  set('shows', state.shows, 'this');
  set('scale', state.scale, 'linear');
  if (state.place !== null) parts.set('token', state.place + 1);
  parts.set('language', state.language);
  if (state.tour !== null) parts.set('tour', state.tour + 1);
  return `#${parts}`;
}

// What an address says, over the state of a page that has just been opened; the language stays.
function readAddress(address, { language }) {
  const parts = new URLSearchParams(address.replace(/^#/, ''));
  const state = { ...firstState(), language };
  const number = (name) => Number(parts.get(name)) - 1;
  const isMeant = (name) => parts.has(name) && (CHOICES[name]?.includes(parts.get(name)) ?? true);
  const list = (name) => (parts.get(name) || '').split(' ').filter(Boolean);
  for (const name of ['text', ...Object.keys(CHOICES)]) if (isMeant(name)) state[name] = parts.get(name);
  for (const name of ['layer', 'head', 'rank']) if (parts.has(name)) state[name] = number(name);
  if (parts.has('step')) state.stage = Math.max(0, data.stages.findLastIndex(({ step }) => step === Number(parts.get('step'))));
  if (parts.has('beam')) state.beam = Number(parts.get('beam'));
  if (parts.has('token')) state.place = number('token');
  if (parts.has('tour')) state.tour = clamp(number('tour'), 0, STOPS.length - 1);
  Object.assign(state, { off: list('off').map(readPart), forced: list('look').map(readPart), left: list('without').map((place) => place - 1) });
  if (!parts.has('cell')) return state;
  const [query, key] = parts.get('cell').split('.').map((place) => place - 1);
  return Object.assign(state, { query, key, keyEnd: key });
}
