// What to type next, for those whose fleet is still empty.
import {h, setText} from './dom.js';

/**
 * The commands, with this tracker's address and the files that it asks for, called as `tracker init-tls` calls them. A
 * wildcard address is reached under the name that this page was.
 */
export function commands(about, host) {
  const address = (about?.listen ?? `${host}:9190`).replace(/^(0\.0\.0\.0|\[::\])(?=:\d+$)/, host);
  const guarded = (who) => [about?.tls && '--tls-ca ca.pem',
                            about?.client_certificates && `--tls-cert ${who}.pem --tls-key ${who}.key`,
                            about?.tokens && `--token-file ${who}.token`]
                               .filter(Boolean)
                               .map((flags) => ` ${flags}`)
                               .join('');
  return {
    agent: `device-agent --tracker ${address}${guarded('agent-lab1')} --name lab1`,
    tuner: `tuner --tracker ${address}${guarded('tuner')} --task conv2d --target llvm --trials 200`,
  };
}

function make(text, which, app) {
  const code = h('code', null);
  const words = h('p', null, text);
  return {
    node: h('div', {class: 'empty'}, words, h('pre', {tabindex: '0', 'aria-label': 'the command'}, code)),
    words,
    fill: () => setText(code, commands(app.aboutTracker, location.hostname)[which]),
  };
}

export const empty = {
  devices(app) {
    const part = make('No devices yet. On each machine that measures, run', 'agent', app);
    return {node: part.node, update: part.fill};
  },
  sessions(app) {
    const part = make('', 'tuner', app);
    return {
      node: part.node,
      update(anyDevices) {
        setText(
            part.words,
            anyDevices ? 'No session is running. To tune something on these devices, run' :
                         'No session is running. Once a device is here, tune something on it with');
        part.fill();
      },
    };
  },
};
