// What the page says of an output besides its maps: texts, flags, tokens, the beam, and the list of all.

const FLAGS = {
  unattended: ['not attended', (value) => `${Math.round(100 * value)} %`],
  eos_mass: ['on the end', (value) => value.toFixed(2)],
  distance: ['unusual', (value) => value.toFixed(3)],
};

const MOST_WORDS = 12; // without attention that are named

const nats = (value) => (Math.abs(value) < 0.005 ? '0.00' : value.toFixed(2).replace('-', '\u2212'));
const visible = (text) => (text.trim() ? text : '\u2423'.repeat(text.length)); // blanks alone
const textOf = (parts) => parts.map(([text]) => text).join('');
const verdictOf = (name) => `here it ${data.flags.flags[name].verdict}`.replace('here it cannot be said', 'what it is worth cannot be said');

const marked = (parts) => (parts.length
  ? parts.map(([text, differs]) => (differs ? element('mark', {}, visible(text)) : text)) : [element('span', { class: 'nothing' }, 'nothing')]);

function drawTexts() {
  const own = caseNow();
  const verdict = own.kind ? ` not as the reference: ${own.kind}${own.ended ? '' : ', cut at the length limit'}` : ' as the reference';
  const line = (name, parts, note) => element('div', { class: note && own.kind ? 'differs' : null },
    element('dt', {}, name),
    element('dd', { dir: 'auto' }, ...parts, note ? element('span', { class: 'verdict' }, note) : null));
  byId('texts').replaceChildren(line('source', [own.source]), line('output', marked(own.output.parts), verdict), line('reference', marked(own.reference.parts)));
  byId('place').textContent = `line ${own.line} of the .tsv file`;
}

function drawSigns() {
  const own = caseNow();
  const sign = (name, value, note) => element('div', {}, element('dt', {}, name), element('dd', {}, value, element('small', {}, note)));
  const first = own.unattended.slice(0, MOST_WORDS).join(' \u00b7 ') || 'none';
  const more = own.unattended.length - MOST_WORDS;
  const words = more > 0 ? `${first} and ${more} more` : first;
  byId('signs').replaceChildren(
    sign('reference expected', `${nats(own.logProb)} nats a token`, 'its log-probability; 0 is certain'),
    sign('source words not attended', words, verdictOf('unattended')),
    sign('attention on the source\u2019s end', FLAGS.eos_mass[1](own.flags.eos_mass), verdictOf('eos_mass')),
    sign('distance from the usual', FLAGS.distance[1](own.flags.distance), verdictOf('distance')),
  );
}

const columns = (...names) => element('thead', {}, element('tr', {}, ...names.map((name) => element('th', { scope: 'col' }, name))));

function drawTokens(side) {
  const own = caseNow()[side];
  const rows = own.tokens.map((token, i) => {
    const value = own.probabilities[i];
    const meter = element('i', {});
    meter.style.width = `${Math.max(1, 70 * value)}px`;
    const others = own.candidates[i].filter(([other, share]) => other !== token && share >= 0.005).slice(0, 4).flatMap(([other, share]) => [
      element('span', {}, element('bdi', {}, other), ` ${figure(share)}`), ' ']);
    const first = own.candidates[i][0][0] === token;
    return element('tr', {}, element('th', { scope: 'row', dir: 'auto', title: token, class: token === '<eos>' ? 'special' : null }, token),
      element('td', { class: 'meter-cell', 'aria-hidden': 'true' }, meter),
      element('td', { class: first ? 'number' : 'number doubt', title: first ? null : 'another token was more probable' }, figure(value)),
      element('td', { class: 'others' }, ...others));
  });
  byId(`tokens-${side}`).replaceChildren(columns('token', '', 'probability', 'other candidates'), element('tbody', {}, ...rows));
}

// All hypotheses of the beam that the output was found with; what differs from the output is marked.
function drawBeam() {
  const { hypotheses = [] } = caseNow();
  byId('beam').parentElement.hidden = !hypotheses.length;
  if (data.beam < 2) byId('beam-note').textContent = 'Each output is the only hypothesis that was followed; evaluate.py with decode.beam_size=4 shows the others of a beam here.';
  else if (!hypotheses.length) byId('beam-note').textContent = 'The beam was kept for the first outputs of this page alone.';
  else {
    byId('beam-note').textContent = `Beam of ${data.beam}, ranked by log-probability / length${data.penalty === 1 ? '' : ` to the power of ${data.penalty}`}, the end counted; `
      + 'what differs from the output is marked.';
  }
  const note = ({ right, ended }) => (right ? ' the reference' : ended ? null : ' cut at the length limit');
  const rows = hypotheses.map(({ parts, score, ranked, ...own }, i) => element('tr', { class: i ? null : 'chosen-row' },
    element('th', { scope: 'row' }, String(i + 1)), element('td', {}, nats(ranked)), element('td', {}, nats(score)),
    element('td', { class: 'text', dir: 'auto' }, ...marked(parts), note(own) ? element('span', { class: 'verdict' }, note(own)) : null)));
  byId('beam').replaceChildren(columns('rank', 'ranked by', 'log-probability, nats', 'hypothesis'), element('tbody', {}, ...rows));
}

