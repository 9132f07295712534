// Counts beats: one each time the program says that something stored has changed.

const rest = 2_000; // milliseconds between two beats at least, however fast runs go on

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
    for (const kind of ["message", "change"]) {
      source.addEventListener(kind, () => {
        this.#changed();
      });
    }
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
