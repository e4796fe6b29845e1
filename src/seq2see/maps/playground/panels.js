// The parts of the page, drawn from one view: {state, model, answer, hypothesis, plain, plainHypothesis, labels, revealed, ...}.

const language = () => document.documentElement.dataset.language || 'en';
const say = (name, ...values) => {
  const words = WORDS[language()][name];
  return typeof words === 'function' ? words(...values) : words;
};
const toggled = (list, one, mark = (own) => own) => (list.some((own) => mark(own) === mark(one))
  ? list.filter((own) => mark(own) !== mark(one)) : [...list, one]);
const stageTitle = ({ name, step }) => (say('stage')[name] ? say('stageName', say('stage')[name], step) : say('steps', step));
const shownText = (text) => text.replaceAll('\t', '\u21e5');
const typedText = (text) => (data.source.tag_separator ? text.replace(/\s*(\u21e5|\\t)\s*/, '\t') : text);

// The words that do not depend on the view; only when the language changes.
function drawWords({ state }) {
  const root = document.documentElement;
  if (root.dataset.language === state.language && byId('tour-start').textContent) return;
  root.dataset.language = state.language;
  root.lang = state.language === 'zh' ? 'zh-Hans' : 'en';
  for (const node of document.querySelectorAll('[data-say]')) node.textContent = say(node.dataset.say);
  for (const node of document.querySelectorAll('[data-label]')) node.setAttribute('aria-label', say(node.dataset.label));
  byId('language').textContent = say('other');
  byId('language').lang = state.language === 'zh' ? 'en' : 'zh-Hans';
  byId('look').title = say('lookTitle');
  byId('keys').replaceChildren(...say('keys').map(([key, what]) => element('div', {}, element('dt', {}, key), element('dd', {}, what))));
  const { bits, largestLogitDifference, sentences } = data.quality;
  byId('quality').textContent = say('quality', Number(bits.toFixed(1)), Number(largestLogitDifference.toPrecision(2)), sentences);
  drawTheme();
}

function drawTheme() {
  const name = say('theme')[document.documentElement.dataset.theme || ''];
  byId('theme').textContent = name;
  byId('theme').setAttribute('aria-label', say('themeLabel', name));
}

function drawEntry(view, app) {
  const { state, answer } = view;
  const choices = data.examples.map(({ source }, i) => [i, shownText(source)]);
  const at = data.examples.findIndex(({ source }) => source === state.text);
  options(byId('example'), at < 0 ? [['', say('ownText')], ...choices] : choices, at < 0 ? '' : at);
  if (typedText(byId('text').value) !== state.text) byId('text').value = shownText(state.text);
  byId('text-note').textContent = data.source.tag_separator ? say('tabs') : '';
  const choose = (words) => app.change({ words });
  keepingFocus(byId('left-out'), () => segments(byId('left-out'), ['unseen', 'removed'].map((name) => [name, say(name)]), state.words, choose));
  byId('left-out').hidden = !state.left.length;
  const words = answer ? wordsOf(answer) : [];
  drawChips(byId('words'), words.map((word, i) => wordChip(word, i, words, state, app)));
}

// One of them is reached by Tab, the others from it by arrows.
function drawChips(box, chips) {
  const at = clamp(box.dataset.at, 0, Math.max(0, chips.length - 1));
  chips.forEach((chip, i) => { chip.tabIndex = i === at ? 0 : -1; });
  keepingFocus(box, () => box.replaceChildren(...chips));
}

function moveChip(event) {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const box = event.currentTarget;
  const chips = [...box.children];
  const at = chips.indexOf(event.target);
  if (!move || at < 0) return;
  event.preventDefault();
  const isMirrored = getComputedStyle(box).direction === 'rtl';
  const to = clamp(at + (isMirrored ? -move : move), 0, chips.length - 1);
  box.dataset.at = to;
  chips[at].tabIndex = -1;
  chips[to].tabIndex = 0;
  chips[to].focus();
}

