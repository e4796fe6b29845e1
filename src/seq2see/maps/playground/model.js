// The Transformer of transformer/ and attention/, for one sentence: every variant of ModelOptions, outside of training.
//
// Letters: S source tokens, V target vocabulary, H heads. Tokens are a list of vectors, one Float64Array each.

const UNCHANGED = { off: new Set(), forced: [], hidden: new Set() };

const DRAWN = 16; // bits of a number that does not travel

// The model in a block of data as weights.py packs it, perhaps told from the trained one. Throws where it is damaged.
async function readModel(packed, trained = null) {
  const low = bytesOf(packed.low);
  const high = await inflated(bytesOf(packed.high)).catch(() => { throw new Error('the weights in this page are damaged'); });
  const tensors = new Map();
  let [atHigh, atLow, numDrawn] = [0, 0, 0];
  const take = (count, bits) => { // the highest eight bits of each, if there are so many, then all lowest, all second lowest, ...
    const [numHigh, numLow] = bits < 8 ? [0, bits] : [count, bits - 8];
    const size = Math.ceil(count / 8);
    if (atHigh + numHigh > high.length || atLow + numLow * size > low.length) throw new Error('the weights in this page are cut short');
    const numbers = Uint32Array.from({ length: count }, (_, i) => (numHigh ? high[atHigh + i] << numLow : 0));
    for (let bit = 0; bit < numLow; bit += 1, atLow += size) {
      for (let i = 0; i < count; i += 1) numbers[i] |= ((low[atLow + (i >> 3)] >> (i & 7)) & 1) << bit;
    }
    atHigh += numHigh;
    return numbers;
  };
  const draw = (count) => Uint32Array.from({ length: count }, () => drawn(numDrawn++));
  packed.tensors.forEach(({ names, shape }, place) => {
    const bits = packed.bits[place];
    const count = shape.reduce((product, size) => product * size, 1);
    const width = shape[shape.length - 1];
    const floats = () => new Float32Array(take(count / width, 16).map((short) => short << 16).buffer);
    let values;
    if (bits === 32) values = new Float32Array(take(count, 32).buffer);
    else {
      const base = bits && trained ? trained.tensors.get(names[0]) : null;
      const along = base && floats();
      const scales = floats();
      const middle = (2 ** (bits || DRAWN) - 1) / 2;
      values = Float32Array.from(bits ? take(count, bits) : draw(count), (number, i) => {
        const row = Math.floor(i / width);
        return (number - middle) * scales[row] + (base ? along[row] * base[i] : 0);
      });
    }
    for (const name of names) tensors.set(name, values);
  });
  if (atHigh !== high.length || atLow !== low.length) throw new Error('the weights in this page do not fit their model');
  return new Model({ ...packed, tensors });
}

// A number as if drawn evenly, from its place.
function drawn(place) {
  let number = place;
  for (const [shift, factor] of [[16, 0x85ebca6b], [13, 0xc2b2ae35], [16, 1]]) number = Math.imul(number ^ (number >>> shift), factor);
  return number >>> (32 - DRAWN);
}

// A character holds seven bits, the lowest first.
function bytesOf(text) {
  const bytes = new Uint8Array(Math.floor((text.length * 7) / 8));
  let [held, numHeld] = [0, 0];
  for (let i = 0, at = 0; i < text.length; i += 1) {
    held |= (text.charCodeAt(i) & 127) << numHeld;
    for (numHeld += 7; numHeld >= 8; numHeld -= 8, held >>= 8) bytes[at++] = held;
  }
  return bytes;
}

