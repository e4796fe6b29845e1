// Vectors and what a layer does to one. Weights are float32; vectors and sums are double, so that nothing is lost here.

// {weight, bias}: the bias may be missing, the weight has a row for each output.
function linear({ weight, bias }, x) {
  const width = x.length;
  const whole = width - (width % 4);
  const y = new Float64Array(weight.length / width);
  for (let row = 0, at = 0; row < y.length; row += 1, at += width) {
    let a = bias ? bias[row] : 0; // four sums at a time: one would wait for itself
    let b = 0;
    let c = 0;
    let d = 0;
    for (let i = 0; i < whole; i += 4) {
      a += weight[at + i] * x[i];
      b += weight[at + i + 1] * x[i + 1];
      c += weight[at + i + 2] * x[i + 2];
      d += weight[at + i + 3] * x[i + 3];
    }
    for (let i = whole; i < width; i += 1) a += weight[at + i] * x[i];
    y[row] = a + b + (c + d);
  }
  return y;
}

const sum = (x, y) => x.map((value, i) => value + y[i]);

// Layer normalisation; without a norm the vector itself.
function layerNorm(norm, x) {
  if (!norm) return x;
  let mean = 0;
  for (const value of x) mean += value / x.length;
  let variance = 0;
  for (const value of x) variance += (value - mean) ** 2 / x.length;
  const scale = 1 / Math.sqrt(variance + 1e-5);
  return x.map((value, i) => (value - mean) * scale * norm.weight[i] + norm.bias[i]);
}

// In place; minus infinity is hidden, and where all are hidden every weight is 0.
function softmax(scores) {
  let most = -Infinity;
  for (const score of scores) most = Math.max(most, score);
  let total = 0;
  for (let i = 0; i < scores.length; i += 1) {
    scores[i] = most === -Infinity ? 0 : Math.exp(scores[i] - most);
    total += scores[i];
  }
  if (total > 0) for (let i = 0; i < scores.length; i += 1) scores[i] /= total;
  return scores;
}

// float32, as the Python model has them, so that what is equal there is equal here.
function logSoftmax(logits) {
  let most = -Infinity;
  for (const logit of logits) most = Math.max(most, logit);
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - most);
  const log = most + Math.log(total);
  return logits.map((logit) => logit - log);
}

const relu = (x) => Math.max(x, 0);
const silu = (x) => x / (1 + Math.exp(-x));
const gelu = (x) => (x * (1 + erf(x / Math.SQRT2))) / 2;

// The error function by its series of positive terms (Abramowitz and Stegun 1964, 7.1.6).
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let total = x;
  for (let n = 1; Math.abs(term) > 1e-16 * Math.abs(total); n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    total += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * total;
}