// The end can be unseen but not removed; the last word that is there stays.
function wordChip({ text, places, known }, i, words, state, app) {
  const isOut = places.every((place) => state.left.includes(place));
  const isEnd = i === words.length - 1;
  const seen = words.filter((own) => !own.places.every((place) => state.left.includes(place)));
  const fixed = (isEnd && state.words === 'removed') || (!isOut && seen.length === 1);
  return element('button', {
    type: 'button', class: `chip${isEnd ? ' special' : ''}${known ? '' : ' unknown'}`, 'data-value': `word ${i}`, 'aria-pressed': String(isOut),
    'aria-label': say('leaveOut', text), title: known ? null : say('unknown'), 'aria-disabled': fixed ? 'true' : null,
    onclick: () => !fixed && app.change({ left: isOut ? state.left.filter((place) => !places.includes(place)) : [...state.left, ...places] }),
  }, text || '\u00a0');
}

// The tokens that have been written so far, each with its probability; what the plain answer does not have is marked.
function drawTokens(view, app) {
  const { state, hypothesis, labels, marks, revealed } = view;
  const chips = hypothesis.tokens.slice(0, revealed).map(({ probability }, i) => {
    const bar = element('i', { 'aria-hidden': 'true' });
    bar.style.width = `${Math.max(3, 100 * probability)}%`;
    return element('button', {
      type: 'button', class: `chip token${i === hypothesis.ids.length ? ' special' : ''}${marks && marks[i] ? ' differs' : ''}`, 'data-value': `token ${i}`,
      'aria-pressed': String(state.place === i), 'aria-label': `${labels[i]}, ${share(probability)}`,
      onclick: () => app.change({ place: state.place === i ? null : i, ...(state.kind === 'encoder' ? {} : app.rowOf(i)) }),
    }, element('span', {}, labels[i]), bar);
  });
  drawChips(byId('tokens'), chips);
}

// What the output is compared with, each only where it is another question.
function drawOthers(view) {
  const { hypothesis, plainHypothesis, trainedHypothesis, example } = view;
  const text = textOf(hypothesis);
  const line = (name, other, note, differs) => element('div', { class: differs ? 'differs' : null }, element('dt', {}, name),
    element('dd', { dir: 'auto' }, ...(other ? [other] : [element('span', { class: 'nothing' }, say('nothing'))]), element('span', { class: 'verdict' }, note)));
  const compared = (name, own) => own && line(say(name), textOf(own), textOf(own) === text ? say('same') : '', false);
  const right = example && example.reference !== null && isRight(hypothesis, example.reference);
  const cut = hypothesis.ended ? null : element('div', { class: 'differs' }, element('dt', {}, ''), element('dd', {}, element('span', { class: 'verdict' }, say('cut'))));
  byId('others').replaceChildren(...[
    cut, compared('unchanged', plainHypothesis), compared('trainedLine', trainedHypothesis),
    example && example.reference !== null ? line(say('reference'), example.reference, say(right ? 'right' : 'wrong'), !right) : null,
  ].filter(Boolean));
  byId('outcome').textContent = say('sayOutput', text || say('nothing'));
}

function drawChoices({ state, model, answer }) {
  byId('dims').textContent = data.title;
  const sizes = [...new Set([1, 2, 4, 8, data.decode.beam_size || 1, state.beam])].sort((one, other) => one - other);
  options(byId('beam'), sizes.map((size) => [size, size === 1 ? say('greedy') : say('beam', size)]), state.beam);
  byId('speed').textContent = answer ? say('speed', answer.milliseconds) : '';
  byId('stages').hidden = !lastStage;
  byId('stage').max = lastStage;
  byId('stage').value = state.stage;
  byId('stage-name').textContent = stageTitle(data.stages[state.stage]);
  byId('stage').setAttribute('aria-valuetext', stageTitle(data.stages[state.stage]));
}