function drawLedger() {
  const names = Object.keys(FLAGS);
  const heading = ['line', 'output', 'nats a token', ...names.map((name) => FLAGS[name][0]), '', 'source'];
  const heads = heading.map((name, i) => element('th', { scope: 'col', class: i > 5 || i === 1 ? 'text' : null }, name));
  const rows = data.cases.map((own, i) => element('tr', { onclick: () => change({ case: i }) },
    element('th', { scope: 'row' }, element('button', { type: 'button', 'aria-label': `Show line ${own.line}` }, String(own.line))),
    element('td', { class: own.kind ? 'text wrong' : 'text' }, own.kind ?? 'right'),
    element('td', {}, nats(own.logProb)),
    ...names.map((name) => element('td', {}, FLAGS[name][1](own.flags[name]))),
    element('td', { class: 'text', dir: 'auto' }, visible(textOf(own.output.parts))),
    element('td', { class: 'text', dir: 'auto' }, own.source)));
  byId('ledger').replaceChildren(element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...rows));
  const wrong = data.cases.filter((own) => own.kind).length;
  const of = (number, all, what) => (number === all ? `all ${all} ${what}` : `${number} of ${all} ${what}`);
  const kept = (name) => data.cases.filter((own) => own.kept === name).length;
  const less = [[kept('one head'), 'have the maps of the flags\u2019 head alone'], [kept('texts'), 'have no maps']].filter(([number]) => number);
  byId('ledger-note').textContent = `Here are ${of(wrong, data.wrong, 'wrong outputs')}, those first whose reference the model finds least probable, token for token; and `
    + `${of(data.cases.length - wrong, data.right, 'right ones')}${data.cases.length - wrong < data.right ? ', drawn with a fixed seed' : ''}.`
    + `${less.length ? ` To keep the page small, ${less.map((words) => words.join(' ')).join(', and ')}.` : ''}`;
}

// The outputs that are listed now.
function saveList() {
  const names = Object.keys(FLAGS);
  const rows = [['line', 'output', 'nats_a_token', ...names, 'source', 'hypothesis', 'reference'], ...listed().map((i) => data.cases[i]).map((own) => [
    own.line, own.kind ?? 'right', own.logProb, ...names.map((name) => own.flags[name]), own.source, textOf(own.output.parts), textOf(own.reference.parts)])];
  const field = (value) => String(value).replace(/[\t\r\n]/g, ' ');
  save(`outputs-${data.name}.tsv`, 'text/tab-separated-values', `${rows.map((row) => row.map(field).join('\t')).join('\n')}\n`);
}

function drawWorth() {
  const { flags, outputs, of, wrong, right, beside, attention } = data.flags;
  const rows = Object.keys(FLAGS).map((name) => {
    const { area_under_curve: area, interval, verdict } = flags[name];
    return element('tr', {}, element('th', { scope: 'row' }, FLAGS[name][0]), element('td', {}, area === null ? '\u2013' : area.toFixed(3)),
      element('td', {}, interval === null ? '\u2013' : `${interval[0].toFixed(3)} to ${interval[1].toFixed(3)}`), element('td', {}, verdict));
  });
  byId('worth').replaceChildren(columns('flag', 'area under the curve', '95 % interval', 'in words'), element('tbody', {}, ...rows));
  const all = outputs === of ? `all ${of} outputs` : `${outputs} of ${of} outputs, drawn at random`;
  const others = beside ? `, and beside them ${beside} right ones of the test split, so that a flag may tell one kind of source from the other and not wrong from right` : '';
  byId('worth-note').textContent = `Over ${all}: ${wrong} wrong, ${right} right, by exact match${others}; attention of ${attention}. The area is how often a wrong output `
    + 'has more of a flag than a right one: 0.5 is chance, 1 is perfect. A flag whose interval holds 0.5 is said not to predict.';
}
