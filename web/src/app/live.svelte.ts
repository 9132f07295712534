// Counts beats: one each time the program says that something stored has changed.

const rest = 2_000; // milliseconds between two beats at least, however fast runs go on

interface Change {
  changed: string[]; // topics, as runs and verdicts
  away?: boolean; // the stream does not answer
}

class Live {
  beat = $state(0);
  connected = $state(false);
  #last = 0;
  #waiting: ReturnType<typeof setTimeout> | undefined;

  listen(): void {
    const source = new EventSource("api/v1/live");
    source.addEventListener("open", () => {
      this.connected = true;
    });
    source.addEventListener("error", () => {
      this.connected = false;
    });
    source.addEventListener("change", (event: MessageEvent<string>) => {
      const news = JSON.parse(event.data) as Change;
      this.connected = news.away !== true;
      if (news.changed.length > 0) this.#changed();
    });
  }

  /** What a view shows may have changed though nothing was stored, as a rank that falls silent. */
  look(): void {
    this.#changed();
  }

  #changed(): void {
    if (this.#waiting !== undefined) return;
    const wait = Math.max(0, this.#last + rest - Date.now());
    this.#waiting = setTimeout(() => {
      this.#waiting = undefined;
      this.#last = Date.now();
      this.beat++;
    }, wait);
  }
}

export const live = new Live();