class Model {
  constructor({ options, positions, tensors }) {
    const named = (name) => ({ weight: tensors.get(`${name}.weight`), bias: tensors.get(`${name}.bias`) });
    const attention = (name, kind, layer) => ({
      kind,
      layer,
      query: named(`${name}.attention.q_proj`),
      key: named(`${name}.attention.k_proj`),
      value: named(`${name}.attention.v_proj`),
      out: named(`${name}.attention.out_proj`),
      additive: tensors.get(`${name}.attention.score.v`),
      norm: named(`${name}.norm`),
      positions: this.positions[kind],
      window: kind === 'cross' ? null : options.window,
    });
    const feedForward = (name) => ({
      inside: named(`${name}.in_proj`), gate: named(`${name}.gate_proj`), out: named(`${name}.out_proj`), norm: named(`${name}.norm`),
    });
    const scheme = (kind) => ({ ...positions[kind], table: tensors.get(`${kind}_positions.table.weight`), turns: [] });
    this.options = options;
    this.tensors = tensors;
    this.width = options.d_model;
    this.heads = options.num_heads;
    this.layers = { encoder: options.num_encoder_layers, decoder: options.num_decoder_layers, cross: options.num_decoder_layers };
    this.maxTokens = options.position === 'learned' ? options.max_positions : Infinity;
    this.positions = { encoder: scheme('encoder'), decoder: scheme('decoder'), cross: scheme('cross') };
    this.isPre = options.norm === 'pre';
    this.sourceEmbedding = tensors.get('source_embedding.weight');
    this.targetEmbedding = tensors.get('target_embedding.weight');
    this.encoderLayers = Array.from({ length: this.layers.encoder }, (_, layer) => ({
      self: attention(`encoder_layers.${layer}.self_attention`, 'encoder', layer),
      feedForward: feedForward(`encoder_layers.${layer}.feed_forward`),
    }));
    this.decoderLayers = Array.from({ length: this.layers.decoder }, (_, layer) => ({
      self: attention(`decoder_layers.${layer}.self_attention`, 'decoder', layer),
      cross: attention(`decoder_layers.${layer}.cross_attention`, 'cross', layer),
      feedForward: feedForward(`decoder_layers.${layer}.feed_forward`),
    }));
    this.encoderNorm = this.isPre ? named('encoder_norm') : null;
    this.decoderNorm = this.isPre ? named('decoder_norm') : null;
    this.output = named('output_proj');
  }

  // The source read: {ids, memory, maps.encoder[layer][head] = Float32Array (S*S)}, and what cross attention needs of it.
  encode(ids, changes = UNCHANGED) {
    this.require(ids.length);
    let tokens = ids.map((id, at) => this.embed(this.sourceEmbedding, id, at, 'encoder'));
    const maps = this.encoderLayers.map(({ self, feedForward }) => {
      const inside = tokens.map((x) => this.before(self, x));
      const keys = inside.map((x, at) => this.keyOf(self, x, at));
      const values = inside.map((x) => linear(self.value, x));
      const heads = Array.from({ length: this.heads }, () => new Float32Array(ids.length ** 2));
      tokens = tokens.map((x, at) => {
        const { y, rows } = this.attend(self, inside[at], at, keys, values, changes);
        rows.forEach((row, head) => heads[head].set(row, at * ids.length));
        return this.feed(feedForward, this.after(self, x, y));
      });
      return heads;
    });
    const memory = tokens.map((x) => layerNorm(this.encoderNorm, x));
    const seen = this.decoderLayers.map(({ cross }) => ({
      keys: memory.map((x, at) => this.keyOf(cross, x, at)), values: memory.map((x) => linear(cross.value, x)),
    }));
    return { ids, memory, maps: { encoder: maps }, seen };
  }

  // The decoder before its first token.
  begin(source, changes = UNCHANGED) {
    return new DecoderState(source, changes, this.decoderLayers.map(() => ({ keys: [], values: [] })));
  }

  // Reads one target token, BOS first: {logits: Float32Array (V), rows: {decoder, cross}[layer][head]}.
  next(state, id) {
    const { source, changes } = state;
    const at = state.length;
    this.require(at + 1);
    let x = this.embed(this.targetEmbedding, id, at, 'decoder');
    const rows = { decoder: [], cross: [] };
    this.decoderLayers.forEach(({ self, cross, feedForward }, layer) => {
      const past = state.past[layer];
      const inside = this.before(self, x);
      past.keys.push(this.keyOf(self, inside, at));
      past.values.push(linear(self.value, inside));
      const own = this.attend(self, inside, at, past.keys, past.values, changes);
      x = this.after(self, x, own.y);
      const seen = source.seen[layer];
      const gathered = this.attend(cross, this.before(cross, x), at, seen.keys, seen.values, changes);
      x = this.feed(feedForward, this.after(cross, x, gathered.y));
      rows.decoder.push(own.rows);
      rows.cross.push(gathered.rows);
    });
    state.length += 1;
    return { logits: Float32Array.from(linear(this.output, layerNorm(this.decoderNorm, x))), rows };
  }

  require(length) {
    if (length > this.maxTokens) throw new RangeError(`the model has positions for ${this.maxTokens} tokens, not for ${length}`);
  }