const headMark = ({ kind, layer, head }) => `${kind}.${layer}.${head}`;

// All heads of all kinds; built once a language, then only painted.
function drawHeads(view, app) {
  const { state, model } = view;
  const box = byId('thumbs');
  if (box.dataset.language !== state.language) {
    keepingFocus(box, () => box.replaceChildren(...KINDS.map((kind) => kindGroup(kind, model, app))));
    box.dataset.language = state.language;
  }
  const off = new Set(state.off.map(headMark));
  const width = box.querySelector('.thumb').clientWidth;
  for (const cell of box.querySelectorAll('.head-cell')) {
    const [kind, layer, head] = cell.dataset.head.split('.');
    const place = { kind, layer: Number(layer), head: Number(head) };
    const [look, toggle] = cell.children;
    const isOff = off.has(cell.dataset.head);
    cell.classList.toggle('is-off', isOff);
    look.setAttribute('aria-pressed', String(headMark(state) === cell.dataset.head));
    toggle.setAttribute('aria-checked', String(!isOff));
    look.tabIndex = headMark(state) === cell.dataset.head ? 0 : -1;
    toggle.tabIndex = look.tabIndex;
    paintSmall(look.firstChild, matrixOf(view.answer, view.hypothesis, place), state.scale, width);
  }
  for (const toggle of box.querySelectorAll('.layer-switch')) {
    const heads = headsOf(model, toggle.dataset.value.split(' ')[1].split('.'));
    toggle.setAttribute('aria-checked', String(!heads.every((own) => off.has(headMark(own)))));
  }
}

const headsOf = (model, [kind, layer]) => Array.from({ length: model.heads }, (_, head) => ({ kind, layer: Number(layer), head }));

function kindGroup(kind, model, app) {
  const layers = Array.from({ length: model.layers[kind] }, (_, layer) => {
    const heads = headsOf(model, [kind, layer]);
    const name = say('whole', kind, layer);
    const row = element('div', { class: 'head-row' }, ...heads.map((place) => headCell(place, app)));
    row.style.setProperty('--columns', Math.min(4, model.heads));
    return element('div', { class: 'layer' }, element('button', {
      type: 'button', class: 'switch layer-switch', role: 'switch', 'aria-label': name, 'data-value': `layer ${kind}.${layer}`, onclick: () => app.switchHeads(heads),
    }, `L${layer + 1}`), row);
  });
  return element('div', { role: 'group', 'aria-label': say('kindTitle')[kind] },
    element('p', { class: 'kind-name' }, element('b', {}, say('kind')[kind]), ` ${say('kindNote')[kind]}`), ...layers);
}

function headCell(place, app) {
  const name = say('full', place);
  return element('div', { class: 'head-cell', 'data-head': headMark(place) },
    element('button', {
      type: 'button', class: 'thumb', 'aria-label': name, 'data-value': `look ${headMark(place)}`, onclick: () => app.change({ ...place, query: 'any' }), onkeydown: (event) => moveHead(event, app),
    }, element('canvas', { class: 'small', 'aria-hidden': 'true' })),
    element('button', {
      type: 'button', class: 'switch', role: 'switch', 'aria-label': name, 'data-value': `switch ${headMark(place)}`, onclick: () => app.switchHeads([place]),
    }, `H${place.head + 1}`));
}

// Arrows choose the next head, over all kinds.
function moveHead(event, app) {
  const columns = Number(event.target.closest('.head-row').style.getPropertyValue('--columns'));
  const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
  if (!move) return;
  event.preventDefault();
  const all = [...byId('thumbs').querySelectorAll('.thumb')];
  const to = all[clamp(all.indexOf(event.target) + move, 0, all.length - 1)];
  to.focus();
  to.click();
}

