// The commands to type next, for people whose fleet is still empty.
import {h, setText} from './dom.js';

/**
 * The commands, with this tracker's address and the files that it asks for, called as `tracker init-tls` calls them. A
 * wildcard address is reached under the name that this page was.
 */
export function commands(about, host) {
  const token = (who) => about?.tokens ? ` --token-file ${who}.token` : '';
  const address = (about?.listen ?? `${host}:9190`).replace(/^(0\.0\.0\.0|\[::\])(?=:\d+$)/, host);
  // A person with the fleet's file needs nothing else: it has the tracker's address and the agent's name.
  const agent = about?.tls ? '--fleet lab1.hone' : `--tracker ${address}${token('agent-lab1')} --name lab1`;
  const tuner = about?.tls ? '--fleet tuner.hone' : `--tracker ${address}${token('tuner')}`;
  return {
    agent: `device-agent ${agent}`,
    tuner: `tuner ${tuner} --task conv2d --target llvm --trials 200`,
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
  /** Until the tracker has answered, it is unknown whether there is anything. */
  unknown: () => h('p', {class: 'dim pad'}, 'Waiting for the first answer.'),
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
