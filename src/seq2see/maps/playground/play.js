// The page until it has a face: the first example, and what the model says to what is typed.

(async () => {
  const data = JSON.parse(byId('log').textContent);
  const model = await readModel(data.stages[data.stages.length - 1].model);
  const [source, target] = [createTokenizer(data.source), createTokenizer(data.target)];
  const say = () => {
    const ids = [...source.encode(byId('text').value), EOS];
    const maxLength = lengthLimit(data.limits, ids.length);
    const [best] = search(model, model.encode(ids), { beamSize: data.decode.beam_size, lengthPenalty: data.decode.length_penalty, maxLength });
    byId('output').textContent = target.decode(best.ids);
  };
  byId('text').value = data.examples[0].source;
  byId('text').addEventListener('input', say);
  say();
})();
