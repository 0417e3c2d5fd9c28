// A device's history, which comes as buckets of time, as the points of a line.

/**
 * Steps: each bucket's beginning with of(bucket, seconds that it lasted), and the end of the last. A bucket that has
 * only begun is left out, because its rate would say nothing. `t` and `now` are in seconds of one clock.
 */
export function steps(history, bucketSeconds, now, of) {
  const last = history.at(-1);
  if (!last) return [];
  const lasted = Math.min(bucketSeconds, now - last.t);
  const begun = history.length > 1 && lasted < bucketSeconds / 3;
  const points = history.slice(0, -1).map((bucket) => [bucket.t, of(bucket, bucketSeconds)]);
  if (!begun) points.push([last.t, of(last, Math.max(1, lasted))]);
  points.push([begun ? last.t : last.t + Math.max(1, lasted), points.at(-1)[1]]);
  return points;
}
