// Search: every word must be there; in a title it weighs most. `INDEX` is written beside this: page, anchor, title, text.
const box = document.querySelector('#search input'), found = document.getElementById('found');
const low = INDEX.map(it => ({ ...it, t: `${it.page} ${it.title}`.toLowerCase(), x: it.text.toLowerCase() }));
function look() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = !words.length ? [] : low.map(it => ({ it, weight: words.every(word => it.t.includes(word) || it.x.includes(word)) ? words.reduce((sum, word) => sum + (it.title.toLowerCase().startsWith(word) ? 12 : it.t.includes(word) ? 8 : 1), 0) : 0 }))
    .filter(hit => hit.weight).sort((one, other) => other.weight - one.weight).slice(0, 12);
  found.replaceChildren(...hits.map(({ it }) => {
    const item = document.createElement('li'), link = document.createElement('a'), small = document.createElement('small');
    link.href = `${ROOT}${it.url}${it.anchor ? `#${it.anchor}` : ''}`;
    const at = Math.max(0, it.x.indexOf(words.find(word => it.x.includes(word)) ?? '') - 40);
    small.textContent = it.text.slice(at, at + 140);
    link.append(it.title === it.page ? it.page : `${it.page}: ${it.title}`, small);
    item.append(link);
    return item;
  }));
}
box.addEventListener('input', look);
addEventListener('keydown', event => {
  if (event.key === '/' && document.activeElement !== box) { event.preventDefault(); box.focus(); }
  if (event.key === 'Escape') { found.replaceChildren(); box.blur(); }
  if (event.key === 'Enter' && document.activeElement === box) found.querySelector('a')?.click();
});
