// Training as a tape: this head at each stored step, the curves under it, and the slider, all on the same columns.

const CURVE_HEIGHT = 64;
const FRAME = 44; // the narrowest picture of a step

// Each stored step gets a column; where columns are too narrow for a picture, only some steps show theirs.
function timelineColumns(log, width) {
  const count = log.steps.length;
  const margin = width / count < FRAME ? (FRAME - width / count) / 2 : 0; // half a frame stands out at both ends
  const column = clamp((width - 2 * margin) / count, 1, 112); // a frame may have no width yet
  const every = Math.max(1, Math.ceil(FRAME / column));
  const frames = [];
  for (let i = count - 1; i >= 0; i -= every) frames.unshift(i);
  return { column, every, frames, width: column * count + 2 * margin, middle: (i) => margin + column * (i + 0.5) };
}

async function drawTimeline(view, app) {
  const { log, state } = view;
  const strip = byId('strip');
  if (log.steps.length < 2) return;
  const columns = timelineColumns(log, app.widths.strip);
  strip.style.setProperty('--tape', `${columns.width}px`);
  strip.style.setProperty('--first', `${columns.middle(0)}px`);
  drawCurves(view, columns, app);
  drawTicks(view, columns);
  drawTransport(view);
  await drawFilm(view, columns, app);
}

async function drawFilm(view, columns, app) {
  const { log, state } = view;
  const film = byId('film');
  const mark = [state.kind, state.example, state.layer, state.head, state.cells, state.fed, state.scale, themeNow(), columns.width, columns.every, devicePixelRatio].join(' ');
  const size = columns.every > 1 ? FRAME - 4 : Math.min(columns.column - 8, 64);
  if (film.dataset.mark !== mark) {
    const frames = await Promise.all(columns.frames.map(async (i) => {
      const canvas = element('canvas', { class: 'small' });
      paintSmall(canvas, await loadMatrix(log, { ...state, stepIndex: i }), state.scale, size);
      const frame = element('button', {
        type: 'button', tabindex: -1, 'data-step': i, title: `step ${log.steps[i].step}`, onclick: () => app.change({ stepIndex: i }),
      }, canvas);
      frame.style.left = `${columns.middle(i) - size / 2}px`;
      frame.style.width = `${size}px`;
      return frame;
    }));
    if (!app.isCurrent(view)) return;
    film.replaceChildren(...frames);
    film.dataset.mark = mark;
    film.style.height = `${size + 4}px`;
  }
  const away = (i) => Math.abs(i - state.stepIndex);
  const near = columns.frames.reduce((best, i) => (away(i) < away(best) ? i : best), columns.frames[0]);
  for (const frame of film.children) frame.classList.toggle('now', Number(frame.dataset.step) === near);
}

// Two lanes on one picture: losses on their own scale, everything from 0 to 1 on the other.
function curveSeries(view) {
  const { log, state } = view;
  const names = [...new Set(log.steps.flatMap((step) => Object.keys(step.scores)))];
  const score = (name) => log.steps.map((step) => step.scores[name] ?? null);
  const one = (name, style) => ({ label: scoreName(name), values: score(name), style });
  const losses = names.filter((name) => /loss$/.test(name)).map((name) => one(name, /^train/.test(name) ? 'loss train' : 'loss'));
  const accuracy = names.filter((name) => /(exact_match|token_accuracy)$/.test(name)).sort()[0]; // exact match if there is one
  const shares = accuracy ? [one(accuracy, 'share')] : [];
  if (state.measure && !isEffect(state.measure)) {
    shares.push({
      label: MEASURES[state.measure][0],
      values: log.measures[state.kind][state.measure].map((layers) => layers[state.layer][state.head]),
      style: 'measure',
    });
  }
  return [losses, shares];
}