function drawPlate(view, app, plate) {
  const { state } = view;
  byId('plate-title').textContent = `${say('kindTitle')[state.kind]}${state.language === 'zh' ? '' : ', '}${say('head', state.layer, state.head)}`;
  const pick = (name) => (value) => app.change({ [name]: value });
  keepingFocus(byId('rows'), () => segments(byId('rows'), ['predicts', 'reads'].map((name) => [name, say(name)]), state.rows, pick('rows')));
  byId('rows').hidden = state.kind === 'encoder';
  keepingFocus(byId('shows'), () => segments(byId('shows'), ['this', 'difference'].map((name) => [name, say(name)]), view.shows, pick('shows')));
  byId('shows').hidden = !view.otherMatrix;
  keepingFocus(byId('scale'), () => segments(byId('scale'), CHOICES.scale.map((name) => [name, say(name)]), state.scale, pick('scale')));
  byId('legend').replaceChildren(colourScale(view.shown.signed, state.scale, ticksOf(view.shown, state.scale)));
  byId('marks').replaceChildren(...(view.judged ? [truthKey('hit', say('forcedMark'))] : []));
  plate.draw({ ...view, axisTitles: axisTitlesOf(state), hiddenWord: say('hidden') });
  byId('plate').setAttribute('aria-label', byId('plate-title').textContent);
}

function axisTitlesOf({ kind, rows }) {
  if (kind === 'encoder') return { rows: say('source'), columns: say('source') };
  return { rows: say(rows), columns: say(kind === 'decoder' ? 'readSoFar' : 'source') };
}

function ticksOf(matrix, scale) {
  if (matrix.signed) return [[0, '\u2212'], [0.5, '0'], [1, '+']];
  return scale === 'row' ? [[0, '0'], [1, say('largest')]] : [0, scale === 'sqrt' ? 0.25 : 0.5, 1].map((value) => [strength(value, scale), String(value)]);
}

// The chosen cell as a sentence.
function sentence({ state, shown, queryLabels, keyLabels }) {
  const { kind, layer, head, query, key, rows } = state;
  if (query === null) return say('chooseCell');
  const when = say(kind === 'encoder' ? 'at' : rows === 'reads' ? 'afterReading' : 'predicting', queryLabels[query].text);
  const name = state.language === 'zh' ? say('head', layer, head) : capital(say('head', layer, head));
  if (!isVisible(shown, query, key)) return say('later', name, when, keyLabels[key].text);
  const value = cellValue(shown, query, key);
  if (shown.signed) return say('more', name, when, say('signed', figure(Math.abs(value)), value > 0), keyLabels[key].text);
  return say('goes', name, when, figure(value), keyLabels[key].text);
}

function drawReading(view, app) {
  const { state } = view;
  const said = sentence(view);
  if (byId('said').textContent !== said) byId('said').textContent = said;
  byId('look').hidden = state.query === null || app.isForced() || !isVisible(view.shown, state.query, state.key);
  drawChanges(view, app);
  drawCandidates(view);
  drawHeld(view, app);
}

