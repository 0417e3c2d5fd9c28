// Numbers as people read them, with their units. null and undefined are "not known": a dash.

export const kDash = '–';

const known = (x) => typeof x === 'number' && Number.isFinite(x);

/** 12345 -> 12,345 */
export const count = (x) => (known(x) ? Math.round(x).toLocaleString('en-US') : kDash);

/** Three or four significant digits: 0.0312, 4.21, 187.3, 1,034 */
export function number(x) {
  if (!known(x)) return kDash;
  const size = Math.abs(x);
  if (size >= 1000) return count(x);
  if (size >= 100) return x.toFixed(1);
  if (size >= 1) return x.toFixed(2);
  return size === 0 ? '0' : String(Number(x.toPrecision(3)));
}

/** As short as it can be, for axes: 1.5k, 250, 0.2 */
export function short(x) {
  if (!known(x)) return kDash;
  const size = Math.abs(x);
  if (size >= 1e6) return `${Number((x / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((x / 1e3).toPrecision(3))}k`;
  return String(Number(x.toPrecision(4)));
}

/** A fraction: 0.316 -> 32% */
export const percent = (x) => (known(x) ? `${Math.round(x * 100)}%` : kDash);

/** How long something takes: 31 µs, 4.20 ms, 1.30 s */
export function span(seconds) {
  if (!known(seconds)) return kDash;
  if (seconds === 0) return '0 s';
  if (seconds < 1e-3) return `${number(seconds * 1e6)} µs`;
  if (seconds < 1) return `${number(seconds * 1e3)} ms`;
  return seconds < 100 ? `${number(seconds)} s` : age(seconds);
}

/** How long ago or for how long: 4 s, 3 min, 2 h 5 min, 4 d 2 h */
export function age(seconds) {
  if (!known(seconds)) return kDash;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 && minutes < 10 ? `${minutes} min ${whole % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${Math.floor(hours / 24)} d ${hours % 24} h` : `${Math.floor(hours / 24)} d`;
}

export function bytes(x) {
  if (!known(x) || x <= 0) return kDash;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(x) / 10));
  return `${Number((x / 1024 ** power).toPrecision(3))} ${units[power]}`;
}

export const temperature = (x) => (known(x) ? `${x.toFixed(0)} °C` : kDash);
export const clock = (mhz) =>
    (known(mhz) ? (mhz >= 1000 ? `${(mhz / 1000).toFixed(2)} GHz` : `${mhz.toFixed(0)} MHz`) : kDash);

const pad = (x) => String(x).padStart(2, '0');

/** The time of day, here: 14:03:09 */
export function timeOfDay(unix, seconds = true) {
  const date = new Date(unix * 1000);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}${seconds ? `:${pad(date.getSeconds())}` : ''}`;
}

/** The time of day, with the date when it is another day than `now`. */
export function moment(unix, now) {
  const date = new Date(unix * 1000);
  const today = date.toDateString() === new Date(now * 1000).toDateString();
  return today ? timeOfDay(unix) :
                 `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${timeOfDay(unix)}`;
}

/** `a=1,tile=4x8` as [["a", "1"], ["tile", "4x8"]]; words without `=` have an empty value. */
export function settings(text) {
  return (text ?? '').split(',').map((word) => word.trim()).filter(Boolean).map((word) => {
    const equals = word.indexOf('=');
    return equals < 0 ? [word, ''] : [word.slice(0, equals), word.slice(equals + 1)];
  });
}

/** Stands for the work of a session that belongs to another token: only that token and admins are told what it does. */
export const kWithheld = {
  title: 'another token’s session',
  why: 'What it tunes and how well is told to its own token and to administrators.'
};

/**
 * Splits a workload's canonical text into its name and its text in brackets: dense(m=1,n=2) -> ["dense",
 * "m=1,n=2"].
 */
export function workload(title) {
  const match = /^([a-z0-9_]+)\((.*)\)$/.exec(title ?? '');
  return match ? [match[1], match[2]] : [title || 'untitled', ''];
}
