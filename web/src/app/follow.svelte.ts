import { whenQuiet } from "../api/quiet";
import { Asked } from "../pieces/asked.svelte";
import { chosenRuns } from "../pieces/chosen";
import { askDifference, askFirstNotFinite, askLive, type News } from "./news";
import { route } from "./route.svelte";

/** Follows the chosen runs while they are live. What was told once is not asked again. */
export class Follow {
  news: News[] = $state.raw([]);
  #followed: string[] = $state.raw([]); // were live while the page was open
  readonly #live: Asked<string[]>;

  /** To be made while a component is. */
  constructor() {
    const chosen = $derived(chosenRuns(route.address));
    this.#live = new Asked(() => {
      const runs = chosen;
      return runs.length === 0
        ? null
        : { name: JSON.stringify(runs), ask: (signal) => whenQuiet(signal).then(() => askLive(runs, signal)) };
    });
    $effect(() => {
      const more = (this.#live.value ?? []).filter((run) => !this.#followed.includes(run));
      if (more.length > 0) this.#followed = [...this.#followed, ...more];
    });
    this.#tell(() => this.#lookForNaN(chosen));
    this.#tell(() => this.#lookForDifference());
  }

  #lookForNaN(chosen: string[]) {
    const runs = chosen.filter((r) => this.#followed.includes(r) && !this.#told(`not finite ${r}`));
    return runs.length === 0 ? null : { name: JSON.stringify(runs), ask: (signal: AbortSignal) => askFirstNotFinite(runs, signal) };
  }

  #lookForDifference() {
    const { problem, benches } = route.address;
    if (benches.length === 0 || !this.#followed.includes(problem) || this.#told(`differs ${problem} ${benches.join(" ")}`)) return null;
    return { name: JSON.stringify([problem, benches]), ask: (signal: AbortSignal) => askDifference(problem, benches, signal) };
  }

  #told(key: string): boolean {
    return this.news.some((n) => n.key === key);
  }

  #tell(question: ConstructorParameters<typeof Asked<News | null>>[0]): void {
    const asked = new Asked<News | null>(question);
    $effect(() => {
      const found = asked.value;
      if (found && !this.#told(found.key)) this.news = [...this.news, found];
    });
  }
}
