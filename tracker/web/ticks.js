// Where an axis has its ticks.

/** At most about `wanted` round values that span [low, high]. */
export function niceTicks(low, high, wanted) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough * 0.999);
  return multiples(low, high, step);
}

const kTimeSteps =
    [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

/** The same in steps that clocks have; `origin` is where counting begins (midnight, for a time of day). */
export function timeTicks(low, high, wanted, origin = 0) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted);
  const step = kTimeSteps.find((x) => x >= rough) ?? kTimeSteps.at(-1) * Math.ceil(rough / kTimeSteps.at(-1));
  return multiples(low - origin, high - origin, step).map((x) => x + origin);
}

function multiples(low, high, step) {
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && out.length < 100; ++i)
    out.push(Number((i * step).toPrecision(12)));
  return out;
}

/** The end of an axis that begins at 0 and holds `most`: a little above it. */
export function axisEnd(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((x) => x * power).find((x) => x >= most * 1.02) ?? 12 * power;
}