function drawCurves(view, columns, app) {
  const { log, state } = view;
  const [losses, shares] = curveSeries(view);
  const largest = (series) => Math.max(0, ...series.flatMap((one) => one.values.filter((value) => value !== null)));
  const lanes = [[losses, largest(losses) || 1], [shares, Math.max(1, largest(shares))]];
  const picture = svg('svg', {
    width: columns.width, height: CURVE_HEIGHT, viewBox: `0 0 ${columns.width} ${CURVE_HEIGHT}`, role: 'img',
    'aria-label': curveWords(view, [...losses, ...shares]),
  });
  const now = columns.middle(state.stepIndex);
  picture.append(svg('rect', { class: 'now-column', x: now - columns.column / 2, y: 0, width: columns.column, height: CURVE_HEIGHT }));
  for (const share of [0, 0.5, 1]) {
    const y = curveY(share, 1);
    picture.append(svg('line', { class: 'grid', x1: 0, x2: columns.width, y1: y, y2: y }));
  }
  for (const [series, top] of lanes) {
    for (const one of series) {
      const place = (value, i) => (value === null ? null : `${columns.middle(i).toFixed(1)},${curveY(value, top).toFixed(1)}`);
      const points = one.values.map(place).filter(Boolean);
      if (!points.length) continue;
      picture.append(svg('polyline', { class: `curve ${one.style}`, points: points.join(' '), fill: 'none' }));
      if (one.values[state.stepIndex] !== null) {
        picture.append(svg('circle', { class: `dot ${one.style}`, cx: now, cy: curveY(one.values[state.stepIndex], top), r: 3.2 }));
      }
    }
  }
  picture.addEventListener('click', (event) => {
    const x = event.clientX - picture.getBoundingClientRect().left;
    app.change({ stepIndex: clamp(Math.floor((x - columns.middle(0)) / columns.column + 0.5), 0, log.steps.length - 1) });
  });
  byId('curves').replaceChildren(picture, curveAxis(lanes));
  byId('tape-scores').replaceChildren(...[...losses, ...shares].map((one) => curveKey(one, state.stepIndex)));
}

// What the top and the bottom of the lanes stand for.
function curveAxis([[losses, highestLoss], [shares, highestShare]]) {
  const tops = [
    losses.length ? `loss ${figure(highestLoss, 1)}` : null,
    shares.length ? figure(highestShare, highestShare > 1 ? 1 : 0) : null,
  ];
  const labels = [...tops.filter(Boolean), '0'].map((text) => element('span', {}, text));
  return element('div', { class: 'axis', 'aria-hidden': 'true' }, ...labels);
}

function curveKey({ label, style, values }, stepIndex) {
  const line = svg('line', { class: `curve ${style}`, x1: 1, x2: 21, y1: 4, y2: 4 });
  return element('span', { class: 'score' }, svg('svg', { class: 'key', width: 22, height: 8, 'aria-hidden': 'true' }, line),
    `${label} `, element('b', {}, figure(values[stepIndex], style.startsWith('loss') ? 3 : 2)));
}

const curveY = (value, top) => CURVE_HEIGHT - 8 - (Math.max(0, value) / top) * (CURVE_HEIGHT - 16);

function curveWords({ log: { steps } }, series) {
  const last = steps.length - 1;
  const words = series.map(({ label, values }) => `${label} ${figure(values[0])} to ${figure(values[last])}`);
  return `From step ${steps[0].step} to ${steps[last].step}: ${words.join(', ')}`;
}

function drawTicks(view, columns) {
  const { log, state } = view;
  const labels = log.steps.map((step) => thousands(step.step));
  const every = Math.max(1, Math.ceil((Math.max(...labels.map((label) => label.length)) * 7 + 10) / columns.column));
  byId('ticks').replaceChildren(...log.steps.map((_, i) => {
    const named = (log.steps.length - 1 - i) % every === 0;
    const tick = element('span', { class: `tick${named ? ' named' : ''}${i === state.stepIndex ? ' now' : ''}` }, named ? labels[i] : '');
    tick.style.left = `${columns.middle(i)}px`;
    return tick;
  }));
}

function drawTransport(view) {
  const { log, state } = view;
  const slider = byId('step');
  slider.max = log.steps.length - 1;
  slider.value = state.stepIndex;
  slider.disabled = log.steps.length < 2;
  const { step, epoch } = log.steps[state.stepIndex];
  const name = `step ${thousands(step)}${epoch === null ? '' : `, epoch ${figure(epoch, 1)}`}`;
  slider.setAttribute('aria-valuetext', name);
  byId('step-name').textContent = name;
  byId('step-back').disabled = state.stepIndex === 0;
  byId('step-on').disabled = state.stepIndex === log.steps.length - 1;
}

// Plays from here, or from the start when at the end; any other change of step stops it.
function createPlayer(app) {
  let timer = null;
  const button = byId('play');
  const show = () => {
    button.textContent = timer ? 'Pause' : 'Play';
    button.setAttribute('aria-pressed', String(Boolean(timer)));
    for (const id of ['said', 'step-name', 'variant-note', 'compare-note']) byId(id).setAttribute('aria-live', timer ? 'off' : 'polite');
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    show();
  };
  const forward = () => {
    const { stepIndex } = app.state();
    if (stepIndex >= app.log.steps.length - 1) return stop();
    return app.change({ stepIndex: stepIndex + 1 }, { playing: true });
  };
  const toggle = () => {
    if (timer) return stop();
    if (app.state().stepIndex >= app.log.steps.length - 1) app.change({ stepIndex: 0 }, { playing: true });
    timer = setInterval(forward, 420);
    return show();
  };
  return { toggle, stop, isPlaying: () => Boolean(timer) };
}
