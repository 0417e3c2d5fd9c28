// Lines that people paste as keys.

/** `workload TAB target` or a workload alone, then for `target`; a target's text begins behind the closing bracket. */
export function keysOf(text, target) {
  return text.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => {
    const end = line.lastIndexOf(')') + 1;
    return end > 0 && end < line.length ? [line.slice(0, end), line.slice(end).trim()] : [line, target];
  });
}
