// Keep changes of settings out of the browser history. After a click in the menu Streamlit pushes the old page without
// its settings, then the new page, then the new page with its settings: Back would show the defaults.
const SOON = 2000; // ms from the address without settings to the new page
const push = history.pushState.bind(history);
let left = null;
history.pushState = (state, title, url) => {
  const { pathname, search } = new URL(url, location.href);
  if (pathname === location.pathname) {
    if (!search) left = { href: location.href, time: performance.now() };
    history.replaceState(state, title, url);
  } else {
    if (left && performance.now() - left.time < SOON) history.replaceState(state, title, left.href);
    left = null;
    push(state, title, url);
  }
};
