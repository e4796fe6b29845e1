// Greedy decoding and beam search, as decoding/greedy.py and decoding/beam.py do them, for one sentence.

const [PAD, BOS, EOS] = [0, 1, 2];
const NUM_CANDIDATES = 5;

// The most target tokens that a source of so many tokens may get, both with EOS (LengthLimit in Python).
function lengthLimit({ ratio, slack, floor, asked, cap }, sourceLength) {
  const limit = asked || Math.max(Math.ceil(ratio * sourceLength) + slack, floor);
  return cap === null ? limit : Math.min(limit, cap);
}

// [{ids, logProb, ended, tokens: [{id, probability, candidates: [[id, probability], ...]}], rows}], best first; tokens
// and rows have one entry a token, EOS included. A beam of one is greedy decoding.
function search(model, source, { beamSize = 1, lengthPenalty = 1, maxLength, changes = UNCHANGED }) {
  const found = [];
  let going = maxLength > 0 ? [{ tokens: [], rows: [], logProb: 0, state: model.begin(source, changes) }] : [];
  let bestEnd = -Infinity; // log-probability / length ** penalty
  for (let length = 1; going.length; length += 1) {
    const continued = going.flatMap((hypothesis) => continuations(model, hypothesis, beamSize));
    const ends = continued.filter(({ id }) => id === EOS);
    const others = largest(continued.filter(({ id }) => id !== EOS), beamSize, ({ logProb }) => logProb);
    const [least] = largest([...ends, ...others].map(({ logProb }) => logProb), beamSize, (logProb) => logProb).slice(-1);
    for (const end of ends.filter(({ logProb }) => logProb >= least && logProb > -Infinity)) {
      found.push(hypothesisOf(end, true));
      bestEnd = Math.max(bestEnd, end.logProb / length ** lengthPenalty);
    }
    going = others.map(({ parent, id, logProb, token, rows }) => ({
      tokens: [...parent.tokens, token], rows: [...parent.rows, rows], id, logProb, state: parent.state,
    }));
    // a token in the last place of a learned table could not be fed back
    if (length === Math.min(maxLength, model.maxTokens - 1)) {
      found.push(...going.filter(({ logProb }) => logProb > -Infinity).map((cut) => hypothesisOf({ ...cut, parent: null }, false)));
    }
    if (length >= maxLength || isSettled()) break;
    const states = new Set();
    for (const hypothesis of going) {
      if (states.has(hypothesis.state)) hypothesis.state = hypothesis.state.copy();
      states.add(hypothesis.state);
    }

    // Whether no hypothesis that goes on can come to rank first, however it ends.
    function isSettled() {
      if (beamSize === 1) return bestEnd > -Infinity;
      const best = Math.max(...going.map(({ logProb }) => logProb));
      return Math.max(best / (length + 1) ** lengthPenalty, best / maxLength ** lengthPenalty) <= bestEnd;
    }
  }
  const rank = ({ logProb, tokens }) => logProb / tokens.length ** lengthPenalty;
  return found.sort((one, other) => other.ended - one.ended || rank(other) - rank(one));
}

// The end of a hypothesis, and its most probable other tokens.
function continuations(model, hypothesis, beamSize) {
  const { logits, rows } = model.next(hypothesis.state, hypothesis.id ?? BOS);
  const logProbs = logSoftmax(logits);
  const ids = Array.from(logProbs.keys()).filter((id) => id !== PAD && id !== BOS);
  const best = largest(ids, Math.max(beamSize + 1, NUM_CANDIDATES), (id) => logProbs[id]);
  const candidates = best.slice(0, NUM_CANDIDATES).map((id) => [id, Math.exp(logProbs[id])]);
  return [EOS, ...best.filter((id) => id !== EOS).slice(0, beamSize)].map((id) => ({
    parent: hypothesis, id, logProb: hypothesis.logProb + logProbs[id], rows, token: { id, probability: Math.exp(logProbs[id]), candidates },
  }));
}

function hypothesisOf({ parent, token, tokens, rows, logProb }, ended) {
  const all = ended ? [...parent.tokens, token] : tokens;
  return { ids: all.map(({ id }) => id).filter((id) => id !== EOS), logProb, ended, tokens: all, rows: ended ? [...parent.rows, rows] : rows };
}

// The largest by a value, falling; of equals the first.
function largest(list, count, valueOf) {
  const best = [];
  for (const one of list) {
    const value = valueOf(one);
    if (best.length === count && !(value > best[count - 1][0])) continue;
    let place = best.length;
    while (place && value > best[place - 1][0]) place -= 1;
    best.splice(place, 0, [value, one]);
    if (best.length > count) best.pop();
  }
  return best.map(([, one]) => one);
}
