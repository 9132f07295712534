import type { Address } from "../app/address";
import { route } from "../app/route.svelte";

/** Refines the address once a person rests, by all that was chosen meanwhile. To be made while a component is, and ends with it. */
export function refiner(rest = 300): (changes: Partial<Address>) => void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let all: Partial<Address> = {};
  $effect(() => () => {
    clearTimeout(waiting);
  });
  return (changes) => {
    all = { ...all, ...changes };
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      route.refine(all);
      all = {};
    }, rest);
  };
}