  embed(embedding, id, at, kind) {
    const { width, positions: { [kind]: { waves, table } } } = this;
    const scale = Math.sqrt(width);
    const x = Float64Array.from({ length: width }, (_, i) => embedding[id * width + i] * scale);
    if (this.options.position === 'learned') return x.map((value, i) => value + table[at * width + i] * scale);
    if (!waves) return x;
    return x.map((value, i) => {
      const angle = Math.fround(at * waves[i % waves.length]);
      return value + (i < waves.length ? Math.sin(angle) : Math.cos(angle));
    });
  }

  before(layer, x) {
    return this.isPre ? layerNorm(layer.norm, x) : x;
  }

  after(layer, x, y) {
    return this.isPre ? sum(x, y) : layerNorm(layer.norm, sum(x, y));
  }

  feed(layer, x) {
    const inside = this.before(layer, x);
    let h = linear(layer.inside, inside);
    const { activation } = this.options;
    if (activation === 'swiglu') h = linear(layer.gate, inside).map((gate, i) => silu(gate) * h[i]);
    else h = h.map(activation === 'relu' ? relu : gelu);
    return this.after(layer, x, linear(layer.out, h));
  }

  keyOf(attention, x, at) {
    return this.rotate(linear(attention.key, x), at, attention.positions);
  }

  // Turns the pairs (2i, 2i + 1) of each head, if this kind of attention has rope.
  rotate(x, at, { frequencies, turns }) {
    if (!frequencies) return x;
    turns[at] ||= frequencies.map((frequency) => Math.fround(at * frequency)).map((angle) => [Math.cos(angle), Math.sin(angle)]);
    for (let i = 0; i < x.length; i += 2) {
      const [cosine, sine] = turns[at][(i / 2) % frequencies.length];
      [x[i], x[i + 1]] = [x[i] * cosine - x[i + 1] * sine, x[i] * sine + x[i + 1] * cosine];
    }
    return x;
  }

  // What the query at this place gathers from the values, and each head's row of weights.
  attend(attention, x, at, keys, values, changes) {
    const { kind, layer, window } = attention;
    const query = this.rotate(linear(attention.query, x), at, attention.positions);
    const width = this.width / this.heads;
    const context = new Float64Array(this.width);
    const rows = [];
    for (let head = 0; head < this.heads; head += 1) {
      const begin = Math.floor((head * values[0].length) / width / this.heads) * width; // of the keys and values it shares
      let weights = new Float64Array(keys.length);
      for (let key = 0; key < keys.length; key += 1) {
        const isHidden = (kind !== 'decoder' && changes.hidden.has(key)) || (window !== null && Math.abs(at - key) > window);
        weights[key] = isHidden ? -Infinity : this.score(attention, query, keys[key], head, begin) + this.bias(attention, at, key, head);
      }
      softmax(weights);
      const forced = changes.forced.find((own) => own.kind === kind && own.layer === layer && own.head === head && own.query === at);
      if (forced) weights = weights.map((_, key) => Number(key === forced.key));
      rows.push(Float32Array.from(weights));
      if (changes.off.has(`${kind} ${layer} ${head}`)) continue;
      for (let key = 0; key < keys.length; key += 1) {
        const weight = weights[key];
        if (weight) for (let i = 0; i < width; i += 1) context[head * width + i] += weight * values[key][begin + i];
      }
    }
    return { y: linear(attention.out, context), rows };
  }

  score({ additive }, query, key, head, begin) {
    const width = this.width / this.heads;
    let total = 0;
    for (let i = 0, own = head * width; i < width; i += 1, own += 1) {
      total += additive ? additive[own] * Math.tanh(query[own] + key[begin + i]) : query[own] * key[begin + i];
    }
    return this.options.score === 'scaled_dot' ? total / Math.sqrt(width) : total;
  }

  // What relative positions and ALiBi add to a score. `buckets` are of the distances from -128 to 128.
  bias({ positions: { buckets, table, slopes } }, at, key, head) {
    if (slopes) return -slopes[head] * Math.abs(at - key);
    if (!buckets) return 0;
    const far = (buckets.length - 1) / 2;
    return table[buckets[Math.max(-far, Math.min(far, key - at)) + far] * this.heads + head];
  }
}

class DecoderState {
  constructor(source, changes, past, length = 0) {
    Object.assign(this, { source, changes, past, length });
  }

  copy() {
    const past = this.past.map(({ keys, values }) => ({ keys: keys.slice(), values: values.slice() }));
    return new DecoderState(this.source, this.changes, past, this.length);
  }
}
