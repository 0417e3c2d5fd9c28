// Questions to the tracker.

const kTimeout = 15000;

/** An answer that is not the one hoped for: `status` is HTTP's, 0 when there was no answer at all. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * A path as the address of a request: on the page's own host, without a name and a password that the page's address may
 * have, which fetch() refuses; the browser shows them by itself.
 */
export const addressOf = (path, place = location) => new URL(path, place.origin).href;

export async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(
        addressOf(path),
        {cache: 'no-store', credentials: 'same-origin', signal: AbortSignal.timeout(kTimeout), ...options});
  } catch {
    throw new ApiError(0, 'no answer');
  }
  const text = await response.text().catch(() => {
    throw new ApiError(0, 'the answer was cut off');
  });
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    if (response.ok) throw new ApiError(response.status, 'the answer is not JSON');
  }
  if (!response.ok) throw new ApiError(response.status, body?.error ?? (text.trim() || response.statusText));
  return body;
}

/** Drains, resumes or quarantines; returns the tracker's answer. */
export async function administer(action, name) {
  const reply = await ask('/api/admin', {
    method: 'POST',
    headers: {'Content-Type': 'application/json', 'X-Hone': '1'},
    body: JSON.stringify({action, name})
  });
  return reply?.message ?? 'done';
}
