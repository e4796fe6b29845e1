// What source words cause: rows under the map of the output, and how well attention agrees with them.

async function drawCauses() {
  const own = caseNow();
  const place = byId('causes-output');
  const chosen = state.side === 'output';
  byId('causes-key').hidden = !own.causes || !chosen;
  byId('causes-said').textContent = own.causes ? 'Choose a row of this map to see which source words caused its token.'
    : data.causes ? 'What source words cause was not measured for this output; attention.py with causes=true does it.' : '';
  if (!own.causes || !chosen) {
    place.replaceChildren();
    return;
  }
  const cells = await causesOf(own.causes);
  const rows = causeRows(own.causes, cells, { ...data, ...state, numRows: own.output.tokens.length });
  const labels = causeLabels(own.causes, own.sourceTokens);
  const word = wordAt(own.causes, state.column);
  drawCauseRows(place, own.causes, labels, rows, drawn.output.plate.shape(), word);
  byId('causes-said').textContent = causeSentence(own.output.tokens[state.row], labels, rows, word);
}

function drawAgreement() {
  const found = data.causes;
  byId('agreement-section').hidden = !found;
  if (!found) return;
  const percent = (share) => `${Math.round(100 * share)} %`;
  const cells = ({ tau, deviation, same_first: same }) => [element('td', {}, `${nats(tau)} \u00b1 ${deviation.toFixed(2)}`), element('td', {}, percent(same))];
  const rows = found.left_out.flatMap((heads, layer) => heads.map((own, head) => {
    const best = found.best.layer === layer + 1 && found.best.head === head + 1;
    return element('tr', { class: best ? 'chosen-row' : null }, element('th', { scope: 'row' }, attentionName(layer, head)), ...cells(own), ...cells(found.blocked[layer][head]));
  }));
  rows.push(element('tr', {}, element('th', { scope: 'row' }, 'left out and blocked everywhere, between them'), ...cells(found.between), element('td'), element('td')));
  const names = ['head', 'left out: tau', 'same word first', 'blocked in this head: tau', 'same word first'];
  byId('agreement').replaceChildren(
    element('thead', {}, element('tr', {}, ...names.map((name) => element('th', { scope: 'col' }, name)))), element('tbody', {}, ...rows));
  byId('agreement-verdict').textContent = `Here ${found.verdict}: in the best head, ${attentionName(found.best.layer - 1, found.best.head - 1)}, tau is ${nats(found.best.tau)}.`;
  byId('agreement-note').textContent = `Kendall\u2019s tau between a row\u2019s weights and the size of the changes (1: the same order of words, 0: none), mean \u00b1 standard deviation over `
    + `${found.rows} rows of ${found.pairs} of ${found.of} outputs, drawn at random; by chance the same word is first in ${percent(found.chance)} of the rows. `
    + 'The best head is the best of these very rows.';
}
