/**
 * The only script of the API page, as browsers run it: the theme, which the web console shares, the
 * search and the buttons that copy examples. The content security policy contains its hash, and the
 * page can be read without it.
 */
export const SCRIPT = `
'use strict';
const THEMES = ['system', 'light', 'dark'];
let theme = 'system';
try { theme = localStorage.getItem('tsigil.theme') ?? theme; } catch { /* The browser stores nothing. */ }
document.documentElement.dataset.theme = theme;

document.addEventListener('DOMContentLoaded', () => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const said = byId('said');

  // The theme
  const button = byId('theme');
  const nameTheme = () => { button.lastElementChild.textContent = theme; };
  if (!THEMES.includes(theme)) theme = 'system';
  nameTheme();
  button.hidden = false;
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    document.documentElement.dataset.theme = theme;
    nameTheme();
    try { localStorage.setItem('tsigil.theme', theme); } catch { /* Until the page is left. */ }
  });

  // The search: what it can find, each with the texts of its names and of everything but examples.
  const main = byId('content');
  const textOf = (selector, within) =>
    all(selector, within).map((each) => each.textContent).join(' ').toLowerCase();
  const units = all('.operation, .schema, main > section > table tbody tr').map((element) => ({
    element,
    names: textOf('h3, .route, .command code, :scope > th, :scope > td > code', element) + ' ' + element.id,
    text: textOf('h3, p, th, td, .command code', element) + ' ' + element.id,
  }));
  const sections = all('main > section, main > section > table');
  const links = all('nav a').map((link) => [link.parentElement, byId(link.hash.slice(1))]);
  const search = byId('search');
  const count = byId('count');
  const more = byId('more');
  let leftAt;

  const filter = (isWide = false) => {
    const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const isActive = words.length > 0;
    const matches = (key) => units.filter((unit) => words.every((word) => unit[key].includes(word)));
    const mentioned = matches('text');
    const named = matches('names');
    const found = new Set(isWide || named.length === 0 ? mentioned : named);
    if (isActive) leftAt ??= scrollY;
    main.classList.toggle('filtered', isActive);
    for (const unit of units) unit.element.hidden = !found.has(unit);
    for (const section of sections)
      section.hidden = isActive && !units.some(({ element }) => !element.hidden && section.contains(element));
    for (const [item, target] of links) item.hidden = target.hidden;
    count.textContent = !isActive ? '' : found.size === 0 ? 'Nothing matches.' : found.size + ' of ' + units.length + ' entries';
    more.hidden = !isActive || found.size === mentioned.length;
    more.textContent = 'Show all ' + mentioned.length + ' that mention it';
    highlight(words, found);
    if (isActive) scrollTo(0, 0);
    else if (leftAt !== undefined) { scrollTo(0, leftAt); leftAt = undefined; }
  };

  const highlight = (words, found) => {
    if (!globalThis.Highlight) return;
    const marks = new Highlight();
    for (const { element } of words.length > 0 ? found : []) {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      for (let node; (node = walker.nextNode()); ) {
        const text = node.data.toLowerCase();
        for (const word of words)
          for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length))
            if (at + word.length <= node.length) marks.add(new StaticRange({ startContainer: node, startOffset: at, endContainer: node, endOffset: at + word.length }));
      }
    }
    CSS.highlights.set('match', marks);
  };

  const clear = () => {
    search.value = '';
    filter();
  };
  search.addEventListener('input', () => filter());
  more.addEventListener('click', () => { filter(true); search.focus(); });
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === 'Escape' && event.target === search) clear();
  });
  // A link to something that the search hides ends the search first.
  const reveal = (hash) => { if (byId(hash.slice(1))?.closest('[hidden]')) clear(); };
  document.addEventListener('click', ({ target }) => {
    const link = target.closest('a[href^="#"]');
    if (link) reveal(link.hash);
  });
  addEventListener('hashchange', () => { reveal(location.hash); byId(location.hash.slice(1))?.scrollIntoView(); });
  byId('tools').hidden = false;
  filter();

  // The examples
  const copy = async (code) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      return true;
    } catch {
      // Browsers offer the clipboard only over TLS and on this machine.
      getSelection().selectAllChildren(code);
      return document.execCommand('copy');
    }
  };
  for (const figure of all('figure')) {
    const caption = figure.querySelector('figcaption');
    const title = figure.closest('section').querySelector('h3, h2').firstChild.textContent.trim();
    const what = document.createElement('span');
    what.className = 'hidden';
    what.textContent = ' ' + caption.textContent + ', ' + title;
    const copyButton = document.createElement('button');
    copyButton.type = 'button';
    copyButton.className = 'copy';
    copyButton.append('Copy', what);
    copyButton.addEventListener('click', async () => {
      const text = (await copy(figure.querySelector('code'))) ? 'Copied' : 'Press Ctrl+C';
      copyButton.firstChild.data = said.textContent = text;
      setTimeout(() => { copyButton.firstChild.data = 'Copy'; said.textContent = ''; }, 2000);
    });
    caption.append(copyButton);
  }

  // The place in the contents
  const current = new Map(links.map(([item, target]) => [target, item.firstElementChild]));
  const nav = document.querySelector('nav');
  let last;
  const watch = new IntersectionObserver((entries) => {
    const top = entries.filter((entry) => entry.isIntersecting).map(({ target }) => current.get(target)).at(-1);
    if (!top || top === last) return;
    last?.removeAttribute('aria-current');
    (last = top).setAttribute('aria-current', 'location');
    const { offsetTop } = top;
    if (offsetTop < nav.scrollTop || offsetTop > nav.scrollTop + nav.clientHeight - 40)
      nav.scrollTop = offsetTop - nav.clientHeight / 2;
  }, { rootMargin: '-80px 0px -80% 0px' });
  for (const target of current.keys()) watch.observe(target);
});
`;
