// Asks for one path again and again while the page can be seen, and keeps account of whether there is an answer.

const kEvery = 2000;
const kIdleShare = 4;  // after a reply that took long the pause is this many times as long: a big fleet costs the
                       // tracker no more than a small one

export class Poller {
  /**
   * ask(path) promises the data; onLink({ok, last, error}) hears of every answer and of every failure, `last` being
   * when the last answer came; now() is in milliseconds.
   */
  constructor({ask, onLink, now = () => performance.now(), document: page = document}) {
    this.ask = ask;
    this.onLink = onLink;
    this.now = now;
    this.page = page;
    this.turn = 0;
    this.timer = null;
    this.last = null;  // when the last answer came
    page.addEventListener('visibilitychange', () => this.wake());
  }

  /** From now on `path`: onData(data) for each answer, onMissing(error) when there is nothing of this name. */
  start(path, onData, onMissing) {
    this.path = path;
    this.onData = onData;
    this.onMissing = onMissing;
    this.wake();
  }

  /** Asks at once. */
  wake() {
    clearTimeout(this.timer);
    ++this.turn;
    if (!this.page.hidden && this.path) this.round(this.turn);
  }

  async round(turn) {
    const start = this.now();
    let took = 0, data, error = null;
    try {
      data = await this.ask(this.path);
    } catch (e) {
      error = e;
    }
    if (turn !== this.turn) return;  // another page meanwhile
    took = this.now() - start;
    const answered = !error || error.status === 404;
    if (answered) this.last = this.now();
    this.onLink({ok: answered, last: this.last, error});
    // An exception of the page on an odd answer must not end the polling.
    try {
      if (!error)
        this.onData(data);
      else if (error.status === 404)
        this.onMissing(error);
    } finally {
      this.timer = setTimeout(() => this.wake(), Math.max(kEvery - took, kIdleShare * took, 250));
    }
  }
}
