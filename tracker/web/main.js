// Which page is shown, whether the tracker answers, and its description of itself.
import {ask} from './api.js';
import {devicePage} from './device_page.js';
import {setAttribute, setText} from './dom.js';
import {age} from './format.js';
import {overview} from './overview.js';
import {Poller} from './poller.js';
import {sessionPage} from './session_page.js';

const kPages = {
  device: devicePage,
  session: sessionPage
};

/** `#/device/lab%2Fcpu` -> {name: 'device', argument: 'lab/cpu'}; anything else is the overview. */
function route(hash) {
  const match = /^#\/(device|session)\/(.+)$/.exec(hash);
  try {
    if (match) return {name: match[1], argument: decodeURIComponent(match[2])};
  } catch {
  }
  return {name: '', argument: ''};
}

const main = document.getElementById('main'), link = document.getElementById('link'),
      linkText = document.getElementById('link-text');
let page = null, latest = null, connection = {ok: true, last: null, error: null}, told = null;

const app = {
  role: 'open',
  aboutTracker: null,
  /** The header's line. */
  about({version, uptime}) {
    setText(
        document.getElementById('about'), `tracker ${version}${uptime === undefined ? '' : ` · up ${age(uptime)}`}`);
  },
  refresh: () => poller.wake(),
};

// Asks who we are and about the tracker; again after the tracker was gone, which may have restarted with other flags.
async function introduce() {
  const [who, about] = await Promise.allSettled([ask('/api/whoami'), ask('/api/about')]);
  app.role = who.value?.role ?? 'open';
  app.aboutTracker = about.value ?? null;
  if (app.aboutTracker) app.about({version: app.aboutTracker.version});
  if (latest) page.update(latest);
}

function showLink() {
  const {ok, last, error} = connection;
  const since = last === null ? null : (performance.now() - last) / 1000;
  const state = ok ? (last === null ? 'waiting' : 'live') : 'down';
  setAttribute(link, 'data-state', state);
  const reason = error?.status === 401 || error?.status === 403 ? 'the tracker does not let you in' :
      error?.status ? `the tracker answers with an error (${error.status})` :
                      'the tracker cannot be reached';
  setText(
      linkText,
      state === 'live'        ? 'live' :
          state === 'waiting' ? 'connecting' :
                                `${reason} · ${since === null ? 'no update yet' : `last update ${age(since)} ago`}`);
  setAttribute(document.body, 'data-stale', state === 'down' ? '' : null);
  // Said once for each change, not every second.
  if (state !== 'waiting' && state !== told) {
    if (told !== null)
      setText(
          document.getElementById('announce'),
          state === 'live' ? 'The tracker answers again.' : `Connection lost: ${reason}.`);
    if (told === 'down') introduce();
    told = state;
  }
}

const poller = new Poller({
  ask,
  onLink(now) {
    connection = now;
    showLink();
  },
});
setInterval(showLink, 1000);

function entitle() { document.title = page.title === 'Fleet' ? 'Hone tracker' : `${page.title} · Hone tracker`; }

function show() {
  const {name, argument} = route(location.hash);
  const first = page === null;
  page = (kPages[name] ?? overview)(app, argument);
  main.replaceChildren(page.node);
  main.dataset.page = name || 'overview';
  entitle();
  if (!first) {
    page.node.querySelector('h1')?.focus({preventScroll: true});
    scrollTo(0, 0);
  }
  latest = null;
  poller.start(page.path, (data) => {
    latest = data;
    page.update(data);
    entitle();
  }, (error) => page.missing(error));
}

addEventListener('hashchange', show);
show();
introduce();
