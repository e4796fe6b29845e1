// Making elements. Text only ever enters the page through text nodes and attributes, never as markup.

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Shortcuts of a single key, which a box on the page switches off; the browser remembers it where it may.
function wireShortcuts(keys) {
  const box = byId('shortcuts');
  try {
    box.checked = localStorage.getItem('seq2see shortcuts') !== 'off';
  } catch { /* a notebook's frame has no memory */ }
  box.addEventListener('change', () => {
    try {
      localStorage.setItem('seq2see shortcuts', box.checked ? 'on' : 'off');
    } catch { /* as above */ }
  });
  document.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === 'SELECT') return;
    if (keys[event.key] && (box.checked || event.key === 'Escape')) keys[event.key]();
  });
}

// A row of buttons of which one is pressed.
function segments(box, choices, chosen, choose) {
  box.replaceChildren(...choices.map(([value, label]) => element('button', {
    type: 'button', 'aria-pressed': String(value === chosen), 'data-value': value, onclick: () => choose(value),
  }, label)));
}

// Keeps the focus on "the same" button when its group is made anew.
function keepingFocus(box, change) {
  const focused = box.contains(document.activeElement) ? document.activeElement : null;
  const mark = focused && (focused.id ? ['id', focused.id] : focused.dataset.value ? ['data-value', focused.dataset.value] : null);
  change();
  if (!mark) return;
  const again = [...box.querySelectorAll(`[${mark[0]}]`)].find((node) => node.getAttribute(mark[0]) === mark[1]);
  if (again) again.focus({ preventScroll: true });
}

function options(select, choices, chosen) {
  const same = select.options.length === choices.length
    && choices.every(([value, label], i) => select.options[i].value === String(value) && select.options[i].text === label);
  if (!same) select.replaceChildren(...choices.map(([value, label]) => element('option', { value }, label)));
  select.value = String(chosen);
}

const measuringContext = document.createElement('canvas').getContext('2d');

const knownWidths = new Map();

function textWidth(text, font) {
  const mark = `${font} ${text}`;
  if (!knownWidths.has(mark)) {
    measuringContext.font = font;
    knownWidths.set(mark, measuringContext.measureText(text).width);
  }
  return knownWidths.get(mark);
}

// Text that runs from right to left must not turn the sentence around it.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff]|\ud83a[\udc00-\udfff]/;
const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);

// Cut to a width in pixels, whole characters only.
function cutText(text, font, width) {
  if (textWidth(text, font) <= width) return isolated(text);
  const characters = Array.from(text);
  let low = 1;
  let high = Math.max(1, characters.length);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(characters.slice(0, middle).join('') + '\u2026', font) <= width) low = middle;
    else high = middle - 1;
  }
  return isolated(characters.slice(0, low).join('') + '\u2026');
}

// Acts once things have been quiet for a while.
function whenQuiet(milliseconds, act) {
  let timer = null;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...values), milliseconds);
  };
}

const cssValue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
