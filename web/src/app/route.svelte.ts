import { elsewhere, formatAddress, parseAddress, type Address, type View } from "./address";

class Route {
  address = $state.raw(parseAddress(location.search));

  constructor() {
    addEventListener("popstate", () => {
      this.address = parseAddress(location.search);
    });
  }

  /** A step that the browser's button takes back. */
  go(view: View, changes: Partial<Address> = {}): void {
    this.#set(elsewhere(this.address, view, changes), "pushState");
  }

  /** A choice within a view: it is in the address, and no step of its own. */
  refine(changes: Partial<Address>): void {
    this.#set({ ...this.address, ...changes }, "replaceState");
  }

  link(view: View, changes: Partial<Address> = {}): string {
    return formatAddress(elsewhere(this.address, view, changes));
  }

  #set(address: Address, how: "pushState" | "replaceState"): void {
    this.address = address;
    history[how](null, "", formatAddress(address));
  }
}

export const route = new Route();
