// A page of a run that goes on loads itself again, unless somebody is at work on it: the address keeps the view.

const AT_WORK = 3000; // milliseconds after the last touch

function followRun(log, player) {
  if (!log.reloadSeconds) return;
  let touched = 0;
  let paused = false;
  const button = element('button', { type: 'button', 'aria-pressed': 'false', onclick: () => {
    paused = !paused;
    button.setAttribute('aria-pressed', String(paused));
  } }, 'Pause');
  byId('live').hidden = false;
  byId('live').append(`Training goes on, step ${log.steps.at(-1).step} so far: this page loads itself again while nobody touches it. `, button);
  for (const name of ['pointermove', 'pointerdown', 'keydown', 'wheel']) {
    window.addEventListener(name, () => { touched = Date.now(); }, { passive: true });
  }
  setInterval(() => {
    if (!document.hidden && !paused && !player.isPlaying() && Date.now() - touched > AT_WORK) location.reload();
  }, 1000 * log.reloadSeconds);
}