function drawChanges(view, app) {
  const { state, answer } = view;
  const words = wordsOf(answer);
  const source = tokenizers.source.tokens(answer.typed);
  const target = [...view.labels];
  const label = (labels, place) => (place in labels ? labels[place] : say('place', place));
  const layers = KINDS.flatMap((kind) => Array.from({ length: view.model.layers[kind] }, (_, layer) => headsOf(view.model, [kind, layer])));
  const off = new Set(state.off.map(headMark));
  const whole = view.model.heads > 1 ? layers.filter((heads) => heads.every((own) => off.has(headMark(own)))) : [];
  const inWhole = new Set(whole.flat().map(headMark));
  const list = [
    ...whole.map((heads) => [say('isOff', say('whole', heads[0].kind, heads[0].layer)), () => app.switchHeads(heads)]),
    ...state.off.filter((own) => !inWhole.has(headMark(own))).map((own) => [say('isOff', say('full', own)), () => app.switchHeads([own])]),
    ...state.forced.map((own) => [say('isForced', say('full', own),
      own.kind === 'encoder' ? label(source, own.query) : label(target, own.query),
      own.kind === 'decoder' ? (own.key ? label(target, own.key - 1) : '<bos>') : label(source, own.key)),
    () => app.change({ forced: state.forced.filter((other) => other !== own) })]),
    ...words.filter(({ places }) => places.every((place) => state.left.includes(place))).map(({ text, places }) => [
      say(state.words === 'removed' ? 'isRemoved' : 'isUnseen', text), () => app.change({ left: state.left.filter((place) => !places.includes(place)) })]),
    ...(state.stage < lastStage ? [[say('isStage', stageTitle(data.stages[state.stage])), () => app.change({ stage: lastStage })]] : []),
  ];
  const items = list.map(([text, undo], i) => element('li', {}, element('span', {}, capital(text)), element('button', {
    type: 'button', 'aria-label': say('undo', text), 'data-value': `undo ${i}`, onclick: undo,
  }, '\u00d7')));
  const hadFocus = byId('changes').contains(document.activeElement);
  keepingFocus(byId('changes'), () => byId('changes').replaceChildren(...(items.length ? items : [element('li', { class: 'nothing' }, say('none'))])));
  byId('reset').hidden = !items.length;
  if (hadFocus && !byId('changes').contains(document.activeElement)) byId(items.length ? 'reset' : 'plate').focus({ preventScroll: true });
}

function drawCandidates({ state, hypothesis, labels }) {
  const token = hypothesis.tokens[state.place];
  byId('candidates-title').textContent = token ? say('candidatesTitle', labels[state.place]) : say('chooseToken');
  byId('candidates-title').classList.toggle('hint', !token);
  byId('candidates').hidden = !token;
  if (!token) return;
  const colours = ramp('weight');
  byId('candidates').setAttribute('aria-labelledby', 'candidates-title');
  byId('candidates').replaceChildren(element('tbody', {}, ...token.candidates.map(([id, probability]) => {
    const [text] = tokenizers.target.tokens([id]);
    const bar = element('i', { class: 'bar' });
    bar.style.width = `${(100 * probability).toFixed(1)}%`;
    bar.style.background = rgb(colours[Math.round(110 + 110 * probability)]);
    return element('tr', { class: id === token.id ? 'chosen-row' : null },
      element('th', { scope: 'row', dir: 'auto', title: text, class: id === EOS ? 'special' : null }, text),
      element('td', {}, bar), element('td', { class: 'number' }, share(probability)));
  })));
}

function drawHeld({ state, answer }, app) {
  byId('held').hidden = answer.hypotheses.length < 2;
  const items = answer.hypotheses.slice(0, state.beam).map((own, rank) => element('li', {}, element('button', {
    type: 'button', 'aria-pressed': String(rank === state.rank), 'data-value': `rank ${rank}`, onclick: () => app.change({ rank, place: null }),
  }, element('bdi', {}, textOf(own) || say('nothing')), element('small', {}, say('ranked', figure(own.logProb), own.ended)))));
  keepingFocus(byId('hypotheses'), () => byId('hypotheses').replaceChildren(...items));
}

function drawTour({ state }, stop) {
  byId('tour').hidden = state.tour === null;
  byId('tour-start').setAttribute('aria-expanded', String(state.tour !== null));
  if (state.tour === null) return;
  const [title, text] = TOUR[state.language][state.tour];
  byId('tour-title').replaceChildren(element('small', {}, say('stop', state.tour + 1, STOPS.length)), ` ${title}`);
  const said = stop ? text(stop.found) : say('looking');
  if (byId('tour-text').textContent !== said) byId('tour-text').textContent = said;
  byId('tour-back').disabled = state.tour === 0;
  byId('tour-next').hidden = state.tour === STOPS.length - 1;
}
